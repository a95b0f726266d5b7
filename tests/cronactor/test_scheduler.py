"""The scheduler speaks on time, once, never early, and says what it could not say."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import structlog
import trio
from trio.testing import MockClock

from channels.chain import read_stamp
from channels.errors import ActorDied
from channels.mailbox import Mailbox
from channels.messages import Flush, Sent, Task, TaskResult
from config.schema import ScheduleConfig
from cronactor.messages import (
    AddSchedule,
    DeleteReminder,
    ListReminders,
    ListRuns,
    ListSchedules,
    RemoveSchedule,
    SchedulerRefused,
    ScheduleSet,
)

pytestmark = pytest.mark.promise("P2", "P7")

MakeSchedule = Callable[..., ScheduleConfig]


# -- the requirement document's own list (3.6) ----------------------------------------------------


async def test_3_6_a_schedule_is_added_and_removed_while_running(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        id = await world.ask(AddSchedule("asistente", schedule(cron="* * * * *")))
        assert [view.schedule.id for view in await world.ask(ListSchedules())] == [id]
        await trio.sleep(61)
        assert await world.said() == ["hola"]
        await world.ask(RemoveSchedule(id))
        assert await world.ask(ListSchedules()) == ()
        await trio.sleep(600)
        assert await world.said() == ["hola"]
        with pytest.raises(SchedulerRefused, match="asistente/diario"):
            await world.ask(RemoveSchedule(id))


async def test_3_6_a_reminder_is_said_with_a_mention(world: Any, autojump_clock: MockClock) -> None:
    async with world, world.running():
        added = await world.add("en 5 segundos")
        await trio.sleep(6)
        (row,) = await world.rows()
    assert row.content["body"] == "⏰ @ana Recordatorio: riegue las plantas"
    assert row.content["m.mentions"] == {"user_ids": ["@ana"]}
    stamp = read_stamp(row.content)
    assert stamp is not None
    assert stamp.origin.startswith(f"occurrence:{added.reminder.id}@2026-04-09T14:00:05.25")
    assert (stamp.agent, stamp.chain, stamp.hop) == ("asistente", stamp.origin, 0)


async def test_3_6_a_one_shot_is_marked_fired_and_removed_after_it_spoke(
    world: Any, autojump_clock: MockClock
) -> None:
    with structlog.testing.capture_logs() as logs:
        async with world, world.running():
            added = await world.add("en 5 segundos")
            await trio.sleep(6)
            assert await world.ask(ListReminders("#taller")) == ()
            (kept,) = await world.ask(ListReminders("#taller", all=True))
            assert (kept.state, kept.next_due) == ("fired", None)
            assert kept.fired_at >= added.due
            (run,) = await world.ask(ListRuns(kept.id))
            assert (run.outcome, run.scheduled_at) == ("fired", added.due)
    events = [entry["event"] for entry in logs]
    assert events.count("reminder_fired") == events.count("reminder_auto_removed") == 1


# -- time ---------------------------------------------------------------------------------------


async def test_nothing_is_early_and_five_seconds_count_from_when_the_message_was_received(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        received = world.clock.now()
        await trio.sleep(1.5)
        added = await world.add("en 5 segundos", received_at=received)
        assert added.due == received + 5
        await trio.sleep_until(trio.current_time() + 3.499)
        assert await world.said() == []
        await trio.sleep(0.01)
        (row,) = await world.rows()
        assert received + 5 <= row.created_at < received + 5.005


async def test_a_sooner_reminder_wakes_the_scheduler(world: Any, autojump_clock: MockClock) -> None:
    async with world, world.running():
        await world.add("en 2 horas", "luego")
        await world.add("en 1 minuto", "antes")
        await trio.sleep(61)
        assert await world.said() == ["⏰ @ana Recordatorio: antes"]


async def test_a_recurring_reminder_speaks_each_time_without_drift(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running(locale="en"):
        added = await world.add("0 9 * * *", recurring=True)
        assert added.recurring
        await trio.sleep(3 * 86400)
        rows = await world.rows()
        runs = await world.ask(ListRuns(added.reminder.id))
    assert [row.content["body"] for row in rows] == ["⏰ @ana Reminder: riegue las plantas"] * 3
    assert [run.scheduled_at for run in reversed(runs)] == [added.due + n * 86400 for n in range(3)]


async def test_a_jump_of_the_wall_clock_is_noticed_within_thirty_seconds(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        await world.add("en 2 horas")
        world.clock.base += 7200 - 10
        await trio.sleep(31)
        assert await world.said() == ["⏰ @ana Recordatorio: riegue las plantas"]


async def test_a_step_back_of_the_wall_clock_repeats_nothing(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        await world.ask(ScheduleSet("asistente", (schedule(cron="0 * * * *"),)))
        await trio.sleep(3600)
        world.clock.base -= 1800
        await trio.sleep(3500)
        assert await world.said() == ["hola"]
        await trio.sleep(1900)
        assert await world.said() == ["hola", "hola"]


async def test_reading_changes_nothing(world: Any, autojump_clock: MockClock) -> None:
    async with world, world.running():
        await world.add("en 10 segundos")
        for _ in range(20):
            await world.ask(ListReminders())
            await world.ask(ListRuns())
            await world.ask(ListSchedules())
            await trio.sleep(1)
        assert len(await world.said()) == 1
        assert len(await world.ask(ListRuns())) == 1


# -- late ---------------------------------------------------------------------------------------


async def test_a_one_shot_that_is_late_says_how_late(world: Any, autojump_clock: MockClock) -> None:
    async with world:
        async with world.running():
            await world.add("en 1 minuto")
            await world.add("in 1 minute", "water", locale="en", room="#otra")
        await trio.sleep(3 * 3600 + 60)
        async with world.running():
            await trio.sleep(1)
        assert await world.said() == [
            "⏰ @ana Recordatorio: riegue las plantas (con 3 horas de retraso)",
            "⏰ @ana Reminder: water (late by 3 hours)",
        ]


async def test_a_one_shot_more_than_a_day_late_is_missed(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world:
        async with world.running():
            added = await world.add("en 1 minuto")
        await trio.sleep(2 * 86400)
        async with world.running():
            await trio.sleep(1)
            (run,) = await world.ask(ListRuns(added.reminder.id))
        assert (run.outcome, run.count) == ("missed", 1)
        assert (await world.store.get(added.reminder.id)).state == "missed"
        assert await world.said() == []


async def test_late_one_shots_are_discarded_when_asked_with_the_outcome_recorded(
    world: Any, autojump_clock: MockClock
) -> None:
    world.options["late_one_shots"] = "discard"
    async with world:
        async with world.running():
            await world.add("en 1 minuto")
        await trio.sleep(3600)
        async with world.running():
            await trio.sleep(1)
            (run,) = await world.ask(ListRuns())
        assert (run.outcome, await world.said()) == ("missed", [])


async def test_missed_times_of_a_schedule_are_one_row_with_first_last_and_count(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    hourly = schedule(cron="0 * * * *")
    async with world:
        async with world.running():
            await world.ask(ScheduleSet("asistente", (hourly,)))
        await trio.sleep(5 * 3600 + 1800)
        async with world.running():
            await trio.sleep(1)
            (run,) = await world.ask(ListRuns())
            assert (run.outcome, run.count) == ("missed", 5)
            assert run.last_at - run.scheduled_at == 4 * 3600
            await trio.sleep(1800)
            assert await world.said() == ["hola"]


# -- schedules of agents ------------------------------------------------------------------------


async def test_a_new_process_waits_until_an_agent_confirms_its_schedules(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    minutely = schedule(cron="* * * * *")
    async with world:
        async with world.running():
            await world.ask(ScheduleSet("asistente", (minutely,)))
        async with world.running():
            await trio.sleep(60)
            assert len(await world.said()) == 1
        async with world.running(epoch="second"):
            await trio.sleep(120)
            assert len(await world.said()) == 1
            await world.ask(ScheduleSet("asistente", (minutely,)))
            await trio.sleep(60)
            assert len(await world.said()) == 3
            runs = await world.ask(ListRuns())
            assert sum(run.count for run in runs) == 4


async def test_a_changed_schedule_starts_anew_and_a_missing_one_ends(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        one = schedule("uno", "* * * * *", message="1")
        two = schedule("dos", "* * * * *", message="2")
        await world.ask(ScheduleSet("asistente", (one, two)))
        await trio.sleep(60)
        changed = schedule("uno", "*/30 * * * *", message="uno")
        await world.ask(ScheduleSet("asistente", (changed,)))
        await trio.sleep(1740)
        assert await world.said() == ["1", "2", "uno"]


async def test_a_disabled_schedule_is_listed_and_never_due(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        await world.ask(ScheduleSet("asistente", (schedule(cron="* * * * *", enabled=False),)))
        await trio.sleep(300)
        (view,) = await world.ask(ListSchedules("asistente"))
        assert (view.next_due, view.last, await world.said()) == (None, None, [])


async def test_an_unusable_schedule_is_refused_and_the_old_ones_stay(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        await world.ask(ScheduleSet("asistente", (schedule(cron="* * * * *"),)))
        with pytest.raises(SchedulerRefused, match="no ocurre nunca"):
            await world.ask(ScheduleSet("asistente", (schedule(cron="0 0 31 2 *"),)))
        await trio.sleep(60)
        assert await world.said() == ["hola"]


async def test_one_poisonous_row_ends_as_failed_and_leaves_the_others_on_time(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world:
        async with world.running():
            bad = await world.add("en 10 segundos", "malo")
            await world.add("en 10 segundos", "bueno")

        def spoil(db: Any) -> None:
            db.conn.execute("UPDATE reminders SET cron = 'x' WHERE id = ?", (bad.reminder.id,))

        await world.store._db.write(spoil)
        async with world.running():
            await trio.sleep(11)
            assert await world.said() == ["⏰ @ana Recordatorio: bueno"]
            (run,) = await world.ask(ListRuns(bad.reminder.id))
            assert run.outcome == "failed"
            assert "unusable" in run.reason


# -- actions that take their time ---------------------------------------------------------------


async def test_a_run_that_hangs_delays_nobody_and_its_next_time_is_skipped(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    async def hang(message: Any) -> None:
        await trio.sleep_forever()

    slow = schedule("lento", "* * * * *", kind="llm_prompt", prompt="?", message=None)
    slow = _with_timeout(slow, 90)
    async with world, world.agent("asistente", hang), world.running():
        await world.ask(ScheduleSet("asistente", (slow,)))
        added = await world.add("en 70 segundos")
        await trio.sleep(140)
        (row,) = await world.rows()
        assert row.created_at - added.due < 0.01
        outcomes = {run.reason: run.outcome for run in await world.ask(ListRuns("asistente/lento"))}
    assert outcomes["overlap: the previous run is still going"] == "skipped"


async def test_an_agent_in_a_scheduled_run_may_itself_ask_the_scheduler(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    from channels.lanes import lane

    async def remind(message: Any) -> None:
        with lane(f"asistente/{message.body.task_id}"):
            added = await world.add("en 1 hora")
        message.reply(TaskResult(f"hecho {added.text}", "asistente"))

    asking = schedule("pide", "* * * * *", kind="llm_prompt", prompt="?", message=None)
    async with world, world.agent("asistente", remind), world.running():
        await world.ask(ScheduleSet("asistente", (asking,)))
        await trio.sleep(60)
        assert (await world.said())[0].startswith("hecho hoy 2026-04-09 17:0")


async def test_draining_lets_a_run_finish(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    async def slow(message: Any) -> None:
        await trio.sleep(20)
        message.reply(TaskResult("listo", "asistente"))

    asking = schedule("pide", "* * * * *", kind="llm_prompt", prompt="?", message=None)
    async with world, world.agent("asistente", slow):
        async with world.running():
            await world.ask(ScheduleSet("asistente", (asking,)))
            await trio.sleep(60)
        assert await world.said() == ["listo"]
        (run,) = await world.store.ledger.runs()
        assert run.outcome == "fired"


async def test_a_cancelled_run_stays_claimed_and_is_made_once_more(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    answers = iter([math.inf, 1.0])

    async def slow(message: Any) -> None:
        await trio.sleep(next(answers))
        message.reply(TaskResult("listo", "asistente"))

    asking = schedule("pide", "0 * * * *", kind="llm_prompt", prompt="?", message=None)
    async with world, world.agent("asistente", slow) as asked:
        with trio.move_on_after(3605):
            async with world.running():
                await world.ask(ScheduleSet("asistente", (asking,)))
                await trio.sleep_forever()
        (open_run,) = await world.store.ledger.unfinished()
        assert open_run.attempts == 1
        async with world.running():
            await trio.sleep(5)
        (run,) = await world.store.ledger.runs()
        assert (run.outcome, run.attempts, await world.said()) == ("fired", 2, ["listo"])
        assert [type(body) for body in asked] == [Task, Task]
        assert asked[0].task_id == asked[1].task_id == run.txn_id


# -- the wires ----------------------------------------------------------------------------------


async def test_the_connection_is_told_and_event_ids_come_back(
    world: Any, autojump_clock: MockClock
) -> None:
    mailbox = Mailbox()
    async with world:
        world.bus.register("asistente/connection", mailbox)
        inbox = mailbox.open_inbox()
        async with world.running():
            await world.add("en 5 segundos")
            assert (await inbox.receive()).body == Flush()
            (row,) = await world.rows()
            world.bus.publish("sent", Sent("asistente", row.room, row.txn_id, "$e1"))
            await trio.sleep(1)
            (run,) = await world.ask(ListRuns())
            assert run.event_id == "$e1"
        inbox.close()


async def test_event_ids_of_what_was_sent_while_nobody_listened_are_fetched_at_start(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world:
        async with world.running():
            await world.add("en 5 segundos")
            await trio.sleep(6)
        (row,) = await world.rows()
        await world.outbox.mark_sent(row.id, "$e2")
        async with world.running():
            await trio.sleep(1)
            (run,) = await world.ask(ListRuns())
            assert run.event_id == "$e2"


async def test_what_it_does_not_know_is_answered_and_does_not_end_it(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        with pytest.raises(Exception, match="does not know str"):
            await world.ask("hola")
        world.bus.tell_nowait("scheduler", DeleteReminder("r00000", "#taller"))
        await world.add("en 5 segundos")


async def test_a_scheduler_whose_store_was_taken_over_fires_nothing_more(
    world: Any, autojump_clock: MockClock
) -> None:
    async with world:
        with pytest.raises(BaseExceptionGroup) as caught:
            async with world.running():
                await world.add("en 5 segundos")
                await world.store.ledger.begin()
                await trio.sleep(10)
        assert "taken over" in repr(_leaves(caught.value))
        assert await world.said() == []


async def test_a_dead_scheduler_answers_nobody(world: Any, autojump_clock: MockClock) -> None:
    async with world:
        mailbox = Mailbox()
        world.bus.register("scheduler", mailbox)
        inbox = mailbox.open_inbox()

        async def die() -> None:
            await inbox.receive()
            inbox.close("boom")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(die)
            with pytest.raises(ActorDied):
                await world.ask(ListReminders())


def _leaves(error: BaseException) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


def _with_timeout(config: ScheduleConfig, seconds: float) -> ScheduleConfig:
    import attrs

    return attrs.evolve(config, action=attrs.evolve(config.action, timeout_seconds=seconds))
