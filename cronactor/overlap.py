"""Model runs side by side; those of one schedule one after another, unless it allows overlap."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

import attrs
import trio

from cronactor.claims import Claim
from cronactor.jobs import Job, Schedule

__all__ = ["Runs"]

GOING = "overlap: the previous run is still going"
WAITING = "overlap: one run is going and another one waits already"
WAITED = "overlap: waited for the previous run"


@attrs.define(eq=False)
class Runs:
    """What runs now, by schedule, and what waits for it. `ask` makes one run, to its record."""

    ask: Callable[[Claim], Awaitable[None]]
    _going: dict[str, int] = attrs.field(init=False, factory=dict)
    _waiting: dict[str, deque[Claim]] = attrs.field(init=False, factory=dict)

    def busy(self, id: str) -> bool:
        """True while a run of that schedule is going."""
        return id in self._going

    def room(self, job: Job) -> tuple[int | None, str]:
        """How many more runs of a job may begin or wait now (None: any), and why not more."""
        if not isinstance(job, Schedule) or not self.busy(job.id):
            return None, ""
        if job.config.overlap == "allow":
            return None, ""
        if job.config.overlap == "skip":
            return 0, GOING
        return (0, WAITING) if self._waiting.get(job.id) else (1, GOING)

    def begin(self, nursery: trio.Nursery, claims: Iterable[Claim]) -> None:
        """Begin these runs, or have them wait for the one of their schedule that is going."""
        for claim in claims:
            id = claim.job.id
            overlaps = isinstance(claim.job, Schedule) and claim.job.config.overlap == "allow"
            if self.busy(id) and not overlaps:
                waiting = attrs.evolve(claim, note=WAITED)
                self._waiting.setdefault(id, deque()).append(waiting)
                continue
            self._going[id] = self._going.get(id, 0) + 1
            nursery.start_soon(partial(self._run, claim), name=f"scheduler: {claim.id}")

    async def run(self, claim: Claim) -> None:
        """Make one run in the caller's task."""
        self._going[claim.job.id] = self._going.get(claim.job.id, 0) + 1
        await self._run(claim)

    async def _run(self, claim: Claim) -> None:
        id = claim.job.id
        try:
            await self.ask(claim)
            while self._waiting.get(id):
                await self.ask(self._waiting[id].popleft())
        finally:
            self._going[id] -= 1
            if not self._going[id]:
                del self._going[id]
                self._waiting.pop(id, None)
