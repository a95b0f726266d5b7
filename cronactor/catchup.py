"""Pure: what to do about something that is due, on time or late: fire, or record as missed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice, takewhile
from typing import Literal

import attrs

from cronactor.recurrence import Times
from cronactor.spoken import duration

__all__ = [
    "DOWN",
    "ONCE_WINDOW",
    "PUNCTUAL",
    "REMINDERS",
    "CatchUp",
    "LateOneShots",
    "Missed",
    "Plan",
    "plan_once",
    "plan_recurring",
]

LateOneShots = Literal["deliver", "discard"]

ONCE_WINDOW = 24 * 3600.0
"""A reminder later than this is missed."""
PUNCTUAL = 60.0
"""Not late at all: a timer, a restart or a short suspend may cost this much."""
DOWN = "nothing was running at that time"
_COUNTED = 5001


@attrs.frozen
class CatchUp:
    """How times that passed are made up for: the newest, or up to `limit`, within `window` seconds.

    `skip` makes up for nothing that is late.
    """

    policy: Literal["skip", "latest", "all"] = "latest"
    window: float = 300.0
    limit: int = 10

    @property
    def most(self) -> int:
        """How many may fire at once."""
        return self.limit if self.policy == "all" else 1

    @property
    def patience(self) -> float:
        """How late, in seconds, one may be and still fire."""
        return PUNCTUAL if self.policy == "skip" else max(self.window, PUNCTUAL)


REMINDERS = CatchUp("latest", ONCE_WINDOW)
"""How a recurring reminder catches up."""


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
    """`fires`: the scheduled instants to run now. `next_due`: what comes after, if any."""

    fires: tuple[float, ...]
    missed: Missed | None
    next_due: float | None


def plan_once(due: float, now: float, late: LateOneShots) -> Plan:
    """Plan a one-shot that is due: deliver it within 24 h, or at once only (`discard`)."""
    lateness = now - due
    if lateness <= (ONCE_WINDOW if late == "deliver" else PUNCTUAL):
        return Plan((due,), None, None)
    return Plan((), Missed(due, due, 1, f"late by {duration(lateness, 'en')}"), None)


def plan_recurring(
    times: Times,
    due: float,
    now: float,
    catch_up: CatchUp,
    wake: Callable[[float], float] = lambda at: at,
    reason: str = DOWN,
) -> Plan:
    """Plan a recurring schedule whose instant `due` has come; the next is computed from `due`.

    `wake` tells when an occurrence is really to be run (its jitter): before the next one. `reason`
    is why times were missed. Raises what `times` raises for a schedule that should never have been
    accepted.
    """
    recent: deque[float] = deque(maxlen=catch_up.most + 1)
    count, at = 0, due
    for upcoming in islice(times(due), _COUNTED):
        if wake(at) > now:
            return _plan(due, recent, count, now, at, catch_up, wake, reason)
        recent.append(at)
        count, at = count + 1, upcoming
    found, at = _newest(times, due, now, catch_up.most + 1, wake)
    plan = _plan(due, found, count, now, at, catch_up, wake, reason)
    return plan if plan.missed is None else _uncounted(plan)


def _uncounted(plan: Plan) -> Plan:
    assert plan.missed is not None
    return attrs.evolve(plan, missed=attrs.evolve(plan.missed, counted=False))


def _newest(
    times: Times, due: float, now: float, most: int, wake: Callable[[float], float]
) -> tuple[Sequence[float], float]:
    """The last `most` instants that have come, by looking back over doubling spans; and the next.

    There were thousands of them since `due`, so that there are `most` to be found.
    """
    span = 3600.0
    while True:
        since = max(due, now - span)
        found = deque(takewhile(lambda at: at <= now, times(since)), maxlen=most + 1)
        if len(found) > most or since == due:
            break
        span *= 2
    upcoming = next(times(now))
    if found and wake(found[-1]) > now:
        upcoming = found.pop()
    return list(found)[-most:], upcoming


def _plan(
    first: float,
    recent: Sequence[float],
    count: int,
    now: float,
    upcoming: float,
    catch_up: CatchUp,
    wake: Callable[[float], float],
    reason: str,
) -> Plan:
    """`recent`: the newest instants that have come, one more than may fire."""
    known = list(recent)
    fires = [at for at in known[-catch_up.most :] if now - wake(at) <= catch_up.patience]
    if len(fires) == count:
        return Plan(tuple(fires), None, upcoming)
    last = known[-len(fires) - 1]
    return Plan(tuple(fires), Missed(first, last, count - len(fires), reason), upcoming)
