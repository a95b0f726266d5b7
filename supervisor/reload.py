"""Reloading: validate first, then swap; the previous one comes back when the new one fails."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

import attrs
import structlog
import trio

from channels.crashpoints import crash_point, declare_crash_points
from channels.errors import BusError
from channels.local import RoomError
from channels.messages import Agents
from config.loading import agent_ids
from config.problems import ConfigError, Problem
from config.schema import ScheduleConfig, SupervisorConfig
from config.workspace import Workspace
from cronactor.messages import SCHEDULER, SchedulerRefused, ScheduleSet
from supervisor.desk.office import ReloadReport, ReloadResult
from supervisor.errors import SupervisionError
from supervisor.fleet import Fleet, Member
from supervisor.plan import read_agent, read_supervisor
from supervisor.services import furnish

__all__ = ["Reloader", "UnknownAgents", "take_request"]

SCHEDULES_SECONDS = 10.0
LIVE_KEYS = ("rooms", "known_bots")

declare_crash_points(
    "reload.after_take",
    "reload.after_check",
    "reload.after_swap",
    "reload.before_schedules",
    "reload.after_schedules",
)

log = structlog.get_logger("supervisor.reload")

T = TypeVar("T")


class UnknownAgents(Exception):
    """A reload named agents that do not exist: nothing was reloaded."""

    def __init__(self, ids: Sequence[str], known: Sequence[str]) -> None:
        super().__init__(
            f"no agent is named {', '.join(ids)}; there are {', '.join(known) or 'none'}"
        )
        self.ids = tuple(ids)


def take_request(workspace: Workspace) -> tuple[str, ...]:
    """Take `run/reload.txt` by rename, then read it: the agents named in it; empty means all.

    A request written meanwhile is a file of its own and is never lost with this one. What a process
    had taken when it was killed is swept away: its successor has read every file anew.
    """
    request = workspace.reload_txt
    if request.exists() and not request.is_file():
        raise OSError(f"{workspace.shown(request)} is no file: remove it and ask again")
    for left in workspace.run_dir.glob("reload.*.taken"):
        with suppress(OSError):
            left.unlink()
    taken = request.with_name(f"reload.{os.getpid()}.taken")
    try:
        request.rename(taken)
    except FileNotFoundError:
        return ()
    crash_point("reload.after_take")
    try:
        text = taken.read_bytes()[:65_536].decode("utf-8", "replace")
    finally:
        with suppress(OSError):
            taken.unlink()
    names = tuple(dict.fromkeys(line.strip() for line in text.splitlines() if line.strip()))
    return () if "*" in names else names


@attrs.define(eq=False)
class Reloader:
    """Carries reloads, starts and stops out on the fleet; operations on one agent go in turn.

    `in_thread`: read files in a worker thread (False under virtual clocks).
    """

    fleet: Fleet
    in_thread: bool = True
    _locks: dict[str, trio.Lock] = attrs.field(init=False, factory=dict)

    async def reload(self, ids: Sequence[str]) -> ReloadReport:
        """Reload these agents; empty: all, where new folders are started and removed ones stopped.

        Raises UnknownAgents, and then reloads nothing. A cancel ends the wait; swaps that have
        begun are finished by their supervisors.
        """
        found = await self._off_loop(lambda: agent_ids(self.fleet.services.workspace))
        if not ids:
            return await self._reload_all(found)
        unknown = [agent for agent in ids if agent not in self.fleet.members and agent not in found]
        if unknown:
            raise UnknownAgents(unknown, found)
        return await self._each(ids, found)

    async def start(self, agent: str) -> ReloadResult:
        """Start a stopped, quarantined, invalid or new agent from its files as they are now."""
        found = await self._off_loop(lambda: agent_ids(self.fleet.services.workspace))
        if agent not in found:
            raise UnknownAgents([agent], found)
        member = self.fleet.members.setdefault(agent, Member(agent))
        return await self._swap(member, found, starting=True)

    async def stop(self, agent: str) -> None:
        """Stop an agent until `start`. Raises UnknownAgents."""
        member = self.fleet.members.get(agent)
        if member is None:
            raise UnknownAgents([agent], sorted(self.fleet.members))
        async with self._lock(agent):
            await self.fleet.stop(member)
        log.info("agent_stopped", agent=agent)

    async def introduce(self) -> None:
        """Give the scheduler everybody's schedules and the orchestrator everybody's card."""
        self._tell_orchestrator()
        for member in tuple(self.fleet.members.values()):
            if member.loaded is not None:
                await self._set_schedules(member)

    # -- inside ------------------------------------------------------------------------------------

    async def _reload_all(self, found: Sequence[str]) -> ReloadReport:
        workspace = self.fleet.services.workspace
        try:
            loaded = await self._off_loop(lambda: read_supervisor(workspace, found))
        except ConfigError as error:
            _log_problems("supervisor.yaml", error.problems)
            text = "supervisor.yaml is not valid: nothing was reloaded"
            return ReloadReport((ReloadResult("*", "failed", None, text, error.problems),))
        try:
            await self._refurnish(loaded.value)
        except RoomError as error:
            log.error("reload_failed", agent="supervisor.yaml", error=str(error))
            return ReloadReport((ReloadResult("*", "failed", None, str(error)),))
        gone = [member for agent, member in self.fleet.members.items() if agent not in found]
        removed = [await self._remove(member) for member in gone]
        report = await self._each(found, found)
        return ReloadReport((*report.results, *removed))

    async def _refurnish(self, fresh: SupervisorConfig) -> None:
        await furnish(self.fleet.services, fresh.rooms)
        current = self.fleet.config
        for field in attrs.fields(SupervisorConfig):
            changed = getattr(fresh, field.name) != getattr(current, field.name)
            if changed and field.name not in LIVE_KEYS:
                log.warning("needs_restart", file="supervisor.yaml", key=field.name)
        live = {name: getattr(fresh, name) for name in LIVE_KEYS}
        self.fleet.config = attrs.evolve(current, **live)
        self.fleet.announce_names()
        self._tell_orchestrator()

    async def _remove(self, member: Member) -> ReloadResult:
        async with self._lock(member.id):
            await self.fleet.remove(member)
        await self._set_schedules(member, ())
        self._tell_orchestrator()
        log.info("agent_stopped", agent=member.id, reason="its folder is gone")
        return ReloadResult(member.id, "stopped")

    async def _each(self, ids: Sequence[str], found: Sequence[str]) -> ReloadReport:
        results: dict[str, ReloadResult] = {}

        async def one(agent: str) -> None:
            member = self.fleet.members.setdefault(agent, Member(agent))
            results[agent] = await self._swap(member, found, starting=False)

        async with trio.open_nursery() as nursery:
            for agent in dict.fromkeys(ids):
                nursery.start_soon(one, agent)
        return ReloadReport(tuple(results[agent] for agent in dict.fromkeys(ids)))

    async def _swap(self, member: Member, found: Sequence[str], *, starting: bool) -> ReloadResult:
        async with self._lock(member.id):
            if member.stopped and not starting:
                text = f"{member.id} is stopped; start it with `agentctl start {member.id}`"
                return ReloadResult(member.id, "stopped", None, text)
            return await self._checked_swap(member, found, starting)

    async def _checked_swap(
        self, member: Member, found: Sequence[str], starting: bool
    ) -> ReloadResult:
        agent, workspace = member.id, self.fleet.services.workspace
        fresh = starting or member.loaded is None
        try:
            loaded = await self._off_loop(lambda: read_agent(workspace, agent, found))
        except ConfigError as error:
            if member.loaded is None:
                member.problems = error.problems
            _log_problems(agent, error.problems)
            text = f"the configuration of {agent} is not valid"
            return self._failed(agent, text, error.problems)
        crash_point("reload.after_check")
        try:
            generation = await (self.fleet.start if fresh else self.fleet.reload)(member, loaded)
        except SupervisionError as error:
            log.error("reload_failed", agent=agent, error=str(error))
            return self._failed(agent, str(error))
        crash_point("reload.after_swap")
        self.fleet.announce_names()
        self._tell_orchestrator()
        crash_point("reload.before_schedules")
        refused = await self._set_schedules(member)
        crash_point("reload.after_schedules")
        if refused:
            text = f"{agent} runs, but its schedules are not set ({refused}): reload it again"
            return self._failed(agent, text)
        return self._succeeded(agent, generation, fresh)

    def _succeeded(self, agent: str, generation: int, fresh: bool) -> ReloadResult:
        outcome = "started" if fresh else "reloaded"
        self.fleet.services.metrics.reload(outcome)
        if fresh:
            log.info("agent_started", agent=agent, generation=generation)
        else:
            log.info(f"agent {agent} reloaded successfully", agent=agent, generation=generation)
        return ReloadResult(agent, outcome, generation)

    def _failed(self, agent: str, text: str, errors: Sequence[Problem] = ()) -> ReloadResult:
        self.fleet.services.metrics.reload("failed")
        return ReloadResult(agent, "failed", None, text, tuple(errors))

    async def _set_schedules(
        self, member: Member, schedules: Sequence[ScheduleConfig] | None = None
    ) -> str:
        """Hand an agent's schedules to the scheduler; return "" or why it did not take them."""
        if schedules is None:
            schedules = member.loaded.value.schedules if member.loaded else ()
        request = ScheduleSet(member.id, tuple(schedules))
        try:
            await self.fleet.services.bus.ask(SCHEDULER, request, timeout=SCHEDULES_SECONDS)
        except (BusError, SchedulerRefused) as error:
            log.error("schedules_not_set", agent=member.id, error=str(error))
            return str(error)
        return ""

    def _tell_orchestrator(self) -> None:
        config = self.fleet.config
        try:
            self.fleet.services.bus.tell_nowait(
                "orchestrator", Agents(config.rooms, self.fleet.cards(), config.known_bots)
            )
        except BusError as error:
            log.error("orchestrator_not_told", error=str(error))

    def _lock(self, agent: str) -> trio.Lock:
        return self._locks.setdefault(agent, trio.Lock())

    async def _off_loop(self, work: Callable[[], T]) -> T:
        if self.in_thread:
            return await trio.to_thread.run_sync(work)
        await trio.lowlevel.checkpoint()
        return work()


def _log_problems(what: str, problems: Sequence[Problem]) -> None:
    for problem in problems:
        log.error(
            "reload_failed",
            agent=what,
            error=problem.message,
            file=problem.file,
            line=problem.line,
            col=problem.col,
            key=problem.key,
        )
