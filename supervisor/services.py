"""What all actors of a workspace share: the bus, two databases, rooms, inbox, outbox, journal."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

import attrs

from actors.journal import MIGRATIONS as JOURNAL
from actors.journal import Journal
from channels.bus import Bus
from channels.clock import SystemClock, WallClock
from channels.database import Database
from channels.inbox import MIGRATIONS as INBOX
from channels.inbox import EventInbox
from channels.local import MIGRATIONS as LOCAL
from channels.local import LocalRooms
from channels.outbox import MIGRATIONS as OUTBOX
from channels.outbox import Outbox
from config.schema import RoomConfig, SupervisorConfig
from config.workspace import Workspace
from cronactor.health import Health
from cronactor.opening import open_store
from cronactor.store import ReminderStore
from supervisor.metrics import Metrics

__all__ = ["STATE_MIGRATIONS", "Services", "furnish", "open_services"]

SWITCH_SECONDS = 0.0005
"""How long a busy loop may keep a finished database thread waiting (Python's default: 5 ms); an
answer waits for several of them."""
STATE_MIGRATIONS = (*INBOX, *OUTBOX, *LOCAL, *JOURNAL)


@attrs.frozen
class Services:
    """One of each for the whole process; the launcher opens and closes them."""

    workspace: Workspace
    bus: Bus
    clock: WallClock
    inbox: EventInbox
    outbox: Outbox
    journal: Journal
    rooms: LocalRooms
    reminders: ReminderStore
    metrics: Metrics
    health: Health = attrs.field(factory=Health)
    random: Random = attrs.field(factory=Random)


@asynccontextmanager
async def open_services(
    workspace: Workspace,
    config: SupervisorConfig,
    *,
    clock: WallClock | None = None,
    threaded: bool = True,
) -> AsyncIterator[Services]:
    """Open the databases and the bus for the block; its end closes all, shielded and bounded.

    `threaded=False` keeps SQLite in the Trio thread, as virtual time needs. Raises DatabaseError
    (and its kinds) with a sentence for people when a file cannot be used.
    """
    now = clock or SystemClock()
    sys.setswitchinterval(SWITCH_SECONDS)
    async with AsyncExitStack() as stack:
        state = await stack.enter_async_context(
            Database.open(workspace.state_db, STATE_MIGRATIONS, threaded=threaded)
        )
        health = Health()
        reminders = await open_store(workspace.reminders_db(config), health, now, threaded=threaded)
        stack.push_async_callback(reminders.close)
        bus = await stack.enter_async_context(Bus.open(now))
        yield Services(
            workspace=workspace,
            bus=bus,
            clock=now,
            inbox=EventInbox(state, now, max_event_age=config.max_event_age_seconds),
            outbox=Outbox(state, now),
            journal=Journal(state, now),
            rooms=LocalRooms(state, now, bus),
            reminders=reminders,
            health=health,
            metrics=Metrics(),
        )


async def furnish(services: Services, rooms: tuple[RoomConfig, ...]) -> None:
    """Make the configured local rooms and bring all rooms' agents up to date; people stay.

    Raises RoomError, before anything is changed, for an alias that is another stored room's id.
    """
    await services.rooms.name_rooms({room.id: room.alias for room in rooms})
    for room in rooms:
        await services.rooms.ensure_room(room.id, room.alias, room.participants)
    wanted = {room.id: room.participants for room in rooms}
    for stored in await services.rooms.rooms():
        for member in stored.members:
            if not member.startswith("@") and member not in wanted.get(stored.id, ()):
                await services.rooms.leave(stored.id, member)
