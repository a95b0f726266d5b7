"""Reading never changes what is due: lists, runs and next times asked at any moment leave no trace.

And many that are due at once all arrive.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio.testing import MockClock

from channels.messages import TaskResult
from config.schema import ActionConfig, ScheduleConfig
from cronactor.messages import (
    ListReminders,
    ListRuns,
    ListSchedules,
    ScheduleSet,
    ZoneOf,
)
from cronactor.schedule import next_fire
from tests.cronactor.world import ROOM, ZONE, World, quick_folder

pytestmark = pytest.mark.promise("P2")

READS: tuple[Callable[[Any], Any], ...] = (
    lambda world: world.ask(ListReminders()),
    lambda world: world.ask(ListReminders(ROOM, all=True)),
    lambda world: world.ask(ListSchedules()),
    lambda world: world.ask(ListSchedules("nadie")),
    lambda world: world.ask(ListRuns()),
    lambda world: world.ask(ListRuns("asistente/fija", 1)),
    lambda world: world.ask(ZoneOf("@ana", ROOM)),
    lambda world: _next(world),
)
LASTS = 200.0
EXAMPLES = 100 if os.environ.get("VIVERO_SOAK") else 25


async def _next(world: Any) -> None:
    next_fire("* * * * *", ZONE, world.clock.now())


def schedules() -> tuple[ScheduleConfig, ...]:
    fixed = ActionConfig(kind="send_message", message="fija")
    model = ActionConfig(kind="llm_prompt", prompt="?")
    return (
        ScheduleConfig("fija", ROOM, fixed, cron="* * * * *", jitter_seconds=7),
        ScheduleConfig("modelo", ROOM, model, every="45s", overlap="queue_one"),
    )


async def live(folder: Path, reads: Sequence[tuple[float, int]]) -> list[Any]:
    """Live for a while, reading at the given moments; return all that is on disk at the end."""

    async def answer(message: Any) -> None:
        await trio.sleep(50)
        message.reply(TaskResult("listo", "asistente"))

    async def read(moment: float, which: int) -> None:
        await trio.sleep(moment)
        await READS[which](world)

    world = World(folder)
    async with world, world.agent("asistente", answer), world.running():
        await world.ask(ScheduleSet("asistente", schedules()))
        for n in range(4):
            await world.add(f"en {10 + 41 * n} segundos", f"n{n}", idempotency_key=f"k{n}")
        await world.add("*/2 * * * *", "vuelve", recurring=True, idempotency_key="k")
        async with trio.open_nursery() as nursery:
            for moment, which in reads:
                nursery.start_soon(read, moment, which)
            await trio.sleep(LASTS)
    return dumped(folder / "reminders.db") + dumped(folder / "state.db")


def dumped(path: Path) -> list[Any]:
    conn = sqlite3.connect(path)
    try:
        return [line for line in conn.iterdump() if "migrations" not in line]
    finally:
        conn.close()


def lived(reads: Sequence[tuple[float, int]]) -> list[Any]:
    with quick_folder() as folder:
        return trio.run(live, folder, reads, clock=MockClock(autojump_threshold=0))


@cache
def quiet() -> list[Any]:
    """What is on disk when nobody reads."""
    return lived([])


MOMENTS = st.floats(0, LASTS - 1) | st.sampled_from([10.0, 45.0, 51.0, 59.75, 60.0, 90.0, 119.75])


@settings(max_examples=EXAMPLES)
@given(reads=st.lists(st.tuples(MOMENTS, st.integers(0, len(READS) - 1)), min_size=1, max_size=40))
def test_reads_at_any_moment_leave_everything_on_disk_as_it_would_have_been(
    reads: list[tuple[float, int]],
) -> None:
    assert len(quiet()) > 20
    assert lived(reads) == quiet()


@pytest.fixture
def fast() -> Iterator[World]:
    with quick_folder() as folder:
        yield World(folder)


async def test_five_hundred_that_are_due_in_one_second_all_arrive_in_it(
    fast: World, autojump_clock: MockClock
) -> None:
    world = fast
    async with world, world.running():
        for n in range(500):
            options = {"room": f"#r{n % 20}", "idempotency_key": f"k{n}"}
            await world.add("en 10 segundos", f"texto {n}", **options)
        due = world.clock.now() + 10
        await trio.sleep(11)
        rows = await world.rows()
    assert len({row.content["body"] for row in rows}) == 500
    assert all(due <= row.created_at < due + 0.01 for row in rows)
