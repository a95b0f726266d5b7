"""The example that everybody meets first."""

from __future__ import annotations

from pathlib import Path

import pytest

from config.loading import agent_ids, load_agent, load_supervisor
from config.problems import ConfigError
from config.starter import EXAMPLE, init_workspace


def test_the_example_loads_and_is_what_the_documents_say(tmp_path: Path) -> None:
    workspace = init_workspace(tmp_path / "w", "America/Argentina/Buenos_Aires")
    supervisor = load_supervisor(workspace).value
    assert supervisor.timezone == "America/Argentina/Buenos_Aires"
    (room,) = supervisor.rooms
    assert (room.id, room.participants) == ("#taller", ("asistente", "devops"))
    assert room.respond_to_bots
    assert room.cooldown_applies_to == "bots"
    assert agent_ids(workspace) == ("asistente", "devops")
    agents = [load_agent(workspace, agent).value for agent in agent_ids(workspace)]
    for agent in agents:
        assert agent.llm.provider == "builtin"
        assert agent.prompt_text.startswith("Eres ")
        assert agent.tools.reminders.enabled
        assert agent.tools.clock.enabled
        assert agent.tools.delegate.enabled
    (schedule,) = agents[0].schedules
    assert (schedule.name, schedule.cron, schedule.output_room) == (
        "buenos-dias",
        "0 9 * * 1-5",
        "#taller",
    )


def test_every_file_of_the_example_is_written(tmp_path: Path) -> None:
    root = init_workspace(tmp_path, "UTC").root
    written = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
    assert written == {
        ".gitignore",
        "REMINDERS.md",
        "REMINDERS.toml",
        "agents/asistente/config.yaml",
        "agents/asistente/prompt.md",
        "agents/devops/config.yaml",
        "agents/devops/prompt.md",
        "crons/README.md",
        "supervisor.yaml",
    }
    assert (root / "REMINDERS.toml").read_text() == (EXAMPLE / "REMINDERS.toml").read_text()


def test_the_schedules_of_the_readme_load(tmp_path: Path) -> None:
    workspace = init_workspace(tmp_path, "UTC")
    readme = (workspace.crons_dir / "README.md").read_text()
    blocks = [block.split("```")[0] for block in readme.split("```yaml\n")[1:]]
    (workspace.crons_dir / "resumen" / "prompts").mkdir(parents=True)
    (workspace.crons_dir / "resumen" / "prompts" / "prompt.md").write_text("x")
    workspace.agent_yaml("asistente").write_text("".join(blocks))
    kinds = [s.action.kind for s in load_agent(workspace, "asistente").value.schedules]
    assert kinds == ["send_message", "llm_prompt", "agent_call"]


def test_without_a_zone_the_hosts_is_written_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    workspace = init_workspace(tmp_path)
    assert "timezone: Asia/Tokyo\n" in workspace.supervisor_yaml.read_text()


@pytest.mark.parametrize("zone", ["Etc/GMT+3", "a b", 'x"\ny: 1', "null", "\\1"])
def test_any_zone_is_written_as_one_text(tmp_path: Path, zone: str) -> None:
    text = init_workspace(tmp_path, zone).supervisor_yaml.read_text()
    example = (EXAMPLE / "supervisor.yaml").read_text()
    assert len(text.splitlines()) == len(example.splitlines())
    if zone == "Etc/GMT+3":
        assert load_supervisor(init_workspace(tmp_path / "v", zone)).value.timezone == zone


def test_a_workspace_is_never_overwritten(tmp_path: Path) -> None:
    init_workspace(tmp_path, "UTC")
    (tmp_path / "supervisor.yaml").write_text("mine")
    with pytest.raises(ConfigError, match="nothing was written"):
        init_workspace(tmp_path, "UTC")
    assert (tmp_path / "supervisor.yaml").read_text() == "mine"


def test_an_interrupted_start_is_completed_and_keeps_what_is_there(tmp_path: Path) -> None:
    init_workspace(tmp_path, "UTC")
    (tmp_path / "supervisor.yaml").unlink()
    (tmp_path / "REMINDERS.md").write_text("mine")
    init_workspace(tmp_path, "UTC")
    assert (tmp_path / "REMINDERS.md").read_text() == "mine"
    assert (tmp_path / "supervisor.yaml").exists()


def test_a_place_that_cannot_be_written_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        init_workspace(tmp_path / "file" / "w", "UTC")
