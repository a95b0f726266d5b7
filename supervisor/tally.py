"""The tally: counts what the actors publish, and keeps each agent's latest failed turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import attrs
import trio

from channels.messages import OccurrenceEnded, SlotGivenUp, TurnEnd, TurnEnded
from supervisor.fleet import Failure, Fleet

__all__ = ["Tally"]

BACKLOG = 10_000


class Drains(Protocol):
    """The one thing the tally wants of its inbox."""

    async def wait_draining(self) -> None:
        """Wait until a drain was asked."""
        ...


@attrs.define(eq=False)
class Tally:
    """Starts before whoever publishes, so that nothing goes uncounted."""

    fleet: Fleet

    async def run(
        self, inbox: Drains, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Count until drained or cancelled."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._follow, "turns", self._turn)
            await nursery.start(self._follow, "slots", self._slot)
            await nursery.start(self._follow, "occurrences", self._occurrence)
            task_status.started()
            await inbox.wait_draining()
            nursery.cancel_scope.cancel(reason="drained")

    async def _follow(
        self, topic: str, take: Callable[[Any], None], *, task_status: trio.TaskStatus[None]
    ) -> None:
        with self.fleet.services.bus.subscribe(topic, capacity=BACKLOG) as events:
            task_status.started()
            async for event in events:
                take(event)

    def _turn(self, ended: TurnEnded) -> None:
        self.fleet.services.metrics.turn(ended.end.value)
        member = self.fleet.members.get(ended.agent)
        if member is not None and ended.end is TurnEnd.RAISED:
            now = self.fleet.services.clock.now()
            member.failure = Failure(f"a turn failed: {ended.detail}", now)

    def _slot(self, given_up: SlotGivenUp) -> None:
        self.fleet.services.metrics.dead_letter(given_up.reason)

    def _occurrence(self, ended: OccurrenceEnded) -> None:
        self.fleet.services.metrics.reminder(ended.outcome, ended.count)
