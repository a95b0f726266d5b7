"""What became of what was said: event ids and refusals, from the connections into the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import attrs
import structlog
import trio

from channels.bus import Bus
from channels.messages import Refused, Sent
from cronactor.health import REFUSED, Health
from cronactor.ledger import Ledger
from cronactor.persist import persist

__all__ = ["Hearing"]

log = structlog.get_logger()


@attrs.define(eq=False)
class Hearing:
    """Listens on the topics `sent` and `refused`. `failed(id, why)` hears of a refused message.

    `worked(id, True)` hears that a room which had refused has taken one.
    """

    ledger: Ledger
    bus: Bus
    failed: Callable[[str, str], None]
    worked: Callable[[str, bool], None]
    health: Health

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen until cancelled."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._sent)
            await nursery.start(self._refused)
            task_status.started()

    async def _sent(self, *, task_status: trio.TaskStatus[None]) -> None:
        """Keep the event ids of what was said; many at once in one write."""
        with self.bus.subscribe("sent", capacity=4096) as sent:
            task_status.started()
            while True:
                events = [await sent.receive()]
                while sent.statistics().depth:
                    events.append(sent.receive_nowait())
                await self._keep(events)

    async def _keep(self, events: Sequence[Sent]) -> None:
        pairs = [(sent.txn_id, sent.event_id) for sent in events if sent.txn_id.startswith("occ-")]
        if pairs:
            await persist("events", partial(self.ledger.set_events, pairs), self.health)
        if not any(streak.refused for streak in self.health.failing.values()):
            return
        for _, event_id in pairs:
            occurrence = await self.ledger.said(event_id)
            if occurrence is not None:
                self.worked(occurrence.schedule_id, True)

    async def _refused(self, *, task_status: trio.TaskStatus[None]) -> None:
        with self.bus.subscribe("refused", capacity=1024) as refused:
            task_status.started()
            while True:
                event: Refused = await refused.receive()
                if event.txn_id.startswith("occ-"):
                    await self._keep_refusal(event)

    async def _keep_refusal(self, event: Refused) -> None:
        why = f"{REFUSED}: {event.error}"
        note = partial(self.ledger.set_refused, [(event.txn_id, why)])
        for id in await persist("events", note, self.health):
            self.failed(id, why)
