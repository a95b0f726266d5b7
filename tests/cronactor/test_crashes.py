"""Wherever the scheduler dies, a reminder is created once, said once, and nothing stays open."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from channels.messages import TaskResult
from config.schema import ScheduleConfig
from cronactor.messages import ScheduleSet
from supervisor.testkit.crashes import Crash, all_crash_points, armed
from tests.cronactor.world import World

MakeSchedule = Callable[..., ScheduleConfig]
LASTS = 150.0
OURS = ("reminder.", "scheduler.")
POINTS = [name for name in all_crash_points() if name.startswith(OURS)]


async def live(world: Any, schedules: tuple[ScheduleConfig, ...], start: float) -> None:
    """One process: the same requests under the same keys, then wait for the end of the story."""

    async def answer(message: Any) -> None:
        await trio.sleep(1)
        message.reply(TaskResult(f"respuesta {message.body.task_id}", "asistente"))

    async with world, world.agent("asistente", answer), world.running():
        await world.ask(ScheduleSet("asistente", schedules))
        received = world.clock.base + start
        await world.add("en 5 segundos", "una", received_at=received, idempotency_key="k1")
        await world.add("en 65 segundos", "dos", received_at=received, idempotency_key="k2")
        await trio.sleep_until(start + LASTS)


async def crash_and_return(world: Any, schedules: tuple[ScheduleConfig, ...]) -> None:
    """Live until the armed point strikes, lose everything in memory, and live on from the disk."""
    start = trio.current_time()
    try:
        await live(world, schedules, start)
    except BaseExceptionGroup as group:
        assert all(isinstance(error, Crash) for error in leaves(group))
        await trio.sleep(2)
        await live(world, schedules, start)


async def check(world: Any) -> None:
    async with world:
        assert await world.store.ledger.unfinished() == ()
        reminders = await world.store.listed(all=True)
        assert sorted(kept.message for kept in reminders) == ["dos", "una"]
        assert {kept.state for kept in reminders} == {"fired"}
        runs = await world.store.ledger.runs(limit=1000)
        said = Counter(await world.said())
        fired = Counter(run.schedule_id for run in runs if run.outcome == "fired")
    assert max(said.values()) <= 2
    assert said["⏰ @ana Recordatorio: una"] == said["⏰ @ana Recordatorio: dos"] == 1
    assert said["fija"] == fired["asistente/fija"] == 2
    answers = [text for text in said if text.startswith("respuesta")]
    assert len(answers) == fired["asistente/modelo"] == 2


@pytest.fixture
def schedules(schedule: MakeSchedule) -> tuple[ScheduleConfig, ...]:
    model = schedule("modelo", "* * * * *", kind="llm_prompt", prompt="?", message=None)
    return (schedule("fija", "* * * * *", message="fija"), model)


def story(folder: Path, schedules: tuple[ScheduleConfig, ...], point: str, nth: int) -> bool:
    """Tell the story with a point armed at its n-th pass; False when it was never reached."""
    world = World(folder / f"{point}-{nth}")
    world.folder.mkdir()

    async def main() -> bool:
        with armed(point, nth=nth) as log:
            await crash_and_return(world, schedules)
        await check(world)
        return log.passes[point] >= nth

    return trio.run(main, clock=MockClock(autojump_threshold=0))


@pytest.mark.promise("P2")
@pytest.mark.parametrize("point", POINTS)
def test_a_crash_at_each_point_loses_and_doubles_nothing(
    point: str, schedules: tuple[ScheduleConfig, ...], tmp_path: Path, figures: Callable[..., None]
) -> None:
    nth = 1
    while story(tmp_path, schedules, point, nth):
        nth += 1
    assert nth > 1, f"{point} was never passed"
    figures(point=point, passes=nth - 1)


@pytest.mark.promise("P2")
@pytest.mark.sweep
@pytest.mark.parametrize("point", ["database.before_commit", "database.after_commit"])
def test_a_crash_around_any_commit_loses_and_doubles_nothing(
    point: str,
    schedules: tuple[ScheduleConfig, ...],
    tmp_path: Path,
    seed: int,
    size: Callable[[int, int], int],
    figures: Callable[..., None],
) -> None:
    passes = 80
    chosen = sorted(random.Random(seed).sample(range(1, passes), size(12, passes - 1)))
    reached = [nth for nth in chosen if story(tmp_path, schedules, point, nth)]
    assert reached
    figures(point=point, crashes=len(reached))


def leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error
