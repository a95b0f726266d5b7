"""`!stop` in a room ends what an agent is doing there, at once, and nothing of it follows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.model_server import model_server
from tests.e2e.process import (
    Supervisor,
    make_workspace,
    replaying,
    supervisor,
    supervisor_yaml,
)

pytestmark = [pytest.mark.e2e, pytest.mark.promise("P6")]

ROOMS = {"#taller": "[asistente]", "#patio": "[asistente]"}
SCRIPT = """\
- match: largo
  rounds: [[{text: "Voy a ello. "}, {delay: 60}, {text: "tarde"}]]
- match: espera
  rounds: [[{delay: 2}, {text: "he esperado"}]]
- rounds: [[{text: "bien"}]]
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    files = {"supervisor.yaml": supervisor_yaml(rooms=ROOMS), **replaying(SCRIPT)}
    with supervisor(make_workspace(tmp_path_factory.mktemp("stop") / "w", files)) as running:
        yield running


def test_stop_during_a_long_model_call_declines_the_message_and_no_answer_follows(
    house: Supervisor, figures: Callable[..., None]
) -> None:
    before = house.said("#taller", "asistente")
    said = house.say("#taller", "un encargo largo")
    house.wait_turn("asistente", "#taller")
    began = time.monotonic()
    stop = house.say("#taller", "!stop")
    slot = house.wait_slot(said, "declined")
    took = time.monotonic() - began
    figures(stopped_s=round(took, 2))
    assert took <= 1.0
    assert (slot["rule"], slot["attempt"], slot["answers"]) == ("stopped", 1, [])
    assert house.agent("asistente")["turns"] == []
    assert house.slots(stop) == [], "a control message opens no turn"
    why = house.ctl("why", said["event_id"])
    assert why.returncode == 0 and "stopped" in why.stdout
    assert house.ask("#taller", "¿y ahora?") == "bien"
    assert house.said("#taller", "asistente") == [*before, "bien"]
    assert house.agent("asistente")["generation"] == 1
    assert house.agent("asistente")["last_error"] is None, "a stop is no failure"


def test_stop_in_one_room_leaves_the_turn_in_another_alone(house: Supervisor) -> None:
    other = house.say("#patio", "espera un poco")
    said = house.say("#taller", "un encargo largo")
    house.wait_turn("asistente", "#taller")
    house.wait_turn("asistente", "#patio")
    house.say("#taller", "!stop")
    house.wait_slot(said, "declined")
    assert house.hear(other) == ["he esperado"]
    assert house.wait_slot(other, "answered")["attempt"] == 1


def test_what_was_said_before_the_stop_and_waits_is_answered(house: Supervisor) -> None:
    """It stops what runs; what waits behind it is another message."""
    said = house.say("#taller", "un encargo largo")
    house.wait_turn("asistente", "#taller")
    waits = house.say("#taller", "y otra cosa")
    house.say("#taller", "!stop")
    assert house.wait_slot(said, "declined")["rule"] == "stopped"
    assert house.wait_slot(waits, "answered")["attempt"] == 1


def test_stop_closes_the_model_call_at_the_server(
    tmp_path: Path, figures: Callable[..., None]
) -> None:
    pytest.importorskip("openai")
    with model_server(hold=1) as model:
        config = f"llm: {{provider: openai, model: m, base_url: '{model.url}', api_key: sk-x}}\n"
        text = supervisor_yaml(rooms=ROOMS)
        files = {"supervisor.yaml": text, "agents/asistente/config.yaml": config}
        with supervisor(make_workspace(tmp_path / "w", files)) as running:
            said = running.say("#taller", "piensa en ello")
            assert model.holding.acquire(timeout=30), running.tail()
            began = time.monotonic()
            running.say("#taller", "!stop")
            assert model.left.wait(5), "the server never saw the disconnect"
            figures(left_after_s=round(model.left_at - began, 2))
            assert running.wait_slot(said, "declined")["rule"] == "stopped"
            assert running.ask("#taller", "¿y ahora?") == "Una respuesta."
            assert running.said("#taller", "asistente") == ["Una respuesta."]
            assert len(model.requests) == 2


def test_a_stop_that_was_answered_by_a_restart_stays_stopped(tmp_path: Path) -> None:
    """The decision is on disk: the next process does not take the message up again."""
    files = {"supervisor.yaml": supervisor_yaml(rooms=ROOMS), **replaying(SCRIPT)}
    workspace = make_workspace(tmp_path / "w", files)
    with supervisor(workspace) as running:
        said = running.say("#taller", "un encargo largo")
        running.wait_turn("asistente", "#taller")
        running.say("#taller", "!stop")
        running.wait_slot(said, "declined")
        running.kill()
    with supervisor(workspace) as after:
        assert after.ask("#taller", "¿y ahora?") == "bien"
        assert after.said("#taller", "asistente") == ["bien"]
        (slot,) = after.slots(said)
        assert (slot["state"], slot["rule"]) == ("declined", "stopped")
