"""A workspace's files, loaded whole or explained whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from config.loading import agent_ids, load_agent, load_supervisor
from config.problems import ConfigError, Problem
from config.starter import init_workspace
from config.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return init_workspace(tmp_path / "w", "UTC")


def agent_faults(workspace: Workspace, agent: str = "asistente") -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as caught:
        load_agent(workspace, agent)
    return caught.value.problems


def supervisor_faults(workspace: Workspace) -> tuple[Problem, ...]:
    with pytest.raises(ConfigError) as caught:
        load_supervisor(workspace)
    return caught.value.problems


def test_a_later_check_can_point_into_the_loaded_file(workspace: Workspace) -> None:
    loaded = load_agent(workspace, "asistente")
    problem = loaded.source.problem("schedules", 0, "cron", message="no")
    line = workspace.agent_yaml("asistente").read_text().splitlines()[problem.line - 1]
    assert line[problem.col - 1 :] == '"0 9 * * 1-5"'


def test_problems_come_in_the_files_order(workspace: Workspace) -> None:
    workspace.supervisor_yaml.write_text("a: 1\nlocale: fr\nlocale: es\nweb: {x: 1, port: z}\n")
    problems = supervisor_faults(workspace)
    assert [(p.line, p.col) for p in problems] == [(1, 1), (2, 9), (3, 1), (4, 7), (4, 19)]


def test_a_missing_prompt_is_reported_with_all_the_rest(workspace: Workspace) -> None:
    path = workspace.agent_yaml("asistente")
    path.write_text("prompt: promt.md\nturn_seconds: x\n")
    assert [p.key for p in agent_faults(workspace)] == ["prompt", "turn_seconds"]
    path.write_text("turn_seconds: x\n")
    (workspace.agent_dir("asistente") / "prompt.md").unlink()
    assert [p.key for p in agent_faults(workspace)] == ["prompt", "turn_seconds"]


def test_the_prompts_text_is_loaded(workspace: Workspace) -> None:
    (workspace.agent_dir("devops") / "prompt.md").write_text("hola")
    assert load_agent(workspace, "devops").value.prompt_text == "hola"


def test_a_prompt_may_be_shared_inside_the_workspace_only(workspace: Workspace) -> None:
    path = workspace.agent_yaml("devops")
    path.write_text("prompt: ../asistente/prompt.md\n")
    assert "Asistente" in load_agent(workspace, "devops").value.prompt_text
    path.write_text("prompt: ../../../outside.md\n")
    (workspace.root.parent / "outside.md").write_text("x")
    assert "out of the workspace" in agent_faults(workspace, "devops")[0].message


def test_an_agents_folder_may_be_a_link(workspace: Workspace) -> None:
    elsewhere = workspace.root.parent / "elsewhere"
    workspace.agent_dir("devops").rename(elsewhere)
    workspace.agent_dir("devops").symlink_to(elsewhere)
    assert load_agent(workspace, "devops").value.id == "devops"


@pytest.mark.parametrize("content", [b"", b"# nothing\n", b"\n\n"])
def test_an_empty_file_is_no_config(workspace: Workspace, content: bytes) -> None:
    workspace.supervisor_yaml.write_bytes(content)
    (problem,) = supervisor_faults(workspace)
    assert "the file is empty" in problem.message


def test_what_is_no_file_is_a_problem_of_that_file(workspace: Workspace) -> None:
    path = workspace.agent_yaml("asistente")
    path.unlink()
    assert "does not exist" in agent_faults(workspace)[0].message
    path.mkdir()
    assert "folder" in agent_faults(workspace)[0].message
    path.rmdir()
    path.symlink_to(path)
    assert "leads back to itself" in agent_faults(workspace)[0].message
    path.unlink()
    path.write_bytes(b"display_name: \xff\n")
    (problem,) = agent_faults(workspace)
    assert (problem.line, problem.col) == (1, 15)
    assert problem.file.endswith("agents/asistente/config.yaml")


def test_variables_come_from_the_given_environment(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace.supervisor_yaml.write_text("timezone: ${VIVERO_ZONE}\n")
    loaded = load_supervisor(workspace, {"VIVERO_ZONE": "Europe/Madrid"})
    assert loaded.value.timezone == "Europe/Madrid"
    monkeypatch.setenv("VIVERO_ZONE", "America/Lima")
    assert load_supervisor(workspace).value.timezone == "America/Lima"


@pytest.mark.parametrize(
    "agent",
    [
        "API",
        "a b",
        "ñ",
        "-x",
        "_x",
        "",
        ".",
        "..",
        "../asistente",
        "a/b",
        "a\nb",
        "x" * 65,
        "a\udcff",
    ],
)
def test_a_bad_id_is_refused_before_any_path_is_opened(workspace: Workspace, agent: str) -> None:
    (problem,) = agent_faults(workspace, agent)
    assert "cannot be an agent's id" in problem.message
    assert str(problem).isprintable()


@pytest.mark.parametrize(
    "agent", ["scheduler", "orchestrator", "registry", "api", "agents", "root"]
)
def test_the_runtimes_own_names_are_refused(workspace: Workspace, agent: str) -> None:
    assert "taken by the runtime" in agent_faults(workspace, agent)[0].message


def test_agents_are_the_folders_in_order(workspace: Workspace) -> None:
    agents = workspace.agents_dir
    for name in ("zeta", "Bad Name", ".hidden", "__pycache__"):
        (agents / name).mkdir()
    (agents / "README.md").write_text("x")
    (agents / "lost").symlink_to("nowhere")
    (agents / "loop").symlink_to("loop")
    assert agent_ids(workspace) == ("Bad Name", "asistente", "devops", "loop", "lost", "zeta")
    assert "leads back to itself" in agent_faults(workspace, "loop")[0].message


def test_a_workspace_without_agents_has_none(tmp_path: Path) -> None:
    assert agent_ids(Workspace(tmp_path)) == ()
    os.mkfifo(tmp_path / "agents")
    assert agent_ids(Workspace(tmp_path)) == ()
