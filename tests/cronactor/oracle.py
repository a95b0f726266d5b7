"""Debian's cron, told again from its manual page and main loop: every minute is looked at.

Nothing here knows croniter or `cronactor`. Minutes are numbers: since the epoch for instants, since
1970-01-01 00:00 of the wall clock for local ones.
"""

from __future__ import annotations

import calendar
from bisect import bisect_left
from collections.abc import Callable, Iterator
from datetime import date, datetime
from functools import cache, lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

__all__ = ["Expression", "expression", "fires_between", "first_fire", "local_minute", "turns"]

DAY = 1440
EPOCH = date(1970, 1, 1).toordinal()
SHORTHANDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
DayRule = Callable[[date], bool]


class Expression:
    """One cron expression: which minutes of a day, which days, and whether it is a wildcard job."""

    def __init__(self, text: str) -> None:
        text = " ".join(text.lower().split())
        minute, hour, dom, month, dow = SHORTHANDS.get(text, text).split()
        self.wild = minute[0] == "*" or hour[0] == "*"
        self.minutes = bytearray(DAY)
        for h in _numbers(hour, 0, 23):
            for m in _numbers(minute, 0, 59):
                self.minutes[h * 60 + m] = 1
        self._months = _numbers(month, 1, 12, MONTHS, 1)
        self._rules = (_day_of_month(dom), _day_of_week(dow))
        self._both = dom[0] == "*" or dow[0] == "*"
        self._days: dict[int, bool] = {}

    def on_day(self, day: int) -> bool:
        known = self._days.get(day)
        if known is None:
            when = date.fromordinal(EPOCH + day)
            first, second = self._rules
            either = first(when) and second(when) if self._both else first(when) or second(when)
            known = self._days[day] = either and when.month in self._months
        return known

    def first_within(self, low: int, high: int) -> int | None:
        """The first matching local minute in [low, high)."""
        for day in range(low // DAY, (high - 1) // DAY + 1):
            if self.on_day(day):
                start = day * DAY
                found = self.minutes.find(1, max(low - start, 0), min(high - start, DAY))
                if found >= 0:
                    return start + found
        return None


@lru_cache(maxsize=64)
def expression(text: str) -> Expression:
    """Read an expression that is known to be one."""
    return Expression(text)


def _numbers(
    text: str, low: int, high: int, names: list[str] | None = None, first: int = 0
) -> set[int]:
    found: set[int] = set()

    def number(word: str) -> int:
        return names.index(word) + first if names and word in names else int(word)

    for part in text.split(","):
        span, _, step = part.partition("/")
        if span == "*":
            begin, end = low, high
        else:
            one, _, other = span.partition("-")
            begin, end = number(one), number(other or one)
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


def _day_of_month(text: str) -> DayRule:
    if text == "l":
        return lambda when: when.day == _length(when)
    if text[-1] == "w":
        return lambda when: when.day == _working_day(when, int(text[:-1]))
    numbers = _numbers(text, 1, 31)
    return lambda when: when.day in numbers


def _day_of_week(text: str) -> DayRule:
    if "#" in text:
        name, _, count = text.partition("#")
        (wanted,) = _numbers(name, 0, 7, WEEKDAYS)
        return lambda when: _weekday(when) == wanted % 7 and (when.day + 6) // 7 == int(count)
    if text[0] == "l" or text[-1] == "l":
        (wanted,) = _numbers(text.strip("l"), 0, 7, WEEKDAYS)
        return lambda when: _weekday(when) == wanted % 7 and when.day + 7 > _length(when)
    numbers = {number % 7 for number in _numbers(text, 0, 7, WEEKDAYS)}
    return lambda when: _weekday(when) in numbers


def _weekday(when: date) -> int:
    return when.isoweekday() % 7


def _length(when: date) -> int:
    return calendar.monthrange(when.year, when.month)[1]


def _working_day(when: date, day: int) -> int | None:
    """The day from Monday to Friday nearest to a day of the month, within that month."""
    if day > _length(when):
        return None
    weekday = when.replace(day=day).weekday()
    if weekday == 5:
        return day - 1 if day > 1 else day + 2
    if weekday == 6:
        return day + 1 if day < _length(when) else day - 2
    return day


# -- the clock ------------------------------------------------------------------------------------


class Changing(NamedTuple):
    """A day near a clock change: which local minute is run when; each is (instant, day, minute)."""

    days: frozenset[int]
    wild: tuple[tuple[int, int, int], ...]
    fixed: tuple[tuple[int, int, int], ...]


@cache
def _zone(name: str) -> ZoneInfo:
    return ZoneInfo(name)


def _offset(zone: str, minute: int) -> int:
    offset = datetime.fromtimestamp(minute * 60, _zone(zone)).utcoffset()
    assert offset is not None
    whole, rest = divmod(offset.days * 86400 + offset.seconds, 60)
    assert rest == 0, "this oracle counts in minutes"
    return whole


def local_minute(zone: str, instant: float) -> int:
    """The wall clock's minute at an instant (seconds)."""
    minute = int(instant // 60)
    return minute + _offset(zone, minute)


@cache
def _day(zone: str, day: int) -> int | Changing:
    """A UTC day: its one offset, or, where a change is near, every minute of it."""
    start = day * DAY
    offsets = {_offset(zone, minute) for minute in (start - 300, start + 700, start + DAY)}
    return offsets.pop() if len(offsets) == 1 else _main_loop(zone, start - 300, start)


def _main_loop(zone: str, begin: int, start: int) -> Changing:
    """Debian's: `virtual` is the last local minute whose fixed jobs have been run."""
    wild, fixed = [], []
    virtual = begin + _offset(zone, begin)
    for instant in range(begin + 1, start + DAY):
        running = instant + _offset(zone, instant)
        ahead = running - virtual
        if ahead > 180:  # a correction
            virtual = running - 1
        assert ahead > -180, "no zone of these tests turns its clock back so far"
        if instant >= start:
            wild.append((instant, *divmod(running, DAY)))
            fixed += [(instant, *divmod(run, DAY)) for run in range(virtual + 1, running + 1)]
        virtual = max(virtual, running)
    days = frozenset(day for _, day, _ in wild + fixed)
    return Changing(days, tuple(wild), tuple(fixed))


@cache
def _same_offset(zone: str, day: int, most: int = 64) -> int:
    """The first UTC day after `day` that is not like it, or the one so many days on."""
    here = _day(zone, day)
    others = (later for later in range(day + 1, day + most) if _day(zone, later) != here)
    return next(others, day + most)


def first_fire(cron: Expression, zone: str, after: float, days: int) -> int | None:
    """The first minute strictly after the instant `after` (seconds), within so many days."""
    begin = int(after // 60) + 1
    day = begin // DAY
    end = day + days
    while day < end:
        known = _day(zone, day)
        if isinstance(known, int):
            upto = _same_offset(zone, day)
            found = cron.first_within(max(begin, day * DAY) + known, upto * DAY + known)
            if found is not None:
                return found - known
            day = upto
        else:
            found = _first_in(cron, known, begin)
            if found is not None:
                return found
            day += 1
    return None


def _first_in(cron: Expression, day: Changing, begin: int) -> int | None:
    if any(cron.on_day(local_day) for local_day in day.days):
        for instant, local_day, minute in day.wild if cron.wild else day.fixed:
            if cron.minutes[minute] and instant >= begin and cron.on_day(local_day):
                return instant
    return None


def fires_between(cron: Expression, zone: str, after: float, until: float) -> Iterator[int]:
    """Every minute in (after, until] (seconds) at which the job is run."""
    days = int((until - after) // 86400) + 2
    while (found := first_fire(cron, zone, after, days)) is not None and found * 60 <= until:
        yield found
        after = found * 60


@cache
def turns(zone: str, first: int, last: int) -> tuple[int, ...]:
    """The minutes at which a zone's clock changes in these years, found by looking every week."""
    week = 7 * DAY
    low = (date(first, 1, 1).toordinal() - EPOCH) * DAY
    high = (date(last + 1, 1, 1).toordinal() - EPOCH) * DAY
    found = []
    for start in range(low, high, week):
        before = _offset(zone, start)
        if _offset(zone, start + week) != before:
            minutes = range(start, start + week)
            found.append(bisect_left(minutes, 1, key=lambda m: _offset(zone, m) != before))
            found[-1] += start
    return tuple(found)
