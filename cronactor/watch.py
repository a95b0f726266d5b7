"""Watching over time itself: a wall clock set back, and what should have been taken up by now."""

from __future__ import annotations

import attrs
import structlog
import trio

from channels.clock import WallClock
from cronactor.agenda import Agenda
from cronactor.health import OVERDUE, Health
from cronactor.jobs import Job, Schedule, wake_at
from cronactor.spoken import describe, duration
from cronactor.store import ReminderStore

__all__ = ["Watch"]

log = structlog.get_logger()

STEP = 60.0
"""Seconds by which the wall clock must differ from elapsed time to be worth a word."""
REMEMBERED = 86400.0
_LISTED = 100


@attrs.define(eq=False)
class Watch:
    """Keeps `health` up to date. `timezone` is the one in which the clock is read aloud."""

    store: ReminderStore
    agenda: Agenda[Job]
    clock: WallClock
    health: Health
    epoch: str
    timezone: str
    _last: tuple[float, float] | None = attrs.field(init=False, default=None)
    _until: float = attrs.field(init=False, default=float("-inf"))
    _suspects: frozenset[str] = attrs.field(init=False, default=frozenset())

    async def recall(self) -> None:
        """Notice a clock that was set back while nothing ran: the ledger has seen a later one."""
        self.health.overdue = ()
        newest = await self.store.ledger.newest()
        if newest is not None and newest > self.clock.now() + STEP:
            self._stepped_back(newest)

    def tick(self) -> None:
        """Compare the wall clock with elapsed time since the last call."""
        now, elapsed = self.clock.now(), trio.current_time()
        if self._last is not None:
            expected = self._last[0] + elapsed - self._last[1]
            if now < expected - STEP:
                self._stepped_back(expected)
            elif now > expected + STEP:
                log.warning("clock_jumped_ahead", seconds=round(now - expected, 3))
        self._last = (now, elapsed)
        if now >= self._until:
            self.health.stepped_back, self.health.speaks_next = "", {}

    def _stepped_back(self, before: float) -> None:
        now = self.clock.now()
        self._until = max(self._until, before)
        step = duration(before - now, "en")
        then = describe(before, self.timezone, "en")
        self.health.stepped_back = (
            f"the wall clock stepped back by {step}, from {then}: nothing is said twice"
        )
        self.health.speaks_next = self._next()
        seconds = round(before - now, 3)
        log.warning("clock_stepped_back", seconds=seconds, next=dict(self.health.speaks_next))

    def _next(self) -> dict[str, str]:
        found = []
        for id, at in self.agenda.scheduled():
            job = self.agenda.get(id)
            if isinstance(job, Schedule) or (job is not None and not job.one_shot):
                found.append((at, id, job.timezone))
        return {id: describe(at, zone, "en") for at, id, zone in sorted(found)[:_LISTED]}

    @property
    def suspicious(self) -> bool:
        """True when the last look found something overdue: look again soon."""
        return bool(self._suspects)

    async def look(self) -> None:
        """Name what is active and long overdue, and was so the last time too: nobody takes it up.

        Forgets, after a day, the failures of what is gone.
        """
        late = await self._overdue(self.clock.now() - OVERDUE)
        found = tuple(id for id in late if id in self._suspects)
        if found and not self.health.overdue:
            log.error("schedules_overdue", ids=found[:10])
        self.health.overdue = found[:10]
        self._suspects = frozenset(late)
        if self.health.stepped_back:
            self.health.speaks_next = self._next()
        self.health.forget(self.agenda, self.clock.now() - REMEMBERED)

    async def _overdue(self, before: float) -> list[str]:
        late = list(await self.store.overdue(before))
        for schedule in await self.store.schedules(epoch=self.epoch):
            due = schedule.next_due
            if due is not None and due < before and wake_at(schedule, due) < before:
                late.append(schedule.id)
        return late
