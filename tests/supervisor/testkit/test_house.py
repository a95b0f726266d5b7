"""A whole workspace in virtual time: people talk to it, time flies, nothing outlives the block."""

from __future__ import annotations

from pathlib import Path

import trio
import trio.testing

from supervisor.testkit.house import make_workspace, open_house


def test_a_reminder_asked_for_in_a_room_speaks_at_its_instant(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path / "w")

    async def main() -> None:
        async with open_house(workspace) as house:
            room = house.room("#taller")
            begun = house.clock.now()
            await room.say("recuérdame en 2 horas que riegue las plantas")
            with trio.fail_after(3 * 3600):
                said = await room.wait_for("asistente", 2)
            assert said[1] == "⏰ @ana Recordatorio: riegue las plantas"
            assert 7200 <= house.clock.now() - begun <= 7201

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
