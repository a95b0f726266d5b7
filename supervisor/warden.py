"""The warden, the actor at `supervisor`: reload, start and stop, and who can be reached."""

from __future__ import annotations

import attrs
import structlog
import trio

from channels.errors import BusError, RemoteError
from channels.mailbox import Inbox, Message
from channels.messages import (
    AgentReachable,
    AgentUnreachable,
    CellChanged,
    CellState,
    Notice,
    Reload,
    StopReason,
)
from supervisor.cell import TOPIC
from supervisor.desk.office import ReloadReport, ReloadResult
from supervisor.fleet import LOOP, Fleet, Member
from supervisor.reload import Reloader, UnknownAgents

__all__ = ["ADDRESS", "StartAgent", "StopAgent", "Warden"]

ADDRESS = "supervisor"
BACKLOG = 10_000

log = structlog.get_logger("supervisor.warden")

_QUARANTINED = {
    "es": "⚠️ {agent} ha fallado demasiadas veces y está en cuarentena; los demás siguen.",
    "en": "⚠️ {agent} failed too many times and is quarantined; the others go on.",
}
_LEFT = {
    CellState.STOPPED: "is stopped",
    CellState.QUARANTINED: "is quarantined",
    CellState.FAILED: "has ended",
}


@attrs.frozen
class StartAgent:
    """Ask: start this agent; the reply is a ReloadResult."""

    agent: str


@attrs.frozen
class StopAgent:
    """Ask: stop this agent; the reply is None once it has really exited."""

    agent: str


@attrs.define(eq=False)
class Warden:
    """One object is one generation; a new one introduces everybody again.

    `boot` distinguishes this process in notices that are said once.
    """

    fleet: Fleet
    reloader: Reloader
    boot: str

    async def run(
        self, inbox: Inbox, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve until drained; a cancel ends waits, never a swap that its supervisor has begun."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._watch)
            await self.reloader.introduce()
            self._introduce_reach()
            task_status.started()
            async for message in inbox:
                nursery.start_soon(self._serve, message)
            nursery.cancel_scope.cancel(reason="drained")

    # -- requests ----------------------------------------------------------------------------------

    async def _serve(self, message: Message) -> None:
        try:
            match message.body:
                case Reload(agents=agents):
                    await self._reload(message, agents)
                case StartAgent(agent=agent):
                    message.reply(await self.reloader.start(agent))
                case StopAgent(agent=agent):
                    await self.reloader.stop(agent)
                    message.reply(None)
                case other:
                    message.fail(
                        RemoteError(f"the supervisor does not know {type(other).__name__}")
                    )
        except UnknownAgents as error:
            log.error("reload_failed", error=str(error))
            message.fail(error)

    async def _reload(self, message: Message, agents: tuple[str, ...]) -> None:
        """Reload; an agent that asks from inside its own turn hears `scheduled` and goes last."""
        log.info("reload_requested", agents=list(agents) or ["*"], sender=message.sender)
        asker = self._asking_member(message.sender)
        if asker is None or (agents and asker.id not in agents):
            message.reply(await self.reloader.reload(agents))
            return
        others = agents or tuple(self.fleet.members)
        rest = tuple(agent for agent in others if agent != asker.id)
        report = await self.reloader.reload(rest) if rest else ReloadReport(())
        own = ReloadResult(asker.id, "scheduled", self.fleet.generation(asker))
        message.reply(ReloadReport((*report.results, own)))
        await self._turn_over(asker, message.sender)
        await self.reloader.reload((asker.id,))

    def _asking_member(self, sender: str) -> Member | None:
        agent, _, lane = sender.partition("/")
        return self.fleet.members.get(agent) if lane and lane != "connection" else None

    async def _turn_over(self, member: Member, lane: str) -> None:
        loop = self.fleet.loop(member)
        if loop is not None and member.loaded is not None:
            with trio.move_on_after(member.loaded.value.turn_seconds):
                await loop.idle(lane)

    # -- who can be reached ------------------------------------------------------------------------

    async def _watch(self, *, task_status: trio.TaskStatus[None]) -> None:
        with self.fleet.services.bus.subscribe(TOPIC, capacity=BACKLOG) as changes:
            task_status.started()
            async for change in changes:
                self._heed(change)

    def _heed(self, change: CellChanged) -> None:
        path = change.path.split("/")
        if path[1:] == ["orchestrator"] and change.state is CellState.RUNNING:
            self._introduce_reach()
        if len(path) != 4 or path[1] != "agents" or path[3] != LOOP:
            return
        member = self.fleet.members.get(path[2])
        if member is None:
            self._tell("orchestrator", AgentUnreachable(path[2], "was removed"))
        elif change.state is CellState.RUNNING:
            self._tell("orchestrator", AgentReachable(member.id))
        elif change.state in _LEFT and change.reason != StopReason.SHUTDOWN.value:
            self._gone(member, change)

    def _gone(self, member: Member, change: CellChanged) -> None:
        why = f"{member.id} {_LEFT[change.state]}"
        self._tell("orchestrator", AgentUnreachable(member.id, why))
        if change.state is not CellState.QUARANTINED:
            return
        error = self.fleet.last_error(member) or change.reason
        log.error("agent_quarantined", agent=member.id, error=error)
        text = _QUARANTINED[self.fleet.config.locale].format(agent=member.id)
        key = f"quarantine-{self.boot}-{member.id}-{self.fleet.generation(member)}"
        self._tell(f"{member.id}/connection", Notice(text, key))

    def _introduce_reach(self) -> None:
        for member in self.fleet.members.values():
            state = self.fleet.state(member)
            if state in ("running", "reconnecting"):
                self._tell("orchestrator", AgentReachable(member.id))
            elif state in ("stopped", "quarantined", "invalid"):
                self._tell("orchestrator", AgentUnreachable(member.id, f"{member.id} is {state}"))

    def _tell(self, to: str, body: object) -> None:
        try:
            self.fleet.services.bus.tell_nowait(to, body)
        except BusError as error:
            log.warning("not_told", to=to, body=type(body).__name__, error=str(error))
