"""Pure: on which days something comes back, as the words of a phrase say it, and as cron fields.

Words that mean little alone (`cada mes`, `el primer lunes`) are gathered one after another; only
together they make a rhythm.
"""

from __future__ import annotations

import attrs

from cronactor.dayparts import Part, take_plural_part
from cronactor.lexicon import WEEKDAYS, Words
from cronactor.monthdays import read_day_of_year, read_month_day
from cronactor.numerals import ORDINALS
from cronactor.rhythm_words import OF_MONTH, UNIT_PHRASES, WEEKDAY_NAMES, WEEKEND_NAMES
from cronactor.weekdays import number_is_day

__all__ = ["Rhythm", "read_rhythm"]

LAST = -1


@attrs.frozen
class Rhythm:
    """What was said so far of the days. `repeats`: by `cada`, `every`, or a plural.

    `unit` day, week, month or year; one of: `weekdays` (Monday 0), `nth` of that weekday (LAST: the
    last), `monthdays` (LAST: the last), `date` (month, day).
    """

    repeats: bool = False
    unit: str = ""
    weekdays: tuple[int, ...] = ()
    nth: int = 0
    monthdays: tuple[int, ...] = ()
    date: tuple[int, int] | None = None
    part: Part | None = None

    @property
    def detailed(self) -> bool:
        """True when it says which days of the unit are meant."""
        return bool(self.weekdays or self.monthdays or self.date)

    @property
    def _in_a_row(self) -> bool:
        """True for `de lunes a viernes`, which may follow `todos los días`."""
        pairs = zip(self.weekdays, self.weekdays[1:], strict=False)
        return len(self.weekdays) > 1 and all((b - a) % 7 == 1 for a, b in pairs)

    def fields(self) -> str | None:
        """Return the cron fields day, month and day of week; None when the words do not fit."""
        if self.date is not None:
            fits = self.unit in ("", "year")
            return f"{self.date[1]} {self.date[0]} *" if fits else None
        if self.monthdays:
            days = ",".join("L" if day == LAST else str(day) for day in sorted(self.monthdays))
            return f"{days} * *" if self.unit in ("", "month") else None
        if self.nth:
            day = _cron_day(self.weekdays[0])
            dow = f"L{day}" if self.nth == LAST else f"{day}#{self.nth}"
            fits = self.unit == "month" or (not self.unit and self.nth in (1, LAST))
            return f"* * {dow}" if fits else None
        if self.weekdays:
            fits = self.unit in ("", "week") or (self.unit == "day" and self._in_a_row)
            return f"* * {_days(self.weekdays)}" if fits else None
        return "* * *" if self.unit == "day" else None


def _cron_day(index: int) -> int:
    return (index + 1) % 7


def _days(weekdays: tuple[int, ...]) -> str:
    days = sorted({_cron_day(index) for index in weekdays})
    if len(days) > 2 and days[-1] - days[0] == len(days) - 1:
        return f"{days[0]}-{days[-1]}"
    return ",".join(map(str, days))


def read_rhythm(words: Words, rhythm: Rhythm) -> Rhythm | None:
    """Read one piece more; None, with nothing read, when there is none or it does not fit."""
    start = words.at
    for reader in (_whole, _unit, _each, _plural, _range, _nth, _date, _single_days, _month_days):
        found = reader(words, rhythm)
        if found is not None:
            return found
        words.at = start
    return None


def _whole(words: Words, rhythm: Rhythm) -> Rhythm | None:
    """`entre semana`, `every weekend`."""
    if rhythm.detailed:
        return None
    if words.take_any(*WEEKDAY_NAMES):
        return attrs.evolve(rhythm, repeats=True, weekdays=(0, 1, 2, 3, 4))
    if words.take_any(*WEEKEND_NAMES):
        return attrs.evolve(rhythm, repeats=True, weekdays=(5, 6))
    return None


def _unit(words: Words, rhythm: Rhythm) -> Rhythm | None:
    """`cada mes`, `every year`, `daily`."""
    if (rhythm.nth or rhythm.monthdays) and not rhythm.unit and words.take_any(*OF_MONTH):
        return attrs.evolve(rhythm, unit="month")
    if rhythm.unit and (rhythm.repeats or rhythm.unit != "month"):
        return None
    for sequence, unit in UNIT_PHRASES:
        if rhythm.unit in ("", unit) and words.take(*sequence):
            day_named = words.peek(-1) in ("dia", "dias") and unit == "day"
            if day_named and _number_after(words):
                return None
            return attrs.evolve(rhythm, unit=unit, repeats=True)
    return None


def _number_after(words: Words) -> bool:
    """`cada día 15` is a day of the month, `cada día 9 de la noche` a time."""
    start = words.at
    found = words.match(r"\d{1,2}") and number_is_day(words)
    words.at = start
    return bool(found)


_EACH = (("a", "cada"), ("cada",), ("every",), ("each",), ("todos", "los"), ("todas", "las"))


def _each(words: Words, rhythm: Rhythm) -> Rhythm | None:
    """`cada` and what it counts: `cada lunes`, `every night`, `todos los 24 de diciembre`."""
    if not words.take_any(*_EACH) or rhythm.detailed:
        return None
    part = take_plural_part(words, every=True) if not rhythm.unit else None
    if part is not None:
        return attrs.evolve(rhythm, repeats=True, unit="day", part=part)
    words.take_any(("dia",), ("dias",))
    said = attrs.evolve(rhythm, repeats=True)
    return (
        _nth(words, said)
        or _date(words, said)
        or _days_of_week(words, said)
        or _days_of_month(words, said, named=words.peek(-1) in ("dia", "dias"))
    )


def _plural(words: Words, rhythm: Rhythm) -> Rhythm | None:
    """`los lunes`, `on mondays and thursdays`."""
    if rhythm.detailed:
        return None
    article = words.take("los")
    words.take("on")
    plural = (words.peek() or "").endswith(("days", "sabados", "domingos"))
    if not (article or plural):
        return None
    return _days_of_week(words, attrs.evolve(rhythm, repeats=True))


def _range(words: Words, rhythm: Rhythm) -> Rhythm | None:
    """`de lunes a viernes`, `monday to friday`, `mon-fri`."""
    words.take_any(("de",), ("from",), ("desde", "el"), ("del",))
    first = words.one_of(WEEKDAYS)
    to = words.take_any(("a",), ("to",), ("through",), ("thru",), ("-",), ("hasta", "el"), ("al",))
    last = words.one_of(WEEKDAYS)
    if first is None or not to or last is None or first == last or rhythm.detailed:
        return None
    days = tuple((first + n) % 7 for n in range((last - first) % 7 + 1))
    return attrs.evolve(rhythm, repeats=True, weekdays=days)


_LAST = (("ultimo",), ("ultima",), ("last",))


def _nth(words: Words, rhythm: Rhythm) -> Rhythm | None:
    """`el primer lunes`, `the last friday`, `el último día`."""
    if rhythm.detailed:
        return None
    words.take_any(("el",), ("los",), ("on", "the"), ("the",), ("on",))
    start = words.at
    nth = LAST if words.take_any(*_LAST) else words.ordinal() if _ordinal_ahead(words) else None
    if nth is None:
        return None
    if words.take_any(("dia",), ("day",)) and nth in (1, LAST):
        return attrs.evolve(rhythm, monthdays=(nth,))
    index = words.one_of(WEEKDAYS)
    if index is None or not (nth == LAST or 1 <= nth <= 5) or words.at == start:
        return None
    return attrs.evolve(rhythm, weekdays=(index,), nth=nth)


def _ordinal_ahead(words: Words) -> bool:
    return words.peek() in ORDINALS or (words.peek() or "").isdigit()


_MANY = 3
"""So many bare days of the week are a habit: `lunes, miércoles y viernes a las 19:00`."""


def _single_days(words: Words, rhythm: Rhythm) -> Rhythm | None:
    """`el lunes`, as in `cada semana el lunes`."""
    if rhythm.detailed:
        return None
    article = words.take_any(("el",), ("on",), ("los",))
    found = _days_of_week(words, rhythm)
    if found is None or article or len(found.weekdays) < _MANY:
        return found
    return attrs.evolve(found, repeats=True)


_AND = (("y",), ("e",), ("and",), (",", "y"), (",", "and"), (",",))


def _days_of_week(words: Words, rhythm: Rhythm) -> Rhythm | None:
    first = words.one_of(WEEKDAYS)
    if first is None:
        return None
    days = [first]
    end = words.at
    while words.take_any(*_AND):
        words.take_any(("el",), ("los",), ("cada",), ("every",), ("on",), ("todos", "los"))
        more = words.one_of(WEEKDAYS)
        if more is None:
            break
        days.append(more)
        end = words.at
    words.at = end
    return attrs.evolve(rhythm, weekdays=tuple(days)) if len(set(days)) == len(days) else None


def _month_days(words: Words, rhythm: Rhythm) -> Rhythm | None:
    """`el 15`, `los días 1 y 15`, `on the 1st and the 15th`."""
    if rhythm.detailed:
        return None
    named = words.take_any(("los", "dias"), ("los",))
    return _days_of_month(words, rhythm, named=named)


def _days_of_month(words: Words, rhythm: Rhythm, *, named: bool) -> Rhythm | None:
    days: list[int] = []
    end = words.at
    while True:
        day = read_month_day(words)
        if day is None and (named or days):
            day = words.whole()
            day = day if number_is_day(words) or words.peek() in ("y", "de", "del") else None
        if day is None or not 1 <= day <= 31:
            break
        days.append(day)
        end = words.at
        if not words.take_any(*_AND):
            break
    words.at = end
    fits = days and len(set(days)) == len(days)
    return attrs.evolve(rhythm, monthdays=tuple(days)) if fits else None


def _date(words: Words, rhythm: Rhythm) -> Rhythm | None:
    """`el 24 de diciembre`, `december 24th`."""
    found = None if rhythm.detailed else read_day_of_year(words)
    return None if found is None else attrs.evolve(rhythm, date=found)
