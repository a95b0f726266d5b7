"""`agentctl`: exact exit codes, exact JSON, and what it does when nobody runs."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.process import Supervisor, agentctl, make_workspace, supervisor

pytestmark = pytest.mark.e2e

LINE = {"room", "sender", "text", "event_id", "ts"}
AGENT = {"id", "state", "generation", "restarts", "mailbox", "turns", "last_error"}
REMINDER = {"id", "room", "user", "message", "kind", "cron", "next", "timezone", "state"}
CRON = {"id", "cron", "timezone", "next", "last"}
RUN = {"schedule", "scheduled", "started", "finished", "outcome", "reason", "event_id"}
STATES = {
    *("starting", "running", "draining", "reconnecting", "stopped", "quarantined", "invalid"),
}
OFFSET = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?[+-]\d\d:\d\d")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    with supervisor(make_workspace(tmp_path_factory.mktemp("ctl") / "w")) as running:
        yield running


def assert_failure(text: str) -> dict[str, Any]:
    answer = json.loads(text)
    assert answer.keys() == {"error", "errors"} and answer["error"]
    return dict(answer)


# -- exit codes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [("status",), ("reload",), ("say", "#taller", "hola"), ("cron", "list"), ("history", "#x")],
)
def test_it_ends_with_4_when_no_supervisor_runs(tmp_path: Path, words: tuple[str, ...]) -> None:
    workspace = make_workspace(tmp_path / "w")
    done = agentctl(workspace, *words)
    assert done.returncode == 4 and done.stdout == ""
    assert len(done.stderr.splitlines()) == 1 and str(workspace) in done.stderr
    answer = agentctl(workspace, "--json", *words)
    assert answer.returncode == 4
    assert_failure(answer.stdout)
    assert not (workspace / "run/reload.txt").exists(), "a request nobody asked for any more"


def test_after_a_kill_9_it_says_that_nobody_runs_and_leaves_no_request_behind(
    tmp_path: Path,
) -> None:
    workspace = make_workspace(tmp_path / "w")
    with supervisor(workspace) as running:
        running.kill()
    for words in (("status",), ("reload",)):
        assert agentctl(workspace, *words).returncode == 4
    assert not (workspace / "run/reload.txt").exists()


@pytest.mark.parametrize(
    "words",
    [(), ("nada",), ("say", "#taller"), ("--nada",), ("history", "#taller", "--limit", "x")],
)
def test_it_ends_with_2_for_bad_usage(house: Supervisor, words: tuple[str, ...]) -> None:
    done = house.ctl(*words)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("say", "#nada", "hola"),
        ("say", "#taller", "hola", "--as", "asistente"),
        ("history", "#nada"),
        ("why", "nada"),
        ("reload", "nadie"),
        ("start", "nadie"),
        ("stop", "nadie"),
        ("cron", "runs", "nada"),
        ("say", "#taller", "!stop", "--wait", "0.2"),
    ],
)
def test_it_ends_with_1_when_what_was_asked_for_fails(
    house: Supervisor, words: tuple[str, ...]
) -> None:
    done = house.ctl(*words)
    assert done.returncode == 1 and done.stderr.startswith(
        "agentctl: " if words[-1] != "0.2" else ""
    )
    assert done.stderr and "Traceback" not in done.stderr
    answer = house.ctl("--json", *words)
    assert answer.returncode == 1
    if words[-1] == "0.2":
        assert json.loads(answer.stdout) == []
    else:
        assert_failure(answer.stdout)


# -- one JSON value each ------------------------------------------------------------------------


def test_status_and_tree_have_exactly_these_keys(house: Supervisor) -> None:
    status = house.json("status")
    assert status.keys() == {"pid", "started", "workspace", "agents"}
    assert status["pid"] == house.pid and status["workspace"] == str(house.workspace)
    assert OFFSET.fullmatch(status["started"])
    assert [agent["id"] for agent in status["agents"]] == ["asistente", "devops"]
    for agent in status["agents"]:
        assert agent.keys() == AGENT and agent["state"] in STATES
        assert isinstance(agent["mailbox"], int) and agent["turns"] == []

    def walk(node: dict[str, Any]) -> Iterator[str]:
        assert node.keys() == {"name", "state", "generation", "children"}
        yield node["name"]
        for child in node["children"]:
            yield from walk(child)

    names = list(walk(house.json("tree")))
    assert names[0] == "root"
    assert {"scheduler", "orchestrator", "api", "agents", "connection", "loop"} <= set(names)


def test_say_and_history_are_lists_of_lines(house: Supervisor) -> None:
    (posted,) = house.json("say", "#taller", "!stop", "--as", "eva")
    assert posted.keys() == LINE
    assert (posted["sender"], posted["room"], posted["text"]) == ("@eva", "#taller", "!stop")
    heard = house.json("say", "#taller", "@devops ¿quién eres?", "--wait", "2")
    assert heard and all(line.keys() == LINE for line in heard)
    assert heard[0]["sender"] == "devops"
    history = house.json("history", "#taller", "--limit", "3")
    assert len(history) == 3 and all(line.keys() == LINE for line in history)
    assert [line["ts"] for line in history] == sorted(line["ts"] for line in history)
    assert house.ctl("say", "#taller", "!stop").stdout.strip().startswith(posted["event_id"][:5])


def test_reminders_and_schedules_have_exactly_these_keys(house: Supervisor) -> None:
    house.ask("#taller", "@asistente recuérdame mañana a las 9 llamar a Luis")
    (reminder,) = house.json("reminders", "--room", "#taller")
    assert reminder.keys() == REMINDER
    assert (reminder["user"], reminder["kind"], reminder["cron"]) == ("@ana", "once", None)
    assert (reminder["timezone"], reminder["message"]) == ("Europe/Madrid", "llamar a Luis")
    assert OFFSET.fullmatch(reminder["next"])
    assert datetime.fromisoformat(reminder["next"]).hour == 9
    assert house.json("reminders", "--room", "#nada") == []
    (schedule,) = house.json("cron", "list")
    assert schedule.keys() == CRON
    assert (schedule["id"], schedule["cron"], schedule["last"]) == (
        *("asistente/buenos-dias", "0 9 * * 1-5"),
        None,
    )
    assert house.json("cron", "runs") == []
    run = house.json("cron", "run", "buenos-dias")
    assert run.keys() == RUN and run["outcome"] == "fired"
    runs = house.json("cron", "runs", "asistente/buenos-dias")
    assert [found.keys() for found in runs] == [RUN]
    (schedule,) = house.json("cron", "list")
    assert schedule["last"].keys() == {"scheduled", "outcome"}


def test_reload_start_and_stop_answer_in_json_too(house: Supervisor) -> None:
    (reloaded,) = house.json("reload", "devops")
    assert (reloaded["id"], reloaded["outcome"]) == ("devops", "reloaded")
    assert {r["id"] for r in house.json("reload", "*")} == {"asistente", "devops"}
    stopped = house.json("stop", "devops")
    assert stopped.keys() == AGENT and stopped["state"] == "stopped"
    assert house.agent("devops")["state"] == "stopped"
    (kept,) = house.json("reload", "devops")
    assert kept["outcome"] == "stopped", "a stopped agent stays stopped until it is started"
    assert house.json("start", "devops")["state"] == "running"
    assert "devops" in house.ask("#taller", "@devops ¿quién eres?").casefold()


def test_options_may_stand_before_and_after_the_command(house: Supervisor) -> None:
    for words in (("--json", "status"), ("status", "--json")):
        assert json.loads(house.ctl(*words).stdout)["pid"] == house.pid


@pytest.mark.promise("P7")
def test_whoever_scrapes_sees_what_happened(house: Supervisor) -> None:
    """The counters count; what is on the same socket needs no token."""
    assert house.get("/healthz") == "ok\n"
    assert json.loads(house.get("/readyz"))["ready"] is True
    answered = house.metric('vivero_turns_total{end="answered"}') or 0
    reloaded = house.metric('vivero_reloads_total{result="reloaded"}') or 0
    house.ask("#taller", "@devops ¿quién eres?")
    assert house.ctl("reload", "devops").returncode == 0
    assert house.metric('vivero_reloads_total{result="reloaded"}') == reloaded + 1
    assert (house.metric('vivero_turns_total{end="answered"}') or 0) > answered
    assert house.metric('vivero_agent_state{agent="devops",state="running"}') == 1
    assert house.metric("vivero_start_time_seconds")
    until = time.monotonic() + 10
    with contextlib.closing(house.client.events(None, ["rooms/*"], until)) as events:
        assert next(events).type == "hello"
        assert house.metric("vivero_event_streams") == 1


# -- without a supervisor -----------------------------------------------------------------------


def test_when_and_cron_next_need_nobody(tmp_path: Path) -> None:
    now = ("--tz", "Europe/Madrid", "--now", "2026-03-28T10:00:00")
    done = agentctl(tmp_path, "when", "mañana a las 9", *now)
    assert (done.returncode, json.loads(done.stdout)) == (
        0,
        {"kind": "at", "at": "2026-03-29T09:00:00+02:00"},
    )
    bad = agentctl(tmp_path, "when", "cuando las ranas críen pelo", *now)
    answer = json.loads(bad.stdout)
    assert bad.returncode == 1 and answer["kind"] == "error" and answer["error"]
    after = ("--tz", "Europe/Madrid", "--after", "2026-03-28T09:00:00", "--count", "2")
    done = agentctl(tmp_path, "cron", "next", "0 9 * * *", *after)
    assert json.loads(done.stdout) == ["2026-03-29T09:00:00+02:00", "2026-03-30T09:00:00+02:00"]
    bad = agentctl(tmp_path, "cron", "next", "61 * * * *")
    assert bad.returncode == 1 and json.loads(bad.stdout)["kind"] == "error"
