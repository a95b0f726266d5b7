"""What travels: frozen bodies that actors send over the bus, and the reasons for a stop."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Final

import attrs

from channels.chain import Stamp

__all__ = [
    "REACTIONS",
    "AgentReachable",
    "AgentUnreachable",
    "Agents",
    "CellChanged",
    "CellState",
    "ControlMessage",
    "Deliver",
    "Flush",
    "GiveBackHop",
    "JoinedRooms",
    "Membership",
    "Notice",
    "OccurrenceEnded",
    "Refused",
    "Reload",
    "ReserveHop",
    "RunTurn",
    "RunningTurns",
    "Sent",
    "SlotGivenUp",
    "SlotOpened",
    "StopReason",
    "Task",
    "TaskResult",
    "TurnEnd",
    "TurnEnded",
]


REACTIONS: Final = "reactions"
"""The topic on which it is published that reactions were admitted: how many."""


class StopReason(enum.Enum):
    """Why a generation, or one turn of it, is being stopped. Reaches `trio.Cancelled.reason`."""

    SHUTDOWN = "shutdown"
    RELOAD = "reload"
    STOPPED = "stopped"  # a person asked: agentctl stop, !stop
    REMOVED = "removed"
    SIBLING = "sibling"  # one_for_all / rest_for_one
    START_TIMEOUT = "start_timeout"
    TURN_TIMEOUT = "turn_timeout"


# -- connection -> orchestrator -----------------------------------------------------------------


@attrs.frozen
class SlotOpened:
    """Answer slots that an admission has just opened."""

    slot_ids: tuple[int, ...]


@attrs.frozen
class Membership:
    """An agent joined (or left) a room, as its connection sees it."""

    agent: str
    room: str
    joined: bool


@attrs.frozen
class AgentReachable:
    """An agent's loop is up, or has room in its mailbox again: offer it what waits."""

    agent: str


@attrs.frozen
class AgentUnreachable:
    """An agent's loop is down for good (stopped, quarantined, ...): `why` is for people."""

    agent: str
    why: str


# -- orchestrator <-> agent -----------------------------------------------------------------------


@attrs.frozen
class RunTurn:
    """Run attempt `attempt` (1, 2, ...) of an answer slot."""

    slot_id: int
    attempt: int


class TurnEnd(enum.Enum):
    """How one attempt of a turn ended. ANSWERED and DECLINED closed the slot themselves."""

    ANSWERED = "answered"
    DECLINED = "declined"
    RAISED = "raised"
    INTERRUPTED = "interrupted"


@attrs.frozen
class TurnEnded:
    """The agent reports the end of an attempt; `detail` is one sentence for people.

    Published on topic `turns` too.
    """

    agent: str
    slot_id: int
    attempt: int
    end: TurnEnd
    detail: str = ""


@attrs.frozen
class RunningTurns:
    """Ask an agent which attempts it holds; the reply is `tuple[tuple[slot_id, attempt], ...]`."""


@attrs.frozen
class Task:
    """Work given to an agent by an ask (delegation, a schedule); the reply is a TaskResult.

    `task_id` is stable over retries: it keys the journal. `timeout` is in seconds.
    """

    task_id: str
    text: str
    sender: str
    room: str | None = None
    user: str | None = None
    stamp: Stamp | None = None
    timeout: float = 120.0


@attrs.frozen
class TaskResult:
    """What the agent answered to a Task."""

    text: str
    agent: str


@attrs.frozen
class ControlMessage:
    """`!stop`, `!yes ID`, `!no ID` from a room; travels on the agent's control lane."""

    room: str
    sender: str
    verb: str
    argument: str = ""
    event_id: str = ""


@attrs.frozen
class ReserveHop:
    """Ask the orchestrator for one more turn in a chain; the reply is the hop, or None: no more."""

    room: str
    chain: str
    key: str


@attrs.frozen
class GiveBackHop:
    """A turn reserved under `key` said nothing (NO_REPLY): it does not count."""

    room: str
    chain: str
    key: str


@attrs.frozen
class SlotGivenUp:
    """Published on topic `slots`: a message is a dead letter; the reason is a rule's name."""

    slot_id: int
    room: str
    reason: str


@attrs.frozen
class OccurrenceEnded:
    """Published on topic `occurrences`: `count` occurrences of a schedule have this outcome."""

    schedule_id: str
    outcome: str
    reason: str = ""
    count: int = 1


@attrs.frozen
class Sent:
    """Published on topic `sent`: an outbox row has reached its room."""

    agent: str
    room: str
    txn_id: str
    event_id: str


@attrs.frozen
class Refused:
    """Published on topic `refused`: a room will not have an outbox row, now or later."""

    agent: str
    room: str
    txn_id: str
    error: str


# -- anyone -> connection -------------------------------------------------------------------------


@attrs.frozen
class Flush:
    """There is something new in the outbox for this connection."""


@attrs.frozen
class Deliver:
    """Ask a connection to send one outbox row now; the reply is its event id (str)."""

    row_id: int


@attrs.frozen
class JoinedRooms:
    """Ask a connection which rooms its agent is in: `tuple[str, ...]`, or None: unknown yet."""


@attrs.frozen
class Notice:
    """Say `text` in `room` (None: every room of the agent) once per `key`, for ever."""

    text: str
    key: str
    room: str | None = None


# -- anyone -> supervisor ------------------------------------------------------------------------


@attrs.frozen
class Reload:
    """Reload these agents (empty: all). The reply is a mapping id -> outcome."""

    agents: tuple[str, ...] = ()


@attrs.frozen
class Agents:
    """Tell the orchestrator the set of agents and rooms after a start or a reload of all."""

    rooms: tuple[Any, ...]
    agents: Mapping[str, Any]
    known_bots: tuple[str, ...] = ()


# -- supervisor -> anyone ------------------------------------------------------------------------


class CellState(enum.Enum):
    """What a supervised child does. STOPPED, QUARANTINED and FAILED last until a person acts."""

    STARTING = "starting"
    RUNNING = "running"
    DRAINING = "draining"
    BACKOFF = "backoff"
    STOPPED = "stopped"
    QUARANTINED = "quarantined"
    FAILED = "failed"


@attrs.frozen
class CellChanged:
    """Published on topic `supervision` at each change; `path` runs from the root, `a/b/c`."""

    path: str
    state: CellState
    generation: int
    reason: str = ""
