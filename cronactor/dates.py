"""Pure: which day a phrase names: `mañana`, `el viernes que viene`, `10/04/2026`, `the 15th`."""

from __future__ import annotations

import re
from datetime import date, timedelta

import attrs

from cronactor.asked import Asked
from cronactor.dayparts import Part
from cronactor.days import Day, MonthDay, OnDate, YearDay
from cronactor.elapsed import Length, later_date, read_ahead, read_length
from cronactor.lexicon import DAY_WORDS, Words
from cronactor.monthdays import ARTICLES, read_day_of_year, read_month_day
from cronactor.weekdays import read_weekday, refuse_vague

__all__ = ["NamedDay", "read_day"]


@attrs.frozen
class NamedDay:
    """A day and the part of it, if its name holds one: `esta noche`."""

    day: Day
    part: Part | None = None


def read_day(words: Words, asked: Asked, *, first: bool = False) -> list[NamedDay]:
    """Read the name of a day, which may hold two: `viernes 10`. Empty, with nothing read: none.

    `first`: nothing was said before, so that it cannot be `del viernes`.
    """
    start = words.at
    words.take_any(("para",), ("for",))
    if not first:
        words.take_any(("de",), ("del",), ("of",))
    named = _this_part(words, asked)
    if named is not None:
        return [named]
    for reader in (_today, _ahead, _iso, _numeric, _calendar):
        day = reader(words, asked)
        if day is not None:
            return [NamedDay(day)]
    days = [NamedDay(day) for day in read_weekday(words, asked)]
    if not days:
        words.at = start
        refuse_vague(words, asked)
    return days


_TODAY_PARTS = (
    (("esta", "manana"), "morning"),
    (("esta", "tarde"), "afternoon"),
    (("esta", "noche"), "night"),
    (("esta", "madrugada"), "small"),
    (("this", "morning"), "morning"),
    (("this", "afternoon"), "afternoon"),
    (("this", "evening"), "evening"),
    (("tonight",), "night"),
)


def _this_part(words: Words, asked: Asked) -> NamedDay | None:
    for sequence, part in _TODAY_PARTS:
        if words.take(*sequence):
            return NamedDay(OnDate(asked.today, today=True), Part(part, " ".join(sequence)))
    return None


def _today(words: Words, asked: Asked) -> Day | None:
    for sequence, ahead in DAY_WORDS:
        if words.take(*sequence):
            return OnDate(asked.today + timedelta(days=ahead), today=ahead == 0)
    return None


def _ahead(words: Words, asked: Asked) -> Day | None:
    """`en 3 días`, `a week from tomorrow`, as the day of a time of day that is said too."""
    start = words.at
    length = read_ahead(words, asked) or _counted_from(words, asked)
    if length is None or not length.whole_days:
        words.at = start
        return None
    return OnDate(later_date(asked, length))


_FROM = {"hoy": 0, "today": 0, "manana": 1, "tomorrow": 1}


def _counted_from(words: Words, asked: Asked) -> Length | None:
    """`a week from today`, `de hoy en una semana`; `de hoy en ocho días` is seven, to some."""
    start = words.at
    spanish = words.at == 0 and words.take("de")
    offset = words.one_of(_FROM) if spanish and words.peek(1) == "en" else None
    length = read_length(words, asked) if not spanish or words.take("en") else None
    if not spanish and length is not None and words.take("from"):
        offset = words.one_of(_FROM)
    if offset is None or length is None or (spanish and length.days in (8, 15)):
        words.at = start
        return None
    return attrs.evolve(length, days=length.days + offset)


def _date(asked: Asked, said: str, year: int, month: int, day: int) -> Day:
    try:
        return OnDate(date(year, month, day))
    except ValueError:
        raise asked.error("phrase_impossible", said=f"`{said}`") from None


def _iso(words: Words, asked: Asked) -> Day | None:
    start = words.at
    words.take_any(*ARTICLES)
    found = words.match(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
    if found is None:
        words.at = start
        return None
    words.take("t")
    return _date(asked, found[0], int(found[1]), int(found[2]), int(found[3]))


_NUMERIC = re.compile(r"(\d{1,2})([/.-])(\d{1,2})(?:\2(\d{4}|\d{2}))?")


def _numeric(words: Words, asked: Asked) -> Day | None:
    """`10/04/2026`, `10-04-2026`, `10.04.2026`, `10/4`: the day stands first."""
    start = words.at
    words.take_any(*ARTICLES)
    found = _NUMERIC.fullmatch(words.peek() or "")
    if found is None or (found[2] != "/" and len(found[4] or "") != 4):
        words.at = start
        return None
    words.at += 1
    day, month, year = int(found[1]), int(found[3]), found[4]
    if month > 12 >= day:
        instead = f"`{month}/{day:02}" + (f"/{year}`" if year else "`")
        raise asked.error("phrase_day_first", said=f"`{found[0]}`", instead=instead)
    if year is None:
        return _day_of_year(asked, found[0], month, day)
    return _date(asked, found[0], int(year) + (2000 if len(year) == 2 else 0), month, day)


def _day_of_year(asked: Asked, said: str, month: int, day: int) -> Day:
    _date(asked, said, 2024, month, day)
    return YearDay(month, day)


def _calendar(words: Words, asked: Asked) -> Day | None:
    """`el 10 de abril de 2027`, `april 10th`, `the 15th`, `el día 15 del mes que viene`."""
    start = words.at
    found = read_day_of_year(words)
    if found is None:
        return _of_month(words)
    said = words.since(start)
    year = _year(words, asked)
    if year is None:
        return _day_of_year(asked, said, *found)
    return _date(asked, words.since(start), year, *found)


def _of_month(words: Words) -> Day | None:
    start = words.at
    months = 1 if words.take_any(*_NEXT_MONTH) else None
    words.take(",") if months else None
    day = read_month_day(words)
    if day is None:
        words.at = start
        return None
    if months is None and words.take_any(("de", "este", "mes"), ("of", "this", "month")):
        return MonthDay(day, 0)
    link = words.at
    words.take_any(("de",), ("del",), ("of",))
    if months is None and words.take_any(*_NEXT_MONTH):
        return MonthDay(day, 1)
    words.at = link
    return MonthDay(day, months)


_NEXT_MONTH = (
    ("el", "proximo", "mes"),
    ("proximo", "mes"),
    ("el", "mes", "que", "viene"),
    ("mes", "que", "viene"),
    ("el", "mes", "proximo"),
    ("next", "month"),
)


def _year(words: Words, asked: Asked) -> int | None:
    start = words.at
    link = words.take_any(("de",), ("del",), ("of",), (",",), ("del", "ano"), ("de", "ano"))
    words.take("ano") if link else None
    if words.take_any(("este", "ano"), ("this", "year")):
        return asked.today.year
    if words.take_any(("que", "viene"), ("ano", "que", "viene"), ("next", "year")):
        return asked.today.year + 1
    if words.take_any(("proximo", "ano")):
        return asked.today.year + 1
    found = words.match(r"\d{4}")
    if found is None:
        words.at = start
        return None
    return int(found[0])
