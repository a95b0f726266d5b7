"""A workspace is read as a whole, and whoever mends a file hears of all its faults at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.problems import ConfigError
from config.workspace import Workspace
from supervisor.plan import read_agent, read_supervisor, read_workspace
from supervisor.testkit.house import make_workspace

CONFIG = "agents/asistente/config.yaml"
IDS = ("asistente", "devops")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return make_workspace(tmp_path / "w")


def faults(workspace: Workspace, name: str, text: str) -> list[tuple[int, str]]:
    (workspace.root / name).write_text(text)
    with pytest.raises(ConfigError) as caught:
        if name == "supervisor.yaml":
            read_supervisor(workspace, IDS)
        else:
            read_agent(workspace, "asistente", IDS)
    return [(problem.line, problem.key) for problem in caught.value.problems]


def schedule(cron: str) -> str:
    action = "{kind: send_message, message: hola}"
    return f'schedules:\n  - {{name: a, cron: "{cron}", output_room: "#t", action: {action}}}\n'


def test_the_example_is_a_plan_without_a_fault(workspace: Workspace) -> None:
    plan = read_workspace(workspace)
    assert tuple(plan.agents) == IDS and not plan.broken


def test_a_wrong_shape_hides_no_fault_that_only_a_floor_can_see(workspace: Workspace) -> None:
    text = "nombre: x\nllm: {provider: nada}\n" + schedule("61 * * * *")
    assert faults(workspace, CONFIG, text) == [
        (1, "nombre"),
        (2, "llm.provider"),
        (4, "schedules[0].cron"),
    ]
    text = "timezone: Marte/Base\nlocale: it\nrooms: [{id: '#a', participants: [nadie]}]\n"
    assert faults(workspace, "supervisor.yaml", text) == [
        (1, "timezone"),
        (2, "locale"),
        (3, "rooms[0].participants[0]"),
    ]


def test_a_section_of_wrong_shape_is_not_blamed_for_what_follows_from_it(
    workspace: Workspace,
) -> None:
    """`provider` fell back to its default, for which a script would be a fault."""
    text = "llm: {provider: [replay], script: script.yaml}\n"
    (workspace.root / "agents/asistente/script.yaml").write_text("- rounds: [[{text: hola}]]\n")
    assert faults(workspace, CONFIG, text) == [(1, "llm.provider")]


def test_a_file_of_which_nothing_can_be_made_gives_its_own_faults_only(
    workspace: Workspace,
) -> None:
    assert faults(workspace, CONFIG, "- a\n- b\n") == [(1, "")]


def test_a_bad_agent_is_broken_and_the_others_are_planned(workspace: Workspace) -> None:
    (workspace.root / CONFIG).write_text("llm: {provider: nada}\n")
    plan = read_workspace(workspace)
    assert tuple(plan.agents) == ("devops",)
    assert [problem.key for problem in plan.broken["asistente"]] == ["llm.provider"]


def test_a_bad_supervisor_file_hides_no_agents_faults(workspace: Workspace) -> None:
    (workspace.root / "supervisor.yaml").write_text("timezone: Marte/Base\n")
    (workspace.root / CONFIG).write_text("llm: {provider: nada}\n")
    with pytest.raises(ConfigError) as caught:
        read_workspace(workspace)
    assert [problem.key for problem in caught.value.problems] == ["timezone", "llm.provider"]
