"""Signals at any moment: a reload is a reload, a stop is a stop in two seconds with exit 0."""

from __future__ import annotations

import fcntl
import itertools
import os
import pty
import select
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from supervisor.desk.client import Client
from tests.e2e.process import (
    ROOT,
    Supervisor,
    command,
    environment,
    make_workspace,
    replaying,
    supervisor,
    supervisor_yaml,
    until,
)

pytestmark = pytest.mark.e2e

STOP_SECONDS = 2.0
ROOMS = {"#taller": "[asistente]", "#obra": "[devops]"}
LONG = '- rounds: [[{text: "Un momento. "}, {delay: 60}, {text: "tarde"}]]\n'


def wait_path(running: Supervisor, name: str) -> None:
    """Return as soon as a file of the workspace exists and is not empty."""
    path, deadline = running.workspace / name, time.monotonic() + 20
    while not (path.exists() and path.stat().st_size):
        assert time.monotonic() < deadline and running.process.poll() is None, running.tail()
        threading.Event().wait(0.001)


def ended_in(running: Supervisor, number: int) -> float:
    """Send a signal; return the seconds until the process has ended, with exit code 0."""
    began = time.monotonic()
    running.signal(number)
    code = running.process.wait(20)
    took = time.monotonic() - began
    running.finish()
    assert code == 0, running.tail()
    running.assert_no_traceback()
    return took


# -- reload -----------------------------------------------------------------------------------


def test_a_hangup_as_soon_as_the_pid_file_is_there_reloads_and_never_kills(
    tmp_path: Path,
) -> None:
    """Done when 5. Whoever sends a signal by the pid file finds its handler in place."""
    workspace = make_workspace(tmp_path / "w")
    for _ in range(3):
        with supervisor(workspace, ready=False) as running:
            wait_path(running, "run/supervisor.pid")
            assert int((workspace / "run/supervisor.pid").read_text()) == running.pid
            running.signal(signal.SIGHUP)
            for agent in ("asistente", "devops"):
                running.wait_event(f"agent {agent} reloaded successfully", since=0)
            assert running.stop() == 0


@pytest.mark.parametrize("text", ["asistente\n", None])
def test_a_hangup_while_it_starts_is_kept_until_it_can_be_served(
    tmp_path: Path, text: str | None
) -> None:
    """The lock is taken long before the tree stands; the signal waits for it."""
    workspace = make_workspace(tmp_path / "w", {"run/reload.txt": text} if text else {})
    with supervisor(workspace, ready=False) as running:
        wait_path(running, "run/supervisor.lock")
        running.signal(signal.SIGHUP)
        running.wait_event("agent asistente reloaded successfully")
        assert running.generations() == {"asistente": 2, "devops": 1 if text else 2}
        assert running.stop() == 0


def test_many_hangups_at_once_lose_no_request_and_kill_nobody(tmp_path: Path) -> None:
    with supervisor(make_workspace(tmp_path / "w")) as running:
        for _ in range(50):
            running.signal(signal.SIGHUP)
        running.wait_event("agent asistente reloaded successfully")
        (running.workspace / "run/reload.txt").write_text("devops\n")
        mark = running.mark()
        running.signal(signal.SIGHUP)
        running.wait_event("reload_requested", agents=["devops"], since=mark)
        assert running.ask("#taller", "@asistente ¿quién eres?")
        assert running.stop() == 0


# -- stop -------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_an_idle_one_stops_at_once_with_exit_0(
    tmp_path: Path, number: signal.Signals, figures: Callable[..., None]
) -> None:
    """Done when 9."""
    with supervisor(make_workspace(tmp_path / "w")) as running:
        took = ended_in(running, number)
    figures(stop_s=round(took, 2))
    assert took <= STOP_SECONDS
    assert not (tmp_path / "w/run/supervisor.pid").exists()
    assert not (tmp_path / "w/run/control.sock").exists()


@pytest.mark.promise("P1")
def test_a_busy_one_stops_in_time_and_its_messages_are_answered_by_the_next(
    tmp_path: Path, figures: Callable[..., None]
) -> None:
    """Done when 9: both agents in a one-minute model call, somebody listening to the events."""
    slow = replaying(LONG)
    both = {**slow, **{name.replace("asistente", "devops"): text for name, text in slow.items()}}
    files = {"supervisor.yaml": supervisor_yaml(rooms=ROOMS), **both}
    workspace = make_workspace(tmp_path / "w", files)
    with supervisor(workspace) as running:
        listener = threading.Thread(target=listen, args=(running,), daemon=True)
        listener.start()
        said = [running.say(room, "un encargo") for room in ROOMS]
        running.wait_turn("asistente", "#taller")
        running.wait_turn("devops", "#obra")
        took = ended_in(running, signal.SIGTERM)
        listener.join(5)
        assert not listener.is_alive(), "the stream was not closed"
    figures(stop_s=round(took, 2))
    assert took <= STOP_SECONDS
    for agent in ("asistente", "devops"):
        (workspace / f"agents/{agent}/script.yaml").write_text("- rounds: [[{text: hecho}]]\n")
    with supervisor(workspace) as after:
        for line in said:
            slot = after.wait_slot(line, "answered")
            assert slot["attempt"] == 2 and len(slot["answers"]) == 1
            (answer,) = [
                found
                for agent in ("asistente", "devops")
                for found in after.said(line["room"], agent)
            ]
            assert answer == "hecho"


def listen(running: Supervisor) -> None:
    for _ in running.client.events(None, ["rooms/*", "supervision"], time.monotonic() + 60):
        pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("name", ["run/supervisor.lock", "run/supervisor.pid"])
def test_a_stop_while_it_starts_is_a_stop(
    tmp_path: Path, number: signal.Signals, name: str, figures: Callable[..., None]
) -> None:
    """Done when 9. Nothing is left half made: the next one starts."""
    workspace = make_workspace(tmp_path / "w")
    with supervisor(workspace, ready=False) as running:
        wait_path(running, name)
        took = ended_in(running, number)
    figures(stop_s=round(took, 2))
    assert took <= STOP_SECONDS + 1.0, "two seconds, and what was left of starting"
    assert not (workspace / "run/supervisor.pid").exists()
    with supervisor(workspace) as after:
        assert after.agent("asistente")["state"] == "running"


def test_whatever_comes_while_it_stops_does_not_spoil_its_exit_code(tmp_path: Path) -> None:
    """As from an impatient person, or a service manager that sends two signals at once."""
    with supervisor(make_workspace(tmp_path / "w")) as running:
        numbers = itertools.cycle((signal.SIGTERM, signal.SIGHUP, signal.SIGINT))
        while running.process.poll() is None:
            running.signal(next(numbers))
            threading.Event().wait(0.002)
        assert running.finish() == 0, running.tail()
        running.assert_no_traceback()


def test_nobody_who_reads_its_output_is_no_reason_to_end(tmp_path: Path) -> None:
    """As in `python -m supervisor | head -1`."""
    workspace = make_workspace(tmp_path / "w")
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.Popen(
        command(workspace), cwd=ROOT, env=environment(), stdout=writer, stderr=subprocess.PIPE
    )
    try:
        os.close(writer)
        client = Client(workspace / "run/control.sock")
        until(lambda: client.answers() or None, 20, lambda: f"ended with {process.poll()}")
        until(lambda: len(client.get("status")["agents"]) == 2 or None, 20, lambda: "no agents")
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 0, errors
    assert b"Traceback" not in errors


def test_usr1_prints_the_task_tree_and_nothing_else_happens(tmp_path: Path) -> None:
    with supervisor(make_workspace(tmp_path / "w")) as running:
        before = running.generations()
        running.signal(signal.SIGUSR1)
        running.wait_for(lambda entry: "asistente" in entry.get("raw", ""))
        running.wait_for(lambda entry: "orchestrator" in entry.get("raw", ""), since=0)
        assert running.generations() == before
        assert running.stop() == 0


# -- the terminal -----------------------------------------------------------------------------


class Terminal:
    """A supervisor at a terminal of its own, as in a person's window; `close` shuts the window."""

    def __init__(self, workspace: Path, *, ignore_hangup: bool = False) -> None:
        self.screen = ""
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            command(workspace, "--log-format", "json"),
            cwd=ROOT,
            env=environment(),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: _take_terminal(ignore_hangup),
        )
        os.close(slave)
        self._news = threading.Condition()
        self._told, self._tell = os.pipe()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        """Read until told to close: a descriptor that is being read is not closed by `close`."""
        while self._told not in select.select([self._master, self._told], [], [])[0]:
            try:
                data = os.read(self._master, 65_536)
            except OSError:
                break
            with self._news:
                self.screen += data.decode("utf-8", "replace")
                self._news.notify_all()
        os.close(self._master)

    def wait_for(self, text: str, timeout: float = 30) -> None:
        with self._news:
            assert self._news.wait_for(lambda: text in self.screen, timeout), self.screen

    def close(self) -> None:
        """Shut the window; nothing happens the second time."""
        if self._tell >= 0:
            os.close(self._tell)
            self._reader.join(10)
            os.close(self._told)
            self._tell = -1


def _take_terminal(ignore_hangup: bool) -> None:
    if ignore_hangup:
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_one(**options: bool) -> Terminal:
        opened.append(Terminal(make_workspace(tmp_path / "w"), **options))
        opened[-1].wait_for('"ready"')
        return opened[-1]

    yield open_one
    for each in opened:
        if each.process.poll() is None:
            each.process.kill()
        each.process.wait(10)
        each.close()


def test_a_hangup_because_the_terminal_went_away_stops_cleanly(
    terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    at = terminal()
    at.close()
    assert at.process.wait(10) == 0
    assert not (tmp_path / "w/run/supervisor.pid").exists()


def test_a_hangup_at_a_living_terminal_reloads(terminal: Callable[..., Terminal]) -> None:
    at = terminal()
    at.process.send_signal(signal.SIGHUP)
    at.wait_for("agent devops reloaded successfully")
    assert at.process.poll() is None


def test_under_nohup_a_lost_terminal_ends_nothing(
    terminal: Callable[..., Terminal], tmp_path: Path
) -> None:
    at = terminal(ignore_hangup=True)
    at.close()
    client = Client(tmp_path / "w/run/control.sock")
    until(
        lambda: client.get("status")["agents"][0]["generation"] == 2 or None,
        10,
        lambda: f"the hangup was no reload: {client.get('status')}",
    )
    at.process.terminate()
    assert at.process.wait(10) == 0
