"""What the actors publish, as the desk tells it: a batch at a time, for there may be floods."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress

import trio

from channels.messages import CellChanged
from channels.rooms import RoomEvent
from channels.topics import Subscription
from supervisor.causes import line_of
from supervisor.desk.office import CellChange, Line

__all__ = ["BACKLOG", "happenings"]

BACKLOG = 16_384  # events that the desk may be behind: as many as its feed holds


async def happenings(
    events: Subscription, agents: Callable[[], Mapping[str, str]]
) -> AsyncIterator[tuple[str, Line | CellChange]]:
    """Yield (topic, happening) until the subscription ends; `agents`: user id -> our agent's id."""
    with suppress(trio.EndOfChannel):
        while True:
            some, ours = await events.receive_some(), agents()
            for event in some:
                yield _happening(event, ours)


def _happening(
    event: RoomEvent | CellChanged, agents: Mapping[str, str]
) -> tuple[str, Line | CellChange]:
    if isinstance(event, RoomEvent):
        return f"rooms/{event.room}", line_of(event, agents)
    change = CellChange(event.path, event.state.value, event.generation, event.reason)
    return "supervision", change
