"""Reading never changes state: lists, statuses and previews between fires leave the files as is."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from channels.database import Database
from config.schema import ScheduleConfig
from cronactor.messages import ListReminders, ListRuns, ListSchedules, ScheduleSet, ZoneOf
from cronactor.schedule import next_fire
from tests.cronactor.world import ROOM, ZONE, World

MakeSchedule = Callable[..., ScheduleConfig]
READS: tuple[Callable[[], object], ...] = (
    ListReminders,
    lambda: ListReminders(ROOM),
    lambda: ListReminders(ROOM, all=True),
    ListRuns,
    lambda: ListRuns("asistente/minuto", 3),
    lambda: ListRuns("nadie/nada"),
    ListSchedules,
    lambda: ListSchedules("asistente"),
    lambda: ZoneOf("@ana", ROOM),
)


async def everything(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""

    def dump(db: Any) -> dict[str, list[tuple[Any, ...]]]:
        names = [row[0] for row in db.conn.execute("SELECT name FROM sqlite_master")]
        tables = [name for name in names if db[name].exists()]
        return {name: db.conn.execute(f"SELECT * FROM {name}").fetchall() for name in tables}

    return await database.read(dump)


async def state(world: World) -> tuple[object, ...]:
    """All there is: both files, and what the scheduler keeps in memory."""
    files = [await everything(world.store._db), await everything(world._state)]
    return (*files, world.bus.names())


async def interleaved(world: World, schedules: tuple[ScheduleConfig, ...], seed: int) -> int:
    """Live for a while; read at random moments and compare before and after. Returns the fires."""
    rng = random.Random(seed)
    async with world, world.running() as scheduler:
        await world.ask(ScheduleSet("asistente", schedules))
        for number in range(6):
            await world.add(f"en {rng.randint(5, 900)} segundos", f"una {number}")
        await world.add("*/7 * * * *", "cada siete", recurring=True)
        for _ in range(25):
            await trio.sleep(rng.choice([0.0, 1.0, rng.uniform(0, 120)]))
            # What is due at this very instant is taken up first: that is a fire, not a read.
            await trio.testing.wait_all_tasks_blocked()
            before = await state(world), sorted(scheduler._agenda.scheduled())
            for _ in range(rng.randint(1, 6)):
                await world.ask(rng.choice(READS)())
                next_fire("*/5 * * * *", ZONE, world.clock.now())
            assert (await state(world), sorted(scheduler._agenda.scheduled())) == before
        return len(await world.store.ledger.runs(limit=1000))


async def fired(world: World, schedules: tuple[ScheduleConfig, ...], *, read: bool) -> Any:
    """The instants of 400 seconds, with or without somebody who reads all the time."""

    async def reading() -> None:
        while True:
            await trio.sleep(0.7)
            for request in READS:
                await world.ask(request())

    async with world:
        async with world.running(), trio.open_nursery() as nursery:
            await world.ask(ScheduleSet("asistente", schedules))
            if read:
                nursery.start_soon(reading)
            await trio.sleep(400)
            nursery.cancel_scope.cancel()
        runs = await world.store.ledger.runs(limit=1000)
    return [(run.schedule_id, run.scheduled_at) for run in runs]


@pytest.fixture
def schedules(schedule: MakeSchedule) -> tuple[ScheduleConfig, ...]:
    return (schedule("minuto", "* * * * *"), schedule("intervalo", every="90s"))


@pytest.mark.promise("P2")
@pytest.mark.sweep
def test_reads_between_fires_change_nothing_in_the_files_nor_in_memory(
    tmp_path: Path,
    schedules: tuple[ScheduleConfig, ...],
    seed: int,
    size: Callable[[int, int], int],
    figures: Callable[..., None],
) -> None:
    fires = 0
    for number in range(size(6, 300)):
        folder = tmp_path / str(number)
        folder.mkdir()
        fires += trio.run(
            interleaved,
            World(folder),
            schedules,
            seed + number,
            clock=MockClock(autojump_threshold=0),
        )
    assert fires
    figures(stories=number + 1, fires=fires)


@pytest.mark.promise("P2")
def test_what_is_read_all_the_time_fires_at_the_same_instants_as_what_is_never_read(
    tmp_path: Path, schedules: tuple[ScheduleConfig, ...]
) -> None:
    found = []
    for read in (True, False):
        world = World(tmp_path / str(read))
        world.folder.mkdir()
        story = partial(fired, world, schedules, read=read)
        found.append(trio.run(story, clock=MockClock(autojump_threshold=0)))
    assert found[0] == found[1] and len(found[0]) > 8
