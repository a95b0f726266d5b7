"""`when` and `cron next`: answers without a supervisor, one JSON value each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from supervisor.desk.agentctl import agentctl
from supervisor.desk.offline import Clockwork

NOW = "2026-04-10T12:00"


def ask(*args: str, workspace: Path | None = None, stdin: str | None = None) -> tuple[int, Any]:
    env = {"VIVERO_WORKSPACE": str(workspace or "/nonexistent")}
    result = CliRunner().invoke(agentctl, list(args), input=stdin, env=env)
    return result.exit_code, [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("before", [(), ("--json",)])
def test_when_answers_one_json_value(before: tuple[str, ...]) -> None:
    code, (answer,) = ask(*before, "when", "mañana a las 9", "--tz", "Europe/Madrid", "--now", NOW)
    assert (code, answer) == (0, {"kind": "at", "at": "2026-04-11T09:00:00+02:00"})


def test_when_knows_every_kind() -> None:
    clockwork = Clockwork("UTC", "es")
    assert clockwork.when("15:00", NOW) == {"kind": "at", "at": "2026-04-10T15:00:00+00:00"}
    assert clockwork.when("0 9 * * 1", NOW) == {"kind": "cron", "cron": "0 9 * * 1"}
    assert clockwork.when("nunca jamás", NOW)["kind"] == "error"


def test_a_phrase_that_is_not_understood_exits_1() -> None:
    code, (answer,) = ask("when", "blablabla")
    assert code == 1
    assert set(answer) == {"kind", "error"}


@pytest.mark.parametrize(
    "options",
    [("--tz", "Marte/Olympus"), ("--now", "ayer"), ("--now", ""), ("--now", "2026-13-01T00:00")],
)
def test_a_value_that_is_not_understood_is_the_error_object(options: tuple[str, str]) -> None:
    code, (answer,) = ask("when", "15:00", *options)
    assert code == 1
    assert answer["kind"] == "error"


def test_when_reads_one_phrase_a_line_and_ends_0() -> None:
    code, answers = ask(
        "when", "-", "--tz", "UTC", "--now", NOW, stdin="15:00\nxx yy\n\nen 30 minutos\n"
    )
    assert code == 0
    assert [answer["kind"] for answer in answers] == ["at", "error", "error", "at"]


def test_errors_speak_the_language_asked_for() -> None:
    spanish, english = (
        ask("when", "xx yy zz", "--locale", locale)[1][0]["error"] for locale in ("es_ES", "en")
    )
    assert spanish != english


def test_a_naive_now_is_in_the_zone_and_an_aware_one_is_not() -> None:
    clockwork = Clockwork("America/Lima", "es")
    assert clockwork.when("15:00", "2026-04-10T12:00")["at"] == "2026-04-10T15:00:00-05:00"
    assert clockwork.when("15:00", "2026-04-10T21:00Z")["at"] == "2026-04-11T15:00:00-05:00"


def test_the_zone_defaults_to_the_workspace_and_then_to_utc(tmp_path: Path) -> None:
    assert ask("when", "15:00", "--now", NOW)[1][0]["at"].endswith("+00:00")
    (tmp_path / "supervisor.yaml").write_text("timezone: Asia/Tokyo\nrooms: []\n")
    assert ask("when", "15:00", "--now", NOW, workspace=tmp_path)[1][0]["at"].endswith("+09:00")
    (tmp_path / "supervisor.yaml").write_text("timezone: [broken\n")
    assert ask("when", "15:00", "--now", NOW, workspace=tmp_path)[1][0]["at"].endswith("+00:00")


def test_cron_next_lists_instants_strictly_after() -> None:
    code, (answer,) = ask(
        *("cron", "next", "0 9 * * *", "--tz", "Europe/Madrid"),
        *("--after", "2026-10-24T09:00", "--count", "2"),
    )
    assert code == 0
    assert answer == ["2026-10-25T09:00:00+01:00", "2026-10-26T09:00:00+01:00"]


@pytest.mark.parametrize("expr", ["61 * * * *", "0 0 31 2 *", "R * * * *", "* * * * * *", "", "x"])
def test_a_bad_expression_is_the_error_object(expr: str) -> None:
    code, (answer,) = ask("cron", "next", expr)
    assert code == 1
    assert answer["kind"] == "error"


def test_cron_next_reads_one_object_a_line_and_ends_0() -> None:
    lines = [
        {"expr": "0 9 * * *", "tz": "UTC", "after": "2026-04-10T00:00", "count": 2},
        {"expr": "0 9 * * *"},
        {"expr": "nope"},
        {"tz": "UTC"},
        {"expr": "0 9 * * *", "tz": 3},
        {"expr": "0 9 * * *", "after": 3},
        {"expr": "0 9 * * *", "count": True},
        {"expr": "0 9 * * *", "count": 1001},
        {"expr": "0 9 * * *", "tz": "Marte/Olympus"},
    ]
    stdin = "\n".join([*map(json.dumps, lines), "no json", "[" * 9999, ""])
    code, answers = ask("cron", "next", "-", stdin=stdin)
    assert code == 0
    assert answers[0] == ["2026-04-10T09:00:00+00:00", "2026-04-11T09:00:00+00:00"]
    assert len(answers[1]) == 1
    assert [answer["kind"] for answer in answers[2:]] == ["error"] * 9


@given(st.text(max_size=60), st.text(max_size=30))
def test_no_phrase_and_no_instant_raises(phrase: str, now: str) -> None:
    clockwork = Clockwork("Europe/Madrid", "es")
    assert clockwork.when(phrase, NOW)["kind"] in ("at", "cron", "every", "error")
    assert "kind" in clockwork.when("15:00", now)


@given(st.text(max_size=80))
def test_no_line_and_no_expression_raises(line: str) -> None:
    clockwork = Clockwork("Europe/Madrid", "es")
    assert isinstance(clockwork.next_line(line, NOW, 1), (dict, list))
    assert isinstance(clockwork.next(line, "UTC", NOW, 1), (dict, list))


@pytest.mark.parametrize("now", ["9999-12-31T23:59:59", "0001-01-01T00:00:00"])
def test_the_ends_of_the_calendar_are_errors_or_answers(now: str) -> None:
    for zone in ("Pacific/Kiritimati", "America/Lima"):
        clockwork = Clockwork(zone, "es")
        for phrase in ("mañana a las 9", "15:00", "en 30 minutos"):
            assert "kind" in clockwork.when(phrase, now)
        assert clockwork.next("0 9 * * *", zone, now, 3)
