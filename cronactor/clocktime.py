"""Pure: the time of day inside a phrase: `a las 9 y media de la noche`, `at 8pm`, `15:00`."""

from __future__ import annotations

from typing import Protocol

import attrs

from cronactor.lexicon import PARTS, Words
from cronactor.texts import PhraseError

__all__ = ["Clock", "read_clock"]


@attrs.frozen
class Clock:
    """A time of day. `coarse`: an hour from 1 to 11 that may be meant in either half of the day."""

    hour: int
    minute: int = 0
    second: int = 0
    coarse: bool = False


class MakesError(Protocol):
    """Makes the error `key` in the phrase's locale."""

    def __call__(self, key: str, **values: object) -> PhraseError: ...


def read_clock(words: Words, error: MakesError) -> Clock | None:
    """Read a time of day; None, with nothing read, when there is none.

    Raises PhraseError for one that is impossible (`25:00`) or ambiguous (`a las 12`).
    """
    start = words.at
    announced = words.take_any(("a", "las"), ("a", "la"), ("at",))
    clock = _noon(words) or _digital(words, error) or _spoken(words, error, announced)
    if clock is None:
        words.at = start
    return clock


def _noon(words: Words) -> Clock | None:
    read = words.take_any(("al", "mediodia"), ("a", "mediodia"), ("mediodia",), ("noon",))
    return Clock(12) if read else None


def _digital(words: Words, error: MakesError) -> Clock | None:
    """`15:00`, `9:05:30`, `9:30 pm`."""
    found = words.match(r"(\d{1,2}):(\d{2})(?::(\d{2}))?")
    if found is None:
        return None
    words.take_any(("h",), ("hs",), ("hrs",), ("horas",))
    clock = Clock(int(found[1]), int(found[2]), int(found[3] or 0))
    if clock.hour > 23 or clock.minute > 59 or clock.second > 59:
        raise error("phrase_impossible", said=f"`{found[0]}`")
    part = _part(words)
    return clock if part is None else _in_part(clock, *part, error)


def _spoken(words: Words, error: MakesError, announced: bool) -> Clock | None:
    """`9`, `9 y media`, `9 menos cuarto`, `18h`, `8pm`: an hour in figures or words."""
    amount = words.number()
    if amount is None or amount != int(amount):
        return None
    hour = int(amount)
    military = announced and words.take_any(("h",), ("hs",), ("hrs",), ("horas",))
    words.take_any(("en", "punto"), ("o'clock",), ("o", "'", "clock"))
    minute = _minutes(words, military)
    part = _part(words)
    if part is None and not announced:
        return None
    if hour > 23 or minute > 59:
        raise error("phrase_impossible", said=f"`{hour}:{abs(minute):02}`")
    clock = Clock(hour, 0) if minute < 0 else Clock(hour, minute)
    if part is not None:
        clock = _in_part(clock, *part, error)
    elif not military:
        if hour == 12:
            raise error("phrase_twelve")
        clock = attrs.evolve(clock, coarse=1 <= hour <= 11)
    return _minus(clock, minute) if minute < 0 else clock


def _minutes(words: Words, military: bool) -> int:
    """What follows the hour: minutes, negative for `menos …`; 0 when nothing does."""
    if words.take_any(("y", "media")):
        return 30
    if words.take("y", "cuarto"):
        return 15
    if words.take("menos", "cuarto"):
        return -15
    start = words.at
    sign = 1 if words.take("y") else -1 if words.take("menos") else 0
    if sign or military:
        amount = words.number()
        if amount is not None and amount == int(amount) and (sign > 0 or amount < 60):
            words.take_any(("minutos",), ("min",), ("m",))
            return sign * int(amount) if sign else int(amount)
    words.at = start
    return 0


def _minus(clock: Clock, minute: int) -> Clock:
    total = (clock.hour * 60 + minute) % (24 * 60)
    return attrs.evolve(clock, hour=total // 60, minute=total % 60)


def _part(words: Words) -> tuple[str, str] | None:
    for sequence, part in PARTS:
        if words.take(*sequence):
            return part, " ".join(sequence)
    return None


_AFTERNOON = {12: 12, **{h: h + 12 for h in range(1, 9)}, **{h: h for h in range(13, 21)}}
_BY_PART: dict[str, dict[int, int]] = {
    "am": {12: 0, **{h: h for h in range(1, 12)}},
    "pm": {12: 12, **{h: h + 12 for h in range(1, 12)}},
    "morning": {h: h for h in range(1, 12)},
    "small": {h: h for h in range(7)},
    "noon": {12: 12, **{h: h + 12 for h in range(1, 4)}},
    "afternoon": _AFTERNOON,
    "evening": {**{h: h + 12 for h in range(4, 12)}, **{h: h for h in range(16, 24)}},
    "night": {**{h: h + 12 for h in range(7, 12)}, **{h: h for h in range(19, 24)}},
}


def _in_part(clock: Clock, part: str, said: str, error: MakesError) -> Clock:
    hour = _BY_PART[part].get(clock.hour)
    if hour is not None:
        return attrs.evolve(clock, hour=hour)
    if clock.hour == 12 and part in ("night", "small"):
        raise error("phrase_midnight")
    if clock.hour == 12 and part == "morning":
        raise error("phrase_twelve")
    raise error("phrase_part", hour=f"`{clock.hour}:{clock.minute:02}`", part=said)
