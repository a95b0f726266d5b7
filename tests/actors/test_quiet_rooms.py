"""A room full of bots always falls silent (P3)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from actors.llm.protocol import ModelRequest
from config.schema import RoomConfig
from tests.actors.house import ROOM, Answer, House, a_house, agent_config

FIVE = ("ada", "bob", "cid", "dora", "eva")


async def chatty(request: ModelRequest) -> Answer:
    """Always have something to say, and call on another bot by name."""
    own = FIVE.index(request.context.agent)
    return f"¿y tú, @{FIVE[(own + 1) % 5]}?"


def loud(**more: Any) -> RoomConfig:
    settings: dict[str, Any] = {
        "respond_to_bots": True,
        "response_cooldown_seconds": 0.0,
        "cooldown_applies_to": "bots",
    }
    return RoomConfig(ROOM, participants=FIVE, **(settings | more))


def fives(of: Any) -> dict[str, Any]:
    return {agent: of(agent) for agent in FIVE}


@pytest.mark.promise("P3")
@pytest.mark.parametrize("policy", ["first", "round_robin", "all", "route"])
@pytest.mark.parametrize("turn_based", [False, True])
async def test_after_one_human_message_five_bots_take_so_many_turns_and_no_more(
    tmp_path: Path, autojump_clock: MockClock, policy: str, turn_based: bool
) -> None:
    room = loud(policy=policy, turn_based=turn_based, max_bot_turns=6)
    async with a_house(
        tmp_path, rooms=(room,), agents=fives(agent_config), scripts=fives(lambda _: chatty)
    ) as house:
        await house.say("hola a todas")
        await house.settled(7 * 86_400)
        assert len(await house.texts()) == 6
        await house.say("¿seguimos?")
        await house.settled(7 * 86_400)
        assert len(await house.texts()) == 12


@pytest.mark.promise("P3")
async def test_the_count_survives_restarts(tmp_path: Path, autojump_clock: MockClock) -> None:
    async def slow(request: ModelRequest) -> Answer:
        await trio.sleep(5)
        return await chatty(request)

    said = 0
    for _ in range(8):
        async with a_house(
            tmp_path, rooms=(loud(),), agents=fives(agent_config), scripts=fives(lambda _: slow)
        ) as house:
            if not said:
                await house.say("hola")
            await house.settled(12)
            said = len(await house.texts())
    assert said == 6


@pytest.mark.promise("P3")
@pytest.mark.parametrize("stamp", [None, {}, "x", {"chain": "new", "hop": 0, "agent": "ada"}])
async def test_a_foreign_bot_that_shows_itself_cannot_lengthen_a_chain(
    tmp_path: Path, autojump_clock: MockClock, stamp: Any
) -> None:
    async with a_house(
        tmp_path, rooms=(loud(),), agents=fives(agent_config), scripts=fives(lambda _: chatty)
    ) as house:
        await house.say("hola")
        for number in range(30):
            content: dict[str, Any] = {"msgtype": "m.text", "body": f"@ada ¿y {number}?"}
            if stamp is not None:
                content["vivero"] = stamp
            await house.rooms.post(ROOM, "robot", content, as_bot=stamp is None)
            await house.settled(100)
        assert len(await house.texts()) == 6


@pytest.mark.promise("P3")
async def test_a_foreign_bot_that_plays_a_person_is_found_out(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    room = loud(respond_to_bots=False)
    async with a_house(
        tmp_path, rooms=(room,), agents=fives(agent_config), scripts=fives(lambda _: chatty)
    ) as house:
        for number in range(300):
            await house.say(f"eco {number}", "impostor")
            await house.settled(5)
        answers, notices = await spoken(house)
        assert len(answers) == 20  # however long it goes on
        assert notices == [STRUCK]
        await house.say("hola", "ana")
        await house.settled()
        assert len((await spoken(house))[0]) == 21
        await house.settled(540)
        await house.inbox.set_suspect(ROOM, "@impostor", False)
        await house.say("soy yo", "impostor")
        await house.settled()
        assert len((await spoken(house))[0]) == 22


@pytest.mark.promise("P3", "P7")
async def test_who_was_taken_for_a_bot_is_answered_again_after_ten_silent_minutes(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    room = loud(respond_to_bots=False)
    async with a_house(
        tmp_path, rooms=(room,), agents=fives(agent_config), scripts=fives(lambda _: chatty)
    ) as house:
        for strike in (1, 2):
            for number in range(25):
                await house.say(f"pregunta {number}", "impostor")
                await house.settled(20)
            answers, notices = await spoken(house)
            assert len(answers) == 20 * strike
            assert notices == [STRUCK] * strike  # told once a strike
            await house.settled(600)
        await house.say("¿ya?", "impostor")
        await house.settled()
        assert len((await spoken(house))[0]) == 41


STRUCK = (
    "⚠️ @impostor y los agentes llevan 20 respuestas seguidas en 10 minutos: trato a @impostor"
    " como un bot. Se pasa tras 10 minutos sin mensajes suyos."
)


async def spoken(house: House) -> tuple[list[str], list[str]]:
    """What the agents answered in the room, and the notices they gave."""
    said = [e for e in await house.rooms.history(ROOM, 1000) if e.sender in FIVE]
    notices = [event.text for event in said if event.kind == "notice"]
    return [event.text for event in said if event.kind != "notice"], notices


@pytest.mark.promise("P3")
async def test_slow_impostors_are_bounded_by_the_hour(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    room = loud(max_agent_messages_per_hour=10, respond_to_bots=False)
    async with a_house(
        tmp_path, rooms=(room,), agents=fives(agent_config), scripts=fives(lambda _: chatty)
    ) as house:
        for number in range(40):
            await house.say(f"eco {number}", "impostor")
            await house.settled(60)
        answers, notices = await spoken(house)
        assert len(answers) == 10
        assert notices == [HOUR_FULL] * 2  # 40 minutes of two clock hours


HOUR_FULL = (
    "⚠️ Los agentes han dicho aquí 10 mensajes en una hora, el límite de esta sala: hasta que pase"
    " no responden a más."
)


@pytest.mark.promise("P3", "P7")
async def test_a_burst_does_not_pass_the_hours_limit_and_the_room_is_told_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async def slow(request: ModelRequest) -> Answer:
        await trio.sleep(5)
        return await chatty(request)

    room = loud(max_agent_messages_per_hour=10, policy="all", respond_to_bots=False)
    async with a_house(
        tmp_path, rooms=(room,), agents=fives(agent_config), scripts=fives(lambda _: slow)
    ) as house:
        for number in range(8):
            await house.say(f"todos {number}", f"persona{number}")
        await house.settled(100)
        answers, notices = await spoken(house)
        assert len(answers) == 10
        assert notices == [HOUR_FULL]
        await house.say("¿y ahora?", "ana")
        await house.stop_agent(FIVE[0])
        await house.settled(10)
        await house.say("¿y ahora?", "ana")
        await house.settled(10)
        assert (await spoken(house))[1] == [HOUR_FULL]  # whoever would say it


@pytest.mark.promise("P3")
async def test_a_cooldown_lets_each_bot_speak_once_a_minute(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    room = loud(response_cooldown_seconds=60.0, max_bot_turns=100)
    async with a_house(
        tmp_path, rooms=(room,), agents=fives(agent_config), scripts=fives(lambda _: chatty)
    ) as house:
        await house.say("hola")
        await house.settled(50)
        spoken = [e.sender for e in await house.rooms.history(ROOM, 100) if e.sender in FIVE]
        assert_distinct(spoken)


def assert_distinct(names: Iterable[str]) -> None:
    listed = list(names)
    assert len(listed) == len(set(listed)) > 1
