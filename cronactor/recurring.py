"""Pure: phrases that come back: `todos los lunes a las 10`, `every weekday at 8:30`.

The words may stand in any order; what they leave open, or cron cannot say exactly, is an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from decimal import Decimal
from itertools import product

import attrs

from cronactor.asked import Asked, Cron, Every, When
from cronactor.clocktime import Clock, SaidClock, read_clock, settle
from cronactor.dayparts import Part, take_part, take_plural_part, usual_hour
from cronactor.days import EARLIEST, which_half
from cronactor.elapsed import Length, read_length
from cronactor.lexicon import CLOCK_UNITS, Words
from cronactor.rhythm import Rhythm, read_rhythm
from cronactor.schedule import parse_cron
from cronactor.texts import PhraseError
from cronactor.weekdays import which_day

__all__ = ["read_interval", "read_recurring"]

_EACH = (("a", "cada"), ("cada",), ("every",), ("each",), ("una", "vez", "cada"))
_WORDS_FOR_HOUR = (
    ("hourly",), ("every", "hour"), ("cada", "hora"), ("each", "hour"), ("todas", "las", "horas"),
)  # fmt: skip
_ON_THE_HOUR = (("en", "punto"), ("on", "the", "hour"), ("o", "'", "clock"))


def read_interval(asked: Asked) -> When | None:
    """`cada 2 horas`, `every 15 minutes`, `cada media hora`: elapsed time."""
    words = Words.of(asked.text)
    if words.take_any(*_WORDS_FOR_HOUR):
        if words.done:
            return Every(3600.0)
        if words.take_any(*_ON_THE_HOUR) and words.done:
            return Cron("0 * * * *")
        words.at = 0
    if words.take("every", "other"):
        size = words.one_of(CLOCK_UNITS)
        return Every(2.0 * size) if size and words.done else None
    if not words.take_any(*_EACH):
        return None
    length = read_length(words, asked) or _unit_alone(words)
    if length is None:
        return None
    if length.months or length.days:
        return _counted_days(words, asked, length)
    return Every(float(length.seconds)) if words.done and length.seconds else None


def _unit_alone(words: Words) -> Length | None:
    """`cada hora`, with no amount."""
    plural = len(words.peek() or "") > 1 and (words.peek() or "").endswith("s")
    seconds = words.one_of(CLOCK_UNITS) if not plural else None
    return None if seconds is None else Length(seconds=Decimal(seconds))


def _counted_days(words: Words, asked: Asked, length: Length) -> When | None:
    """`cada 2 días`: cron begins anew each month, so that it cannot count them."""
    if length in (Length(days=1), Length(months=1), Length(months=12), Length(days=7)):
        return None
    hours = asked.word("cada {} horas", "every {} hours").format(length.days * 24)
    yearly = asked.word("el 1 de cada mes a las 9:00", "on the 1st of every month at 9:00")
    instead = yearly if length.months else hours
    raise asked.error("phrase_every_days", text=asked.said, instead=f"`{instead}`")


_EVERY_OTHER = (
    ("every", "other"), ("every", "second", "day"), ("every", "second", "week"), ("every", "2nd"),
    ("dia", "por", "medio"), ("un", "dia", "si", "y", "otro", "no"),
)  # fmt: skip


@attrs.define
class _Heard:
    rhythm: Rhythm = attrs.field(factory=Rhythm)
    clocks: list[SaidClock] = attrs.field(factory=list)
    parts: list[Part] = attrs.field(factory=list)


def read_recurring(asked: Asked) -> When | None:
    """`todos los lunes a las 10`, `los lunes y jueves a las 18:00`, `every month on the 15th`."""
    words, heard = Words.of(asked.text), _Heard()
    words.take_any(("para",), ("for",))
    while not words.done:
        start = words.at
        if words.take_any(*_EVERY_OTHER):
            raise _every_other(asked)
        if start and words.take(","):
            continue
        if not any(reader(words, heard) for reader in _PIECES):
            return None
    if heard.rhythm.repeats:
        return _cron(asked, heard)
    if len(heard.rhythm.weekdays) > 1:
        named = re.sub(r"^(para|for|el|los|on) ", "", asked.said, flags=re.IGNORECASE)
        instead = asked.word("todos los {}", "every {}").format(named)
        raise asked.error("phrase_some_days", text=asked.said, instead=f"`{instead}`")
    return None


def _every_other(asked: Asked) -> PhraseError:
    instead = asked.word("`cada 48 horas`", "`every 48 hours`")
    return asked.error("phrase_every_days", text=asked.said, instead=instead)


def _take_rhythm(words: Words, heard: _Heard) -> bool:
    rhythm = read_rhythm(words, heard.rhythm)
    if rhythm is not None:
        heard.rhythm = rhythm
    return rhythm is not None


def _take_clock(words: Words, heard: _Heard) -> bool:
    """A time of day; a second one must be joined to the first."""
    start = words.at
    joined = bool(heard.clocks) and words.take_any(("y",), ("and",))
    listed = bool(heard.clocks) and words.peek(-1) == ","
    clock = read_clock(words, with_day=True) if joined or listed or not heard.clocks else None
    if clock is None and (joined or listed):
        clock = _listed_hour(words)
    if clock is None:
        words.at = start
        return False
    heard.clocks.append(clock)
    return True


def _listed_hour(words: Words) -> SaidClock | None:
    """The 13 of `a las 9, 13 y 21`."""
    hour = words.whole()
    return None if hour is None else SaidClock(hour)


def _take_part(words: Words, heard: _Heard) -> bool:
    part = take_part(words, bare=heard.rhythm.detailed and not heard.clocks) or _plural_part(
        words, heard
    )
    if part is not None:
        heard.parts.append(part)
    return part is not None


def _plural_part(words: Words, heard: _Heard) -> Part | None:
    """`monday mornings`, `los lunes por las mañanas`."""
    start = words.at
    words.take_any(("por", "las"), ("en", "las"))
    part = take_plural_part(words) if heard.rhythm.detailed and not heard.clocks else None
    if part is None:
        words.at = start
    return part


_PIECES: Sequence[Callable[[Words, _Heard], bool]] = (_take_clock, _take_rhythm, _take_part)


def _cron(asked: Asked, heard: _Heard) -> Cron | None:
    """Put days and times together. Raises PhraseError for what cron cannot say exactly."""
    rhythm = heard.rhythm
    if rhythm.unit in ("week", "month", "year") and not rhythm.detailed:
        raise which_day(asked, *_WHICH_DAY[rhythm.unit])
    fields = rhythm.fields()
    if fields is None:
        return None
    _refuse_rare_days(asked, rhythm)
    parts = [*heard.parts, *([rhythm.part] if rhythm.part else [])]
    if not heard.clocks:
        hour = usual_hour(parts[0] if parts else None)
        raise asked.error("phrase_no_time", text=asked.said, hour=hour)
    clocks = [_exact(asked, said, parts, heard) for said in heard.clocks]
    return Cron(parse_cron(f"{_times(asked, clocks)} {fields}").text)


_WHICH_DAY = {
    "week": ("todos los lunes a las 9:00", "every monday at 9:00"),
    "month": ("el 1 de cada mes a las 9:00", "on the 1st of every month at 9:00"),
    "year": ("el 1 de enero de cada año a las 9:00", "every year on january 1 at 9:00"),
}


def _exact(asked: Asked, said: SaidClock, parts: Sequence[Part], heard: _Heard) -> Clock:
    """A time of day that comes back: nothing about it may depend on when it is said."""
    if said.loose and not said.parts and 0 < said.minute < 24:
        one, other = f"{said.hour:02}:{said.minute:02}", f"{said.minute:02}:00"
        raise asked.error("phrase_list", text=asked.said, one=f"`{one}`", other=f"`{other}`")
    clock = settle(said, parts, asked.error)
    mixed = len({bool(other.parts) for other in heard.clocks}) > 1
    if clock.coarse and (clock.hour < EARLIEST or mixed):
        raise which_half(asked, clock)
    if clock.midnight and heard.rhythm.detailed:
        raise asked.error("phrase_midnight")
    if clock.second:
        raise asked.error("phrase_seconds", text=asked.said)
    return clock


def _times(asked: Asked, clocks: Sequence[Clock]) -> str:
    """The cron fields minute and hour, when these are all times and no others."""
    times = {(clock.minute, clock.hour) for clock in clocks}
    minutes, hours = (sorted(set(column)) for column in zip(*times, strict=True))
    if len(times) < len(clocks) or set(product(minutes, hours)) != times:
        raise asked.error("phrase_times", text=asked.said)
    return f"{','.join(map(str, minutes))} {','.join(map(str, hours))}"


def _refuse_rare_days(asked: Asked, rhythm: Rhythm) -> None:
    """The 31st, or 29 February, is missing from most months or years."""
    rare = [day for day in rhythm.monthdays if day > 28]
    if rare:
        instead = asked.word(
            "el último día de cada mes a las 9:00", "on the last day of every month at 9:00"
        )
        raise asked.error("phrase_rare_day", day=rare[0], instead=f"`{instead}`")
    if rhythm.date is not None and not _every_year(*rhythm.date):
        raise asked.error("phrase_impossible", said=f"`{asked.said}`")


def _every_year(month: int, day: int) -> bool:
    try:
        date(2023, month, day)
    except ValueError:
        return False
    return True
