"""Supervised children: what an idle one costs, how fast one restarts, what reloads cost others."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import structlog
import trio

from benchmarks.base import Baseline, Row, interleaved
from channels.bus import Bus
from channels.mailbox import Inbox
from supervisor.policy import Backoff, Intensity
from supervisor.spec import ChildSpec
from supervisor.supervisor import Supervisor

BUSY = 50
WORK = 0.001  # seconds that a busy actor spends on each ask
PAUSE = 0.02  # seconds between two reloads
AT_ONCE = Backoff(0.0, 1.0, 0.0, 0.0)
WITHOUT_END = Intensity(10**9, 1e-6)


def rows(quick: bool) -> list[Row]:
    """Measure idle children (each time in a process of its own), crashes, and reloads."""
    children, crashes, seconds, passes = (1000, 500, 0.5, 2) if quick else (10_000, 10_000, 3.0, 7)
    return [
        *_idle_rows(children, max(2, passes // 2)),
        _crash_row(crashes, passes),
        *_reload_rows(seconds, passes),
    ]


def _idle_rows(children: int, passes: int) -> list[Row]:
    ours = [_in_a_process("idle", children) for _ in range(passes)]
    bare = [_in_a_process("bare", children) for _ in range(passes)]
    scale = children / 10_000
    return [
        _at_most(name, unit, budget, [one[name] for one in ours], [one[name] for one in bare])
        for name, unit, budget in (
            ("memory of an idle actor", "kB", 12.0),
            (f"start of {children} actors", "s", 3.0 * scale),
            (f"stop of {children} actors", "s", 2.0 * scale),
        )
    ]


def _crash_row(crashes: int, passes: int) -> Row:
    samples = interleaved(
        {
            "supervised": partial(trio.run, _crashes, crashes),
            "bare Trio": partial(trio.run, _bare_crashes, crashes),
        },
        passes=passes,
    )
    rate, bare = median(samples["supervised"]), median(samples["bare Trio"])
    return Row(
        "crash to next generation ready",
        rate,
        "crashes/s",
        "≥ 5000",
        rate >= 5000,
        (Baseline("bare Trio", bare, rate / bare),),
        "without backoff; the log's own cost left out",
    )


def _reload_rows(seconds: float, passes: int) -> list[Row]:
    reloads: list[float] = []
    samples = interleaved(
        {
            "without": partial(trio.run, _others_p99, seconds, None),
            "with": partial(trio.run, _others_p99, seconds, reloads),
        },
        passes=passes,
    )
    quiet, busy = median(samples["without"]), median(samples["with"])
    allowed = 1.2 * quiet + 2.0
    p50 = median(reloads)
    return [
        Row(f"hot reload among {BUSY} busy actors, p50", p50, "ms", "≤ 20", p50 <= 20.0),
        Row(
            f"p99 ask of the other {BUSY - 1} during reloads",
            busy,
            "ms",
            "≤ 1.2 × without + 2 ms",
            busy <= allowed,
            (Baseline("without reloads", quiet, busy / quiet),),
            f"a reload every {PAUSE * 1000:g} ms",
        ),
    ]


def _at_most(
    name: str, unit: str, budget: float, ours: Sequence[float], bare: Sequence[float]
) -> Row:
    value, floor = median(ours), median(bare)
    baseline = Baseline("bare Trio", floor, value / floor if floor else None)
    return Row(name, value, unit, f"≤ {budget:g}", value <= budget, (baseline,))


class _Echo:
    """Answers every ask with its body, at once."""

    async def run(self, inbox: Inbox, *, task_status: trio.TaskStatus[Any]) -> None:
        task_status.started()
        async for message in inbox:
            message.reply(message.body)


class _Busy:
    """Answers every ask after some work elsewhere."""

    async def run(self, inbox: Inbox, *, task_status: trio.TaskStatus[Any]) -> None:
        task_status.started()
        async for message in inbox:
            await trio.sleep(WORK)
            message.reply(message.body)


class _Crashing:
    """Is ready, waits once, crashes; the `last` generation stays."""

    lives = 0

    def __init__(self, last: int, done: trio.Event) -> None:
        self.last, self.done = last, done

    async def run(self, inbox: Inbox, *, task_status: trio.TaskStatus[Any]) -> None:
        _Crashing.lives += 1
        task_status.started()
        if _Crashing.lives > self.last:
            self.done.set()
            await inbox.wait_draining()
            return
        await trio.lowlevel.checkpoint()
        raise ValueError("crash")


@asynccontextmanager
async def _supervised(specs: Sequence[ChildSpec]) -> AsyncIterator[Supervisor]:
    async with Bus.open() as bus, trio.open_nursery() as nursery:
        root = Supervisor("root", specs, bus=bus, stop_timeout=60.0)
        await nursery.start(root.run)
        yield root
        root.shutdown()


async def _crashes(crashes: int) -> float:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    _Crashing.lives, done = 0, trio.Event()
    spec = ChildSpec(
        "a",
        lambda: _Crashing(crashes, done),
        address="a",
        backoff=AT_ONCE,
        intensity=WITHOUT_END,
    )
    start = time.perf_counter()
    async with _supervised([spec]):
        await done.wait()
        return crashes / (time.perf_counter() - start)


async def _bare_crashes(crashes: int) -> float:
    async def crash(task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        await trio.lowlevel.checkpoint()
        raise ValueError("crash")

    start = time.perf_counter()
    for _ in range(crashes):
        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(crash)
        except* ValueError:
            pass
    return crashes / (time.perf_counter() - start)


async def _others_p99(seconds: float, reloads: list[float] | None) -> float:
    """The p99 in ms of asks to all but the first actor, which is reloaded given a list for it."""
    latencies: list[float] = []
    names = [f"actor{number}" for number in range(BUSY)]
    async with _supervised([ChildSpec(name, _Busy, address=name) for name in names]) as root:
        with trio.move_on_after(seconds):
            async with trio.open_nursery() as nursery:
                for name in names[1:]:
                    nursery.start_soon(_ask_on, root.bus, name, latencies)
                if reloads is not None:
                    nursery.start_soon(_reload_on, root, names[0], reloads)
    return quantiles(latencies, n=100)[98]


async def _ask_on(bus: Bus, name: str, latencies: list[float]) -> None:
    while True:
        start = time.perf_counter()
        await bus.ask(name, None, timeout=5.0)
        latencies.append((time.perf_counter() - start) * 1000)


async def _reload_on(root: Supervisor, name: str, reloads: list[float]) -> None:
    while True:
        await trio.sleep(PAUSE)
        start = time.perf_counter()
        await root.restart_child(name)
        reloads.append((time.perf_counter() - start) * 1000)


def _in_a_process(kind: str, children: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.supervision", kind, str(children)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def _resident_kb() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4.096


async def _idle(children: int) -> dict[str, float]:
    specs = [ChildSpec(f"a{number}", _Echo, address=f"a{number}") for number in range(children)]
    return await _measured(children, lambda: _supervised(specs))


@asynccontextmanager
async def _parked(children: int) -> AsyncIterator[None]:
    async def actor(task_status: trio.TaskStatus[None]) -> None:
        send, receive = trio.open_memory_channel[object](1024)
        async with send, receive:
            task_status.started()
            await receive.receive()

    async with trio.open_nursery() as nursery:
        for _ in range(children):
            await nursery.start(actor)
        yield
        nursery.cancel_scope.cancel()


async def _bare(children: int) -> dict[str, float]:
    return await _measured(children, lambda: _parked(children))


async def _measured(children: int, running: Callable[[], Any]) -> dict[str, float]:
    """Start, weigh and stop; start and stop in seconds, memory in kB for each child."""
    before, start = _resident_kb(), time.perf_counter()
    async with running():
        started = time.perf_counter()
        memory = (_resident_kb() - before) / children
        stop = time.perf_counter()
    return {
        "memory of an idle actor": memory,
        f"start of {children} actors": started - start,
        f"stop of {children} actors": time.perf_counter() - stop,
    }


if __name__ == "__main__":
    print(json.dumps(trio.run({"idle": _idle, "bare": _bare}[sys.argv[1]], int(sys.argv[2]))))
