"""Pure: durations, and what they are counted in: `en 30 minutos`, `in 2h30m`, `en 2 meses`.

Hours are elapsed time, days and months are wall time.
"""

from __future__ import annotations

import calendar
import re
from datetime import date, datetime, timedelta
from decimal import Decimal

import attrs

from cronactor.asked import MAX_YEARS, Asked, At, When
from cronactor.lexicon import CLOCK_UNITS, DAY_UNITS, MONTH_UNITS, Words
from cronactor.texts import PhraseError
from cronactor.zones import get_zone, resolve, wall

__all__ = ["Length", "later_date", "read_ahead", "read_elapsed", "read_length"]


@attrs.frozen
class Length:
    """A duration: calendar months, days of wall time, seconds of elapsed time."""

    months: int = 0
    days: int = 0
    seconds: Decimal = Decimal(0)

    @property
    def whole_days(self) -> bool:
        """True when it counts days, weeks or months and nothing smaller."""
        return not self.seconds and bool(self.days or self.months)


_HALF = Decimal("0.5")
_QUARTER = Decimal("0.25")
_FRACTIONS: tuple[tuple[tuple[str, ...], Decimal], ...] = (
    (("half", "an"), _HALF),
    (("half", "a"), _HALF),
    (("a", "half"), _HALF),
    (("half",), _HALF),
    (("una", "media"), _HALF),
    (("media",), _HALF),
    (("medio",), _HALF),
    (("un", "cuarto", "de"), _QUARTER),
    (("cuarto", "de"), _QUARTER),
    (("a", "quarter", "of", "an"), _QUARTER),
    (("quarter", "of", "an"), _QUARTER),
    (("a", "quarter"), _QUARTER),
    (("tres", "cuartos", "de"), 3 * _QUARTER),
    (("three", "quarters", "of", "an"), 3 * _QUARTER),
)
_TAILS: tuple[tuple[tuple[str, ...], Decimal], ...] = (
    (("y", "media"), _HALF),
    (("y", "medio"), _HALF),
    (("and", "a", "half"), _HALF),
    (("y", "cuarto"), _QUARTER),
    (("y", "un", "cuarto"), _QUARTER),
    (("and", "a", "quarter"), _QUARTER),
    (("y", "tres", "cuartos"), 3 * _QUARTER),
)
_COUPLE = (("un", "par", "de"), ("a", "couple", "of"), ("a", "couple"))
_WRITTEN = {"1/2": _HALF, "1/4": _QUARTER, "3/4": 3 * _QUARTER}


def read_elapsed(asked: Asked) -> When | None:
    """`en 30 minutos`, `dentro de una hora y media`, `in 2h30m`, `2 days from now`."""
    words = Words.of(asked.text)
    length = read_ahead(words, asked)
    if length is None or not words.done:
        return None
    if not (length.months or length.days):
        return At(asked.now + float(length.seconds))
    zone = get_zone(asked.zone)
    clock = wall(asked.now, zone).time()
    naive = datetime.combine(later_date(asked, length), clock)
    found = resolve(naive, zone)
    instant = found.instant + asked.now % 1 + float(length.seconds)
    return At(instant, None if length.seconds else naive.isoformat(), found.shift)


def read_ahead(words: Words, asked: Asked) -> Length | None:
    """Read a duration counted from now; None, with nothing read, when there is none."""
    start = words.at
    words.take_any(("para",), ("for",))
    before = words.take_any(
        ("en",), ("dentro", "de"), ("in",), ("de", "aqui", "a"), ("de", "aca", "a")
    )
    length = read_length(words, asked)
    after = length is not None and not before and words.take_any(*_FROM_NOW)
    if length is None or not (before or after):
        words.at = start
        return None
    words.take_any(*_FROM_NOW)
    return length


_FROM_NOW = (("from", "now"), ("a", "partir", "de", "ahora"), ("desde", "ahora"))


def later_date(asked: Asked, length: Length) -> date:
    """Return the date that is so many months and days from today."""
    if length.months > MAX_YEARS * 12 or length.days > MAX_YEARS * 366:
        raise asked.far()
    total = asked.today.year * 12 + asked.today.month - 1 + length.months
    year, month = total // 12, total % 12 + 1
    if asked.today.day > calendar.monthrange(year, month)[1]:
        last = date(year, month, calendar.monthrange(year, month)[1])
        missing = f"`{year}-{month:02}-{asked.today.day:02}`"
        raise asked.error("phrase_short_month", missing=missing, instead=f"`{last} 09:00`")
    return date(year, month, asked.today.day) + timedelta(days=length.days)


def read_length(words: Words, asked: Asked) -> Length | None:
    """Read a duration, each unit once; None, with nothing read, when there is none."""
    start, length, sizes = words.at, Length(), set[tuple[str, int]]()
    end = start
    while (part := _one(words, asked, first=end == start)) is not None:
        size, amount = part
        if size in sizes:
            break
        sizes.add(size)
        length = _plus(length, size, amount, asked)
        end = words.at
        words.take_any(("y",), ("and",), (",",), (",", "and"))
    words.at = end
    return length if sizes else None


def _one(words: Words, asked: Asked, *, first: bool) -> tuple[tuple[str, int], Decimal] | None:
    """One amount with its unit; `hora y media` counts as one with no amount."""
    amount = _amount(words)
    if amount is None and first and (words.peek() or "") in ("hora", "hour", "minuto"):
        amount = Decimal(1) if words.peek(1) in ("y", "and") else None
    bare_hour = words.peek(-1) if words.peek(-2) == "h" else None
    two_digits = bare_hour is not None and re.fullmatch(r"[0-5]\d", bare_hour)
    if amount is not None and two_digits and words.done and not first:
        return ("seconds", 60), amount
    unit = words.match(r"[a-z]+")
    size = _size(unit[0]) if unit is not None and amount is not None else None
    if size is None or amount is None:
        return None
    return size, amount + _tail(words)


def _size(unit: str) -> tuple[str, int] | None:
    for kind, table in (("months", MONTH_UNITS), ("days", DAY_UNITS), ("seconds", CLOCK_UNITS)):
        if unit in table:
            return kind, table[unit]
    return None


def _plus(length: Length, size: tuple[str, int], amount: Decimal, asked: Asked) -> Length:
    kind, factor = size
    if kind == "seconds":
        seconds = length.seconds + amount * factor
        if seconds > MAX_YEARS * 366 * 86400:
            raise asked.far()
        return attrs.evolve(length, seconds=seconds)
    if amount != int(amount):
        raise _fraction_error(asked)
    if kind == "days":
        return attrs.evolve(length, days=length.days + int(amount) * factor)
    return attrs.evolve(length, months=length.months + int(amount) * factor)


def _fraction_error(asked: Asked) -> PhraseError:
    instead = asked.word("`en 36 horas`", "`in 36 hours`")
    return asked.error("phrase_fraction", text=asked.said, instead=instead)


def _amount(words: Words) -> Decimal | None:
    for sequence, value in _FRACTIONS:
        if words.take(*sequence):
            return value
    start = words.at
    if words.take_any(*_COUPLE):
        return Decimal(2)
    if words.peek() in _WRITTEN:
        return _WRITTEN[(words.match(r".*") or [""])[0]]
    amount = words.number()
    if amount is None:
        words.at = start
        return None
    if words.peek() in _WRITTEN:
        return amount + _WRITTEN[(words.match(r".*") or [""])[0]]
    for sequence, value in _TAILS:
        unit = words.peek(len(sequence)) or ""
        if _size(unit) and words.take(*sequence):
            return amount + value
    return amount


def _tail(words: Words) -> Decimal:
    """What follows a unit: `una hora y media`, `an hour and a half`, `2 horas y cuarto`."""
    for sequence, value in _TAILS:
        following = words.peek(len(sequence))
        if (
            _size(following or "") is None
            and following not in ("de", "of")
            and words.take(*sequence)
        ):
            return value
    return Decimal(0)
