"""Hot reload of one agent among 50 busy ones: how long it takes, what the other 49 feel."""

from __future__ import annotations

import itertools
import logging
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median, quantiles

import structlog
import trio

from benchmarks.base import Row
from channels.clock import SystemClock
from channels.messages import Task
from supervisor.launcher import Household
from supervisor.plan import read_workspace
from supervisor.reload import Reloader
from supervisor.services import furnish, open_services
from supervisor.testkit.house import make_workspace

AGENTS = 50
RELOAD_MS, FACTOR, SLACK_MS = 20.0, 1.2, 2.0
THINK_SECONDS = 1.0  # between two questions to one agent: some 45 turns a second, each with a tool


def rows(quick: bool) -> list[Row]:
    """Measure in turns, with and without reloads, in one running house."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    rounds, seconds = (2, 2.0) if quick else (7, 4.0)
    with tempfile.TemporaryDirectory() as folder:
        return trio.run(_measure, Path(folder), rounds, seconds)


async def _measure(folder: Path, rounds: int, seconds: float) -> list[Row]:
    took: list[float] = []
    calm: list[float] = []
    stirred: list[float] = []
    async with _house(folder) as household:
        reloader = Reloader(household.fleet)
        await _round(household, seconds, None, [])
        for _ in range(rounds):
            calm.append(_p99(await _round(household, seconds, None, took)))
            stirred.append(_p99(await _round(household, seconds, reloader, took)))
    limit = FACTOR * median(calm) + SLACK_MS
    reload_ms = median(took)
    return [
        Row(
            "reload of a loop among 50 busy agents, p50",
            reload_ms,
            "ms",
            f"≤ {RELOAD_MS:g} ms",
            reload_ms <= RELOAD_MS,
            note=f"p99 {_p99(took):.1f} ms, {len(took)} reloads",
        ),
        Row(
            "p99 of the other 49 with reloads",
            median(stirred),
            "ms",
            f"≤ {FACTOR:g} × without + {SLACK_MS:g} ms",
            median(stirred) <= limit,
            note=f"without {median(calm):.1f} ms, so ≤ {limit:.1f} ms; median of {rounds} rounds",
        ),
    ]


@asynccontextmanager
async def _house(folder: Path) -> AsyncIterator[Household]:
    workspace = make_workspace(folder / "w", dict(_files()))
    plan = read_workspace(workspace)
    async with open_services(workspace, plan.supervisor.value, clock=SystemClock()) as services:
        await furnish(services, plan.supervisor.value.rooms)
        household = Household.build(services, plan, api=False)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(household.root.run)
            await household.until_ready()
            yield household
            household.root.shutdown()


def _files() -> Iterator[tuple[str, str]]:
    for number in range(AGENTS):
        yield f"agents/a{number:02}/config.yaml", "llm:\n  provider: builtin\n"
        yield f"agents/a{number:02}/prompt.md", "Be brief.\n"


_count = itertools.count()


async def _round(
    household: Household, seconds: float, reloader: Reloader | None, took: list[float]
) -> list[float]:
    """Keep 49 agents busy for a while; return their answers' milliseconds."""
    latencies: list[float] = []

    async def customer(agent: str) -> None:
        while True:
            body = Task(f"bench-{next(_count)}", "¿qué hora es?", "bench")
            begun = trio.current_time()
            await household.services.bus.ask(agent, body, timeout=30)
            latencies.append((trio.current_time() - begun) * 1000)
            await trio.sleep(THINK_SECONDS)

    with trio.move_on_after(seconds):
        async with trio.open_nursery() as nursery:
            for number in range(1, AGENTS):
                nursery.start_soon(customer, f"a{number:02}")
            while reloader is not None:
                begun = trio.current_time()
                report = await reloader.reload(("a00",))
                took.append((trio.current_time() - begun) * 1000)
                assert not report.failed, report
                await trio.sleep(0.1)
            await trio.sleep_forever()
    return latencies


def _p99(values: list[float]) -> float:
    return quantiles(values, n=100)[98]
