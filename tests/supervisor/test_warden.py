"""The warden: reload by bus message, a reload asked for from inside a turn, who can be reached."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from channels.lanes import lane
from channels.messages import Reload
from config.workspace import Workspace
from supervisor.reload import UnknownAgents, take_request
from supervisor.testkit.house import TestHouse, make_workspace, open_house
from supervisor.warden import StopAgent

pytestmark = pytest.mark.promise("P4")

SCRIPT = """\
- {match: despacio, attempt: 1, rounds: [[{delay: 30}, {text: "Hecho con calma."}]]}
- rounds: [[text: "Recibido."]]
"""
REPLAY = {
    "agents/asistente/config.yaml": "llm: {provider: replay, script: script.yaml}\n",
    "agents/asistente/script.yaml": SCRIPT,
}


@pytest.fixture
def autojump_clock() -> trio.testing.MockClock:
    return trio.testing.MockClock(autojump_threshold=0)


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path / "w", REPLAY)


def outcomes(report: object) -> dict[str, str]:
    return {result.id: result.outcome for result in report.results}  # type: ignore[attr-defined]


async def test_a_reload_is_a_bus_message_and_touches_only_whom_it_names(
    workspace: Workspace, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(workspace) as house:
        fleet, bus = house.household.fleet, house.household.services.bus
        report = await bus.ask("supervisor", Reload(("asistente",)), timeout=60)
        assert outcomes(report) == {"asistente": "reloaded"}
        assert fleet.generation(fleet.members["asistente"]) == 2
        assert fleet.generation(fleet.members["devops"]) == 1
        report = await bus.ask("supervisor", Reload(), timeout=60)
        assert outcomes(report) == {"asistente": "reloaded", "devops": "reloaded"}


async def test_an_unknown_id_reloads_nothing(
    workspace: Workspace, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(workspace) as house:
        fleet, bus = house.household.fleet, house.household.services.bus
        with pytest.raises(UnknownAgents, match="asistente, devops"):
            await bus.ask("supervisor", Reload(("devops", "nadie")), timeout=60)
        assert fleet.generation(fleet.members["devops"]) == 1


async def busy(house: TestHouse, then: Callable[[], Awaitable[None]]) -> None:
    """Do something while asistente is in a turn of three seconds."""
    loop = house.household.fleet.loop(house.household.fleet.members["asistente"])
    assert loop is not None
    await house.room().say("asistente, despacio")
    while not loop.statistics():
        await trio.testing.wait_all_tasks_blocked(0.01)
    await then()


@pytest.mark.promise("P1")
async def test_a_reload_from_inside_a_turn_is_scheduled_and_lets_the_turn_end(
    workspace: Workspace, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(workspace) as house:
        fleet, bus = house.household.fleet, house.household.services.bus
        member = fleet.members["asistente"]

        async def ask_from_the_turn() -> None:
            with lane("asistente/#taller"):
                report = await bus.ask("supervisor", Reload(), timeout=60)
            assert outcomes(report) == {"devops": "reloaded", "asistente": "scheduled"}
            assert fleet.generation(member) == 1

        await busy(house, ask_from_the_turn)
        assert await house.room().wait_for("asistente") == ["Hecho con calma."]
        with bus.subscribe("supervision") as changes, trio.fail_after(30):
            while fleet.generation(member) == 1:
                await anext(aiter(changes))
        assert await house.room().said_by("asistente") == ["Hecho con calma."]


@pytest.mark.promise("P1", "P7")
async def test_an_agent_stopped_in_the_middle_of_a_turn_silences_nobody_else(
    workspace: Workspace, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(workspace) as house:
        bus = house.household.services.bus

        async def stop() -> None:
            await bus.ask("supervisor", StopAgent("asistente"), timeout=60)

        await busy(house, stop)
        await house.room().say("devops, ¿quién eres?")
        with trio.fail_after(60):
            assert len(await house.room().wait_for("devops", 1)) >= 1


async def test_a_reload_of_a_stopped_agent_says_how_to_start_it(
    workspace: Workspace, autojump_clock: trio.testing.MockClock
) -> None:
    async with open_house(workspace) as house:
        bus = house.household.services.bus
        await bus.ask("supervisor", StopAgent("devops"), timeout=60)
        report = await bus.ask("supervisor", Reload(("devops",)), timeout=60)
        (result,) = report.results
        assert result.outcome == "stopped" and "agentctl start devops" in result.error


def test_a_request_is_taken_whole_and_once(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.ensure_private_dirs()
    assert take_request(workspace) == ()
    workspace.reload_txt.write_text("asistente\n\n devops \nasistente\n")
    assert take_request(workspace) == ("asistente", "devops")
    assert take_request(workspace) == ()
    workspace.reload_txt.write_text("asistente\n*\n")
    assert take_request(workspace) == ()
    assert list(workspace.run_dir.glob("reload*")) == []


def test_what_a_kill_left_of_a_taken_request_is_swept_away(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.ensure_private_dirs()
    (workspace.run_dir / "reload.123456.taken").write_text("devops\n")
    take_request(workspace)
    assert list(workspace.run_dir.glob("reload*")) == []


def test_a_request_that_is_no_file_is_said_and_blocks_no_later_one(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.ensure_private_dirs()
    workspace.reload_txt.mkdir()
    with pytest.raises(OSError, match=r"reload\.txt is no file"):
        take_request(workspace)
    workspace.reload_txt.rmdir()
    (workspace.run_dir / "reload.77.taken").mkdir()
    workspace.reload_txt.write_text("devops\n")
    assert take_request(workspace) == ("devops",)
