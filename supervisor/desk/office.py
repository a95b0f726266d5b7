"""What the desk asks of the runtime: one protocol, and the frozen types that it answers with.

The launcher implements `Office` with the real parts; nothing in `supervisor/desk` reaches further.
An instant for people is an aware `datetime` in the zone it should be shown in; `ts` is seconds
since the Unix epoch, as in the room's own event.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

import attrs

from config.problems import Problem

__all__ = [
    "About",
    "AgentInfo",
    "CellChange",
    "CronInfo",
    "CronRun",
    "LastRun",
    "Line",
    "Node",
    "Office",
    "OfficeError",
    "Readiness",
    "ReloadReport",
    "ReloadResult",
    "ReminderInfo",
    "RoomInfo",
    "SlotInfo",
    "Status",
    "Supervised",
    "TurnInfo",
    "Why",
]


class OfficeError(Exception):
    """The office refuses or fails; the text is one sentence for people, without internals.

    `status` is the HTTP status: 400 bad request, 404 unknown room, agent, event or schedule, 409
    not possible in this state, 422 a configuration is wrong (`errors` says where), 503 not ready.
    """

    def __init__(self, text: str, status: int = 400, errors: Sequence[Problem] = ()) -> None:
        super().__init__(text)
        self.text = text
        self.status = status
        self.errors = tuple(errors)


@attrs.frozen
class TurnInfo:
    """A turn that is running now: where, and for how many seconds."""

    room: str
    age_s: float


@attrs.frozen
class AgentInfo:
    """One agent as `status` shows it; `mailbox` is the number of messages that wait."""

    id: str
    state: str  # starting running draining reconnecting stopped quarantined invalid
    generation: int
    restarts: int
    mailbox: int
    turns: tuple[TurnInfo, ...] = ()
    last_error: str | None = None


@attrs.frozen
class Status:
    """The whole supervisor at a glance; `problems` names what is wrong beyond single agents."""

    pid: int
    started: datetime
    workspace: str
    agents: tuple[AgentInfo, ...]
    problems: tuple[str, ...] = ()


@attrs.frozen
class Node:
    """One cell of the supervision tree."""

    name: str
    state: str
    generation: int
    children: tuple[Node, ...] = ()


@attrs.frozen
class Supervised:
    """One cell of the tree with all that is known of it; `path` as in CellChange.

    `agent`: the agent whose own supervisor this is. State and counts are then the agent's, and it
    is there, without children, also while it has no cell: invalid, or stopped.
    """

    path: str
    name: str
    agent: str | None
    state: str
    generation: int
    restarts: int
    mailbox: int
    last_error: str | None = None
    turns: tuple[TurnInfo, ...] = ()
    children: tuple[Supervised, ...] = ()


@attrs.frozen
class About:
    """What a face of the desk must know before it can show anything.

    `person`: the account that the supervisor runs under, who may be nobody that can speak.
    """

    version: str
    workspace: str
    timezone: str
    locale: str
    person: str


@attrs.frozen
class RoomInfo:
    """One room; `members` are the ids in it now."""

    id: str
    alias: str | None
    participants: tuple[str, ...]
    members: tuple[str, ...] = ()


@attrs.frozen
class Line:
    """One event of a room; `agent` is the id of our agent that said it, else None."""

    room: str
    sender: str
    text: str
    event_id: str
    ts: float
    agent: str | None = None
    kind: str = "message"  # as RoomEvent.kind: message notice reaction join leave ...


@attrs.frozen
class SlotInfo:
    """How one answer slot of an event ended, or why it has not."""

    agent: str | None
    state: str
    rule: str | None = None
    reason: str | None = None
    attempt: int = 0
    hop: int = 0
    opened: datetime | None = None
    closed: datetime | None = None
    answers: tuple[str, ...] = ()  # event ids of what was said


@attrs.frozen
class Why:
    """An event and what became of it."""

    event: Line
    slots: tuple[SlotInfo, ...]


@attrs.frozen
class ReloadResult:
    """What a reload did to one agent; `error` is one sentence when the outcome is `failed`."""

    id: str
    outcome: str  # reloaded scheduled started stopped failed
    generation: int | None = None
    error: str | None = None
    errors: tuple[Problem, ...] = ()


@attrs.frozen
class ReloadReport:
    """The outcome of a reload, one result an agent."""

    results: tuple[ReloadResult, ...]

    @property
    def failed(self) -> tuple[ReloadResult, ...]:
        """The results of the agents that still run their previous configuration, or none."""
        return tuple(result for result in self.results if result.outcome == "failed")


@attrs.frozen
class ReminderInfo:
    """One reminder; `next` is in the reminder's own zone."""

    id: str
    room: str
    user: str
    message: str
    kind: str  # once cron every
    cron: str | None
    next: datetime | None
    timezone: str
    state: str


@attrs.frozen
class LastRun:
    """The latest occurrence of a schedule."""

    scheduled: datetime
    outcome: str | None


@attrs.frozen
class CronInfo:
    """One schedule; `id` is `AGENT/NAME`."""

    id: str
    cron: str
    timezone: str
    next: datetime | None
    last: LastRun | None = None


@attrs.frozen
class CronRun:
    """One occurrence in the ledger; `outcome` is None while it runs."""

    schedule: str
    scheduled: datetime
    started: datetime | None = None
    finished: datetime | None = None
    outcome: str | None = None
    reason: str | None = None
    event_id: str | None = None


@attrs.frozen
class Readiness:
    """Whether all that starts with the tree is up; `waiting` names what is not."""

    ready: bool
    waiting: tuple[str, ...] = ()


@attrs.frozen
class CellChange:
    """A cell of the tree changed its state."""

    path: str
    state: str
    generation: int
    reason: str | None = None


class Office(Protocol):
    """The runtime, as the desk sees it. Every coroutine may be cancelled by a caller that hangs up.

    Each raises OfficeError for what a person can understand; anything else is a bug, is logged, and
    leaves as "internal error". Unknown rooms, events and schedules raise with status 404.
    """

    def agents(self) -> Sequence[str]:
        """Return the ids of all agents of the workspace, invalid and stopped ones too."""
        ...

    def ready(self) -> Readiness:
        """Return whether the tree is up. Never blocks."""
        ...

    async def status(self) -> Status:
        """Return the state of every agent."""
        ...

    async def tree(self) -> Node:
        """Return the supervision tree from its root."""
        ...

    async def supervision(self) -> Supervised:
        """Return the supervision tree with every agent's state in it."""
        ...

    async def about(self) -> About:
        """Return version, workspace, zone, language and account."""
        ...

    async def rooms(self) -> Sequence[RoomInfo]:
        """Return every room of the workspace."""
        ...

    async def history(self, room: str, limit: int) -> Sequence[Line]:
        """Return the newest `limit` events of a room (id or alias), oldest first."""
        ...

    async def say(
        self, room: str, text: str, sender: str, as_bot: bool, txn_id: str | None = None
    ) -> Line:
        """Post a message of a local person (`@name`); return it once it is admitted.

        The same `txn_id` of the same person in that room is posted once: the first is returned.
        """
        ...

    async def why(self, event_id: str) -> Why:
        """Return an event with its answer slots."""
        ...

    async def reload(self, ids: Sequence[str] | None, lane: str = "") -> ReloadReport:
        """Reload these agents, or all (None: new folders are started, removed ones stopped).

        `lane` is the bus lane of an asking turn ("": nobody's): its own agent answers `scheduled`.
        """
        ...

    async def start(self, agent: str) -> AgentInfo:
        """Start a stopped, quarantined or invalid agent; return it once it runs."""
        ...

    async def stop(self, agent: str) -> AgentInfo:
        """Stop an agent until `start`; return it once it has really exited."""
        ...

    async def reminders(self, room: str | None, all: bool) -> Sequence[ReminderInfo]:
        """Return pending reminders, of one room or of every room; `all` adds the past ones."""
        ...

    async def cron_list(self) -> Sequence[CronInfo]:
        """Return every schedule of the agents' configurations."""
        ...

    async def cron_runs(self, schedule: str | None) -> Sequence[CronRun]:
        """Return the ledger, newest first, of one schedule (`[AGENT/]NAME`) or of all."""
        ...

    async def cron_run(self, schedule: str) -> CronRun:
        """Run a schedule now, beside its calendar; return its record once the run has ended."""
        ...

    def subscribe(
        self, topic: str
    ) -> AbstractContextManager[AsyncIterable[tuple[str, Line | CellChange]]]:
        """Subscribe to `rooms/*` (Line) or `supervision` (CellChange); yields (topic, event) pairs.

        Never makes a publisher wait: what the reader is too slow for is dropped, oldest first.
        """
        ...

    async def metrics(self) -> bytes:
        """Return the Prometheus text of now (`Metrics.render`)."""
        ...
