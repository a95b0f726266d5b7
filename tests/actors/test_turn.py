"""One turn's answer: frozen with its slot's end, in parts if it is long, stamped, or silence."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from actors.llm.protocol import ModelRequest, ToolCall
from actors.turn import PART_CHARACTERS, is_no_reply, split_answer, turn_key
from channels.chain import Stamp
from channels.errors import RemoteError
from channels.mailbox import Mailbox
from cronactor.messages import ZoneFound, ZoneOf
from tests.actors.house import ROOM, Answer, House, a_house, results
from tools.tool import ToolContext, tool

pytestmark = pytest.mark.promise("P1", "P6", "P9")


async def test_a_person_gets_one_answer(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with a_house(tmp_path) as house:
        event_id = await house.say("hola")
        await house.settled()
        assert await house.texts() == ["ada: hola"]
        slot, reaction = await house.slots()
        assert (slot.state, slot.agent, slot.rule) == ("answered", "ada", "first")
        assert (reaction.state, reaction.rule) == ("declined", "sender_is_bot")
        (row,) = await house.outbox.rows_of(slot.id)
        assert (row.txn_id, row.state) == ("slot-1-0", "sent")
        said = (await house.rooms.history(ROOM, 10))[-1]
        assert said.stamp == Stamp("ada", event_id, event_id, 1)


async def test_the_record_ends_with_the_turn(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with a_house(tmp_path) as house:
        await house.say("hola")
        await house.settled()
        record = await house.journal.open(turn_key(1))
        assert (record.answer, record.outputs) == ("ada: hola", [])


async def test_a_long_answer_is_one_turn_in_parts_and_is_replied_to_once(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    text = "palabra " * (PART_CHARACTERS // 3)

    async def long(request: ModelRequest) -> Answer:
        return text

    async with a_house(tmp_path, scripts={"ada": long}) as house:
        await house.say("cuenta")
        await house.settled()
        parts = await house.texts()
        assert len(parts) == 3 and " ".join(parts).split() == text.split()
        assert len(await house.slots()) == 2  # the person's message, and the answer as a whole
        stamps = {event.stamp for event in await house.rooms.history(ROOM, 10) if event.stamp}
        assert {stamp.hop for stamp in stamps} == {1}


async def test_the_model_hears_the_room_before_the_message_and_not_what_came_after(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        await house.say("primero")
        await house.settled()
        await house.say("segundo", "luis")
        await house.say("tercero")
        await house.settled()
        second = house.providers["ada"].requests[1].messages[1:]
        assert [(message.role, message.name, message.content) for message in second] == [
            ("user", "ana", "primero"),
            ("assistant", None, "ada: primero"),
            ("user", "luis", "segundo"),
        ]


@pytest.mark.parametrize("text", ["NO_REPLY", " NO_REPLY\n", "`NO_REPLY`", "**NO_REPLY**."])
def test_silence_is_recognised_however_it_is_dressed(text: str) -> None:
    assert is_no_reply(text)


@pytest.mark.parametrize("text", ["NO_REPLY is what I would say", "no", ""])
def test_anything_else_is_an_answer(text: str) -> None:
    assert not is_no_reply(text)


@given(st.text(min_size=1).filter(str.strip), st.integers(1, 30))
def test_parts_are_short_nonempty_and_lose_only_the_space_between_them(
    text: str, limit: int
) -> None:
    parts = split_answer(text, limit)
    assert all(0 < len(part) <= limit for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


async def test_model_and_tools_know_what_is_replied_to_and_whose_clock_counts(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    seen: list[ToolContext] = []

    @tool()
    async def look(ctx: ToolContext) -> str:
        """Look."""
        seen.append(ctx)
        return "visto"

    async def call(request: ModelRequest) -> Answer:
        return results(request)[-1] if results(request) else ToolCall("c1", "look", "{}")

    async with a_house(tmp_path, scripts={"ada": call}, tools=[look]) as house:
        async with a_scheduler(house, ZoneFound("Asia/Tokyo", "user")) as asked:
            first = await house.say("hola")
            await house.settled()
            relation = {"m.in_reply_to": {"event_id": first}}
            content = {"msgtype": "m.text", "body": "otra", "m.relates_to": relation}
            await house.rooms.post(ROOM, "ana", content)
            await house.settled()
        assert [(ctx.timezone, ctx.reply_to) for ctx in seen] == [
            ("Asia/Tokyo", None),
            ("Asia/Tokyo", first),
        ]
        contexts = [request.context for request in house.providers["ada"].requests]
        assert {context.reply_to for context in contexts[2:]} == {first}
        assert asked == [ZoneOf("@ana", ROOM)] * 2


@pytest.mark.parametrize("answer", [RemoteError("x"), "no zone", None])
async def test_without_an_answer_the_configured_zone_counts(
    tmp_path: Path, answer: object, autojump_clock: MockClock
) -> None:
    async with a_house(tmp_path) as house:
        async with a_scheduler(house, answer):
            await house.say("hola")
            await house.settled()
        assert await house.texts() == ["ada: hola"]
        assert house.providers["ada"].requests[0].context.timezone == "UTC"


@asynccontextmanager
async def a_scheduler(house: House, answer: object) -> AsyncIterator[list[object]]:
    """Something at the scheduler's address that answers always the same; None: never."""
    mailbox = Mailbox()
    house.bus.register("scheduler", mailbox)
    inbox = mailbox.open_inbox()
    asked: list[object] = []

    async def serve() -> None:
        async for message in inbox:
            asked.append(message.body)
            if isinstance(answer, Exception):
                message.fail(answer)
            elif answer is not None:
                message.reply(answer)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        yield asked
        nursery.cancel_scope.cancel()
    inbox.close()
    house.bus.unregister("scheduler", "the test ends")
