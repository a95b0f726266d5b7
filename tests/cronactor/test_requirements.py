"""The requirement document's own list of tests: each number is there, and 5.1 as a whole story.

1.3 is in test_store, 2.6 in tests/tools/test_reminder and test_phrases, 3.6 in test_scheduler, 4.5
in test_actions.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import structlog
import trio
from trio.testing import MockClock

from cronactor.messages import SCHEDULER, ListReminders, ListRuns
from supervisor.testkit.house import TestHouse, make_workspace, open_house

TESTS = Path(__file__).resolve().parent.parent


async def asked(house: TestHouse, body: object) -> Any:
    return await house.household.services.bus.ask(SCHEDULER, body, timeout=5)


@pytest.mark.parametrize("number", ["1_3", "2_6", "3_6", "4_5", "5_1"])
def test_each_number_of_the_list_has_a_test_of_its_name(number: str) -> None:
    named = re.compile(rf"^(?:async )?def test_{number}_\w+", re.MULTILINE)
    found = [
        name
        for folder in ("cronactor", "tools")
        for path in sorted((TESTS / folder).glob("test_*.py"))
        for name in named.findall(path.read_text(encoding="utf-8"))
    ]
    assert found


@pytest.mark.promise("P2")
async def test_5_1_a_reminder_made_by_the_tool_is_scheduled_fires_and_is_recorded(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    with structlog.testing.capture_logs() as logs:
        async with open_house(make_workspace(tmp_path / "w")) as house:
            store = house.household.services.reminders
            room = house.room()
            await room.say("@asistente recuérdame en 30 minutos que riegue las plantas")
            (confirmed,) = await room.wait_for("asistente", 1)
            (kept,) = await asked(house, ListReminders(room="#taller"))
            assert f"[{kept.id}]" in confirmed
            assert (kept.message, kept.user, kept.state) == ("riegue las plantas", "@ana", "active")
            assert await store.load_active() == (kept,)

            _, spoken = await room.wait_for("asistente", 2)
            assert spoken == "⏰ @ana Recordatorio: riegue las plantas"
            await trio.sleep(1)
            assert await asked(house, ListReminders(room="#taller")) == ()
            assert await store.load_active() == ()
            fired = await store.get(kept.id)
            assert fired is not None and (fired.state, fired.next_due) == ("fired", None)
            assert kept.next_due is not None and fired.fired_at is not None
            assert 0 <= fired.fired_at - kept.next_due < 0.1
            (run,) = await asked(house, ListRuns(kept.id))
            assert (run.outcome, run.scheduled_at) == ("fired", kept.next_due)
            assert run.event_id is not None
            await trio.sleep(3600)
            assert len(await room.said_by("asistente")) == 2
    told = [entry["event"] for entry in logs if entry.get("id") == kept.id]
    assert (told.count("reminder_fired"), told.count("reminder_auto_removed")) == (1, 1)
    assert told.index("reminder_fired") < told.index("reminder_auto_removed")


@pytest.mark.promise("P2")
async def test_5_1_a_deleted_reminder_never_fires(
    tmp_path: Path, autojump_clock: MockClock
) -> None:
    async with open_house(make_workspace(tmp_path / "w")) as house:
        room = house.room()
        await room.say("@asistente recuérdame en 10 minutos que riegue las plantas")
        await room.wait_for("asistente", 1)
        (kept,) = await asked(house, ListReminders(room="#taller"))
        await room.say("@asistente borra el de las plantas")
        await room.wait_for("asistente", 2)
        assert await asked(house, ListReminders(room="#taller")) == ()
        await trio.sleep(1200)
        assert len(await room.said_by("asistente")) == 2
        deleted = await house.household.services.reminders.get(kept.id)
        assert deleted is not None and deleted.state == "deleted"
