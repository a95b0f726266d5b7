"""Pure: the time of day inside a phrase: `a las 9 y media de la noche`, `at 8pm`, `15:00`.

Reading and settling are two steps: a part of the day may stand elsewhere in the phrase.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import attrs

from cronactor.dayparts import Part, hour_in, take_part
from cronactor.lexicon import MONTHS, Words
from cronactor.numerals import SUFFIXES
from cronactor.texts import PhraseError

__all__ = ["Clock", "SaidClock", "read_clock", "settle"]


@attrs.frozen
class Clock:
    """A time of day. `coarse`: an hour from 1 to 11 that may be meant in either half of the day.

    `midnight`: the hour between two days, said so that either day may be meant.
    """

    hour: int
    minute: int = 0
    second: int = 0
    coarse: bool = False
    midnight: bool = False


@attrs.frozen
class SaidClock:
    """A time of day as it was said. `minute` is negative for `menos cuarto`.

    `figures`: the hour is on the 24 hour clock unless a part of the day says otherwise. `loose`:
    the minutes were said as `y 20`, which in a list may be an hour.
    """

    hour: int
    minute: int = 0
    second: int = 0
    figures: bool = False
    midnight: bool = False
    loose: bool = False
    parts: tuple[Part, ...] = ()


class MakesError(Protocol):
    """Makes the error `key` in the phrase's locale."""

    def __call__(self, key: str, **values: object) -> PhraseError: ...


_AT = (("a", "las"), ("a", "la"), ("at",), ("las",), ("la",))
_HOURS = (("h",), ("hs",), ("hr",), ("hrs",), ("horas",), ("hours",))
_EXACTLY = (("en", "punto"), ("sharp",), ("on", "the", "dot"))
_OCLOCK = (("o'clock",), ("o", "'", "clock"), ("o", "clock"), ("oclock",))


def read_clock(words: Words, *, with_day: bool = False) -> SaidClock | None:
    """Read a time of day; None, with nothing read, when there is none.

    `with_day`: a day was named before it, so that `18h` cannot be a duration.
    """
    start = words.at
    words.take_any(("para",), ("for",))
    said = _named(words)
    if said is None:
        announced = words.take_any(*_AT)
        said = _digital(words, announced) or _relative(words) or _spoken(words, announced, with_day)
    if said is None:
        words.at = start
    return said


def _named(words: Words) -> SaidClock | None:
    """`al mediodía`, `noon`, `12 midnight`."""
    start = words.at
    words.take_any(("al",), ("a", "la"), ("a", "las"), ("a",), ("at",))
    words.take("12")
    if words.take_any(("mediodia",), ("medio", "dia"), ("noon",), ("midday",)):
        return SaidClock(12, figures=True)
    if words.take_any(("medianoche",), ("media", "noche"), ("midnight",)):
        return SaidClock(0, midnight=True)
    words.at = start
    return None


def _digital(words: Words, announced: bool) -> SaidClock | None:
    """`15:00`, `9:05:30`, `9:30 pm`, `a las 17.30`; `5:30` may be said of either half."""
    start = words.at
    announced = words.take("a") or announced
    found = words.match(r"(\d{1,2})[:.](\d{2})(?::(\d{2}))?")
    if found is not None:
        hours = words.take_any(*_HOURS)
        parts = _parts(words)
        if ":" in found[0] or announced or hours or parts:
            hour, minute, second = (int(figure or 0) for figure in found.groups())
            figures = bool(found[3]) or not _on_dial(found[1], hour)
            return SaidClock(hour, minute, second, figures=figures, parts=parts)
    words.at = start
    return None


def _relative(words: Words) -> SaidClock | None:
    """`half past nine`, `a quarter to six pm`, `20 past 4`, `un cuarto para las seis`."""
    start = words.at
    minute = _minutes_from(words)
    forward = words.take_any(("past",), ("after",))
    english = forward or words.take_any(("to",), ("till",), ("til",))
    spanish = not english and words.take_any(("para", "las"), ("para", "la"))
    hour = words.whole() if english or spanish else None
    if minute is None or hour is None or (minute == 30 and not forward) or minute > 30:
        words.at = start
        return None
    words.take_any(*_OCLOCK)
    return SaidClock(hour, minute if forward else -minute, parts=_parts(words))


def _minutes_from(words: Words) -> int | None:
    """The minutes before `past`, `to`, `para las`; `5 to 6` may be the hours of a meeting."""
    if words.take("half"):
        return 30
    if words.take_any(("a", "quarter"), ("quarter",), ("un", "cuarto"), ("cuarto",)):
        return 15
    in_words = (words.peek() or "").isalpha()
    minute = words.whole()
    named = words.take_any(("minutes",), ("minutos",))
    span = not (named or in_words) and (words.peek() == "para" or (minute or 0) <= 12)
    return minute if minute and (not span or words.peek() in ("past", "after")) else None


def _spoken(words: Words, announced: bool, with_day: bool) -> SaidClock | None:
    """`9`, `9 y media`, `9 menos cuarto`, `18h`, `8pm`: an hour in figures or words."""
    hour = words.whole()
    if hour is None:
        return None
    dial = _on_dial(words.peek(-1) or "", hour)
    hours = (announced or with_day) and words.take_any(*_HOURS)
    explicit = words.take_any(*_EXACTLY, *_OCLOCK)
    before = words.at
    minute = _fraction(words)
    explicit = explicit or hours or announced or minute is not None
    if minute is None and (explicit or not (words.peek() or "").isdigit()):
        minute = _minutes(words, hours)
    minute = minute or 0
    read = words.tokens[before : words.at]
    loose = len(read) in (1, 2) and read[-1].isdigit() and read[0] in ("y", read[-1])
    parts = _parts(words)
    if not (parts or explicit or words.peek(-1) in ("punto", "sharp", "dot")):
        return None
    return SaidClock(
        hour, minute, figures=hours and not dial, loose=loose and not hours, parts=parts
    )


def _on_dial(figure: str, hour: int) -> bool:
    """Whether an hour may be meant on the dial of a clock, in either half of the day."""
    return 1 <= hour <= 6 and not figure.startswith("0")


def _fraction(words: Words) -> int | None:
    """`y media`, `menos cuarto`; None when the hour is not followed by one."""
    for sequence, minute in _FRACTIONS:
        if words.take(*sequence):
            return minute
    return None


_FRACTIONS = (
    (("y", "media"), 30),
    (("y", "cuarto"), 15),
    (("y", "un", "cuarto"), 15),
    (("menos", "cuarto"), -15),
    (("menos", "un", "cuarto"), -15),
)


def _minutes(words: Words, figures: bool) -> int:
    """`y veinte`, `menos diez`, `thirty`, the 30 of `18h30`; 0 when nothing of it follows."""
    start = words.at
    sign = 1 if words.take("y") else -1 if words.take("menos") else 0
    small = words.take_any(("oh",), ("o",)) if not sign else False
    word = words.peek() or ""
    minute = words.whole()
    if minute is not None and _fits(words, word, minute, sign, figures=figures, small=small):
        words.take_any(("minutos",), ("min",), ("m",), ("minutes",))
        return sign * minute if sign else minute
    words.at = start
    return 0


def _fits(words: Words, word: str, minute: int, sign: int, *, figures: bool, small: bool) -> bool:
    """Whether a number after an hour is its minutes and not a day of the month."""
    if sign:
        return sign > 0 or minute < 60
    following = words.peek(1) if words.peek() in ("de", "of") else words.peek()
    if following in MONTHS or re.fullmatch(SUFFIXES, following or "") or minute > 59:
        return False
    if word.isdigit():
        return len(word) == 2
    return small == (minute < 10) and not figures


def _parts(words: Words) -> tuple[Part, ...]:
    words.take_any(*_EXACTLY)
    part = take_part(words)
    words.take_any(*_EXACTLY)
    return () if part is None else (part,)


def settle(said: SaidClock, parts: Sequence[Part], error: MakesError) -> Clock:
    """Decide which time of day was said, `parts` being said elsewhere in the phrase.

    Raises PhraseError for one that is impossible (`25:00`) or ambiguous (`a las 12`).
    """
    if said.hour > 23 or abs(said.minute) > 59 or said.second > 59:
        raise error("phrase_impossible", said=f"`{said.hour}:{abs(said.minute):02}`")
    clock = Clock(said.hour, max(said.minute, 0), said.second, midnight=said.midnight)
    everywhere = (*said.parts, *parts)
    if said.midnight:
        wrong = [part for part in everywhere if part.name not in ("night", "small", "am")]
        if wrong:
            raise error("phrase_part", hour="`0:00`", part=wrong[0].said)
        return clock
    if everywhere:
        settled = {_in_part(said, clock, part, error) for part in everywhere}
        if len(settled) > 1:
            raise error("phrase_part", hour=f"`{said.hour}:{clock.minute:02}`", part=parts[-1].said)
        clock = settled.pop()
    elif not said.figures:
        if said.hour == 12:
            raise error("phrase_twelve")
        clock = attrs.evolve(clock, coarse=1 <= said.hour <= 11)
    return _minus(clock, said.minute) if said.minute < 0 else clock


def _minus(clock: Clock, minute: int) -> Clock:
    total = (clock.hour * 60 + minute) % (24 * 60)
    return attrs.evolve(clock, hour=total // 60, minute=total % 60)


def _in_part(said: SaidClock, clock: Clock, part: Part, error: MakesError) -> Clock:
    if said.hour == 12 and said.minute < 0:
        return _before_twelve(clock, part, error)
    hour = hour_in(part, clock.hour)
    if hour is None and said.minute < 0:
        before = hour_in(part, clock.hour - 1)
        hour = None if before is None else before + 1
    if hour is not None:
        return attrs.evolve(clock, hour=hour)
    if clock.hour == 12 and part.name in ("night", "small", "am"):
        midnight = part.name != "am" or clock.minute == 0
        return attrs.evolve(clock, hour=0, midnight=midnight)
    if clock.hour == 12 and part.name == "morning":
        raise error("phrase_twelve")
    raise error("phrase_part", hour=f"`{clock.hour}:{clock.minute:02}`", part=part.said)


def _before_twelve(clock: Clock, part: Part, error: MakesError) -> Clock:
    """`12 menos diez`: the part of the day belongs to the hour that is meant, eleven."""
    hour = {"morning": 12, "night": 24}.get(part.name)
    if hour is None:
        raise error("phrase_twelve")
    return attrs.evolve(clock, hour=hour)
