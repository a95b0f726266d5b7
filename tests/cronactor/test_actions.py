"""Scheduled actions reach the right agent, say its answer once, and fail with a reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import structlog
import trio
from trio.testing import MockClock

from channels.chain import read_stamp
from channels.errors import RemoteError
from channels.messages import Task, TaskResult
from config.schema import ScheduleConfig
from cronactor.messages import (
    ListRuns,
    ListSchedules,
    RunSchedule,
    SchedulerRefused,
    ScheduleSet,
)

pytestmark = pytest.mark.promise("P2")

MakeSchedule = Callable[..., ScheduleConfig]
TEMPLATE = "crons/daily-summary/prompts/prompt.md"


@pytest.fixture
def call(schedule: MakeSchedule) -> MakeSchedule:
    """An `agent_call` to asistente-2, every minute."""

    def make(**given: Any) -> ScheduleConfig:
        action = {"kind": "agent_call", "target_agent": "asistente-2", "message": None}
        cron = given.pop("cron", "* * * * *")
        return schedule("daily-analysis", cron, **{**action, "prompt": "¿qué tal?", **given})

    return make


def replies(text: str) -> Callable[[Any], Any]:
    async def answer(message: Any) -> None:
        message.reply(TaskResult(text, "asistente-2"))

    return answer


async def outcome(world: Any) -> tuple[str, str]:
    run = (await world.ask(ListRuns()))[-1]
    return run.outcome, run.reason


async def run_once(world: Any, config: ScheduleConfig, seconds: float = 61) -> None:
    await world.ask(ScheduleSet("asistente", (config,)))
    await trio.sleep(seconds)


# -- the requirement document's own list (4.5) ----------------------------------------------------


async def test_4_5_agent_call_sends_the_prompt_to_the_target_and_its_answer_to_the_room(
    world: Any, call: MakeSchedule, autojump_clock: MockClock
) -> None:
    agent = world.agent("asistente-2", replies("todo en orden"))
    async with world, agent as asked, world.running():
        await run_once(world, call())
        (row,) = await world.rows()
    (task,) = asked
    assert isinstance(task, Task)
    assert (task.text, task.sender, task.room) == ("¿qué tal?", "scheduler", "#taller")
    assert (task.task_id, task.timeout) == (row.txn_id, 120.0)
    assert (row.agent, row.room, row.content["body"]) == ("asistente", "#taller", "todo en orden")
    assert read_stamp(row.content) == task.stamp
    assert task.stamp is not None and task.stamp.hop == 0


async def test_4_5_an_agent_that_does_not_answer_is_a_logged_failure(
    world: Any, call: MakeSchedule, autojump_clock: MockClock
) -> None:
    async def never(message: Any) -> None:
        await trio.sleep_forever()

    with structlog.testing.capture_logs() as logs:
        async with world, world.agent("asistente-2", never), world.running():
            await run_once(world, call(), 200)
            assert await outcome(world) == (
                "failed",
                "timeout: asistente-2 did not answer within 120 s",
            )
            assert await world.said() == []
    failures = [entry for entry in logs if entry["event"] == "schedule_failed"]
    assert failures and failures[0]["log_level"] == "error"


async def test_4_5_without_a_bus_the_run_is_skipped_with_a_warning(
    world: Any, call: MakeSchedule, autojump_clock: MockClock
) -> None:
    with structlog.testing.capture_logs() as logs:
        async with world, world.running(bus=None):
            await run_once(world, call())
            assert await outcome(world) == ("skipped", "there is no bus")
    warnings = [entry for entry in logs if entry.get("reason") == "there is no bus"]
    assert warnings and warnings[0]["log_level"] == "warning"


# -- prompts ------------------------------------------------------------------------------------


async def test_a_prompt_template_is_read_when_the_run_begins(
    world: Any, call: MakeSchedule, tmp_path: Path, autojump_clock: MockClock
) -> None:
    path = tmp_path / TEMPLATE
    path.parent.mkdir(parents=True)
    path.write_text("antes")
    async with world, world.agent("asistente-2", replies("ya")) as asked, world.running():
        await world.ask(ScheduleSet("asistente", (call(prompt=None, prompt_template=TEMPLATE),)))
        path.write_text("resume el día")
        await trio.sleep(61)
    assert asked[0].text == "resume el día"


@pytest.mark.parametrize("template", ["../secret.md", "/etc/passwd", "link.md"])
async def test_a_template_outside_the_workspace_is_never_read(
    world: Any, call: MakeSchedule, tmp_path: Path, template: str, autojump_clock: MockClock
) -> None:
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    async with world, world.agent("asistente-2", replies("ya")) as asked, world.running():
        await run_once(world, call(prompt=None, prompt_template=template))
        kind, reason = await outcome(world)
    assert kind == "failed"
    assert "outside the workspace" in reason
    assert asked == []


@pytest.mark.parametrize(
    ("content", "why"),
    [(None, "cannot be read"), (b"\xff\xfe", "cannot be read"), (b"x" * 70_000, "longer than")],
)
async def test_a_template_that_cannot_be_used_is_a_failure_with_the_reason(
    world: Any,
    call: MakeSchedule,
    tmp_path: Path,
    content: bytes | None,
    why: str,
    autojump_clock: MockClock,
) -> None:
    if content is not None:
        (tmp_path / "p.md").write_bytes(content)
    async with world, world.running():
        await run_once(world, call(prompt=None, prompt_template="p.md"))
        kind, reason = await outcome(world)
    assert kind == "failed"
    assert why in reason


# -- who is asked, and what may go wrong ---------------------------------------------------------


async def test_llm_prompt_asks_the_schedules_own_agent(
    world: Any, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    own = schedule(cron="* * * * *", kind="llm_prompt", prompt="¿qué hay?", message=None)
    async with world, world.agent("asistente", replies("nada")) as asked, world.running():
        await run_once(world, own)
        assert (asked[0].text, await world.said()) == ("¿qué hay?", ["nada"])


@pytest.mark.parametrize("text", ["NO_REPLY", "  ", ""])
async def test_an_agent_with_nothing_to_say_says_nothing(
    world: Any, call: MakeSchedule, text: str, autojump_clock: MockClock
) -> None:
    async with world, world.agent("asistente-2", replies(text)), world.running():
        await run_once(world, call())
        assert await outcome(world) == ("fired", "the agent had nothing to say")
        assert await world.said() == []


async def test_an_agent_that_comes_up_within_half_a_minute_is_waited_for(
    world: Any, call: MakeSchedule, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        await world.ask(ScheduleSet("asistente", (call(),)))
        await trio.sleep(75)
        async with world.agent("asistente-2", replies("aquí estoy")):
            await trio.sleep(5)
            assert await world.said() == ["aquí estoy"]


async def test_an_agent_that_never_comes_up_is_a_failure(
    world: Any, call: MakeSchedule, autojump_clock: MockClock
) -> None:
    async with world, world.running():
        await run_once(world, call(), 100)
        kind, reason = await outcome(world)
    assert kind == "failed"
    assert "asistente-2" in reason


async def test_an_agent_that_fails_the_task_is_a_failure_with_its_text(
    world: Any, call: MakeSchedule, autojump_clock: MockClock
) -> None:
    async def fail(message: Any) -> None:
        message.fail(RemoteError("the model is down"))

    async with world, world.agent("asistente-2", fail), world.running():
        await run_once(world, call())
        assert await outcome(world) == ("failed", "the model is down")


async def test_an_answer_of_the_wrong_kind_is_a_failure(
    world: Any, call: MakeSchedule, autojump_clock: MockClock
) -> None:
    async def confused(message: Any) -> None:
        message.reply(42)

    async with world, world.agent("asistente-2", confused), world.running():
        await run_once(world, call())
        assert await outcome(world) == ("failed", "asistente-2 answered with int")


async def test_an_agent_that_is_reloaded_in_the_middle_is_asked_again_once(
    world: Any, call: MakeSchedule, autojump_clock: MockClock
) -> None:
    from channels.mailbox import Mailbox

    mailbox = Mailbox()
    async with world, world.running():
        world.bus.register("asistente-2", mailbox)
        await world.ask(ScheduleSet("asistente", (call(),)))
        first = mailbox.open_inbox()
        taken = await first.receive()
        first.close("reloaded")
        second = mailbox.open_inbox()
        again = await second.receive()
        assert again.body.task_id == taken.body.task_id
        again.reply(TaskResult("al fin", "asistente-2"))
        await trio.sleep(1)
        assert await world.said() == ["al fin"]
        second.close()


# -- run now ------------------------------------------------------------------------------------


async def test_a_run_asked_for_now_answers_with_its_record_and_leaves_the_calendar_alone(
    world: Any, call: MakeSchedule, schedule: MakeSchedule, autojump_clock: MockClock
) -> None:
    async def slow(message: Any) -> None:
        await trio.sleep(7)
        message.reply(TaskResult("hecho", "asistente-2"))

    model, fixed = call(cron="0 18 * * *"), schedule("fija", message="hola")
    async with world, world.agent("asistente-2", slow), world.running():
        await world.ask(ScheduleSet("asistente", (model, fixed)))
        before = [view.next_due for view in await world.ask(ListSchedules())]
        run = await world.ask(RunSchedule("asistente/daily-analysis"))
        assert (run.outcome, run.attempts, run.finished - run.scheduled_at) == ("fired", 1, 7.0)
        assert (await world.ask(RunSchedule("asistente/fija"))).outcome == "fired"
        assert await world.said() == ["hecho", "hola"]
        assert [view.next_due for view in await world.ask(ListSchedules())] == before


async def test_a_run_of_what_is_running_or_unknown_is_refused(
    world: Any, call: MakeSchedule, autojump_clock: MockClock
) -> None:
    async def never(message: Any) -> None:
        await trio.sleep_forever()

    async with world, world.agent("asistente-2", never), world.running():
        await run_once(world, call())
        with pytest.raises(SchedulerRefused, match="ahora mismo"):
            await world.ask(RunSchedule("asistente/daily-analysis"))
        with pytest.raises(SchedulerRefused, match="otra"):
            await world.ask(RunSchedule("asistente/otra"))
