"""Pure: what to do about something that is due, on time or late: fire, or record as missed."""

from __future__ import annotations

from itertools import islice
from typing import Literal

import attrs

from cronactor.schedule import fires
from cronactor.spoken import duration

__all__ = ["CRON_WINDOW", "ONCE_WINDOW", "LateOneShots", "Missed", "Plan", "plan_cron", "plan_once"]

LateOneShots = Literal["deliver", "discard"]

ONCE_WINDOW = 24 * 3600.0
"""A one-shot later than this is missed."""
CRON_WINDOW = 5 * 60.0
"""A recurring one later than this is missed; of several within it the latest fires."""
PUNCTUAL = 60.0
"""Not late at all: a timer, a restart or a short suspend may cost this much."""
_COUNTED = 5000


@attrs.frozen
class Missed:
    """A run of occurrences not made up for; `count` is a lower bound if `counted` is False."""

    first: float
    last: float
    count: int
    reason: str
    counted: bool = True


@attrs.frozen
class Plan:
    """`fire`: the scheduled instant to run now, if any. `next_due`: what comes after, if any."""

    fire: float | None
    missed: Missed | None
    next_due: float | None


def plan_once(due: float, now: float, late: LateOneShots) -> Plan:
    """Plan a one-shot that is due: deliver it within 24 h, or at once only (`discard`)."""
    lateness = now - due
    if lateness <= (ONCE_WINDOW if late == "deliver" else PUNCTUAL):
        return Plan(due, None, None)
    return Plan(None, Missed(due, due, 1, f"late by {duration(lateness, 'en')}"), None)


def plan_cron(expr: str, zone: str, due: float, now: float) -> Plan:
    """Plan a recurring schedule whose instant `due` has come; the next is computed from `due`.

    Raises CronError and ZoneError for a schedule that should never have been accepted.
    """
    passed, count = (due, due), 1
    for upcoming in islice(fires(expr, zone, due), _COUNTED):
        if upcoming > now:
            return _plan(due, passed, count, now, upcoming, counted=True)
        passed, count = (passed[1], upcoming), count + 1
    passed = _last_two(expr, zone, passed, now)
    return _plan(due, passed, count, now, next(fires(expr, zone, now)), counted=False)


def _last_two(expr: str, zone: str, known: tuple[float, float], now: float) -> tuple[float, float]:
    """The last two instants at or before `now`, found by looking back over doubling spans."""
    span = 3600.0
    while now - span > known[1]:
        found = [at for at in islice(fires(expr, zone, now - span), _COUNTED) if at <= now]
        if len(found) > 1:
            return found[-2], found[-1]
        span *= 2
    return known


def _plan(
    first: float,
    passed: tuple[float, float],
    count: int,
    now: float,
    upcoming: float,
    *,
    counted: bool,
) -> Plan:
    """`passed`: the last two instants that have come, the same one twice if there is only one."""
    before, latest = passed
    reason = "nothing was running at that time"
    if now - latest > CRON_WINDOW:
        return Plan(None, Missed(first, latest, count, reason, counted), upcoming)
    missed = Missed(first, before, count - 1, reason, counted) if count > 1 else None
    return Plan(latest, missed, upcoming)
