"""A time that comes while the last run is going is skipped, waits, or runs beside it, as asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from channels.messages import TaskResult
from config.schema import ScheduleConfig
from cronactor.messages import AddSchedule, ListRuns, ListSchedules, RunSchedule, ScheduleSet
from cronactor.overlap import GOING, WAITED, WAITING
from tests.cronactor.world import at

pytestmark = pytest.mark.promise("P2")

MakeSchedule = Callable[..., ScheduleConfig]
MODEL = {"kind": "llm_prompt", "prompt": "?", "message": None}


@attrs.define
class Slow:
    """An agent that takes `seconds` for each answer; counts how many it makes at a time."""

    seconds: float
    now: int = 0
    most: int = 0

    async def __call__(self, message: Any) -> None:
        self.now += 1
        self.most = max(self.most, self.now)
        await trio.sleep(self.seconds)
        self.now -= 1
        message.reply(TaskResult("listo", "asistente"))


async def outcomes(world: Any) -> list[tuple[str, str]]:
    """Of all occurrences, the oldest first."""
    return [(run.outcome, run.reason) for run in reversed(await world.ask(ListRuns()))]


async def test_skip_leaves_out_what_comes_while_a_run_is_going(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    slow = Slow(100)
    config = schedule(cron="* * * * *", **MODEL)
    async with world, world.agent("asistente", slow), world.running():
        await world.ask(ScheduleSet("asistente", (config,)))
        await trio.sleep(290)
        assert await outcomes(world) == [
            ("fired", ""),
            ("skipped", GOING),
            ("fired", ""),
            ("skipped", GOING),
        ]
    assert slow.most == 1


async def test_queue_one_lets_one_wait_and_skips_the_others(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    slow = Slow(150)
    config = schedule(cron="* * * * *", overlap="queue_one", **MODEL, timeout_seconds=600)
    async with world, world.agent("asistente", slow), world.running():
        await world.ask(ScheduleSet("asistente", (config,)))
        await trio.sleep(270)  # the first run goes from 60 to 210, the second from then on
        assert await outcomes(world) == [
            ("fired", ""),
            (None, ""),
            ("skipped", WAITING),
            (None, ""),
        ]
        await trio.sleep(100)
        assert (await outcomes(world))[1] == ("fired", WAITED)
        assert slow.most == 1


async def test_what_ran_and_what_waited_when_it_died_are_made_up_for_one_after_another(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    slow = Slow(150)
    config = schedule(cron="* * * * *", overlap="queue_one", **MODEL, timeout_seconds=600)
    async with world, world.agent("asistente", slow):
        with trio.move_on_after(130):
            async with world.running():
                await world.ask(ScheduleSet("asistente", (config,)))
                await trio.sleep_forever()
        assert [run.attempts for run in await world.store.ledger.unfinished()] == [1, 0]
        slow.now = slow.most = 0
        slow.seconds = 5
        async with world.running():
            await trio.sleep(20)
            assert await outcomes(world) == [("fired", ""), ("fired", WAITED)]
    assert slow.most == 1


async def test_allow_lets_runs_go_side_by_side(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    slow = Slow(115)
    config = schedule(cron="* * * * *", overlap="allow", **MODEL)
    async with world, world.agent("asistente", slow), world.running():
        await world.ask(ScheduleSet("asistente", (config,)))
        await trio.sleep(5 * 60)
        first = world.bus.ask("scheduler", RunSchedule("asistente/diario"), timeout=200)
        assert (await first).outcome == "fired"
        assert set(await outcomes(world)) <= {("fired", ""), (None, "")}
    assert slow.most == 3


@pytest.mark.parametrize(("overlap", "most"), [("skip", 1), ("queue_one", 1), ("allow", 3)])
async def test_times_that_are_caught_up_run_one_after_another_unless_overlap_is_allowed(
    world: Any, schedule: MakeSchedule, overlap: str, most: int, autojump_clock: MockClock
) -> None:
    slow = Slow(10)
    config = schedule(
        cron="0 * * * *",
        overlap=overlap,
        catch_up="all",
        catch_up_limit=3,
        catch_up_window_seconds=86400,
        **MODEL,
    )
    async with world:
        async with world.running():
            await world.ask(ScheduleSet("asistente", (config,)))
        await trio.sleep(5.5 * 3600)
        async with world.agent("asistente", slow), world.running():
            await trio.sleep(60)
            missed, *fired = list(reversed(await world.ask(ListRuns())))
    assert (missed.outcome, missed.count) == ("missed", 2)
    assert [run.outcome for run in fired] == ["fired"] * 3
    assert [run.reason.split(";")[0] for run in fired] == [
        "caught up: late by 2 hours and 30 minutes",
        "caught up: late by 1 hour and 30 minutes",
        "caught up: late by 30 minutes",
    ]
    assert slow.most == most


@pytest.mark.parametrize(
    ("catch_up", "said", "missed"), [("skip", 0, 3), ("latest", 1, 2), ("all", 3, 0)]
)
async def test_a_schedule_catches_up_as_its_config_says(
    world: Any,
    schedule: MakeSchedule,
    catch_up: str,
    said: int,
    missed: int,
    autojump_clock: MockClock,
) -> None:
    config = schedule(every="1h", catch_up=catch_up, catch_up_window_seconds=10800)
    async with world:
        async with world.running():
            await world.ask(AddSchedule("asistente", config))
        await trio.sleep(3 * 3600 + 120)
        async with world.running():
            await trio.sleep(1)
            runs = await world.ask(ListRuns())
            assert len(await world.said()) == said
            assert sum(run.count for run in runs if run.outcome == "missed") == missed


async def test_an_interval_keeps_its_anchor_over_restarts_and_reloads(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    config = schedule(every="1h30m")
    async with world:
        async with world.running():
            await world.ask(ScheduleSet("asistente", (config,)))
            begun = world.clock.now()
            await trio.sleep(3600)
        async with world.running(epoch="second"):
            await world.ask(ScheduleSet("asistente", (config,)))
            await trio.sleep(3600)
            await world.ask(ScheduleSet("asistente", (config,)))
            (view,) = await world.ask(ListSchedules())
            assert view.next_due == begun + 2 * 5400
            await trio.sleep(6 * 3600)
            runs = await world.ask(ListRuns())
    assert [run.scheduled_at for run in reversed(runs)] == [begun + n * 5400 for n in range(1, 6)]


async def test_a_schedule_is_read_in_its_own_zone_else_the_rooms_else_the_workspaces(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    async with world, world.running(room_zone={"#taller": "Asia/Kolkata"}.get):
        schedules = (
            schedule("propia", timezone="America/New_York"),
            schedule("sala"),
            schedule("taller", output_room="#otra"),
        )
        await world.ask(ScheduleSet("asistente", schedules))
        views = await world.ask(ListSchedules())
    zones = ["America/New_York", "Asia/Kolkata", "Europe/Madrid"]
    assert [view.schedule.timezone for view in views] == zones
    assert [view.next_due for view in views] == [
        at("2026-04-09 18:00", "America/New_York"),
        at("2026-04-10 18:00", "Asia/Kolkata"),
        at("2026-04-09 18:00"),
    ]


async def test_jitter_puts_each_time_off_a_little_and_always_the_same(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    config = schedule(cron="0 * * * *", jitter_seconds=1800)
    async with world, world.running():
        await world.ask(ScheduleSet("asistente", (config,)))
        await trio.sleep(6 * 3600 + 1800)
        delays = [run.claimed_at - run.scheduled_at for run in await world.ask(ListRuns())]
        runs = await world.ask(ListRuns())
        rows = await world.rows()
    assert runs[-1].scheduled_at == at("2026-04-09 17:00")
    assert len(rows) == len(delays) >= 6
    assert all(0 <= delay < 1800.1 for delay in delays)
    assert len({round(delay) for delay in delays}) > 3
    assert all(run.reason == "" for run in runs)
