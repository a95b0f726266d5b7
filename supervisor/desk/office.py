"""What the desk asks of the runtime: one protocol, whose answers have the types of `shapes`.

The launcher implements `Office` with the real parts; nothing in `supervisor/desk` reaches further.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from config.problems import Problem
from supervisor.desk.shapes import (
    About,
    AgentInfo,
    Cause,
    CellChange,
    CronInfo,
    CronRun,
    LastRun,
    Line,
    Node,
    Readiness,
    ReloadReport,
    ReloadResult,
    ReminderInfo,
    RoomInfo,
    SlotInfo,
    Status,
    Supervised,
    TurnInfo,
    Why,
    ZoneShown,
)
from supervisor.desk.texts import Texts

__all__ = [
    "About",
    "AgentInfo",
    "Cause",
    "CellChange",
    "CronInfo",
    "CronRun",
    "LastRun",
    "Line",
    "NamedError",
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
    "ZoneShown",
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

    def said(self, texts: Texts) -> str:
        """Return the sentence; `texts` are in the language of whoever reads it."""
        return self.text


class NamedError(OfficeError):
    """An OfficeError whose sentence is one of `Texts`, by its key: it is said in any language."""

    def __init__(self, key: str, status: int = 400, **values: object) -> None:
        super().__init__(Texts("en")(key, **values), status)
        self._key = key
        self._values = values

    def said(self, texts: Texts) -> str:
        """Return the sentence; `texts` are in the language of whoever reads it."""
        return texts(self._key, **self._values)


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
        """Return active and paused reminders, of one room or of all; `all` adds the past ones."""
        ...

    async def timezone(self, user: str | None, room: str | None) -> ZoneShown:
        """Return the time zone that counts for a user, in a room or anywhere, or for a room."""
        ...

    async def set_timezone(self, user: str | None, room: str | None, zone: str | None) -> ZoneShown:
        """Set the time zone of a user or else of a room (IANA); None forgets what was set."""
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
