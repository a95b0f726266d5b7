"""A turn resumed from its journal repeats nothing; a stopped turn begins nothing (P6, P9)."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from trio.testing import MockClock

from actors.journal import idempotency_key
from actors.llm.protocol import ChatMessage, ModelError, ModelRequest, ToolCall
from actors.thinking import AgentServices, TurnFailed, Work, think
from channels.crashpoints import set_crash_hook
from tests.actors.house import (
    Answer,
    Effects,
    House,
    Script,
    Scripted,
    a_house,
    agent_config,
    results,
)
from tools.tool import Tool
from tools.toolbox import Toolbox

WORK = Work(
    key="slot:1",
    lane="ada/#taller",
    attempt=1,
    room="#taller",
    user="@ana",
    event_id="$1",
    received_at=0.0,
    messages=(ChatMessage("system", "s"), ChatMessage("user", "hola", name="ana")),
    timezone="Europe/Madrid",
    stamp=None,
)
ADA = agent_config("ada", max_tool_rounds=3)


def services(house: House, script: Script, *tools: Tool) -> AgentServices:
    return AgentServices(
        bus=house.bus,
        inbox=house.inbox,
        journal=house.journal,
        clock=house.clock,
        toolbox=Toolbox(tools),
        provider=Scripted(script),
    )


def requests(of: AgentServices) -> list[ModelRequest]:
    assert isinstance(of.provider, Scripted)
    return of.provider.requests


async def call_then_tell(request: ModelRequest) -> Answer:
    done = results(request)
    return f"got: {done[0]}" if done else ToolCall("c1", "effect", "{}")


@pytest.fixture
def effects() -> Effects:
    return Effects()


async def test_a_tool_result_reaches_the_model_beside_its_call(
    tmp_path: Path, effects: Effects
) -> None:
    async with a_house(tmp_path, started=False) as house:
        on = services(house, call_then_tell, effects.tool())
        assert await think(ADA, on, WORK) == "got: effect slot:1:0"
        first, second = requests(on)
        assert [spec.name for spec in first.tools] == ["effect"]
        assert first.context.user == "@ana" and first.context.timezone == "Europe/Madrid"
        *_, asked, told = second.messages
        assert asked.tool_calls == (ToolCall("c1", "effect", "{}"),)
        assert (told.role, told.tool_call_id) == ("tool", "c1")


async def test_a_second_run_repeats_neither_model_nor_tool(
    tmp_path: Path, effects: Effects
) -> None:
    async with a_house(tmp_path, started=False) as house:
        await think(ADA, services(house, call_then_tell, effects.tool()), WORK)
        again = services(house, call_then_tell, effects.tool())
        assert await think(ADA, again, WORK) == "got: effect slot:1:0"
        assert requests(again) == [] and effects.calls == ["slot:1:0"]


@pytest.mark.promise("P9")
@pytest.mark.parametrize("idempotent", [True, False])
async def test_an_unfinished_call_is_made_again_only_if_it_may_be(
    tmp_path: Path, effects: Effects, idempotent: bool
) -> None:
    async with a_house(tmp_path, started=False) as house:
        on = services(house, call_then_tell, effects.tool(idempotent=idempotent))
        record = await house.journal.open(WORK.key)
        await house.journal.calling(record, 0, ToolCall("c1", "effect", "{}"))
        text = await think(ADA, on, WORK)
        assert effects.calls == ([idempotency_key("slot:1", 0)] if idempotent else [])
        assert ("no se sabe si tuvo efecto" in text) is not idempotent


async def test_another_agent_goes_on_from_the_same_record(tmp_path: Path, effects: Effects) -> None:
    async with a_house(tmp_path, started=False) as house:
        await think(ADA, services(house, call_then_tell, effects.tool()), WORK)
        on = services(house, call_then_tell)  # bob has no such tool
        assert await think(agent_config("bob"), on, WORK) == "got: effect slot:1:0"


async def test_a_model_error_ends_the_turn_and_is_not_recorded(tmp_path: Path) -> None:
    async def fail(request: ModelRequest) -> Answer:
        return ModelError("idle", "stalled", partial_text="half")

    async with a_house(tmp_path, started=False) as house:
        with pytest.raises(ModelError):
            await think(ADA, services(house, fail), WORK)
        assert (await house.journal.open(WORK.key)).outputs == []


async def test_an_empty_answer_is_an_error_and_the_next_run_asks_again(tmp_path: Path) -> None:
    async def silent(request: ModelRequest) -> Answer:
        return " \n"

    async def better(request: ModelRequest) -> Answer:
        return "ya"

    async with a_house(tmp_path, started=False) as house:
        with pytest.raises(TurnFailed, match="empty"):
            await think(ADA, services(house, silent), WORK)
        assert await think(ADA, services(house, better), WORK) == "ya"


async def test_the_last_round_offers_no_tools_and_insisting_on_them_fails(
    tmp_path: Path, effects: Effects
) -> None:
    async def insist(request: ModelRequest) -> Answer:
        return ToolCall("c", "effect", "{}")

    async with a_house(tmp_path, started=False) as house:
        on = services(house, insist, effects.tool())
        with pytest.raises(TurnFailed, match="3 rounds"):
            await think(ADA, on, WORK)
        assert [len(request.tools) for request in requests(on)] == [1, 1, 1, 0]
        assert len(effects.calls) == 3


async def test_an_invented_tool_is_a_result_the_model_can_act_on(tmp_path: Path) -> None:
    async with a_house(tmp_path, started=False) as house:
        assert "no tool" in await think(ADA, services(house, call_then_tell), WORK)


@pytest.mark.promise("P6")
@pytest.mark.parametrize(
    "point",
    [
        "turn.before_model",
        "turn.after_model",
        "turn.after_model_record",
        "tool.before_record",
        "tool.after_start_record",
        "tool.before_call",
        "tool.after_call",
        "tool.before_result_record",
        "tool.after_record",
        "database.after_commit",
    ],
)
async def test_after_the_stop_mark_no_round_and_no_call_begins(
    tmp_path: Path, effects: Effects, point: str, autojump_clock: MockClock
) -> None:
    begun: list[str] = []
    stopped_at: list[int] = []

    async def script(request: ModelRequest) -> Answer:
        begun.append("round")
        return await call_then_tell(request)

    async with a_house(tmp_path, started=False) as house:
        on = services(house, script, effects.tool())
        with trio.CancelScope() as scope:

            def stop(name: str) -> None:
                if name == "tool.before_call":
                    begun.append("call")
                if name == point and not stopped_at:
                    scope.cancel(reason="stopped")
                    stopped_at.append(len(begun))

            set_crash_hook(stop)
            try:
                await think(ADA, on, WORK)
            finally:
                set_crash_hook(None)
        assert scope.cancelled_caught
        assert len(begun) == stopped_at[0]


async def test_a_result_that_is_there_when_the_stop_comes_is_recorded(
    tmp_path: Path, effects: Effects
) -> None:
    async with a_house(tmp_path, started=False) as house:
        on = services(house, call_then_tell, effects.tool())
        with trio.CancelScope() as scope:
            set_crash_hook(lambda name: scope.cancel() if name == "tool.after_call" else None)
            try:
                await think(ADA, on, WORK)
            finally:
                set_crash_hook(None)
        record = await house.journal.open(WORK.key)
        assert record.calls[0].result is not None
