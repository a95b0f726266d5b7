"""What ends well or badly is counted from the first moment, and a failed turn is in the status."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
import trio.testing

from supervisor.testkit.clock import VirtualClock
from supervisor.testkit.house import TestHouse, make_workspace, open_house

SCRIPT = """\
- match: rompe
  rounds: [[{crash: "se rompió"}]]
- match: calla
  rounds: [[{no_reply: true}]]
- rounds: [[{text: "bien"}]]
"""
FILES = {
    "supervisor.yaml": """\
timezone: Europe/Madrid
rooms: [{id: "#taller", participants: [asistente, devops]}]
""",
    "agents/asistente/config.yaml": "llm: {provider: replay, script: script.yaml}\n",
    "agents/asistente/script.yaml": SCRIPT,
}


@pytest.fixture
def autojump_clock() -> trio.testing.MockClock:
    return trio.testing.MockClock(autojump_threshold=0)


async def count(house: TestHouse, name: str) -> float:
    text = (await house.household.house.metrics()).decode()
    found = [line.split()[-1] for line in text.splitlines() if line.startswith(f"vivero_{name} ")]
    return float(found[0]) if found else 0.0


async def settled(house: TestHouse, text: str) -> str:
    """Say something to asistente; return the state in which its answer slot ends."""
    event_id = await house.room().say(f"@asistente {text}")
    await trio.testing.wait_all_tasks_blocked()
    (slot,) = await house.slots(event_id)
    return slot.state


@pytest.mark.promise("P7")
async def test_turns_and_dead_letters_are_counted_by_how_they_end(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(make_workspace(tmp_path / "w", FILES)) as house:
        assert await settled(house, "hola") == "answered"
        assert await settled(house, "calla") == "declined"
        assert await settled(house, "rompe") == "dead_letter"
        assert await count(house, 'turns_total{end="answered"}') == 1
        assert await count(house, 'turns_total{end="declined"}') == 1
        assert await count(house, 'turns_total{end="raised"}') == 2
        assert await count(house, 'dead_letters_total{reason="raised_twice"}') == 1


@pytest.mark.promise("P7")
async def test_a_failed_turn_is_the_agents_last_error_until_it_is_reloaded(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(make_workspace(tmp_path / "w", FILES)) as house:
        assert await settled(house, "rompe") == "dead_letter"
        assert "se rompió" in await last_error(house, "asistente")
        assert await last_error(house, "devops") == ""
        await house.household.house.reload(["asistente"])
        assert await last_error(house, "asistente") == ""


async def last_error(house: TestHouse, agent: str) -> str:
    status = await house.household.house.status()
    return next(found.last_error or "" for found in status.agents if found.id == agent)


@pytest.mark.promise("P7")
async def test_what_the_scheduler_fires_or_missed_is_counted(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """Also what it missed while nothing ran: that is found out before anything else is up."""
    workspace = make_workspace(tmp_path / "w", {"supervisor.yaml": DISCARDING})
    async with open_house(workspace) as house:
        await house.room().say("@asistente recuérdame en 1 minuto regar")
        await house.room().say("@asistente recuérdame en 1 hora podar")
        await house.room().wait_for("asistente", 3)
        await trio.testing.wait_all_tasks_blocked()
        assert await count(house, 'reminders_total{outcome="fired"}') == 1
        later = house.clock.now() + 7200
    async with open_house(workspace, clock=VirtualClock(later)) as house:
        await trio.testing.wait_all_tasks_blocked()
        assert await count(house, 'reminders_total{outcome="missed"}') == 1


DISCARDING = """\
timezone: Europe/Madrid
reminders: {late_one_shots: discard}
rooms: [{id: "#taller", participants: [asistente, devops], cooldown_applies_to: bots}]
"""
