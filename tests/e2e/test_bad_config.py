"""A configuration that does not validate changes nothing, and each error is said in its place."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import (
    ROOT,
    Supervisor,
    command,
    environment,
    make_workspace,
    replaying,
    supervisor,
    supervisor_yaml,
    write,
)

pytestmark = [pytest.mark.e2e, pytest.mark.promise("P7")]

ROOMS = {"#taller": "[asistente]", "#obra": "[devops]"}
CONFIG = "agents/asistente/config.yaml"
GOOD = {
    "supervisor.yaml": supervisor_yaml(rooms=ROOMS),
    **replaying('- rounds: [[{text: "sí"}]]\n'),
}
BAD_AGENT = """\
descripcion: sin n
llm: {provider: replai, script: script.yaml}
prompt: falta.md
schedules:
  - name: tarde
    cron: "61 25 * * *"
    timezone: Europe/Madird
    output_room: "#taller"
    action: {kind: send_message, message: hola}
max_tool_rounds: muchas
"""
BAD_PLACES = {
    (1, "descripcion"),
    (2, "llm.provider"),
    (3, "prompt"),
    (6, "schedules[0].cron"),
    (7, "schedules[0].timezone"),
    (10, "max_tool_rounds"),
}
"""Where the bad file is wrong: line and key."""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    with supervisor(make_workspace(tmp_path_factory.mktemp("bad") / "w", GOOD)) as running:
        yield running
        running.assert_no_traceback()


@pytest.fixture
def house(shared: Supervisor) -> Iterator[Supervisor]:
    """The module's supervisor; its files are good again, and in force, after the test."""
    yield shared
    write(shared.workspace, GOOD)
    assert shared.ctl("reload").returncode == 0, shared.tail()


def assert_untouched(running: Supervisor, before: dict[str, int]) -> None:
    assert running.generations() == before
    assert running.agent("asistente")["state"] == "running"
    assert running.ask("#taller", "¿sigues ahí?") == "sí"


def places(errors: list[dict[str, Any]]) -> set[tuple[int, str]]:
    for error in errors:
        assert error["file"].endswith(CONFIG) and error["col"] >= 1
        assert error.get("message") or error.get("error")
    return {(error["line"], error["key"]) for error in errors}


def test_every_error_is_in_the_log_and_in_the_answer_and_the_running_agent_goes_on(
    house: Supervisor,
) -> None:
    """Done when 3."""
    before, mark = house.generations(), house.mark()
    write(house.workspace, {CONFIG: BAD_AGENT})
    done = house.ctl("reload", "asistente")
    assert done.returncode == 1 and done.stdout == ""
    for line, key in BAD_PLACES:
        assert f"{CONFIG}:{line}:" in done.stderr and f": {key}: " in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 + len(BAD_PLACES)
    assert "Traceback" not in done.stderr
    assert places(house.logged("reload_failed", mark)) == BAD_PLACES
    assert all(e["level"] == "error" for e in house.logged("reload_failed", mark))
    assert_untouched(house, before)


def test_as_json_a_failed_reload_is_one_object_with_every_error(house: Supervisor) -> None:
    before = house.generations()
    write(house.workspace, {CONFIG: BAD_AGENT})
    done = house.ctl("--json", "reload", "asistente")
    answer = json.loads(done.stdout)
    assert done.returncode == 1 and answer.keys() == {"error", "errors"}
    assert {frozenset(error) for error in answer["errors"]} == {
        frozenset(("file", "line", "col", "key", "message"))
    }
    assert places(answer["errors"]) == BAD_PLACES
    assert_untouched(house, before)


def test_a_bad_config_by_signal_is_logged_and_changes_nothing(house: Supervisor) -> None:
    before, mark = house.generations(), house.mark()
    write(house.workspace, {CONFIG: BAD_AGENT, "run/reload.txt": "asistente\n"})
    house.signal(signal.SIGHUP)
    for _, key in BAD_PLACES:
        house.wait_event("reload_failed", key=key, since=mark)
    assert_untouched(house, before)


def test_a_file_that_is_no_yaml_at_all_is_one_more_error_with_its_line(house: Supervisor) -> None:
    before = house.generations()
    for text in ("llm: {provider: replay\nx: [", "\x00\x01", "- a\n- b\n", "a: b: c\n"):
        write(house.workspace, {CONFIG: text})
        done = house.ctl("--json", "reload", "asistente")
        assert done.returncode == 1 and json.loads(done.stdout)["errors"], text
    (house.workspace / CONFIG).unlink()
    assert house.ctl("reload", "asistente").returncode == 1
    assert_untouched(house, before)


def test_an_unknown_id_reloads_nothing(house: Supervisor) -> None:
    before, mark = house.generations(), house.mark()
    for ids in (("nadie",), ("asistente", "nadie")):
        done = house.ctl("reload", *ids)
        assert done.returncode == 1 and "nadie" in done.stderr
    write(house.workspace, {"run/reload.txt": "asistente\nnadie\n"})
    house.signal(signal.SIGHUP)
    assert "nadie" in house.wait_event("reload_failed", since=mark)["error"]
    assert_untouched(house, before)


def test_a_bad_supervisor_yaml_leaves_everything_running(house: Supervisor) -> None:
    before, mark = house.generations(), house.mark()
    write(house.workspace, {"supervisor.yaml": "timezone: Europe/Madird\nlocale: it\nroms: []\n"})
    done = house.ctl("--json", "reload")
    found = {(error["line"], error["key"]) for error in json.loads(done.stdout)["errors"]}
    assert done.returncode == 1 and found == {(1, "timezone"), (2, "locale"), (3, "roms")}
    assert {e["key"] for e in house.logged("reload_failed", mark)} == {"timezone", "locale", "roms"}
    assert_untouched(house, before)


def test_a_reload_of_all_starts_a_new_folder_and_stops_a_removed_one(house: Supervisor) -> None:
    before = house.generations()
    nueva = {
        "agents/nueva/config.yaml": "description: recién llegada\n",
        "agents/nueva/prompt.md": "Hola.",
    }
    rooms = {**ROOMS, "#patio": "[nueva]"}
    write(house.workspace, {**nueva, "supervisor.yaml": supervisor_yaml(rooms=rooms)})
    house.signal(signal.SIGHUP)
    house.wait_event("agent_started", agent="nueva")
    assert "nueva" in house.ask("#patio", "¿quién eres?").casefold()
    for agent in before:
        house.wait_event(f"agent {agent} reloaded successfully", since=0)
    shutil.rmtree(house.workspace / "agents/nueva")
    write(house.workspace, GOOD)
    done = house.ctl("reload", "*")
    assert done.returncode == 0, done.stderr
    assert "nueva" not in house.generations()
    assert "nueva" in done.stdout
    assert "nueva" not in json.dumps(house.client.get("tree"))
    assert house.generations() == {agent: count + 2 for agent, count in before.items()}
    assert house.ask("#taller", "¿y tú?") == "sí"


def test_a_bad_new_folder_is_invalid_and_the_others_are_reloaded(house: Supervisor) -> None:
    before = house.generations()
    write(house.workspace, {"agents/nueva/config.yaml": "llm: {provider: nada}\n"})
    try:
        done = house.ctl("reload")
        assert done.returncode == 1 and "agents/nueva/config.yaml" in done.stderr
        nueva = house.agent("nueva")
        assert nueva["state"] == "invalid" and "agents/nueva" in nueva["last_error"]
        after = house.generations()
        assert {name: after[name] for name in before} == {n: g + 1 for n, g in before.items()}
        shown = house.ctl("status").stdout
        assert "nueva" in shown and "agents/nueva/config.yaml:" in shown
        write(house.workspace, {"agents/nueva/config.yaml": "{}\n", "agents/nueva/prompt.md": "x"})
        assert house.ctl("start", "nueva").returncode == 0
        assert house.wait_state("nueva", "running")["last_error"] is None
    finally:
        shutil.rmtree(house.workspace / "agents/nueva")


def test_a_bad_agent_at_first_start_is_invalid_and_start_brings_it_up_once_mended(
    tmp_path: Path,
) -> None:
    workspace = make_workspace(tmp_path / "w", {**GOOD, CONFIG: BAD_AGENT})
    with supervisor(workspace) as running:
        asistente = running.agent("asistente")
        assert (asistente["state"], asistente["generation"]) == ("invalid", 0)
        assert f"{CONFIG}:" in asistente["last_error"]
        assert running.agent("devops")["state"] == "running"
        assert places_in_text(running) == {line for line, _ in BAD_PLACES}
        assert running.ask("#obra", "¿quién eres?")
        refused = running.ctl("start", "asistente")
        assert refused.returncode == 1 and f"{CONFIG}:2:" in refused.stderr
        waits = running.say("#taller", "¿hay alguien?")
        write(workspace, GOOD)
        assert running.ctl("start", "asistente").returncode == 0
        assert running.wait_state("asistente", "running")["last_error"] is None
        assert running.hear(waits) == ["sí"]
        running.assert_no_traceback()


def places_in_text(running: Supervisor) -> set[int]:
    texts = [entry["error"] for entry in running.logged("agent_invalid")]
    return {int(text.split(f"{CONFIG}:")[1].split(":")[0]) for text in texts}


@pytest.mark.parametrize("way", ["run", "check"])
def test_a_bad_supervisor_yaml_at_start_exits_2_with_the_list(tmp_path: Path, way: str) -> None:
    bad = (
        "timezone: Europe/Madird\nlocale: it\nrooms: [{id: '#a', participants: [nadie]}]\nroms: 1\n"
    )
    workspace = make_workspace(tmp_path / "w", {"supervisor.yaml": bad})
    words = command(workspace)
    done = subprocess.run(
        [way if word == "run" else word for word in words],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert [line.split("supervisor.yaml:")[1].split(":")[0] for line in lines] == list("1234")
    assert "Europe/Madrid" in lines[0] and "did you mean 'rooms'?" in lines[3]
