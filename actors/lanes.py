"""What an agent loop has in hand: turns and tasks, each waiting in its lane or running."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import attrs
import trio

from channels.inbox import Slot
from channels.mailbox import Message

__all__ = ["Job", "Lane", "RunningTurn"]


@attrs.frozen
class RunningTurn:
    """A turn or task at work: its room (None: a task outside rooms), its start (epoch seconds)."""

    room: str | None
    started: float
    slot_id: int | None = None


@attrs.define(eq=False)
class Job:
    """A turn or a task, waiting in its lane or running."""

    lane: str
    room: str | None
    slot: Slot | None = None
    message: Message | None = None
    started: float | None = None
    stopped: bool = False
    scope: trio.CancelScope = attrs.field(factory=trio.CancelScope)


@attrs.define(eq=False)
class Lane:
    """Jobs that must not overlap: of one room, or of one task."""

    waiting: deque[Job] = attrs.field(factory=deque)
    running: Job | None = None

    def jobs(self) -> Iterator[Job]:
        """The one that runs, then those that wait."""
        if self.running is not None:
            yield self.running
        yield from self.waiting
