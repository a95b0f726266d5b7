"""Pure: a day at the present time of day: `mañana a esta hora`, `same time tomorrow`."""

from __future__ import annotations

import attrs

from cronactor.asked import Asked, At
from cronactor.clocktime import Clock
from cronactor.dates import read_day
from cronactor.days import agreed
from cronactor.lexicon import Words
from cronactor.zones import get_zone, wall

__all__ = ["read_same_time"]

_SAME = (
    ("a", "esta", "hora"),
    ("a", "esta", "misma", "hora"),
    ("a", "la", "misma", "hora"),
    ("at", "this", "time"),
    ("at", "this", "same", "time"),
    ("at", "the", "same", "time"),
    ("this", "same", "time"),
    ("this", "time"),
    ("the", "same", "time"),
    ("same", "time"),
)


def read_same_time(asked: Asked) -> At | None:
    """Read a day and `a esta hora` in either order; days are wall time, as in `en 1 día`."""
    words = Words.of(asked.text)
    said = words.take_any(*_SAME)
    words.take(",")
    days = read_day(words, asked, first=True) if said or _ends_so(words) else []
    if not said:
        words.take(",")
        said = words.take_any(*_SAME)
    if not (said and days and words.done) or any(named.part for named in days):
        return None
    now = wall(asked.now, get_zone(asked.zone))
    clock = Clock(now.hour, now.minute, now.second)
    when = agreed(asked, [named.day for named in days], clock)
    return attrs.evolve(when, instant=when.instant + asked.now % 1)


def _ends_so(words: Words) -> bool:
    return any(words.tokens[-len(sequence) :] == sequence for sequence in _SAME)
