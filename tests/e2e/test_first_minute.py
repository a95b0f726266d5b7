"""The first minute: a fresh workspace says what to try, and what it says works as it stands."""

from __future__ import annotations

import re
import shlex
import stat
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.e2e.process import ROOT, Supervisor, environment, supervisor

pytestmark = pytest.mark.e2e

CONFIRMED = re.compile(
    r"asistente: Listo, @ana: te recordaré «riegue las plantas» "
    r"(?:hoy|mañana) (\d{4}-\d\d-\d\d) a las (\d\d:\d\d(?::\d\d)?) \(Europe/Madrid\)\. \[\w+\]"
)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    """A supervisor on a folder that did not exist."""
    folder = tmp_path_factory.mktemp("fresh") / "workspace"
    with supervisor(folder) as running:
        running.wait_printed("Ctrl-C")
        yield running


def tried(printed: list[str], what: str) -> list[str]:
    """The one printed command that holds `what`, as a shell would split it."""
    (line,) = [line for line in printed if what in line]
    return shlex.split(line)


@pytest.mark.promise("P2")
def test_the_printed_commands_work_as_they_stand_and_the_reminder_comes_never_early(
    fresh: Supervisor,
) -> None:
    """Done when 1: the confirmation with the resolved local time, then exactly the reminder."""
    assert f"{fresh.workspace}: made from the bundled example\n" in fresh.stdout
    words = tried(fresh.stdout, " say ")
    assert words[0] == "agentctl" and words[-6:] == [
        "#taller",
        "recuérdame en 5 segundos que riegue las plantas",
        *("--as", "ana", "--wait", "15"),
    ]
    said = subprocess.Popen(
        words,
        cwd=ROOT,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    status = subprocess.run(
        tried(fresh.stdout, " status"), cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert status.returncode == 0 and "asistente" in status.stdout and "devops" in status.stdout
    out, err = said.communicate(timeout=40)
    assert said.returncode == 0, (out, err)
    confirmation, reminder = out.splitlines()
    assert reminder == "asistente: ⏰ @ana Recordatorio: riegue las plantas"
    when = CONFIRMED.fullmatch(confirmation)
    assert when, confirmation
    promised = datetime.fromisoformat(f"{when[1]}T{when[2]}")
    check_times(fresh, promised.replace(tzinfo=ZoneInfo("Europe/Madrid")))


def check_times(fresh: Supervisor, promised: datetime) -> None:
    """The reminder came five seconds after the request, not earlier, at the promised second."""
    lines = fresh.json("history", "#taller")
    (asked,) = [line for line in lines if line["sender"] == "@ana"]
    (came,) = [line for line in lines if line["text"].startswith("⏰")]
    assert came["text"] == "⏰ @ana Recordatorio: riegue las plantas"
    assert came["ts"] >= asked["ts"] + 5
    assert came["ts"] - asked["ts"] < 10
    assert promised.timestamp() == int(asked["ts"] + 5)
    (fired,) = fresh.logged("reminder_fired")
    assert len(fresh.logged("reminder_auto_removed")) == 1
    (done,) = fresh.json("reminders", "--all")
    assert (done["id"], done["state"], done["next"]) == (fired["id"], "fired", None)
    assert fresh.json("reminders") == []
    fresh.assert_no_traceback()


def test_the_printed_reload_works_as_it_stands(fresh: Supervisor) -> None:
    done = subprocess.run(
        tried(fresh.stdout, " reload "), cwd=ROOT, env=environment(), capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.startswith("asistente: "), done


def test_what_only_its_owner_may_enter_is_closed_to_others(fresh: Supervisor) -> None:
    """`run/` and `data/` are 0700; all that is in them, socket and token included, is 0600."""
    found = 0
    for name in ("run", "data"):
        folder = fresh.workspace / name
        assert mode(folder) == 0o700
        for path in folder.rglob("*"):
            found += 1
            assert mode(path) == (0o700 if path.is_dir() else 0o600), path
    assert found >= 7
    assert int((fresh.workspace / "run/supervisor.pid").read_text()) == fresh.pid


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_the_new_workspace_lives_in_the_hosts_zone_and_is_found_valid(fresh: Supervisor) -> None:
    text = (fresh.workspace / "supervisor.yaml").read_text()
    assert "\ntimezone: Europe/Madrid\n" in text
    checked = subprocess.run(
        [*("python", "-m", "supervisor", "check"), str(fresh.workspace)],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stderr
    assert "2 agents, no problem found" in checked.stdout
