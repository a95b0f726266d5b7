"""The journey of a message through connection, orchestrator, loop and back."""

from __future__ import annotations

from pathlib import Path

from trio.testing import MockClock

from tests.actors.house import a_house


async def test_a_person_gets_one_answer(tmp_path: Path, autojump_clock: MockClock) -> None:
    async with a_house(tmp_path) as house:
        await house.say("hola")
        await house.settled()
        assert await house.texts() == ["ada: hola"]
        assert [slot.state for slot in await house.slots()] == ["answered", "declined"]
