"""A scheduler on files with its stores, as the benchmarks of reminders run it."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import trio

from benchmarks.base import Baseline, Row
from channels.bus import Bus
from channels.clock import SystemClock
from channels.database import Database
from channels.mailbox import Mailbox
from channels.outbox import MIGRATIONS as OUTBOX
from channels.outbox import Outbox
from cronactor.reminder import Reminder, short_id
from cronactor.scheduler import Scheduler
from cronactor.store import ReminderStore

__all__ = [
    "AGENT",
    "MEMORY",
    "ROOM",
    "SQLITE",
    "House",
    "at_most",
    "far",
    "fresh",
    "house",
    "reminders",
]

AGENT, ROOM = "asistente", "#taller"
MEMORY, SQLITE = "APScheduler, memory", "APScheduler, SQLite"


def reminders(dues: Sequence[float], start: int = 0) -> list[Reminder]:
    """One-shots due at these instants; the message ends with the number."""
    now = time.time()
    return [
        Reminder(
            id=short_id(f"clave {number}"),
            agent=AGENT,
            room=ROOM,
            user="@ana",
            message=f"recordatorio {number}",
            timezone="Europe/Madrid",
            locale="es",
            created_at=now,
            next_due=due,
            idempotency_key=f"clave {number}",
        )
        for number, due in enumerate(dues, start)
    ]


def far(count: int) -> list[Reminder]:
    """Reminders due tomorrow and later, in no order."""
    shuffled = random.Random(4).sample(range(count), count)
    return reminders([time.time() + 86400 + number for number in shuffled])


@attrs.define
class House:
    """A running scheduler on files, and what it needs."""

    store: ReminderStore
    outbox: Outbox
    bus: Bus
    scheduler: Scheduler
    ready: float  # seconds from nothing to ready


@asynccontextmanager
async def house(folder: Path) -> AsyncIterator[House]:
    """Open the stores, start a scheduler, drain it in the end."""
    clock, mailbox = SystemClock(), Mailbox()
    async with Database.open(folder / "state.db", OUTBOX) as state:
        start = time.perf_counter()
        store = await ReminderStore.open(folder / "reminders.db")
        outbox, bus = Outbox(state, clock), Bus(clock)
        bus.register("scheduler", mailbox)
        inbox = mailbox.open_inbox()
        scheduler = Scheduler(
            store=store,
            outbox=outbox,
            bus=bus,
            clock=clock,
            workspace_root=folder,
            timezone="Europe/Madrid",
        )
        async with trio.open_nursery() as nursery:
            await nursery.start(scheduler.run, inbox)
            yield House(store, outbox, bus, scheduler, time.perf_counter() - start)
            inbox.drain()
        await store.close()


def fresh(folder: Path) -> Path:
    """Make a new folder inside another."""
    return Path(tempfile.mkdtemp(dir=folder))


def at_most(
    name: str,
    value: float,
    unit: str,
    most: float,
    beside: dict[str, float | None] | None = None,
    note: str = "",
) -> Row:
    """Make a row whose figure must be at most so much, with others' figures beside it."""
    baselines = tuple(
        Baseline(other, figure, None if figure is None or not value else figure / value)
        for other, figure in (beside or {}).items()
    )
    return Row(name, value, unit, f"≤ {most:g} {unit}", value <= most, baselines, note)
