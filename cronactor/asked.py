"""Pure: what a phrase may mean, and one phrase with what it is read against."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, time

import attrs

from cronactor.clocktime import Clock
from cronactor.spoken import describe
from cronactor.texts import PhraseError
from cronactor.zones import Shift, get_zone, resolve, wall

__all__ = ["MAX_YEARS", "Asked", "At", "Cron", "Every", "Rule", "When", "clock_text"]

MAX_YEARS = 50


@attrs.frozen
class At:
    """One instant (seconds since the epoch).

    `wall`: the wall time it was said as (naive ISO), None for elapsed time. `shift`: `gap` or
    `fold` when that wall time does not exist, or exists twice.
    """

    instant: float
    wall: str | None = None
    shift: Shift = ""


@attrs.frozen
class Cron:
    """A cron expression, valid."""

    expr: str


@attrs.frozen
class Every:
    """An interval in seconds."""

    seconds: float


When = At | Cron | Every


@attrs.frozen
class Asked:
    """A phrase, normalised and as it was said, with what it is read against."""

    text: str
    said: str
    now: float
    zone: str
    locale: str

    def error(self, key: str, **values: object) -> PhraseError:
        """Return the error `key` in the phrase's locale."""
        return PhraseError(key, self.locale, **values)

    @property
    def today(self) -> date:
        """The date on which the phrase is said, in its zone."""
        return wall(self.now, get_zone(self.zone)).date()

    def at(self, day: date, clock: Clock) -> At:
        """Return the instant at which a clock on the wall shows that day and time."""
        naive = datetime.combine(day, time(clock.hour, clock.minute, clock.second))
        try:
            found = resolve(naive, get_zone(self.zone))
        except (OverflowError, ValueError):
            raise self.far() from None
        return At(found.instant, naive.isoformat(), found.shift)

    def far(self) -> PhraseError:
        """Return the error for what is too many years away."""
        return self.error("phrase_far", years=MAX_YEARS)

    def past(self, instant: float, instead: str) -> PhraseError:
        """Return the error for an instant that is over; `instead` is what to write."""
        return self.error(
            "phrase_past",
            said=describe(instant, self.zone, self.locale),
            now=describe(self.now, self.zone, self.locale),
            instead=f"`{instead}`",
        )

    def either(self, one: str, other: str) -> PhraseError:
        """Return the error for a phrase that may mean two things, each as it would be clear."""
        return self.error("phrase_either", text=self.said, one=f"`{one}`", other=f"`{other}`")

    def word(self, spanish: str, english: str) -> str:
        """Return the words in the phrase's locale."""
        return english if self.locale == "en" else spanish


Rule = Callable[[Asked], When | None]
"""Reads a whole phrase, or steps aside with None."""


def clock_text(clock: Clock) -> str:
    """Return a time of day as it is written on the 24 hour clock."""
    return f"{clock.hour:02}:{clock.minute:02}" + (f":{clock.second:02}" if clock.second else "")
