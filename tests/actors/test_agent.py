"""The loop: serial per room, parallel across; what a stop, a failure, a full house do to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from actors.agent import FAILURES_IN_ROW, AgentLoop
from actors.llm.protocol import ModelError, ModelRequest
from channels.errors import AskTimeout, RemoteError
from channels.messages import ControlMessage, RunningTurns, RunTurn, Task, TaskResult
from config.schema import RoomConfig
from tests.actors.house import AGENTS, ROOM, Answer, House, a_house, agent_config, said

pytestmark = pytest.mark.promise("P1", "P6")

OTHER = "#huerto"
ROOMS = tuple(
    RoomConfig(name, participants=("ada", "bob"), response_cooldown_seconds=0)
    for name in (ROOM, OTHER)
)


def loop_of(house: House, agent: str = "ada") -> AgentLoop:
    actor = house.running[agent].actor
    assert isinstance(actor, AgentLoop)
    return actor


async def slow(request: ModelRequest) -> Answer:
    await trio.sleep(10)
    return f"{request.context.agent}: {said(request)}"


async def broken(request: ModelRequest) -> Answer:
    if "mal" in said(request):
        return ModelError("http", "500")
    return "bien"


# -- lanes ---------------------------------------------------------------------------------------


async def test_turns_of_a_room_run_one_after_another_and_rooms_side_by_side(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, rooms=ROOMS, scripts={"ada": slow}) as house:
        await house.say("uno")
        await house.say("dos")
        await house.say("tres", room=OTHER)
        await trio.sleep(1)
        assert [turn.room for turn in loop_of(house).statistics()] == [ROOM, OTHER]
        assert loop_of(house).status()["waiting"] == 1
        await trio.sleep(9.5)
        assert await house.texts() == ["ada: uno"]
        assert await house.texts(OTHER) == ["ada: tres"]
        await trio.sleep(10)
        assert await house.texts() == ["ada: uno", "ada: dos"]


async def test_the_loop_says_which_attempts_it_holds_queued_ones_included(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts={"ada": slow}) as house:
        await house.say("uno")
        await house.say("dos")
        await trio.sleep(1)
        assert await house.bus.ask("ada", RunningTurns(), timeout=1) == ((1, 1), (2, 1))


async def test_a_turn_of_another_attempt_or_agent_is_not_begun(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts={"ada": slow}) as house:
        await house.say("uno")
        await trio.sleep(1)
        for stale in (RunTurn(1, 1), RunTurn(1, 7), RunTurn(99, 1)):
            house.bus.tell_nowait("ada", stale)
        house.bus.tell_nowait("bob", RunTurn(1, 1))
        await house.settled()
        assert await house.texts() == ["ada: uno"]
        assert len(house.providers["ada"].requests) == 1
        assert house.providers["bob"].requests == []


async def test_messages_beyond_what_the_loop_may_hold_wait_and_are_all_answered_in_order(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    agents = {**AGENTS, "ada": agent_config("ada", mailbox_capacity=2)}
    async with a_house(tmp_path, agents=agents, rooms=ROOMS[:1], scripts={"ada": slow}) as house:
        for number in range(9):
            await house.say(str(number))
        await trio.sleep(1)
        held = loop_of(house)._held() + len(house.mailboxes["ada"].queue)
        assert held <= 4
        assert sum(slot.state == "open" for slot in await house.slots()) == 9 - held
        await house.settled(200)
        assert await house.texts() == [f"ada: {number}" for number in range(9)]


# -- failures ------------------------------------------------------------------------------------


async def test_a_turn_that_raises_twice_is_a_dead_letter_and_the_room_is_told_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, rooms=ROOMS, scripts={"ada": broken, "bob": broken}) as house:
        await house.say("mal")
        await house.say("hola", room=OTHER)
        await house.settled()
        dead, fine, *_ = await house.slots()
        assert (dead.state, dead.reason, dead.failures) == ("dead_letter", "raised_twice", 2)
        assert fine.state == "answered"
        (notice,) = await house.texts()
        assert "no lo volveré a intentar" in notice
        assert await house.texts(OTHER) == ["bien"]


async def test_a_turn_that_takes_too_long_counts_as_raised(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    agents = {"ada": agent_config("ada", turn_seconds=5), "bob": AGENTS["bob"]}
    async with a_house(tmp_path, agents=agents, scripts={"ada": slow, "bob": slow}) as house:
        await house.say("hola")
        await house.settled()
        slot = (await house.slots())[0]
        assert (slot.state, slot.failures) == ("dead_letter", 2)


async def test_a_turn_that_raised_once_is_answered_on_its_retry(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def once(request: ModelRequest) -> Answer:
        return "ya" if request.attempt == 2 else ModelError("connect", "nobody there")

    async with a_house(tmp_path, scripts={"ada": once}) as house:
        await house.say("hola")
        await house.settled()
        assert await house.texts() == ["ya"]
        slot = (await house.slots())[0]
        assert (slot.attempt, slot.failures, slot.reason) == (2, 1, None)


async def test_many_failures_in_a_row_crash_the_loop_and_cost_nobody_elses_turn_an_attempt(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def script(request: ModelRequest) -> Answer:
        if request.context.room == OTHER:
            await trio.sleep(1000)
        return ModelError("http", "500")

    rooms = tuple(RoomConfig(r.id, participants=("ada",)) for r in ROOMS)
    with pytest.RaisesGroup(
        pytest.RaisesExc(Exception, match=f"{FAILURES_IN_ROW} turns failed in a row"),
        allow_unwrapped=True,
        flatten_subgroups=True,
    ):
        async with a_house(tmp_path, rooms=rooms, scripts={"ada": script}) as house:
            await house.say("despacio", room=OTHER)
            for number in range(3):
                await house.say(f"@ada {number}")
            await house.settled()
    async with a_house(tmp_path, started=False) as after:
        slow_one = (await after.slots())[0]
        assert slow_one.interruptions == 0
        assert slow_one.state == "open" or slow_one.attempt == 2  # given back, maybe offered again


# -- stops ---------------------------------------------------------------------------------------


async def test_stop_ends_the_rooms_turn_at_once_and_for_good(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, rooms=ROOMS, scripts={"ada": slow}) as house:
        await house.say("uno")
        await house.say("otro", room=OTHER)
        await trio.sleep(1)
        await house.say("!stop")
        await trio.sleep(1)
        slots = await house.slots()
        assert (slots[0].state, slots[0].rule, slots[0].hop) == ("declined", "stopped", 1)
        assert [turn.room for turn in loop_of(house).statistics()] == [OTHER]
        await house.settled()
        assert await house.texts() == []
        assert await house.texts(OTHER) == ["ada: otro"]
        assert len(slots) == 2  # the control message itself opened none


async def test_a_stop_gives_the_turn_back_to_its_chain(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts={"ada": slow}) as house:
        event_id = await house.say("uno")
        await trio.sleep(1)
        assert await house.inbox.chain_turns(ROOM, event_id) == 1
        await house.say("!stop")
        await trio.sleep(1)
        assert await house.inbox.chain_turns(ROOM, event_id) == 0


async def test_a_control_message_is_obeyed_once_however_often_it_is_told(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts={"ada": slow}) as house:
        stop = ControlMessage(ROOM, "@ana", "stop", event_id="$stop")
        house.bus.tell_control_nowait("ada", stop)
        await wait_all_tasks_blocked()
        await house.say("uno")
        await trio.sleep(1)
        house.bus.tell_control_nowait("ada", stop)
        await house.settled()
        assert await house.texts() == ["ada: uno"]


async def test_a_drained_loop_finishes_what_runs_and_gives_back_what_waits(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts={"ada": slow}) as house:
        await house.say("uno")
        await house.say("dos")
        await trio.sleep(1)
        own = house.running["ada"]
        own.inbox.drain()
        await own.ended.wait()
        await trio.sleep(1)
        assert await house.texts() == ["ada: uno"]
        assert house.providers["ada"].closed == 1
        first, second, *_ = await house.slots()
        assert first.state == "answered"
        assert (second.state, second.attempt, second.interruptions) == ("dispatched", 2, 0)
        await house.start_loop("ada")
        await house.settled()
        assert await house.texts() == ["ada: uno", "ada: dos"]


async def test_idle_waits_for_the_turn_that_runs_and_not_for_the_next(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts={"ada": slow}) as house:
        await house.say("uno")
        await house.say("dos")
        await trio.sleep(1)
        began = trio.current_time()
        await loop_of(house).idle(f"ada/{ROOM}")
        assert trio.current_time() - began == pytest.approx(9, abs=0.5)
        await loop_of(house).idle("ada/nowhere")


# -- tasks ---------------------------------------------------------------------------------------


async def ask(house: House, task: Task, timeout: float = 60) -> Any:
    return await house.bus.ask("ada", task, timeout=timeout, lane=task.task_id)


async def test_a_task_is_answered_to_its_asker(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with a_house(tmp_path) as house:
        task = Task("t1", "¿qué tal?", "bob", room=ROOM, user="@ana")
        assert await ask(house, task) == TaskResult("ada: ¿qué tal?", "ada")
        (request,) = house.providers["ada"].requests
        assert request.context.addressed and request.context.user == "@ana"
        assert await house.texts() == []  # it is the asker's to say


async def test_a_task_asked_again_is_not_done_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        first = await ask(house, Task("t1", "hola", "bob"))
        assert await ask(house, Task("t1", "hola", "bob")) == first
        assert len(house.providers["ada"].requests) == 1


async def test_a_task_whose_model_is_silent_has_an_empty_result(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def silent(request: ModelRequest) -> Answer:
        return "NO_REPLY"

    async with a_house(tmp_path, scripts={"ada": silent}) as house:
        assert await ask(house, Task("t1", "hola", "bob")) == TaskResult("", "ada")


async def test_a_task_that_fails_says_why_to_its_asker_and_hurts_nobody_else(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts={"ada": broken}) as house:
        with pytest.raises(RemoteError, match="500"):
            await ask(house, Task("t1", "mal", "bob"))
        assert await ask(house, Task("t2", "bueno", "bob")) == TaskResult("bien", "ada")


async def test_a_task_runs_no_longer_than_its_asker_waits(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts={"ada": slow}) as house:
        with pytest.raises(RemoteError, match="within 5 s"):
            await ask(house, Task("t1", "x", "bob", timeout=5))
        with pytest.raises(AskTimeout):
            await ask(house, Task("t2", "x", "bob", timeout=5), timeout=1)
        await trio.sleep(5)
        assert loop_of(house).statistics() == ()


async def test_stop_in_a_room_ends_the_tasks_done_for_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with (
        a_house(tmp_path, scripts={"ada": slow}) as house,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(house.say, "!stop")
        with pytest.raises(RemoteError, match="stopped"):
            await ask(house, Task("t1", "x", "bob", room=ROOM))


async def test_a_message_it_does_not_know_is_refused(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        with pytest.raises(RemoteError, match="does not understand str"):
            await house.bus.ask("ada", "hola", timeout=1)
