"""A crashing agent is quarantined and a hopeless message given up; nobody else notices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.process import (
    Supervisor,
    make_workspace,
    replaying,
    supervisor,
    supervisor_yaml,
    write,
)

pytestmark = pytest.mark.e2e

ROOMS = {"#taller": "[asistente]", "#patio": "[asistente]", "#obra": "[devops]"}
SCRIPT = """\
- match: rompe
  rounds: [[{text: "Voy a "}, {crash: "el plan secreto falló"}]]
- match: espera
  rounds: [[{delay: 1.5}, {text: "he esperado"}]]
- rounds: [[{text: "bien"}]]
"""
GIVEN_UP = (
    "⚠️ No he podido responder a este mensaje y no lo volveré a intentar "
    "(el intento falló dos veces)."
)
QUARANTINED = "⚠️ asistente ha fallado demasiadas veces y está en cuarentena; los demás siguen."


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Supervisor]:
    rules = {
        "max_restarts": 2,
        "window_seconds": 30,
        "backoff_initial_seconds": 0.05,
        "backoff_max_seconds": 0.2,
    }
    text = supervisor_yaml(rooms=ROOMS, supervision=rules)
    workspace = make_workspace(tmp_path / "w", {"supervisor.yaml": text, **replaying(SCRIPT)})
    with supervisor(workspace) as running:
        yield running


def crash_the_loop(running: Supervisor) -> None:
    """Five failed turns in a row: the loop takes the fault for its own and restarts."""
    for number in range(3):
        running.say("#taller", f"rompe {number}")


@pytest.mark.promise("P4", "P7")
def test_an_agent_that_crashes_at_every_start_is_quarantined_and_can_be_brought_back(
    house: Supervisor,
) -> None:
    """Done when 6: its script is gone, so no generation can start."""
    assert house.ask("#taller", "hola") == "bien"
    before = house.generations()
    (house.workspace / "agents/asistente/script.yaml").unlink()
    crash_the_loop(house)
    logged = house.wait_event("agent_quarantined", agent="asistente")
    assert "script.yaml" in logged["error"]
    asistente = house.wait_state("asistente", "quarantined")
    assert "script.yaml" in asistente["last_error"]
    assert asistente["restarts"] >= 1

    status = house.ctl("status").stdout
    assert "quarantined" in status and "script.yaml" in status
    shown = {line.split()[0]: line for line in status.splitlines() if line.split()}
    assert "running" in shown["devops"]
    for room in ("#taller", "#patio"):
        house_said(house, room, QUARANTINED, 1)
    assert QUARANTINED not in house.said("#obra", "devops")
    assert house.ask("#obra", "¿quién eres?")
    assert house.generations()["devops"] == before["devops"]
    states = {c["name"]: c["state"] for c in house.client.get("tree")["children"]}
    assert set(states.values()) == {"running"}

    refused = house.ctl("start", "asistente")
    assert refused.returncode == 1 and ": llm.script: " in refused.stderr
    assert house.agent("asistente")["state"] == "quarantined"
    waits = house.say("#patio", "¿hay alguien?")
    write(house.workspace, replaying(SCRIPT))
    started = house.ctl("start", "asistente")
    assert started.returncode == 0 and "running" in started.stdout
    assert house.wait_slot(waits, "answered")["agent"] == "asistente"
    assert house.ask("#taller", "hola de nuevo") == "bien"
    for room in ("#taller", "#patio"):
        assert house.said(room, "asistente").count(QUARANTINED) == 1
    assert house.stop() == 0


def house_said(house: Supervisor, room: str, text: str, times: int) -> None:
    lines = house.client.get("rooms", room, "messages", limit=1000)
    if not any(line["text"] == text for line in lines):
        house.wait_event("agent_quarantined", since=0)
    assert house.said(room, "asistente").count(text) == times, house.said(room, "asistente")


@pytest.mark.promise("P1", "P7")
def test_a_message_that_raises_twice_is_given_up_and_told_once_other_rooms_go_on(
    house: Supervisor,
) -> None:
    """Done when 6, second half."""
    slow = house.say("#patio", "espera un poco")
    house.wait_turn("asistente", "#patio")
    said = house.say("#taller", "rompe esto")
    slot = house.wait_slot(said, "dead_letter")
    assert (slot["attempt"], slot["agent"]) == (2, "asistente")
    assert "raised_twice" in slot["reason"]
    assert house.hear(said) == [GIVEN_UP]
    assert house.hear(slow) == ["he esperado"]
    assert house.wait_slot(slow, "answered")["attempt"] == 1
    assert house.ask("#taller", "¿y ahora?") == "bien"
    assert house.said("#taller", "asistente") == [GIVEN_UP, "bien"]
    assert house.said("#patio", "asistente") == ["he esperado"]
    assert house.generations() == {"asistente": 1, "devops": 1}

    why = house.ctl("why", said["event_id"]).stdout
    assert "dead_letter" in why and "raised_twice" in why
    assert len(house.logged("turn_failed")) == 2
    assert len(house.logged("slot_dead_letter")) == 1
    for texts in (house.said("#taller", "asistente"), house.said("#patio", "asistente")):
        assert "secreto" not in "".join(texts), "the room heard of insides"


@pytest.mark.promise("P7")
def test_what_failed_is_in_the_status_and_in_the_metrics(house: Supervisor) -> None:
    said = house.say("#taller", "rompe esto")
    house.wait_slot(said, "dead_letter")
    assert "el plan secreto falló" in house.agent("asistente")["last_error"]
    assert "el plan secreto falló" in house.ctl("status").stdout
    assert house.ask("#taller", "hola") == "bien"
    assert house.metric('vivero_turns_total{end="raised"}') == 2
    assert house.metric('vivero_turns_total{end="answered"}') == 1
    assert house.metric('vivero_dead_letters_total{reason="raised_twice"}') == 1
    crash_the_loop(house)
    house.wait_for(lambda e: "turns failed in a row" in str(e), since=0)
    asistente = house.wait_state("asistente", "running")
    assert asistente["restarts"] == 1
    assert asistente["last_error"]
    assert house.metric('vivero_agent_state{agent="asistente",state="running"}') == 1
    path = "root/agents/asistente/loop"
    assert house.metric(f'vivero_restarts_total{{child="{path}"}}') == 1
