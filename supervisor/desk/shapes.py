"""The frozen types in which the runtime answers the desk: what people and programs get to see.

An instant for people is an aware `datetime` in the zone it should be shown in; `ts` is seconds
since the Unix epoch, as in the room's own event.
"""

from __future__ import annotations

from datetime import datetime

import attrs

from config.problems import Problem

__all__ = [
    "About",
    "AgentInfo",
    "Cause",
    "CellChange",
    "CronInfo",
    "CronRun",
    "LastRun",
    "Line",
    "Node",
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
    "ZoneShown",
]


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
class Cause:
    """What made one of our agents say something.

    `event`: the message that it answers, or that its notice is about. `name`: the id of the
    reminder or schedule. `rule`: why this agent, or why nobody, was to answer.
    """

    kind: str  # answer reminder schedule notice
    event: Line | None = None
    name: str | None = None
    rule: str | None = None


@attrs.frozen
class Why:
    """An event, what became of it and, of what an agent said, what made it speak."""

    event: Line
    slots: tuple[SlotInfo, ...]
    cause: Cause | None = None


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
class ZoneShown:
    """The time zone that counts for a user or a room; `source`: user room config workspace."""

    user: str | None
    room: str | None
    timezone: str
    source: str


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
