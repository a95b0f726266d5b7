"""What is wrong with time is said once, for as long as it is so: failures, clock, overdue rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import structlog
import trio
from trio.testing import MockClock

from channels.errors import RemoteError
from channels.messages import Refused, Sent, TaskResult
from config.schema import ScheduleConfig
from cronactor.health import Health
from cronactor.messages import ListRuns, ScheduleSet

pytestmark = pytest.mark.promise("P7")

MakeSchedule = Callable[..., ScheduleConfig]
MODEL = {"kind": "llm_prompt", "prompt": "?", "message": None}


def events(logs: list[Any], *names: str) -> list[str]:
    return [entry["event"] for entry in logs if entry["event"] in names]


# -- failures -------------------------------------------------------------------------------------


async def test_failures_in_a_row_are_one_notice_and_one_recovery(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    works = False

    async def answer(message: Any) -> None:
        if works:
            message.reply(TaskResult("al fin", "asistente"))
        else:
            message.fail(RemoteError("the model is down"))

    with structlog.testing.capture_logs() as logs:
        async with world, world.agent("asistente", answer), world.running() as scheduler:
            await world.ask(ScheduleSet("asistente", (schedule(cron="* * * * *", **MODEL),)))
            await trio.sleep(5 * 60 + 1)
            problems = list(scheduler.health.problems())
            works = True
            await trio.sleep(120)
            assert list(scheduler.health.problems()) == []
            assert [run.outcome for run in await world.ask(ListRuns())][2:] == ["failed"] * 5
            assert await world.said() == ["al fin"] * 2
    assert problems == ["asistente/diario failed 5 times in a row: the model is down"]
    told = [e for e in logs if e["event"].startswith("schedule_") and e["log_level"] != "info"]
    assert [(e["event"], e["log_level"]) for e in told] == [
        ("schedule_failed", "error"),
        ("schedule_recovered", "warning"),
    ]
    assert told[1]["failures"] == 5


async def test_refusals_of_a_room_in_a_row_are_one_notice_and_one_recovery_when_it_is_heard(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    """That the message was handed over is no recovery: only the room can say that."""
    takes = False

    async def room() -> None:
        done = set()
        while True:
            await trio.sleep(1)
            for row in await world.rows():
                if row.txn_id in done:
                    continue
                done.add(row.txn_id)
                if takes:
                    world.bus.publish(
                        "sent", Sent(row.agent, row.room, row.txn_id, "$" + row.txn_id)
                    )
                else:
                    world.bus.publish(
                        "refused", Refused(row.agent, row.room, row.txn_id, "forbidden")
                    )

    with structlog.testing.capture_logs() as logs:
        async with world, world.running() as scheduler, trio.open_nursery() as nursery:
            nursery.start_soon(room)
            await world.ask(ScheduleSet("asistente", (schedule(cron="* * * * *"),)))
            await trio.sleep(5 * 60 + 10)
            problems = list(scheduler.health.problems())
            takes = True
            await trio.sleep(120)
            runs = await world.ask(ListRuns())
            assert list(scheduler.health.problems()) == []
            nursery.cancel_scope.cancel()
    assert problems == ["asistente/diario failed 5 times in a row: the room refused it: forbidden"]
    assert [run.outcome for run in runs] == ["fired"] * 2 + ["failed"] * 5
    told = [
        e["event"] for e in logs if e["event"].startswith("schedule_") and e["log_level"] != "info"
    ]
    assert told == ["schedule_failed", "schedule_recovered"]


async def test_a_failure_of_the_process_before_is_known_again_and_not_told_again(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    async def fail(message: Any) -> None:
        message.fail(RemoteError("the model is down"))

    asking = schedule(cron="* * * * *", **MODEL)
    with structlog.testing.capture_logs() as logs:
        async with world, world.agent("asistente", fail):
            for epoch in ("first", "second"):
                async with world.running(epoch=epoch) as scheduler:
                    await world.ask(ScheduleSet("asistente", (asking,)))
                    await trio.sleep(60)
            assert list(scheduler.health.problems()) == [
                "asistente/diario failed 2 times in a row: the model is down"
            ]
    assert events(logs, "schedule_failed") == ["schedule_failed"]


async def test_the_failure_of_what_is_gone_is_forgotten_after_a_day(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    async def fail(message: Any) -> None:
        message.fail(RemoteError("the model is down"))

    asking = schedule(cron="* * * * *", **MODEL)
    async with world, world.agent("asistente", fail), world.running(wake=600) as scheduler:
        await world.ask(ScheduleSet("asistente", (asking,)))
        await trio.sleep(60)
        await world.ask(ScheduleSet("asistente", ()))
        await trio.sleep(3600)
        assert len(list(scheduler.health.problems())) == 1
        await trio.sleep(86400)
        assert list(scheduler.health.problems()) == []


# -- the clock ------------------------------------------------------------------------------------


async def test_a_clock_set_back_is_said_with_when_each_schedule_speaks_next_until_it_is_made_good(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    hourly = schedule(cron="0 * * * *")
    with structlog.testing.capture_logs() as logs:
        async with world, world.running() as scheduler:
            await world.ask(ScheduleSet("asistente", (hourly,)))
            await world.add("en 3 horas")
            await trio.sleep(3700)
            world.clock.base -= 7200
            await trio.sleep(40)
            assert list(scheduler.health.problems()) == [
                "the wall clock stepped back by 2 hours, from 2026-04-09 17:02 (Europe/Madrid):"
                " nothing is said twice",
                "asistente/diario speaks next 2026-04-09 18:00 (Europe/Madrid)",
            ]
            await trio.sleep(7100)
            assert await world.said() == ["hola"]
            await trio.sleep(200)
            assert list(scheduler.health.problems()) == []
            await trio.sleep(3400)
            assert await world.said() == ["hola", "hola"]
    (entry,) = [entry for entry in logs if entry["event"] == "clock_stepped_back"]
    assert entry["seconds"] == pytest.approx(7200, abs=1)
    assert entry["next"] == {"asistente/diario": "2026-04-09 18:00 (Europe/Madrid)"}


async def test_a_clock_set_back_while_nothing_ran_is_noticed_at_the_start(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world:
        async with world.running():
            await world.add("en 5 segundos")
            await trio.sleep(6)
        world.clock.base -= 600
        async with world.running() as scheduler:
            assert "stepped back" in next(scheduler.health.problems())
            await trio.sleep(700)
            assert list(scheduler.health.problems()) == []


@pytest.mark.parametrize("step", [-59, 59, -3])
async def test_a_small_step_is_not_worth_a_word(
    world: Any, step: float, autojump_clock: MockClock
) -> None:
    async with world, world.running() as scheduler:
        await trio.sleep(100)
        world.clock.base += step
        await trio.sleep(100)
        assert list(scheduler.health.problems()) == []


async def test_a_jump_ahead_is_logged_and_what_it_passed_over_is_missed_with_the_reason(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    with structlog.testing.capture_logs() as logs:
        async with world, world.running() as scheduler:
            await world.ask(ScheduleSet("asistente", (schedule(cron="0 * * * *"),)))
            await trio.sleep(10)
            world.clock.base += 5.5 * 3600
            await trio.sleep(40)
            (run,) = await world.ask(ListRuns())
            assert list(scheduler.health.problems()) == []
    assert (run.outcome, run.count) == ("missed", 5)
    assert run.reason == "the clock jumped ahead or the machine slept"
    assert events(logs, "clock_jumped_ahead") == ["clock_jumped_ahead"]


# -- the invariant --------------------------------------------------------------------------------


async def test_a_row_that_nobody_takes_up_is_overdue_and_named(
    world: Any, autojump_clock: MockClock
) -> None:
    with structlog.testing.capture_logs() as logs:
        async with world, world.running() as scheduler:
            added = await world.add("en 1 hora")
            id = added.reminder.id
            sql = "UPDATE reminders SET next_due = next_due - 3600 WHERE id = ?"
            await world.store._db.write(lambda db: db.conn.execute(sql, (id,)).rowcount)
            await trio.sleep(59)
            assert scheduler.health.overdue == ()
            await trio.sleep(80)
            assert scheduler.health.overdue == (id,)
            assert list(scheduler.health.problems()) == [f"overdue: {id}"]
            await trio.sleep(600)
    assert events(logs, "schedules_overdue") == ["schedules_overdue"]


async def test_waking_from_a_long_sleep_is_not_overdue(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    jittery = schedule(cron="0 * * * *", jitter_seconds=1800)
    async with world, world.running() as scheduler:
        await world.ask(ScheduleSet("asistente", (schedule("a", "* * * * *"), jittery)))
        await world.add("en 10 minutos")
        for _ in range(20):
            world.clock.base += 1000
            await trio.sleep(61)
            assert scheduler.health.overdue == ()


def test_a_healthy_house_has_no_problems_and_lost_files_are_named_first() -> None:
    health = Health()
    assert list(health.problems()) == []
    assert health.worked("a/b") == 0
    health.lost.append("reminders.db was damaged")
    assert (health.failed("a/b", "no", 1.0), health.failed("a/b", "never", 2.0)) == (1, 2)
    assert list(health.problems()) == [
        "reminders.db was damaged",
        "a/b failed 2 times in a row: never",
    ]
    assert health.worked("a/b") == 2
