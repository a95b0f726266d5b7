"""What the floor of actors finds wrong in a configuration, and where."""

from __future__ import annotations

from pathlib import Path

from actors.checking import check, check_supervisor
from config.loading import load_agent, load_supervisor
from config.workspace import Workspace

IDS = ("asistente", "devops")


def workspace(folder: Path, agent: str = "", supervisor: str = "") -> Workspace:
    own = folder / "agents" / "asistente"
    own.mkdir(parents=True)
    (own / "prompt.md").write_text("hola")
    (own / "config.yaml").write_text(agent or "description: x\n")
    (folder / "supervisor.yaml").write_text(supervisor or "locale: es\n")
    return Workspace(folder)


SCHEDULE = """\
schedules:
  - name: informe
    cron: "0 9 * * *"
    output_room: "#taller"
    action:
      kind: agent_call
      prompt: x
      target_agent: {target}
"""


def test_a_sound_configuration_has_no_problems(tmp_path: Path) -> None:
    place = workspace(tmp_path, SCHEDULE.format(target="devops"), ROOMS.format("devops", "#otra"))
    assert check(load_agent(place, "asistente"), IDS) == []
    assert check_supervisor(load_supervisor(place), IDS) == []


def test_an_unknown_target_agent_is_found_with_a_suggestion(tmp_path: Path) -> None:
    place = workspace(tmp_path, SCHEDULE.format(target="devosp"))
    (problem,) = check(load_agent(place, "asistente"), IDS)
    assert (problem.line, problem.key) == (8, "schedules[0].action.target_agent")
    assert "did you mean 'devops'?" in problem.message


def test_an_unknown_provider_is_found(tmp_path: Path) -> None:
    place = workspace(tmp_path, "llm:\n  provider: bultin\n")
    (problem,) = check(load_agent(place, "asistente"), IDS)
    assert problem.line == 2 and "did you mean 'builtin'?" in problem.message


def test_a_broken_replay_script_is_found_where_it_stands(tmp_path: Path) -> None:
    place = workspace(tmp_path, "llm:\n  provider: replay\n  script: s.yaml\n")
    (tmp_path / "agents" / "asistente" / "s.yaml").write_text("- [")
    problems = check(load_agent(place, "asistente"), IDS)
    assert problems and all("s.yaml" in problem.file for problem in problems)


ROOMS = """\
rooms:
  - id: "#taller"
    participants: [asistente, {}]
  - id: "!abc:example.org"
    alias: "{}"
"""


def test_unknown_participants_are_found_with_a_suggestion(tmp_path: Path) -> None:
    place = workspace(tmp_path, supervisor=ROOMS.format("devop", "#otra"))
    (problem,) = check_supervisor(load_supervisor(place), IDS)
    assert (problem.line, problem.key) == (3, "rooms[0].participants[1]")
    assert "did you mean 'devops'?" in problem.message


def test_without_anything_near_the_agents_are_listed(tmp_path: Path) -> None:
    place = workspace(tmp_path, supervisor=ROOMS.format("zzz", "#otra"))
    loaded = load_supervisor(place)
    assert "there are asistente, devops" in check_supervisor(loaded, IDS)[0].message
    assert "there are none" in check_supervisor(loaded, ())[0].message


def test_an_alias_that_is_another_rooms_id_is_found(tmp_path: Path) -> None:
    place = workspace(tmp_path, supervisor=ROOMS.format("devops", "#taller"))
    (problem,) = check_supervisor(load_supervisor(place), IDS)
    assert problem.key == "rooms[1].alias" and "rooms[0]" in problem.message
