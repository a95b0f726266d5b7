"""Asking agents which turns they run, beside the orchestrator's work, which never waits for it."""

from __future__ import annotations

from typing import Any, Final

import attrs
import structlog
import trio

from channels.bus import Bus
from channels.errors import ActorDied, AskTimeout, MailboxFull, UnknownAddress
from channels.inbox import Slot
from channels.messages import JoinedRooms, RunningTurns

__all__ = ["Found", "Surveys"]

ANSWER_SECONDS: Final = 2.0
PAUSE_SECONDS: Final = 2.0

_log = structlog.get_logger("actors.orchestrator")


@attrs.frozen
class Found:
    """What an agent said: of the slots it was `asked` about, those it has `lost`; its rooms.

    `crashed`: an earlier generation of it has died since it was last heard of.
    """

    agent: str
    lost: tuple[Slot, ...]
    rooms: tuple[str, ...]
    crashed: bool


@attrs.define(eq=False)
class Surveys:
    """At most one survey per agent runs; its result is told to `report_to` as `Found`.

    An agent's mailbox is in order: turns told before the question are held, or over, when it
    answers. So the slots asked about must be read before, and by, the one who dispatches.
    """

    bus: Bus
    report_to: str
    _running: dict[str, trio.CancelScope] = attrs.field(init=False, factory=dict)

    def start(
        self,
        nursery: trio.Nursery,
        agent: str,
        asked: tuple[Slot, ...],
        *,
        crashed: bool,
        rooms: bool,
    ) -> None:
        """Begin to ask the agent, instead of a survey of it that still runs.

        `rooms`: ask its connection too in which rooms it is (which it tells by itself on joining).
        """
        self.stop(agent)
        scope = self._running[agent] = trio.CancelScope()
        nursery.start_soon(self._ask, agent, asked, scope, crashed, rooms)

    def stop(self, agent: str) -> None:
        """Give up asking the agent."""
        scope = self._running.pop(agent, None)
        if scope is not None:
            scope.cancel(reason="superseded")

    async def _ask(
        self,
        agent: str,
        asked: tuple[Slot, ...],
        scope: trio.CancelScope,
        crashed: bool,
        rooms: bool,
    ) -> None:
        with scope:
            while agent in self.bus.names():
                running = await self._once(agent, RunningTurns())
                if running is not None:
                    break
                await trio.sleep(PAUSE_SECONDS)
            else:
                return  # not there yet: it is announced when it is
            joined = await self._once(f"{agent}/connection", JoinedRooms()) if rooms else None
            lost = tuple(slot for slot in asked if (slot.id, slot.attempt) not in set(running))
            await self.bus.tell(self.report_to, Found(agent, lost, joined or (), crashed))

    async def _once(self, address: str, question: Any) -> Any:
        """Ask; None when no answer comes."""
        if address not in self.bus.names():
            return None
        try:
            return await self.bus.ask(address, question, timeout=ANSWER_SECONDS)
        except (UnknownAddress, AskTimeout, ActorDied, MailboxFull) as error:
            _log.info("survey_unanswered", address=address, error=str(error))
            return None
