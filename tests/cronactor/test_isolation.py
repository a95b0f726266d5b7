"""One slow, failing or poisonous action leaves the lateness of all others exactly as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from channels.database_errors import DatabaseFull
from channels.messages import Refused, TaskResult
from config.schema import ScheduleConfig
from cronactor.messages import ListRuns, ScheduleSet
from tests.cronactor.world import World, quick_folder

pytestmark = pytest.mark.promise("P2")

MakeSchedule = Callable[..., ScheduleConfig]
MODEL = {"kind": "llm_prompt", "prompt": "?", "message": None}


def slow_for(config: ScheduleConfig, seconds: float) -> ScheduleConfig:
    return attrs.evolve(config, action=attrs.evolve(config.action, timeout_seconds=seconds))


async def lateness(world: Any, schedules: tuple[ScheduleConfig, ...]) -> list[tuple[Any, ...]]:
    """Reminders and schedules, for over an hour, beside an agent that hangs when it is asked."""

    async def hang(message: Any) -> None:
        await trio.sleep_forever()

    async def quick(message: Any) -> None:
        await trio.sleep(2)
        message.reply(TaskResult("listo", "otra"))

    async with world, world.agent("lenta", hang), world.agent("otra", quick), world.running():
        await world.ask(ScheduleSet("asistente", schedules))
        for n in range(20):
            await world.add(f"en {n * 97 + 5} segundos", f"n{n}", idempotency_key=f"k{n}")
        await trio.sleep(75 * 60)
        runs = await world.ask(ListRuns(limit=10_000))
        said = {row.txn_id: row.created_at for row in await world.rows()}
    ours = [run for run in runs if not run.schedule_id.endswith("/lenta")]
    return sorted((r.schedule_id, r.scheduled_at, r.outcome, said.get(r.txn_id)) for r in ours)


def test_an_action_that_hangs_for_an_hour_leaves_the_lateness_of_others_exactly_as_it_was(
    schedule: MakeSchedule,
) -> None:
    fixed = schedule("fija", "*/10 * * * *")
    model = schedule("otra", "*/10 * * * *", **{**MODEL, "kind": "agent_call"}, target_agent="otra")
    hung = schedule(
        "lenta", "*/10 * * * *", **{**MODEL, "kind": "agent_call"}, target_agent="lenta"
    )

    def live(*schedules: ScheduleConfig) -> list[tuple[Any, ...]]:
        with quick_folder() as folder:
            clock = MockClock(autojump_threshold=0)
            return trio.run(lateness, World(folder), schedules, clock=clock)

    alone = live(fixed, model)
    beside = live(fixed, model, slow_for(hung, 3600))
    assert len(alone) > 30
    assert beside == alone


async def test_a_forbidden_room_is_told_once_and_leaves_the_others_on_time(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    async def refuse(rows: Any) -> None:
        for row in rows:
            if row.room == "#prohibida":
                world.bus.publish("refused", Refused(row.agent, row.room, row.txn_id, "forbidden"))

    bad = schedule("mala", "* * * * *", output_room="#prohibida")
    async with world, world.running() as scheduler:
        await world.ask(ScheduleSet("asistente", (bad, schedule("buena", "* * * * *"))))
        for minute in range(3):
            await trio.sleep(60 if minute else 61)
            await refuse(await world.rows())
            await trio.sleep(0.1)
        runs = await world.ask(ListRuns("asistente/mala"))
        good = await world.ask(ListRuns("asistente/buena"))
        problems = list(scheduler.health.problems())
    assert {run.reason for run in runs} == {"the room refused it: forbidden"}
    assert [run.finished - run.scheduled_at < 0.01 for run in good] == [True] * 3
    assert len(problems) == 1
    assert "asistente/mala failed" in problems[0]


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE reminders SET room = x'c3' WHERE message = 'malo'",
        "UPDATE reminders SET timezone = 'Mars/Olympus', cron = '* * * * *' WHERE message = 'malo'",
        "UPDATE reminders SET cron = 'x' WHERE message = 'malo'",
        "UPDATE reminders SET every = 0, anchor = 0 WHERE message = 'malo'",
        "UPDATE reminders SET every = 'x', anchor = 'y' WHERE message = 'malo'",
        "UPDATE reminders SET locale = 7, user = 7, followers = 7 WHERE message = 'malo'",
        "UPDATE reminders SET next_due = -1e300 WHERE message = 'malo'",
        "UPDATE reminders SET next_due = 1e300 WHERE message = 'malo'",
        "UPDATE reminders SET next_due = 'pronto' WHERE message = 'malo'",
        "UPDATE reminders SET agent = 7.5 WHERE message = 'malo'",
        "UPDATE reminders SET message = 5 WHERE message = 'malo'",
        "UPDATE reminders SET message = CAST(x'ff41' AS TEXT) WHERE message = 'malo'",
        "UPDATE reminders SET room = CAST(x'ff41' AS TEXT) WHERE message = 'malo'",
    ],
)
async def test_a_poisonous_row_leaves_the_others_on_time(
    world: Any, spoil: str, autojump_clock: MockClock
) -> None:
    async with world:
        async with world.running():
            await world.add("en 10 segundos", "malo")
            await world.add("en 10 segundos", "bueno")
        await world.store._db.write(lambda db: db.conn.execute(spoil).rowcount)
        async with world.running():
            await world.add("en 8 segundos", "mejor")
            await trio.sleep(11)
            rows = [row for row in await world.rows() if "malo" not in row.content["body"]]
            good = [row for row in rows if "eno" in row.content["body"] or "mejor" in str(row)]
            assert len(good) == 2
            await trio.sleep(200)


async def test_a_full_disk_is_waited_for_and_a_model_is_not_asked_again(
    world: Any, schedule: MakeSchedule, monkeypatch: pytest.MonkeyPatch, autojump_clock: MockClock
) -> None:
    async def answer(message: Any) -> None:
        message.reply(TaskResult("listo", "asistente"))

    async with world, world.agent("asistente", answer) as asked, world.running() as scheduler:
        await world.ask(ScheduleSet("asistente", (schedule(cron="0 * * * *", **MODEL),)))
        put = world.outbox.put

        async def full(messages: Any) -> Any:
            if world.clock.now() < begun + 600:
                raise DatabaseFull("no space left for the database")
            return await put(messages)

        await trio.sleep(3590)
        begun = world.clock.now()
        monkeypatch.setattr(type(world.outbox), "put", lambda self, messages: full(messages))
        await trio.sleep(300)
        assert list(scheduler.health.problems()) == [
            "the scheduler cannot write (outbox): no space left for the database"
        ]
        await trio.sleep(400)
        assert list(scheduler.health.problems()) == []
        assert (await world.said(), len(asked)) == (["listo"], 1)
        (run,) = await world.ask(ListRuns())
        assert (run.outcome, run.attempts) == ("fired", 1)
