"""Pure: when a reminder is to speak, from what was asked for: checked, with its first instant."""

from __future__ import annotations

from itertools import islice, pairwise

import attrs

from cronactor.interval import next_interval
from cronactor.jobs import times_of
from cronactor.phrases import MAX_YEARS, At, Cron, Every, When, parse
from cronactor.reminder import Reminder
from cronactor.schedule import fires, next_fire, parse_cron
from cronactor.spoken import duration
from cronactor.texts import Explained

__all__ = ["Timing", "following", "read", "timed"]

_COMPARED = 5
_LONGEST = MAX_YEARS * 366 * 86400.0


@attrs.frozen
class Timing:
    """When something first speaks and how it recurs; `shift` is `gap` or `fold` if clocks change.

    Instants are seconds since the epoch, `every` is in seconds.
    """

    next_due: float
    shift: str = ""
    cron: str | None = None
    wall: str | None = None
    every: float | None = None
    anchor: float | None = None

    def of(self, reminder: Reminder, zone: str) -> Reminder:
        """Return the reminder with these times, read in `zone`."""
        return attrs.evolve(
            reminder,
            timezone=zone,
            next_due=self.next_due,
            cron=self.cron,
            wall=self.wall,
            every=self.every,
            anchor=self.anchor,
        )


def read(when: str | When, received_at: float, zone: str, locale: str) -> When:
    """Return what was asked for, read if it is text. Raises PhraseError, CronError, ZoneError."""
    return parse(when, received_at, zone, locale) if isinstance(when, str) else when


def timed(
    when: When, *, received_at: float, now: float, zone: str, locale: str, min_interval: float
) -> Timing:
    """Return when that is. A one-off time and an interval count from `received_at`.

    Raises Explained for what has passed, is too far away, or recurs more often than every
    `min_interval` seconds.
    """
    match when:
        case At():
            if not when.instant > received_at:
                raise Explained("due_past", locale)
            _check_near(when.instant - received_at, locale)
            return Timing(when.instant, when.shift, wall=when.wall)
        case Cron():
            expr = parse_cron(when.expr).text
            _check_cron(expr, zone, now, min_interval, locale)
            return Timing(next_fire(expr, zone, now), cron=expr)
        case Every():
            if not when.seconds >= min_interval:
                minimum = duration(min_interval, locale)
                every = duration(when.seconds, locale) if when.seconds > 0 else "0 s"
                raise Explained("every_too_often", locale, every=every, minimum=minimum)
            _check_near(when.seconds, locale)
            due = next_interval(received_at, when.seconds, max(now, received_at))
            return Timing(due, every=when.seconds, anchor=received_at)


def following(reminder: Reminder, now: float) -> float | None:
    """Return when a reminder that was paused speaks next after `now`; None: its time has passed."""
    times = times_of(reminder)
    if times is not None:
        return next(times(now))
    due = reminder.next_due
    return due if due is not None and due > now else None


def _check_near(seconds: float, locale: str) -> None:
    if not seconds <= _LONGEST:
        raise Explained("phrase_far", locale, years=MAX_YEARS)


def _check_cron(expr: str, zone: str, now: float, min_interval: float, locale: str) -> None:
    instants = islice(fires(expr, zone, now), _COMPARED)
    least = min(later - sooner for sooner, later in pairwise(instants))
    if least < min_interval:
        every, minimum = duration(least, locale), duration(min_interval, locale)
        raise Explained("too_often", locale, expr=expr, every=every, minimum=minimum)
