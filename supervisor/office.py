"""The office: what the desk may ask, answered by the running parts."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import attrs

from channels.bus import Bus
from channels.errors import AskTimeout, BusError
from channels.lanes import lane as as_lane
from channels.messages import CellState, Reload
from config.schema import SupervisorConfig
from cronactor.messages import SCHEDULER, SchedulerRefused
from supervisor.cell import CellInfo
from supervisor.desk.office import (
    About,
    AgentInfo,
    CellChange,
    CronInfo,
    CronRun,
    Line,
    NamedError,
    Node,
    OfficeError,
    Readiness,
    ReloadReport,
    ReloadResult,
    ReminderInfo,
    RoomInfo,
    Status,
    Supervised,
    TurnInfo,
    Why,
    ZoneShown,
)
from supervisor.fleet import LOOP, Fleet, Member
from supervisor.happenings import BACKLOG, happenings
from supervisor.logs import lost_lines
from supervisor.metrics import Statistics
from supervisor.reload import UnknownAgents
from supervisor.rooms_desk import RoomsDesk
from supervisor.supervised import supervised
from supervisor.supervisor import Supervisor
from supervisor.time_desk import TimeDesk
from supervisor.warden import ADDRESS as WARDEN
from supervisor.warden import StartAgent, StopAgent
from supervisor.zoned import local_time

__all__ = ["House"]

REQUEST_SECONDS = 10.0
SWAP_SECONDS = 900.0  # a turn that asked for its own reload may run for long first
INFRASTRUCTURE = ("scheduler", "orchestrator", "supervisor", "agents")


@attrs.define(eq=False)
class House:
    """Implements `supervisor.desk.office.Office`. `root` is set once the tree is built.

    `streams` tells how many event streams are open; the API sets it.
    """

    fleet: Fleet
    started: float
    root: Supervisor | None = None
    streams: Callable[[], int] = lambda: 0

    @property
    def _bus(self) -> Bus:
        return self.fleet.services.bus

    @property
    def _config(self) -> SupervisorConfig:
        return self.fleet.config

    def _rooms(self) -> RoomsDesk:
        order = {room.id: room.participants for room in self._config.rooms}
        zone, ids = self._config.timezone, self.fleet.user_ids()
        return RoomsDesk(self.fleet.services, zone, ids, order)

    # -- state -------------------------------------------------------------------------------------

    def agents(self) -> Sequence[str]:
        """Return the ids of all agents of the workspace."""
        return sorted(self.fleet.members)

    def ready(self) -> Readiness:
        """Return whether the infrastructure runs, agents have been tried, nothing is overdue."""
        if self.root is None:
            return Readiness(False, ("root",))
        tree = self.root.tree()
        states = {child.name: child.state for child in tree.children}
        waiting = [name for name in INFRASTRUCTURE if states.get(name) is not CellState.RUNNING]
        late = [f"overdue: {id}" for id in self.fleet.services.health.overdue]
        return Readiness(not waiting and not late, (*waiting, *late))

    async def status(self) -> Status:
        """Return the state of every agent."""
        return Status(
            os.getpid(),
            local_time(self.started, self._config.timezone),
            str(self.fleet.services.workspace.root),
            tuple(self._agent(self.fleet.members[name]) for name in self.agents()),
            self._problems(),
        )

    def _problems(self) -> tuple[str, ...]:
        letters = self._bus.dead_letters()
        found = [f"{count} dead letters: {why}" for why, count in sorted(letters.by_reason.items())]
        waiting = [name for name in self.ready().waiting if name in (*INFRASTRUCTURE, "root")]
        time = self.fleet.services.health.problems()
        return (*(f"{name} is not running" for name in waiting), *time, *found)

    def _agent(self, member: Member) -> AgentInfo:
        loop, cell = self.fleet.loop(member), member.cell(LOOP)
        now = self.fleet.services.clock.now()
        turns = loop.statistics() if loop is not None else ()
        return AgentInfo(
            id=member.id,
            state=self.fleet.state(member),
            generation=self.fleet.generation(member),
            restarts=self.fleet.restarts(member),
            mailbox=cell.mailbox.depth if cell and cell.mailbox else 0,
            turns=tuple(TurnInfo(t.room or "", max(0.0, now - t.started)) for t in turns),
            last_error=self.fleet.last_error(member),
        )

    async def tree(self) -> Node:
        """Return the supervision tree from its root."""
        if self.root is None:
            raise NamedError("no_tree", 503)
        return _node(self.root.tree())

    async def supervision(self) -> Supervised:
        """Return the supervision tree with every agent's state in it."""
        if self.root is None:
            raise NamedError("no_tree", 503)
        agents = {name: self._agent(member) for name, member in self.fleet.members.items()}
        return supervised(self.root.tree(), agents)

    async def about(self) -> About:
        """Return version, workspace, zone, language and account."""
        return About(
            installed_version(),
            str(self.fleet.services.workspace.root),
            self._config.timezone,
            self._config.locale,
            os.environ.get("USER", ""),
        )

    async def metrics(self) -> bytes:
        """Return the Prometheus text of now."""
        bus = self._bus.statistics()
        outbox = await self.fleet.services.outbox.statistics()
        members = self.fleet.members.values()
        statistics = Statistics(
            started=self.started,
            mailboxes={name: box.depth for name, box in bus.mailboxes.items()},
            agents={member.id: self.fleet.state(member) for member in members},
            outbox=outbox.pending_by_agent,
            dead_letters=self._bus.dead_letters().by_reason,
            restarts=_restarts(self.root.tree()) if self.root else {},
            log_lines_lost=lost_lines(),
            event_streams=self.streams(),
        )
        return self.fleet.services.metrics.render(statistics)

    # -- rooms -------------------------------------------------------------------------------------

    async def rooms(self) -> Sequence[RoomInfo]:
        """Return every room of the workspace."""
        return await self._rooms().rooms()

    async def history(self, room: str, limit: int) -> Sequence[Line]:
        """Return the newest lines of a room, oldest first."""
        return await self._rooms().history(room, limit)

    async def say(
        self, room: str, text: str, sender: str, as_bot: bool, txn_id: str | None = None
    ) -> Line:
        """Post a message of a local person, once for a `txn_id`; return it once it is admitted."""
        return await self._rooms().say(room, text, sender, as_bot, txn_id)

    async def why(self, event_id: str) -> Why:
        """Return an event with its answer slots."""
        return await self._rooms().why(event_id)

    @contextmanager
    def subscribe(self, topic: str) -> Iterator[AsyncIterator[tuple[str, Line | CellChange]]]:
        """Subscribe to `rooms/*` or `supervision`; a slow reader loses the oldest."""
        with self._bus.subscribe(topic, capacity=BACKLOG) as events:
            yield happenings(events, self.fleet.user_ids)

    # -- agents ------------------------------------------------------------------------------------

    async def reload(self, ids: Sequence[str] | None, lane: str = "") -> ReloadReport:
        """Reload these agents, or all (None)."""
        with as_lane(lane):
            report: ReloadReport = await self._ask(WARDEN, Reload(tuple(ids or ())), SWAP_SECONDS)
        return report

    async def start(self, agent: str) -> AgentInfo:
        """Start a stopped, quarantined or invalid agent; return it once it runs."""
        result: ReloadResult = await self._ask(WARDEN, StartAgent(agent), SWAP_SECONDS)
        if result.outcome == "failed":
            raise OfficeError(result.error or "it did not start", 422, result.errors)
        return self._agent(self.fleet.members[agent])

    async def stop(self, agent: str) -> AgentInfo:
        """Stop an agent until `start`; return it once it has really exited."""
        await self._ask(WARDEN, StopAgent(agent), SWAP_SECONDS)
        return self._agent(self.fleet.members[agent])

    # -- time --------------------------------------------------------------------------------------

    def _time(self) -> TimeDesk:
        ask = partial(self._ask, SCHEDULER)
        return TimeDesk(ask, self.fleet.services.rooms, self._config.timezone)

    async def reminders(self, room: str | None, all: bool) -> Sequence[ReminderInfo]:
        """Return active and paused reminders of one room or of every room; `all` adds past ones."""
        return await self._time().reminders(room, all)

    async def cron_list(self) -> Sequence[CronInfo]:
        """Return every schedule of the agents' configurations."""
        return await self._time().schedules()

    async def cron_runs(self, schedule: str | None) -> Sequence[CronRun]:
        """Return the ledger, newest first, of one schedule (`[AGENT/]NAME`) or of all."""
        return await self._time().runs(schedule)

    async def cron_run(self, schedule: str) -> CronRun:
        """Run a schedule now, beside its calendar; return its record once the run has ended."""
        return await self._time().run(schedule)

    async def timezone(self, user: str | None, room: str | None) -> ZoneShown:
        """Return the zone that counts for a user, in a room or anywhere, or for a room."""
        return await self._time().zone(user, room)

    async def set_timezone(self, user: str | None, room: str | None, zone: str | None) -> ZoneShown:
        """Set the zone of a user or else of a room; None forgets it."""
        return await self._time().set_zone(user, room, zone)

    async def _ask(self, to: str, body: object, timeout: float = REQUEST_SECONDS) -> Any:
        try:
            return await self._bus.ask(to, body, timeout=timeout)
        except UnknownAgents as error:
            raise OfficeError(str(error), 404) from None
        except SchedulerRefused as error:
            raise OfficeError(str(error), 409) from None
        except AskTimeout:
            raise NamedError("no_reply", 503, to=to, seconds=f"{timeout:g}") from None
        except BusError as error:
            raise NamedError("cannot_answer", 503, to=to, why=error) from None


@cache
def installed_version() -> str:
    """Return the version of the installed package, "" when it runs from bare sources."""
    from importlib import metadata  # 10 ms that a start need not wait for

    try:
        return metadata.version("vivero")
    except metadata.PackageNotFoundError:
        return ""


def _node(info: CellInfo) -> Node:
    children = tuple(_node(child) for child in info.children)
    return Node(info.name, info.state.value, info.generation, children)


def _restarts(info: CellInfo) -> dict[str, int]:
    found = {info.path: info.restarts} if info.restarts else {}
    for child in info.children:
        found |= _restarts(child)
    return found
