"""The same reminders kept by others: a bare heap, APScheduler with its two job stores."""

from __future__ import annotations

import heapq
import importlib
import logging
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import trio

__all__ = [
    "apscheduler_installed",
    "apscheduler_lags",
    "apscheduler_times",
    "commit_time",
    "heap_lags",
    "heap_times",
    "heard",
    "open_bare",
]

_LAGS: list[float] = []
_PROBES = 20


def commit_time(file: sqlite3.Connection) -> float:
    """Seconds of one row written and synced to the disk: what any store must pay."""
    start = time.perf_counter()
    file.execute("INSERT INTO written(what) VALUES ('')")
    return time.perf_counter() - start


def open_bare(file: Path) -> sqlite3.Connection:
    """Open a file for `commit_time`."""
    raw = sqlite3.connect(file, isolation_level=None)
    raw.execute("PRAGMA journal_mode=WAL")
    raw.execute("PRAGMA synchronous=FULL")
    raw.execute("CREATE TABLE written(what)")
    return raw


def heap_times(count: int) -> tuple[float, float]:
    """Seconds to push `count` entries, and to remove one (by forgetting its id)."""
    heap: list[tuple[float, int]] = []
    known: dict[int, str] = {}
    now = time.time()
    start = time.perf_counter()
    for number in range(count):
        known[number] = f"recordatorio {number}"
        heapq.heappush(heap, (now + 3600 + number % 86400, number))
    added = time.perf_counter() - start
    start = time.perf_counter()
    for number in range(0, count, 10):
        del known[number]
    return added, (time.perf_counter() - start) / len(range(0, count, 10))


def heap_lags(dues: Sequence[float]) -> list[float]:
    """How late, in seconds, a Trio task that sleeps until the top of a heap takes each."""

    async def main() -> list[float]:
        heap, lags = list(dues), []
        heapq.heapify(heap)
        while heap:
            await trio.sleep(max(heap[0] - time.time(), 0.0005))
            while heap and heap[0] <= time.time():
                lags.append(time.time() - heapq.heappop(heap))
        return lags

    return trio.run(main)


def apscheduler_installed() -> bool:
    """Whether APScheduler and SQLAlchemy can be imported (`./dev bench` fetches them)."""
    try:
        importlib.import_module("apscheduler.schedulers.background")
        importlib.import_module("sqlalchemy")
    except ImportError:
        return False
    return True


def apscheduler_times(file: Path | None, count: int, removed: int) -> tuple[float, list[float]]:
    """Seconds to add `count` jobs to a running scheduler, and of `removed` removals each."""
    far = time.time() + 86400
    with _running(file) as scheduler:
        start = time.perf_counter()
        _add(scheduler, [far + number for number in range(count)])
        added = time.perf_counter() - start
        took = []
        for number in range(removed):
            start = time.perf_counter()
            scheduler.remove_job(str(number))
            took.append(time.perf_counter() - start)
        return added, took


def apscheduler_lags(file: Path | None, dues: Callable[[float], Sequence[float]]) -> list[float]:
    """How late, in seconds, each of these jobs starts.

    `dues(lead)` gives instants from `lead` seconds on: time enough to add them all before.
    """
    _LAGS.clear()
    with _running(file, paused=True) as scheduler:
        start = time.perf_counter()
        _add(scheduler, [time.time() + 86400] * _PROBES)
        each = (time.perf_counter() - start) / _PROBES
        scheduler.remove_all_jobs()
        instants = dues(1.5 + 2 * each * len(dues(0.0)))
        _add(scheduler, instants)
        if time.time() > min(instants):
            raise RuntimeError("adding the jobs took longer than expected")
        scheduler.resume()
        while len(_LAGS) < len(instants):
            time.sleep(0.05)
    return list(_LAGS)


def heard(due: float) -> None:
    """The job: note how late it is."""
    _LAGS.append(time.time() - due)


@contextmanager
def _running(file: Path | None, *, paused: bool = False) -> Any:
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    background = importlib.import_module("apscheduler.schedulers.background")
    if file is None:
        store = importlib.import_module("apscheduler.jobstores.memory").MemoryJobStore()
    else:
        module = importlib.import_module("apscheduler.jobstores.sqlalchemy")
        store = module.SQLAlchemyJobStore(url=f"sqlite:///{file}")
    scheduler = background.BackgroundScheduler(
        jobstores={"default": store}, job_defaults={"misfire_grace_time": None}, timezone=UTC
    )
    scheduler.start(paused=paused)
    try:
        yield scheduler
    finally:
        scheduler.shutdown(wait=False)


def _add(scheduler: Any, dues: Sequence[float]) -> None:
    for number, due in enumerate(dues):
        scheduler.add_job(
            "benchmarks.timers:heard",
            "date",
            run_date=datetime.fromtimestamp(due, UTC),
            args=[due],
            id=str(number),
        )
