"""Reminders: what 100 000 of them cost, and how late what is due begins and arrives."""

from __future__ import annotations

import gc
import logging
import math
import tempfile
import time
from pathlib import Path
from statistics import median

import structlog
import trio

from benchmarks import timers
from benchmarks.base import Row
from benchmarks.lateness import arrival_row, burst_row, single_row
from benchmarks.timehouse import MEMORY, ROOM, SQLITE, House, at_most, far, fresh, house
from cronactor.messages import DeleteReminder
from cronactor.reminder import Reminder

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
            burst_row(folder, passes, 100 if quick else 1000),
            single_row(folder, 20 if quick else 200),
            arrival_row(folder, passes, 50 if quick else 500),
        ]


def _memory_rows(count: int, folder: Path) -> list[Row]:
    added, removed = trio.run(_agenda_times, count, fresh(folder))
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
        at_most(
            f"{count} reminders added to the running scheduler, in memory",
            added,
            "s",
            budget,
            {"bare heap": heap_added, **adds},
            note,
        ),
        at_most(
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
    place, wanted = fresh(folder), far(count)
    async with house(place) as ours:
        gc.collect()
        start = time.perf_counter()
        await ours.store.create_many(wanted)
        added = time.perf_counter() - start
    async with house(place) as ours:
        ready = ours.ready
        bare, took, commits = timers.open_bare(place / "bare.db"), [], []
        for reminder in wanted[: count // 100]:
            took.append(await _removed(ours, reminder))
            commits.append(timers.commit_time(bare))
        bare.close()
    few = f"of {count} reminders in the store"
    return [
        at_most(f"{count} reminders added to the store", added, "s", 4 * count / 100_000),
        at_most(f"cold start with {count} reminders", ready, "s", 3 * count / 100_000),
        at_most(
            f"one {few} removed by message, p50",
            median(took) * 1e3,
            "ms",
            1,
            {"bare commit": median(commits) * 1e3},
        ),
    ]


async def _removed(ours: House, reminder: Reminder) -> float:
    start = time.perf_counter()
    await ours.bus.ask("scheduler", DeleteReminder(reminder.id, ROOM), timeout=math.inf)
    return time.perf_counter() - start
