"""The orchestrator ends every slot, whoever is reloaded, crashes, is full or is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
from trio.testing import MockClock

from actors.decision import AgentCard, decide
from actors.llm.protocol import ModelError, ModelRequest
from actors.orchestrator import Orchestrator
from channels.mailbox import Inbox
from channels.messages import (
    AgentReachable,
    Agents,
    AgentUnreachable,
    GiveBackHop,
    Membership,
    ReserveHop,
    RunningTurns,
    RunTurn,
    TurnEnd,
    TurnEnded,
)
from config.schema import RoomConfig
from tests.actors.house import AGENTS, ROOM, TALK, Answer, House, a_house, agent_config, said


async def slow(request: ModelRequest) -> Answer:
    await trio.sleep(10)
    return f"{request.context.agent}: {said(request)}"


BOTH_SLOW = {"ada": slow, "bob": slow}


def orchestrator_of(house: House) -> Orchestrator:
    actor = house.running["orchestrator"].actor
    assert isinstance(actor, Orchestrator)
    return actor


@attrs.define(eq=False)
class Hollow:
    """An agent that takes what comes and does with it what a test says."""

    house: House
    crash: bool = False
    taken: list[Any] = attrs.field(factory=list)

    async def run(self, inbox: Inbox, *, task_status: trio.TaskStatus[None]) -> None:
        task_status.started()
        async for message in inbox:
            if isinstance(message.body, RunningTurns):
                message.reply(())
                continue
            self.taken.append(message.body)
            if self.crash:
                return


async def start_hollow(house: House, agent: str, **more: Any) -> Hollow:
    actor = Hollow(house, **more)
    await house.start(agent, actor)
    house.bus.tell_nowait("orchestrator", AgentReachable(agent))
    return actor


# -- reload --------------------------------------------------------------------------------------


@pytest.mark.promise("P1", "P4")
async def test_a_reload_in_the_middle_of_a_model_call_costs_its_message_one_more_attempt(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts=BOTH_SLOW) as house:
        await house.say("hola")
        await house.say("@bob hola")
        await trio.sleep(3)
        await house.reload("ada")
        await trio.sleep(7.5)
        assert await house.texts() == ["bob: @bob hola"]  # it never noticed
        await house.settled()
        assert await house.texts() == ["bob: @bob hola", "ada: hola"]
        first = (await house.slots())[0]
        assert (first.attempt, first.failures, first.interruptions) == (2, 0, 0)


async def test_many_reloads_take_nothing_from_a_message(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts=BOTH_SLOW) as house:
        await house.say("hola")
        for _ in range(10):
            await trio.sleep(3)
            await house.reload("ada")
        await house.settled()
        assert await house.texts() == ["ada: hola"]
        assert (await house.slots())[0].attempt == 11


async def test_messages_keep_their_order_through_a_reload(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts=BOTH_SLOW) as house:
        for number in range(4):
            await house.say(str(number))
        await trio.sleep(15)
        await house.reload("ada")
        await house.settled(100)
        assert await house.texts() == [f"ada: {number}" for number in range(4)]


async def test_dispatch_and_wait_survives_a_participant_being_reloaded(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts=BOTH_SLOW) as house:
        await house.say("hola")
        await trio.sleep(1)
        ended: list[Any] = []

        async def wait() -> None:
            ended.append(await orchestrator_of(house).dispatch_and_wait(1))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(wait)
            await trio.sleep(3)
            await house.reload("ada")
        assert [(slot.state, slot.attempt) for slot in ended] == [("answered", 2)]
        assert await orchestrator_of(house).dispatch_and_wait(1) == ended[0]
        with pytest.raises(KeyError):
            await orchestrator_of(house).dispatch_and_wait(99)


# -- crashes -------------------------------------------------------------------------------------


async def test_a_loop_that_dies_on_a_message_gets_it_once_more_then_the_next_participant_does(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        await house.running["ada"].stop()
        hollow = await start_hollow(house, "ada", crash=True)
        await house.say("hola")
        for _ in range(2):
            await trio.sleep(3)
            hollow = await start_hollow(house, "ada", crash=True)
        await house.settled()
        assert hollow.taken == []
        assert await house.texts() == ["bob: hola"]
        slot = (await house.slots())[0]
        assert (slot.attempt, slot.interruptions, slot.rule) == (3, 2, "next_participant")


async def test_a_message_that_kills_everyones_loop_is_a_dead_letter(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        for agent in ("ada", "bob"):
            await house.running[agent].stop()
            await start_hollow(house, agent, crash=True)
        await house.say("hola")
        for agent in ("ada", "ada", "bob"):
            await trio.sleep(3)
            await start_hollow(house, agent, crash=True)
        await house.settled()
        slot = (await house.slots())[0]
        assert (slot.state, slot.reason, slot.interruptions) == ("dead_letter", "crashed", 3)
        assert len(await house.texts()) == 1  # the room is told


async def test_a_turn_that_waits_in_the_mailbox_of_a_crashed_loop_is_not_counted_against(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        await house.running["ada"].stop()
        await start_hollow(house, "ada", crash=True)
        await house.say("uno")
        await house.say("dos")
        await trio.sleep(3)
        await house.start_loop("ada")
        await house.settled()
        assert sorted(await house.texts()) == ["ada: dos", "ada: uno"]
        assert [slot.interruptions for slot in await house.slots()][:2] == [1, 0]


@pytest.mark.promise("P1")
async def test_a_restarted_orchestrator_asks_before_it_dispatches_again(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts=BOTH_SLOW) as house:
        await house.say("hola")
        await trio.sleep(3)
        await house.running["orchestrator"].stop("sibling")
        await house.say("@bob dos")
        await house.start("orchestrator", house.orchestrator())
        await house.settled()
        assert sorted(await house.texts()) == ["ada: hola", "bob: @bob dos"]
        assert [slot.attempt for slot in await house.slots()][:2] == [1, 1]


async def test_a_restarted_orchestrator_takes_back_what_nobody_runs(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts=BOTH_SLOW) as house:
        await house.running["ada"].stop()
        await start_hollow(house, "ada")
        await house.say("hola")
        await trio.sleep(3)
        await house.running["ada"].stop()
        await house.running["orchestrator"].stop("sibling")
        await house.start("orchestrator", house.orchestrator())
        await house.start_loop("ada")
        await house.settled()
        assert await house.texts() == ["ada: hola"]
        assert (await house.slots())[0].interruptions == 0


async def test_slots_of_an_agent_that_no_longer_exists_go_to_the_others(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts=BOTH_SLOW) as house:
        await house.say("hola")
        await trio.sleep(3)
    left = {"bob": AGENTS["bob"]}
    rooms = (RoomConfig(ROOM, participants=("bob",)),)
    async with a_house(tmp_path, agents=left, rooms=rooms, scripts=BOTH_SLOW) as house:
        await house.settled()
        assert await house.texts() == ["bob: hola"]


# -- who can be reached --------------------------------------------------------------------------


async def test_when_an_agent_stops_for_good_its_turns_go_to_the_next_participant(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts=BOTH_SLOW) as house:
        await house.say("hola")
        await trio.sleep(3)
        await house.stop_agent("ada")
        await house.settled()
        assert await house.texts() == ["bob: hola"]


async def test_with_nobody_there_a_message_waits_and_is_answered_when_somebody_comes(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        for agent in AGENTS:
            await house.stop_agent(agent)
        await house.say("hola")
        await house.settled(1000)
        slot = (await house.slots())[0]
        assert (slot.state, slot.reason, slot.attempt) == ("open", "nobody_available", 0)
        await house.start_loop("bob")
        await house.settled()
        assert await house.texts() == ["bob: hola"]


async def test_a_message_that_waits_too_long_expires(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        orchestrator_of(house).max_wait = 3600.0
        for agent in AGENTS:
            await house.stop_agent(agent)
        await house.say("hola")
        await house.settled(3500)
        house.clock.step(86_400 * 365)  # the wall clock alone decides nothing
        await house.settled(50)
        assert (await house.slots())[0].state == "open"
        await house.settled(200)
        slot = (await house.slots())[0]
        assert (slot.state, slot.reason) == ("expired", "waited_too_long")


async def test_an_agent_that_is_starting_is_waited_for(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, started=False) as house:
        await house.rooms.ensure_room(ROOM, None, TALK.participants)
        await house.start("orchestrator", house.orchestrator())
        await house.start_agent("bob")
        await house.say("hola")
        await trio.sleep(5)
        assert (await house.slots())[0].reason == "starting: ada"
        await house.start_agent("ada")
        await house.settled()
        assert await house.texts() == ["ada: hola"]


async def test_an_agent_that_has_left_the_room_is_not_chosen(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        await house.rooms.leave(ROOM, "ada")
        await trio.sleep(1)
        await house.say("hola")
        await house.settled()
        await house.rooms.join(ROOM, "ada")
        await trio.sleep(1)
        await house.say("otra")
        await house.settled()
        assert await house.texts() == ["bob: hola", "ada: otra"]


async def test_a_full_mailbox_keeps_the_slot_open_and_others_are_served_meanwhile(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    agents = {**AGENTS, "ada": agent_config("ada", mailbox_capacity=1)}
    async with a_house(tmp_path, agents=agents, scripts={"ada": slow}) as house:
        for number in range(4):
            await house.say(str(number))
        await house.say("@bob hola")
        await trio.sleep(3)
        assert await house.texts() == ["bob: @bob hola"]
        waiting = [slot for slot in await house.slots() if slot.state == "open"]
        assert waiting and all(slot.attempt <= 1 for slot in waiting)
        await house.settled(100)
        texts = await house.texts()
        assert texts[1:] == [f"ada: {number}" for number in range(4)]


async def test_an_agent_that_does_not_answer_the_survey_keeps_its_turns_and_gets_no_new_ones(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    @attrs.define(eq=False)
    class Deaf:
        async def run(self, inbox: Inbox, *, task_status: trio.TaskStatus[None]) -> None:
            task_status.started()
            await trio.sleep_forever()

    async with a_house(tmp_path) as house:
        await house.running["ada"].stop()
        await house.start("ada", Deaf())
        house.bus.tell_nowait("orchestrator", AgentReachable("ada"))
        await trio.sleep(1)
        await house.say("hola")
        await trio.sleep(60)
        assert (await house.slots())[0].reason == "starting: ada"
        await house.say("@bob hola")
        await trio.sleep(5)
        assert await house.texts() == ["bob: @bob hola"]
        await house.reload("ada")
        await house.settled()
        assert await house.texts() == ["bob: @bob hola", "ada: hola"]


async def test_agents_and_rooms_can_change_while_it_runs(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        only_bob = RoomConfig(ROOM, participants=("bob",))
        cards = {agent: AgentCard(agent) for agent in AGENTS}
        house.bus.tell_nowait("orchestrator", Agents((only_bob,), cards))
        await house.say("hola")
        await house.settled()
        assert await house.texts() == ["bob: hola"]


async def test_a_room_that_nobody_configured_is_answered_by_who_is_in_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        await house.rooms.ensure_room("#privada", None, ("bob",))
        await trio.sleep(1)
        await house.say("hola", room="#privada")
        await house.say("¿sigues?", room="#privada")
        await house.settled()
        assert await house.texts("#privada") == ["bob: hola", "bob: ¿sigues?"]


# -- policies, chains ----------------------------------------------------------------------------


async def test_under_all_each_agent_answers_in_a_slot_of_its_own(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    rooms = (attrs.evolve(TALK, policy="all"),)
    async with a_house(tmp_path, rooms=rooms) as house:
        await house.say("hola")
        await house.settled()
        assert sorted(await house.texts()) == ["ada: hola", "bob: hola"]
        answered = [slot for slot in await house.slots() if slot.state == "answered"]
        assert [slot.agent for slot in answered] == ["ada", "bob"]
        assert sorted(slot.hop for slot in answered) == [1, 2]


async def test_silence_is_a_decision_and_gives_the_turn_back(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def silent(request: ModelRequest) -> Answer:
        return "NO_REPLY"

    async with a_house(tmp_path, scripts={"ada": silent}) as house:
        event_id = await house.say("hola")
        await house.settled()
        slot = (await house.slots())[0]
        assert (slot.state, slot.rule) == ("declined", "no_reply")
        assert await house.inbox.chain_turns(ROOM, event_id) == 0
        assert await house.texts() == []


async def test_hops_are_reserved_for_whoever_asks_up_to_the_rooms_limit(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    rooms = (attrs.evolve(TALK, max_bot_turns=2),)
    async with a_house(tmp_path, rooms=rooms) as house:

        async def reserve(key: str) -> Any:
            return await house.bus.ask("orchestrator", ReserveHop(ROOM, "$c", key), timeout=1)

        assert [await reserve(key) for key in ("a", "a", "b", "c")] == [1, 1, 2, None]
        assert await house.bus.ask("orchestrator", GiveBackHop(ROOM, "$c", "b"), timeout=1)
        assert await reserve("c") == 2


async def test_what_it_does_not_understand_does_not_stop_it(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        for odd in (
            "?",
            RunTurn(1, 1),
            AgentUnreachable("zoe", "?"),
            Membership("zoe", ROOM, True),
        ):
            house.bus.tell_nowait("orchestrator", odd)
        await house.say("hola")
        await house.settled()
        assert await house.texts() == ["ada: hola"]
        assert orchestrator_of(house).status()["agents"]["ada"] == "up"


async def test_a_bug_in_a_rule_costs_one_message_its_answer_not_everyone(
    tmp_path: Path, autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(room: Any, facts: Any, company: Any) -> Any:
        return decide(room, facts, company) if facts.event.text == "dos" else 1 / 0

    monkeypatch.setattr("actors.choice.decide", wrong)
    async with a_house(tmp_path) as house:
        await house.say("uno")
        await house.say("dos")
        await house.settled()
        assert await house.texts() == ["ada: dos"]
        assert (await house.slots())[0].rule == "rule_failed"


async def test_old_records_are_purged_daily(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with a_house(tmp_path, started=False) as house:
        orchestrator = house.orchestrator()
        orchestrator.journal = house.journal
        await house.journal.end("task:old", "x")
        await house.start("orchestrator", orchestrator)
        await trio.sleep(29 * 86_400)
        assert (await house.journal.open("task:old")).answer == "x"
        await trio.sleep(3 * 86_400)
        assert (await house.journal.open("task:old")).answer is None


async def test_a_dead_letter_notice_comes_from_someone_who_is_there(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def fail(request: ModelRequest) -> Answer:
        return ModelError("http", "500")

    async with a_house(tmp_path, scripts={"ada": fail, "bob": fail}) as house:
        await house.say("@ada hola")
        await house.settled()
        (notice,) = [e for e in await house.rooms.history(ROOM, 10) if e.kind == "notice"]
        assert notice.sender == "ada" and notice.reply_to is not None


async def test_while_the_process_shuts_down_nothing_is_given_to_somebody_else(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts=BOTH_SLOW) as house:
        await house.say("hola")
        await trio.sleep(3)
        await house.running["ada"].stop("shutdown")
        house.bus.tell_nowait("orchestrator", AgentUnreachable("ada", "is stopped"))
        await trio.sleep(5)
        slot = (await house.slots())[0]
        assert (slot.state, slot.agent) == ("open", "ada")
    async with a_house(tmp_path) as house:
        await house.settled()
        assert await house.texts() == ["ada: hola"]


async def test_an_agent_whose_connection_is_dumb_still_takes_turns(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path, scripts=BOTH_SLOW) as house:
        await house.running["ada/connection"].stop()
        await house.running["orchestrator"].stop("sibling")
        await house.start("orchestrator", house.orchestrator())
        await trio.sleep(5)
        assert orchestrator_of(house).status()["agents"]["ada"] == "up"


async def test_every_end_of_an_attempt_is_published(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        with house.bus.subscribe("turns") as ends:
            await house.say("hola")
            assert await ends.__anext__() == TurnEnded("ada", 1, 1, TurnEnd.ANSWERED)
