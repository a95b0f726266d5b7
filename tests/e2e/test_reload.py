"""Reload of one agent: only that one, within its grace, its message kept, the others unaware."""

from __future__ import annotations

import importlib.util
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.model_server import model_server
from tests.e2e.process import (
    Supervisor,
    between,
    make_workspace,
    replaying,
    supervisor,
    supervisor_yaml,
    write,
)

pytestmark = pytest.mark.e2e

GRACE = 1.0
ROOMS = {"#taller": "[asistente]", "#obra": "[devops]"}
SCRIPT = """\
- match: largo
  attempt: 1
  rounds: [[{text: "Una palabra y "}, {delay: 60}, {text: "demasiado tarde"}]]
- match: largo
  rounds: [[{text: "contestado por la nueva"}]]
- rounds: [[{text: "aquí estoy"}]]
"""


class Poker(threading.Thread):
    """Asks the time again and again until told to end; keeps how long each answer took.

    Each time as somebody else: one who talks so fast for long is taken for a bot.
    """

    def __init__(self, running: Supervisor, room: str) -> None:
        super().__init__(daemon=True)
        self._running, self._room = running, room
        self._over = threading.Event()
        self.seconds: list[float] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._over.is_set():
                before = time.monotonic()
                answer = self._running.ask(self._room, "¿qué hora es?", self._asker(), timeout=15)
                assert ":" in answer, answer
                self.seconds.append(time.monotonic() - before)
        except BaseException as error:
            self.failure = error

    def _asker(self) -> str:
        return f"luis{self.ident}-{len(self.seconds)}"

    def end(self) -> list[float]:
        self._over.set()
        self.join(20)
        if self.failure is not None:
            raise self.failure
        return self.seconds


@contextmanager
def poking(running: Supervisor, room: str) -> Iterator[Poker]:
    poker = Poker(running, room)
    poker.start()
    try:
        yield poker
    finally:
        poker.end()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    workspace = make_workspace(
        tmp_path_factory.mktemp("reload") / "w",
        {
            "supervisor.yaml": supervisor_yaml(rooms=ROOMS, supervision={"grace_seconds": GRACE}),
            **replaying(SCRIPT),
        },
    )
    with supervisor(workspace) as running:
        yield running


def by_agentctl(running: Supervisor) -> None:
    done = running.ctl("reload", "asistente")
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert done.stdout.startswith("asistente: ")


def by_signal(running: Supervisor) -> None:
    (running.workspace / "run/reload.txt").write_text("asistente\n")
    running.signal(signal.SIGHUP)


ways = pytest.mark.parametrize("reload", [by_agentctl, by_signal])


@pytest.mark.promise("P4")
@ways
def test_a_reload_raises_only_that_agents_generation(
    house: Supervisor, reload: Callable[[Supervisor], None]
) -> None:
    before, mark = house.generations(), house.mark()
    tree = house.client.get("tree")
    reload(house)
    logged = house.wait_event("agent asistente reloaded successfully", since=mark)
    assert logged["generation"] == before["asistente"] + 1
    assert house.generations() == {**before, "asistente": before["asistente"] + 1}
    assert changed_cells(tree, house.client.get("tree")) == {"root/agents/asistente/loop"}
    assert len(house.logged("agent asistente reloaded successfully", mark)) == 1
    assert not (house.workspace / "run/reload.txt").exists()
    assert house.ask("#taller", "hola") == "aquí estoy"


def changed_cells(before: dict[str, object], after: dict[str, object]) -> set[str]:
    one, two = flat(before), flat(after)
    assert one.keys() == two.keys()
    return {path for path in one if one[path] != two[path]}


def flat(node: dict[str, object], above: str = "") -> dict[str, int]:
    path = f"{above}{node['name']}"
    found = {path: int(str(node["generation"]))}
    for child in node["children"]:  # type: ignore[attr-defined]
        found |= flat(child, f"{path}/")
    return found


@pytest.mark.promise("P1", "P4")
@ways
def test_a_reload_in_a_long_model_call_takes_its_grace_and_the_message_is_answered_once(
    house: Supervisor,
    reload: Callable[[Supervisor], None],
    figures: Callable[..., None],
) -> None:
    """Done when 2: at most `grace_seconds` + 1 s; answered by the new one; devops never waits."""
    already = house.said("#taller", "asistente")
    said = house.say("#taller", f"un encargo largo {reload.__name__}")
    house.wait_turn("asistente", "#taller")
    generation, mark = house.agent("asistente")["generation"], house.mark()
    with poking(house, "#obra") as poker:
        reload(house)
        asked = house.wait_event("reload_requested", since=mark)
        took = between(asked, house.wait_event("agent asistente reloaded successfully", since=mark))
        assert house.hear(said) == ["contestado por la nueva"]
    times = poker.end()
    figures(reload_s=round(took, 2), answers=len(times), slowest_s=round(max(times), 2))
    assert took <= GRACE + 1
    assert took >= GRACE * 0.9, "the running turn was not given its grace"
    assert max(times) < 1 + GRACE / 2, "devops had to wait for the reload of another"
    assert house.agent("asistente")["generation"] == generation + 1
    slot = house.wait_slot(said, "answered")
    assert (slot["agent"], slot["attempt"], len(slot["answers"])) == ("asistente", 2, 1)
    assert house.ask("#taller", "¿y ahora?") == "aquí estoy"
    fresh = house.said("#taller", "asistente")[len(already) :]
    assert fresh == ["contestado por la nueva", "aquí estoy"]


@pytest.mark.promise("P1", "P4")
def test_a_reload_closes_the_model_call_at_the_server(
    tmp_path: Path, figures: Callable[..., None]
) -> None:
    """A real HTTP server sees the disconnect, and the new generation asks it again."""
    if importlib.util.find_spec("openai") is None:
        pytest.skip("needs the package openai")
    with model_server(hold=1) as model:
        config = f"""\
description: piensa fuera
llm: {{provider: openai, model: m, base_url: "{model.url}", api_key: sk-secreto-e2e}}
"""
        rooms = supervisor_yaml(rooms=ROOMS, supervision={"grace_seconds": 0.5})
        files = {"supervisor.yaml": rooms, "agents/asistente/config.yaml": config}
        with supervisor(make_workspace(tmp_path / "w", files)) as running:
            said = running.say("#taller", "piensa en ello")
            assert model.holding.acquire(timeout=30), running.tail()
            assert not model.left.is_set()
            began = time.monotonic()
            by_signal(running)
            assert model.left.wait(5), "the server never saw the disconnect"
            figures(left_after_s=round(model.left_at - began, 2))
            assert model.left_at - began <= 0.5 + 1
            assert running.hear(said) == ["Una respuesta."]
            assert running.wait_slot(said, "answered")["attempt"] == 2
            assert len(model.requests) == 2
            assert "sk-secreto-e2e" not in running.tail(10_000) + "".join(running.stdout)
            assert running.stop() == 0


@pytest.mark.promise("P4")
def test_a_turn_that_ends_within_the_grace_is_not_cut_off(tmp_path: Path) -> None:
    script = '- rounds: [[{delay: 1}, {text: "a tiempo"}]]\n'
    files = {"supervisor.yaml": supervisor_yaml(rooms=ROOMS), **replaying(script)}
    with supervisor(make_workspace(tmp_path / "w", files)) as running:
        said = running.say("#taller", "hola")
        running.wait_turn("asistente", "#taller")
        began = time.monotonic()
        by_agentctl(running)
        assert time.monotonic() - began < 4, "it waited for more than the running turn"
        assert running.hear(said) == ["a tiempo"]
        assert running.wait_slot(said, "answered")["attempt"] == 1


def test_a_changed_prompt_and_model_are_in_force_after_the_reload(tmp_path: Path) -> None:
    files = {
        "supervisor.yaml": supervisor_yaml(rooms=ROOMS),
        **replaying('- rounds: [[{text: "uno"}]]\n'),
    }
    with supervisor(make_workspace(tmp_path / "w", files)) as running:
        assert running.ask("#taller", "hola") == "uno"
        write(running.workspace, replaying('- rounds: [[{text: "dos"}]]\n'))
        assert running.ask("#taller", "hola") == "uno"
        by_signal(running)
        running.wait_event("agent asistente reloaded successfully")
        assert running.ask("#taller", "hola") == "dos"


@pytest.mark.promise("P4")
def test_an_empty_or_missing_request_means_all(house: Supervisor) -> None:
    for text in (None, "", "*\n", "\n \n"):
        before, mark = house.generations(), house.mark()
        if text is not None:
            (house.workspace / "run/reload.txt").write_text(text)
        house.signal(signal.SIGHUP)
        for agent in before:
            house.wait_event(f"agent {agent} reloaded successfully", since=mark)
        assert house.generations() == {agent: count + 1 for agent, count in before.items()}
