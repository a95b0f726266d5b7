"""One supervisor per workspace and per reminder store, whatever state the first one is in."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.process import (
    ROOT,
    command,
    environment,
    make_workspace,
    supervisor,
    supervisor_yaml,
)

pytestmark = [pytest.mark.e2e, pytest.mark.promise("P8")]


def second(workspace: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(workspace), cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=30
    )


def assert_refused(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    """Exit 3 with one clear sentence."""
    assert done.returncode == 3, done
    assert done.stdout == ""
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("error: ")
    for part in parts:
        assert part in sentence


def test_a_second_one_is_refused_with_one_sentence_also_while_the_first_hangs(
    tmp_path: Path,
) -> None:
    """Done when 5."""
    workspace = make_workspace(tmp_path / "w")
    with supervisor(workspace) as first:
        assert_refused(second(workspace), str(workspace), f"process {first.pid}")
        assert first.agent("asistente")["state"] == "running"
        first.signal(signal.SIGSTOP)
        assert_refused(second(workspace), str(workspace), f"process {first.pid}")
        first.signal(signal.SIGCONT)
        assert first.ask("#taller", "@asistente ¿quién eres?")
        assert int((workspace / "run/supervisor.pid").read_text()) == first.pid
        first.assert_no_traceback()
        assert first.stop() == 0


def test_after_kill_9_a_new_one_starts_at_once(
    tmp_path: Path, figures: Callable[..., None]
) -> None:
    workspace = make_workspace(tmp_path / "w")
    with supervisor(workspace) as first:
        said = first.say("#taller", "@asistente ¿quién eres?")
        first.hear(said)
        first.kill()
    assert (workspace / "run/supervisor.pid").exists(), "nobody could remove it"
    with supervisor(workspace) as after:
        figures(ready_after_kill_s=round(time.monotonic() - after.started, 2))
        assert int((workspace / "run/supervisor.pid").read_text()) == after.pid
        assert len(after.said("#taller", "asistente")) == 1
        assert after.ask("#taller", "@asistente ¿qué hora es?")
        assert after.stop() == 0
    assert not (workspace / "run/supervisor.pid").exists()


def test_two_workspaces_that_share_a_reminder_store_do_not_run_at_once(tmp_path: Path) -> None:
    store = str(tmp_path / "shared" / "reminders.db")
    text = supervisor_yaml(rooms={"#taller": "[asistente]"}, reminders={"db_path": store})
    one, two = (make_workspace(tmp_path / name, {"supervisor.yaml": text}) for name in "ab")
    with supervisor(one) as first:
        assert_refused(second(two), store, f"process {first.pid}")
        first.signal(signal.SIGSTOP)
        assert_refused(second(two), store)
        first.kill()
    with supervisor(two) as after:
        assert after.agent("asistente")["state"] == "running"
        assert_refused(second(one), store)


def test_a_socket_path_that_is_too_long_is_bound_elsewhere_and_found(tmp_path: Path) -> None:
    """Over 107 bytes none can be bound: it lies in a private folder that `control.path` names."""
    deep = tmp_path / ("carpeta-" + "x" * 60) / ("otra-" + "y" * 60) / "w"
    with supervisor(make_workspace(deep)) as running:
        assert len(os.fsencode(deep / "run/control.sock")) > 107
        place = Path((deep / "run/control.path").read_text().strip())
        assert place.is_socket() and len(os.fsencode(place)) <= 107
        assert place.parent.stat().st_mode & 0o777 == 0o700
        assert place.stat().st_mode & 0o777 == 0o600
        assert not (deep / "run/control.sock").exists()
        assert running.ctl("reload", "asistente").returncode == 0
        done = running.ctl("say", "#taller", "@asistente hola", "--wait", "2")
        assert done.returncode == 0 and done.stdout.startswith("asistente: ")
        assert running.stop() == 0
    assert not place.exists()
