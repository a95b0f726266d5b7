"""Pure: the instants at which something recurs, and how far each is put off within its jitter."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from itertools import islice

from cronactor.interval import next_interval
from cronactor.schedule import fires
from cronactor.texts import Explained

__all__ = [
    "EVERY_LONGEST",
    "EVERY_SHORTEST",
    "Times",
    "cron_times",
    "every_times",
    "parse_every",
    "put_off",
]

Times = Callable[[float], Iterator[float]]
"""Yields every instant strictly after the one given, strictly increasing."""

EVERY_SHORTEST = 1.0
EVERY_LONGEST = 366 * 86400.0

_PART = r"(\d{1,9}(?:\.\d{1,6})?)\s*([smhdw])"
_EVERY = re.compile(rf"{_PART}(?:\s*{_PART})*", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def parse_every(text: str) -> float:
    """Read an interval such as `2h`, `90s` or `1h30m` as seconds.

    Raises Explained when it is not one, shorter than a second or longer than a year.
    """
    if not _EVERY.fullmatch(text.strip()):
        raise Explained("every_syntax", text=text[:40])
    parts = re.findall(_PART, text)
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if not EVERY_SHORTEST <= seconds <= EVERY_LONGEST:
        raise Explained("every_range", text=text[:40])
    return seconds


def cron_times(expr: str, zone: str) -> Times:
    """Return the instants of a cron expression in a zone; calling them raises what `fires` does."""
    return lambda after: fires(expr, zone, after)


def every_times(anchor: float, every: float) -> Times:
    """Return the instants of an interval of `every` seconds that counts from `anchor`."""

    def after(instant: float) -> Iterator[float]:
        while True:
            instant = next_interval(anchor, every, instant)
            yield instant

    return after


def put_off(key: str, at: float, jitter: float, times: Times) -> float:
    """Return when the occurrence `at` of `key` is really due: up to `jitter` seconds later.

    Always the same for the same occurrence, never early, always before the next one.
    """
    if not jitter:
        return at
    upcoming = next(islice(times(at), 1), at + jitter)
    digest = hashlib.sha256(f"{key}|{at!r}".encode("utf-8", "replace")).digest()
    part = (int.from_bytes(digest[:8], "big") >> 11) / 2**53
    later = at + part * min(jitter, upcoming - at)
    return later if later < upcoming else at
