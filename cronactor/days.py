"""Pure: what a named day is: a date, a day of the week, of the month or of the year.

A `Day` says at which instant it shows a time of day; which of several dates it is may depend on
that time. What could be two dates is an error that names both.
"""

from __future__ import annotations

import calendar
from datetime import date, timedelta
from typing import Literal

import attrs

from cronactor.asked import Asked, At, clock_text
from cronactor.clocktime import Clock
from cronactor.texts import PhraseError

__all__ = ["Day", "MonthDay", "OnDate", "Weekday", "YearDay", "agreed", "which_half"]

EARLIEST = 7
"""`mañana a las 9` is taken for the morning; who says `a las 5` may well mean the afternoon."""

_RECENT = timedelta(days=31)
"""A date without a year that was over so recently is rather a slip than meant for next year."""


@attrs.frozen
class OnDate:
    """One date. `today`: it was named as the present day."""

    date: date
    today: bool = False

    def at(self, asked: Asked, clock: Clock) -> At:
        """Return the instant. Raises PhraseError when it is over."""
        when = asked.at(self.date, clock)
        if when.instant > asked.now:
            return when
        later = attrs.evolve(clock, hour=clock.hour + 12) if clock.coarse else clock
        if self.today and asked.at(self.date, later).instant > asked.now:
            raise asked.past(when.instant, f"{asked.word('hoy a las', 'today at')} {_hour(later)}")
        raise asked.past(when.instant, f"{asked.today + timedelta(days=1)} 09:00")


@attrs.frozen
class Weekday:
    """A day of the week, Monday 0: the `next` one after today, `this` coming one, or just so."""

    index: int
    which: Literal["", "this", "next"] = ""

    def at(self, asked: Asked, clock: Clock) -> At:
        """Return the instant. Raises PhraseError for today's own name with a time to come."""
        ahead = (self.index - asked.today.weekday()) % 7
        today, later = (asked.today + timedelta(days=days) for days in (0, ahead or 7))
        if ahead or self.which == "next":
            return asked.at(later, clock)
        if self.which == "this":
            return OnDate(today, today=True).at(asked, clock)
        possible = _still_today(asked, clock)
        if possible is not None:
            shown = clock_text(possible)
            raise asked.either(f"{today} {shown}", f"{later} {clock_text(clock)}")
        return asked.at(later, clock)


@attrs.frozen
class MonthDay:
    """A day of the month: the next one, or that of the month so many months ahead."""

    day: int
    months: int | None = None

    def at(self, asked: Asked, clock: Clock) -> At:
        """Return the instant. Raises PhraseError when the month has no such day, or it is over."""
        if not 1 <= self.day <= 31:
            raise asked.error("phrase_impossible", said=f"`{asked.said}`")
        if self.months is not None:
            return OnDate(self._in_month(asked, self.months, clock)).at(asked, clock)
        if self.day > asked.today.day:
            return asked.at(self._in_month(asked, 0, clock), clock)
        possible = _still_today(asked, clock) if self.day == asked.today.day else None
        if possible == clock:
            return asked.at(asked.today, clock)
        day = self._in_month(asked, 1, clock)
        if possible is not None:
            shown = clock_text(possible)
            raise asked.either(f"{asked.today} {shown}", f"{day} {clock_text(clock)}")
        return asked.at(day, clock)

    def _in_month(self, asked: Asked, months: int, clock: Clock) -> date:
        total = asked.today.year * 12 + asked.today.month - 1 + months
        year, month = total // 12, total % 12 + 1
        if self.day <= calendar.monthrange(year, month)[1]:
            return date(year, month, self.day)
        total += 1
        instead = date(total // 12, total % 12 + 1, self.day)
        missing = f"`{year}-{month:02}-{self.day:02}`"
        suggested = f"`{instead} {clock_text(clock)}`"
        raise asked.error("phrase_short_month", missing=missing, instead=suggested)


@attrs.frozen
class YearDay:
    """A day of the year without the year: the next one, unless it was over only just now."""

    month: int
    day: int

    def at(self, asked: Asked, clock: Clock) -> At:
        """Return the instant. Raises PhraseError when there is no such day, or it is just over."""
        year = asked.today.year
        try:
            this, following = (date(year + n, self.month, self.day) for n in (0, 1))
        except ValueError:
            raise asked.error("phrase_impossible", said=f"`{asked.said}`") from None
        when = asked.at(this, clock)
        if when.instant > asked.now:
            return when
        if asked.today - this <= _RECENT:
            raise asked.past(when.instant, f"{following} {clock_text(clock)}")
        return asked.at(following, clock)


Day = OnDate | Weekday | MonthDay | YearDay


def agreed(asked: Asked, days: list[Day], clock: Clock) -> At:
    """Return the instant on the day that all of these name. Raises PhraseError when they differ."""
    if clock.midnight:
        raise asked.error("phrase_midnight")
    if clock.coarse and clock.hour < EARLIEST:
        raise which_half(asked, clock)
    dated = [day for day in days if not isinstance(day, Weekday)] or days
    found = [day.at(asked, clock) for day in dated]
    on = date.fromisoformat((found[0].wall or "")[:10])
    for day in days:
        if isinstance(day, Weekday) and day.index != on.weekday():
            raise _not_that_day(asked, on, day.index)
        if isinstance(day, Weekday) and day.which == "this" and (on - asked.today).days > 6:
            raise asked.error("phrase_days_differ", text=asked.said)
    if any(other != found[0] for other in found):
        raise asked.error("phrase_days_differ", text=asked.said)
    return found[0]


def _still_today(asked: Asked, clock: Clock) -> Clock | None:
    """The time of day, or its other half, if it is still to come today."""
    late = attrs.evolve(clock, hour=clock.hour + 12) if clock.coarse else clock
    possible = (clock, late)
    return next((c for c in possible if asked.at(asked.today, c).instant > asked.now), None)


def which_half(asked: Asked, clock: Clock) -> PhraseError:
    """Return the error for an hour that may be in the morning or in the evening."""
    early, late = clock_text(clock), _hour(attrs.evolve(clock, hour=clock.hour + 12))
    return asked.error("phrase_hour", hour=clock.hour, morning=f"`{early}`", evening=f"`{late}`")


def _hour(clock: Clock) -> str:
    return f"{clock.hour}:{clock.minute:02}"


def _not_that_day(asked: Asked, on: date, index: int) -> PhraseError:
    spanish = ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo")
    names = calendar.day_name if asked.locale == "en" else spanish
    return asked.error(
        "phrase_weekday", date=f"`{on}`", real=names[on.weekday()], said=names[index]
    )
