"""Reminders: what 100 000 of them cost, and how late what is due begins and arrives."""

from __future__ import annotations

import gc
import logging
import math
import random
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import attrs
import structlog
import trio

from benchmarks import timers
from benchmarks.base import Baseline, Row
from channels.bus import Bus
from channels.clock import SystemClock
from channels.database import Database
from channels.mailbox import Mailbox
from channels.outbox import MIGRATIONS as OUTBOX
from channels.outbox import Outbox
from cronactor.actions import Actions
from cronactor.messages import DeleteReminder
from cronactor.reminder import Reminder, short_id
from cronactor.scheduler import Scheduler
from cronactor.store import ReminderStore

AGENT, ROOM = "asistente", "#taller"
MEMORY, SQLITE = "APScheduler, memory", "APScheduler, SQLite"
NOTE = (
    "APScheduler is measured with fewer jobs ({n} in memory, {m} in SQLite) and scaled to {count}, "
    "which is kind to it: adding slows down as jobs pile up."
)


def rows(quick: bool) -> list[Row]:
    """Measure the figures of 100 000 reminders (10 000 when quick), then lateness."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    count = 10_000 if quick else 100_000
    passes = 1 if quick else 3
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [
            *_memory_rows(count, folder),
            *trio.run(_store_rows, count, folder),
            _burst_row(folder, passes, 100 if quick else 1000),
            _single_row(folder, 20 if quick else 200),
            _arrival_row(folder, passes, 50 if quick else 500),
        ]


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


# -- how many --------------------------------------------------------------------------------------


def _memory_rows(count: int, folder: Path) -> list[Row]:
    added, removed = trio.run(_agenda_times, count, _fresh(folder))
    heap_added, heap_removed = timers.heap_times(count)
    few, fewer = count // 10, count // 200
    adds: dict[str, float | None] = {MEMORY: None, SQLITE: None}
    removes: dict[str, float | None] = {MEMORY: None, SQLITE: None}
    if timers.apscheduler_installed():
        for name, file, jobs in ((MEMORY, None, few), (SQLITE, folder / "aps.db", fewer)):
            seconds, each = timers.apscheduler_times(file, jobs, jobs // 5)
            adds[name], removes[name] = seconds * count / jobs, median(each) * 1e6
    note = NOTE.format(n=few, m=fewer, count=count) if adds[MEMORY] is not None else ""
    budget = count / 100_000
    return [
        _most(
            f"{count} reminders added to the running scheduler, in memory",
            added,
            "s",
            budget,
            {"bare heap": heap_added, **adds},
            note,
        ),
        _most(
            f"one of {count} reminders removed, in memory",
            removed * 1e6,
            "µs",
            20,
            {"bare heap": heap_removed * 1e6, **removes},
        ),
    ]


async def _agenda_times(count: int, folder: Path) -> tuple[float, float]:
    """Seconds to put so many into the agenda of a scheduler that runs, and to take out one."""
    wanted = far(count)
    async with house(folder) as ours:
        agenda = ours.scheduler._agenda
        gc.collect()
        start = time.perf_counter()
        for number, reminder in enumerate(wanted):
            agenda.put(reminder.id, reminder.next_due, reminder)
            if number % 1000 == 999:
                await trio.lowlevel.checkpoint()  # the scheduler wakes and looks
        added = time.perf_counter() - start
        gone = wanted[::10]
        start = time.perf_counter()
        for reminder in gone:
            agenda.remove(reminder.id)
        return added, (time.perf_counter() - start) / len(gone)


async def _store_rows(count: int, folder: Path) -> list[Row]:
    place, wanted = _fresh(folder), far(count)
    async with house(place) as ours:
        gc.collect()
        start = time.perf_counter()
        await ours.store.create_many(wanted)
        added = time.perf_counter() - start
    async with house(place) as ours:
        ready = ours.ready
        took = [await _removed(ours, reminder) for reminder in wanted[: count // 100]]
    few = f"of {count} reminders in the store"
    return [
        _most(f"{count} reminders added to the store", added, "s", 4 * count / 100_000),
        _most(f"cold start with {count} reminders", ready, "s", 3 * count / 100_000),
        _most(f"one {few} removed by message, p50", median(took) * 1e3, "ms", 1),
    ]


async def _removed(ours: House, reminder: Reminder) -> float:
    start = time.perf_counter()
    await ours.bus.ask("scheduler", DeleteReminder(reminder.id, ROOM), timeout=math.inf)
    return time.perf_counter() - start


# -- how late --------------------------------------------------------------------------------------


def _burst_row(folder: Path, passes: int, count: int) -> Row:
    def dues() -> list[float]:
        return [time.time() + 1.0 + count / 500] * count

    return _late_row(
        f"{count} due at one instant: scheduled to action started, p99", dues, folder, passes, 150
    )


def _single_row(folder: Path, count: int) -> Row:
    def dues() -> list[float]:
        start = time.time() + 1.0 + count / 200
        return [start + 0.03 * number for number in range(count)]

    return _late_row(f"one timer at a time ({count}), p99 lag", dues, folder, 1, 20)


def _late_row(
    name: str, dues: Callable[[], list[float]], folder: Path, passes: int, most: float
) -> Row:
    contenders: dict[str, Callable[[], list[float]]] = {
        "ours": lambda: trio.run(_started, dues, _fresh(folder)),
        "bare heap": lambda: timers.heap_lags(dues()),
    }
    if timers.apscheduler_installed():
        contenders[MEMORY] = lambda: timers.apscheduler_lags(None, dues)
        contenders[SQLITE] = lambda: timers.apscheduler_lags(_fresh(folder) / "aps.db", dues)
    found: dict[str, list[float]] = {each: [] for each in contenders}
    for _ in range(passes):
        for each, measure in contenders.items():
            gc.collect()
            found[each].append(p99(measure()) * 1e3)
    others: dict[str, float | None] = {MEMORY: None, SQLITE: None}
    others |= {each: median(values) for each, values in found.items() if each != "ours"}
    return _most(name, median(found["ours"]), "ms", most, others)


async def _started(dues: Callable[[], list[float]], folder: Path) -> list[float]:
    """How late each action is begun, its claim being on disk."""
    lags: list[float] = []
    done = trio.Event()
    deliver = Actions.deliver

    async def noted(self: Actions, claims: Sequence[Any]) -> None:
        now = time.time()
        lags.extend(now - claim.occurrence.scheduled_at for claim in claims)
        await deliver(self, claims)
        if len(lags) >= len(instants):
            done.set()

    instants = await _filled(folder, dues)
    with patch.object(Actions, "deliver", noted):
        async with house(folder):
            await done.wait()
    return lags


def _arrival_row(folder: Path, passes: int, count: int) -> Row:
    def dues() -> list[float]:
        start = time.time() + 1.5
        return [start + number / count for number in range(count)]

    lags = [trio.run(_arrived, dues, _fresh(folder)) for _ in range(passes)]
    late = [value * 1e3 for run in lags for value in run]
    return Row(
        f"{count} due in one second: scheduled to read by the connection, p99",
        p99(late),
        "ms",
        "all arrive, none early",
        len(late) == passes * count and min(late) >= 0,
        note=f"median {median(late):.1f} ms, from {min(late):.1f} to {max(late):.1f} ms",
    )


async def _arrived(dues: Callable[[], list[float]], folder: Path) -> list[float]:
    """How late each message is in the hands of its agent's connection."""
    instants = await _filled(folder, dues)
    lags: dict[int, float] = {}
    async with house(folder) as ours, trio.open_nursery() as nursery:
        mailbox = Mailbox()
        ours.bus.register(f"{AGENT}/connection", mailbox)
        inbox = mailbox.open_inbox()
        with trio.move_on_after(60):
            while len(lags) < len(instants):
                await inbox.receive()
                for row in await ours.outbox.pending(AGENT):
                    number = int(str(row.content["body"]).rsplit(" ", 1)[1])
                    lags.setdefault(number, time.time() - instants[number])
                    nursery.start_soon(ours.outbox.mark_sent, row.id, f"$event{row.id}")
        inbox.close()
    return list(lags.values())


async def _filled(folder: Path, dues: Callable[[], list[float]]) -> list[float]:
    async with house(folder) as ours:
        instants = dues()
        await ours.store.create_many(reminders(instants))
    return instants


def p99(values: Sequence[float]) -> float:
    """The value that 99 % are at or below."""
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]


def _fresh(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))


def _most(
    name: str,
    value: float,
    unit: str,
    most: float,
    beside: dict[str, float | None] | None = None,
    note: str = "",
) -> Row:
    baselines = tuple(
        Baseline(other, figure, None if figure is None or not value else figure / value)
        for other, figure in (beside or {}).items()
    )
    return Row(name, value, unit, f"≤ {most:g} {unit}", value <= most, baselines, note)
