"""A reload of all takes the rooms as they are written now, or says why not and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio.testing

from supervisor.desk.office import ReloadReport
from supervisor.testkit.house import TestHouse, make_workspace, open_house

pytestmark = pytest.mark.promise("P4")

ONE = """\
timezone: Europe/Madrid
rooms:
  - {id: "#taller", alias: "#sala", participants: [asistente], cooldown_applies_to: bots}
  - {id: "#obra", participants: [devops]}
"""
MOVED = ONE.replace(', alias: "#sala"', "").replace('"#obra",', '"#obra", alias: "#sala",')
CLASH = """\
timezone: Europe/Madrid
rooms:
  - {id: "#obra", alias: "#sala", participants: [devops]}
  - {id: "#nueva", alias: "#taller", participants: [asistente]}
"""


@pytest.fixture
def autojump_clock() -> trio.testing.MockClock:
    return trio.testing.MockClock(autojump_threshold=0)


async def reload_with(house: TestHouse, text: str) -> ReloadReport:
    workspace = house.household.services.workspace
    workspace.supervisor_yaml.write_text(text)
    return await house.household.house.reload(None)


async def test_an_alias_may_move_from_one_room_to_another(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(make_workspace(tmp_path / "w", {"supervisor.yaml": ONE})) as house:
        for text in (MOVED, ONE, MOVED):
            assert not (await reload_with(house, text)).failed
        await house.room("#sala").say("¿quién eres?")
        assert len(await house.room("#obra").wait_for("devops")) == 1


async def test_a_name_that_cannot_be_had_fails_the_reload_and_changes_nothing(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    """`#taller` is the id of a room with a past: as an alias it would mean two rooms."""
    async with open_house(make_workspace(tmp_path / "w", {"supervisor.yaml": ONE})) as house:
        fleet = house.household.fleet
        before = fleet.config
        (failed,) = (await reload_with(house, CLASH)).results
        assert failed.outcome == "failed" and "#taller" in (failed.error or "")
        assert fleet.config == before
        assert fleet.generation(fleet.members["asistente"]) == 1
        await house.room("#sala").say("¿quién eres?")
        assert len(await house.room("#sala").wait_for("asistente")) == 1
        assert not (await reload_with(house, ONE)).failed


async def test_the_agents_leave_a_room_that_is_configured_no_longer(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(make_workspace(tmp_path / "w", {"supervisor.yaml": ONE})) as house:
        without = "".join(line for line in ONE.splitlines(True) if "#obra" not in line)
        assert not (await reload_with(house, without)).failed
        rooms = {room.id: room.members for room in await house.household.services.rooms.rooms()}
        assert rooms == {"#taller": ("asistente",), "#obra": ()}
