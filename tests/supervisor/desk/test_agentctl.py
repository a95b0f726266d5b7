"""The command line: what it prints, and what it exits with, against the real API."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
import trio
import trio.testing
from click.testing import CliRunner, Result

from supervisor.desk.agentctl import agentctl
from supervisor.desk.office import Cause, Line, OfficeError, ReloadReport, ReloadResult
from supervisor.lock import Lock

Ctl = Callable[..., Awaitable[Result]]
MODULE = [sys.executable, "-m", "supervisor.desk.agentctl"]
ESC = "\x1b[2J\x9b31m\u202e"


@pytest.fixture
async def running(start_api: Any) -> AsyncIterator[Any]:
    async with start_api() as running:
        yield running


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    return tmp_path


def invoke(workspace: Path, *args: str, stdin: str | None = None) -> Result:
    env = {"VIVERO_WORKSPACE": str(workspace), "USER": "ana", "TZ": "UTC", "VIVERO_DEBUG": None}
    return CliRunner().invoke(agentctl, list(args), input=stdin, env=env)


@pytest.fixture
def ctl(workspace: Path) -> Ctl:
    """Run agentctl in a thread beside the API."""

    async def run(*args: str) -> Result:
        return await trio.to_thread.run_sync(partial(invoke, workspace, *args))

    return run


# -- looking --------------------------------------------------------------------------------------


async def test_status_is_an_aligned_table(running: Any, ctl: Ctl) -> None:
    result = await ctl("status")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].startswith("supervisor 4711 · en marcha desde hace ")
    assert lines[1].startswith("agente     estado       gen  reinicios  buzón  turnos ")
    assert "#taller (12 s)" in lines[2]
    assert lines[3].index("quarantined") == lines[2].index("running")


@pytest.mark.parametrize("args", [("--json", "status"), ("status", "--json")])
async def test_json_is_taken_before_and_after_the_command(
    running: Any, ctl: Ctl, args: tuple[str, ...]
) -> None:
    found = json.loads((await ctl(*args)).stdout)
    assert found["pid"] == 4711
    assert [agent["id"] for agent in found["agents"]] == ["asistente", "devops"]


async def test_workspace_is_taken_before_and_after_the_command(
    running: Any, workspace: Path, tmp_path_factory: Any
) -> None:
    elsewhere = tmp_path_factory.mktemp("other")
    for args in (("--workspace", str(workspace), "tree"), ("tree", "--workspace", str(workspace))):
        run = partial(invoke, elsewhere, *args)
        assert (await trio.to_thread.run_sync(run)).exit_code == 0


async def test_tree_is_drawn(running: Any, ctl: Ctl) -> None:
    assert (await ctl("tree")).stdout.splitlines() == [
        "root               running  gen 1",
        "├── scheduler      running  gen 1",
        "└── agents         running  gen 1",
        "    └── asistente  running  gen 3",
    ]
    tree = json.loads((await ctl("tree", "--json")).stdout)
    assert set(tree) == {"name", "state", "generation", "children"}


async def test_history_and_why_show_who_said_what(running: Any, ctl: Ctl) -> None:
    running.office.add("@ana", "hola")
    running.office.add("asistente", "dos\nlíneas", "asistente")
    shown = (await ctl("history", "#taller")).stdout
    assert "@ana: hola  [$e1]" in shown
    assert "asistente: dos\n  líneas  [$e2]" in shown
    found = json.loads((await ctl("history", "#taller", "--limit", "1", "--json")).stdout)
    assert [set(line) for line in found] == [{"room", "sender", "text", "event_id", "ts"}]
    assert "answered" in (await ctl("why", "$e1")).stdout
    assert json.loads((await ctl("why", "$e1", "--json")).stdout)["slots"][0]["state"] == "answered"


@pytest.mark.parametrize(
    ("cause", "line"),
    [
        (
            Cause("answer", Line("#taller", "@ana", "hola\n\x1b[2J", "$e1", 0.0), rule="first"),
            "← contesta a $e1  @ana: hola  (regla: first)",
        ),
        (Cause("reminder", name="r1"), "← recordatorio r1"),
        (Cause("schedule", name="asistente/lunes"), "← tarea asistente/lunes"),
        (Cause("notice", rule="\x1b"), "← aviso  (regla: \\x1b)"),
    ],
)
async def test_why_tells_what_made_an_agent_speak(
    running: Any, ctl: Ctl, cause: Cause, line: str
) -> None:
    running.office.cause = cause
    running.office.add("asistente", "buenas", "asistente")
    assert (await ctl("why", "$e1")).stdout.splitlines()[1] == line
    assert json.loads((await ctl("why", "$e1", "--json")).stdout)["cause"]["kind"] == cause.kind


async def test_a_zone_is_shown_set_and_forgotten(running: Any, ctl: Ctl) -> None:
    shown = await ctl("timezone", "--user", "ana")
    assert (shown.exit_code, shown.stdout) == (0, "Europe/Madrid (de supervisor.yaml)\n")
    found = await ctl("--json", "timezone", "--room", "#taller", "Asia/Tokyo")
    assert json.loads(found.stdout) == {
        "user": None,
        "room": "#taller",
        "timezone": "Asia/Tokyo",
        "source": "room",
    }
    await ctl("timezone", "--user", "ana", "-")
    assert [call for call in running.office.calls if call[0] == "set_timezone"] == [
        ("set_timezone", None, "#taller", "Asia/Tokyo"),
        ("set_timezone", "@ana", None, None),
    ]
    wrong = await ctl("timezone", "--user", "ana", "Europe/Madird")
    assert wrong.exit_code == 1 and "Europe/Madrid" in wrong.stderr
    assert (await ctl("timezone")).exit_code == 1


async def test_reminders_and_schedules_are_tables(running: Any, ctl: Ctl) -> None:
    assert "riegue" in (await ctl("reminders")).stdout
    assert "0 9 * * 1" in (await ctl("cron", "list")).stdout
    assert "fired" in (await ctl("cron", "runs")).stdout
    keys = {"id", "room", "user", "message", "kind", "cron", "next", "timezone", "state"}
    assert set(json.loads((await ctl("--json", "reminders")).stdout)[0]) == keys
    (schedule,) = json.loads((await ctl("--json", "cron", "list")).stdout)
    assert set(schedule) == {"id", "cron", "timezone", "next", "last"}
    (run,) = json.loads((await ctl("cron", "--json", "runs", "asistente/lunes")).stdout)
    keys = {"schedule", "scheduled", "started", "finished", "outcome", "reason", "event_id"}
    assert set(run) == keys
    assert json.loads((await ctl("cron", "run", "asistente/lunes", "--json")).stdout) == run


async def test_what_others_write_cannot_drive_the_terminal(running: Any, ctl: Ctl) -> None:
    running.office.add("@ana", f"hola {ESC}\ndevops: mentira")
    for args in (("history", "#taller"), ("history", "#taller", "--json"), ("why", "$e1")):
        shown = (await ctl(*args)).stdout
        assert not set(shown) & set(ESC) - set("[2J31m")
        assert "\ndevops:" not in shown


# -- saying ---------------------------------------------------------------------------------------


async def test_say_prints_the_event_id(running: Any, ctl: Ctl) -> None:
    assert (await ctl("say", "#taller", "hola")).stdout == "$e1\n"
    assert running.office.said == [("#taller", "hola", "@ana", False)]
    (line,) = json.loads((await ctl("--json", "say", "#taller", "a", "--as", "luis")).stdout)
    assert (line["sender"], line["event_id"]) == ("@luis", "$e2")
    await ctl("say", "#taller", "a", "--as", "robot", "--as-bot")
    assert running.office.said[-1] == ("#taller", "a", "@robot", True)


async def test_an_answer_that_is_there_before_anyone_listens_is_heard(
    running: Any, ctl: Ctl
) -> None:
    running.office.add("asistente", "de antes", "asistente")
    running.office.replies = ["uno", "dos"]
    result = await ctl("say", "#taller", "hola", "--wait", "0.3")
    assert result.stdout == "asistente: uno\nasistente: dos\n"
    assert result.exit_code == 0


async def test_what_agents_say_later_is_heard_until_the_time_is_up(running: Any, ctl: Ctl) -> None:
    async def answer() -> None:
        await running.office.spoken.wait()
        running.office.add("@luis", "yo también")
        other = Line("#otra", "asistente", "en otra sala", "$x", 1.0, "asistente")
        running.office.publish("rooms/#otra", other)
        status = Line("#taller", "asistente", "👀", "$r", 1.0, "asistente", "reaction")
        running.office.publish("rooms/#taller", status)
        running.office.add("devops", "luego", "devops")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(answer)
        result = await ctl("say", "#taller", "hola", "--wait", "0.5", "--json")
    assert [line["text"] for line in json.loads(result.stdout)] == ["luego"]


async def test_silence_is_a_failure(running: Any, ctl: Ctl) -> None:
    result = await ctl("say", "#taller", "hola", "--wait", "0.05")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "nadie ha dicho nada" in result.stderr
    result = await ctl("say", "#taller", "hola", "--wait", "0.05", "--json")
    assert (result.exit_code, json.loads(result.stdout)) == (1, [])


async def test_a_restart_of_the_supervisor_meanwhile_loses_nothing_said_after_it(
    start_api: Any, ctl: Ctl
) -> None:
    async with trio.open_nursery() as nursery:
        answered = trio.Event()

        async def two_lives(task_status: trio.TaskStatus[None]) -> None:
            async with start_api(count=lambda *_: answered.set()):
                task_status.started()
                await answered.wait()
            async with start_api() as second:
                second.office.add("asistente", "ya estoy aquí", "asistente")
                await trio.sleep_forever()

        await nursery.start(two_lives)
        result = await ctl("say", "#taller", "hola", "--wait", "1")
        assert result.stdout == "asistente: ya estoy aquí\n"
        nursery.cancel_scope.cancel()


async def test_an_agents_name_is_refused(running: Any, ctl: Ctl) -> None:
    result = await ctl("say", "#taller", "hola", "--as", "asistente")
    assert result.exit_code == 1
    assert "asistente es un agente" in result.stderr


# -- doing ----------------------------------------------------------------------------------------


async def test_reload_tells_each_result(running: Any, ctl: Ctl) -> None:
    assert (await ctl("reload", "asistente")).stdout == "asistente: recargado (generación 4)\n"
    for args in ((), ("*",)):
        assert len((await ctl("reload", *args)).stdout.splitlines()) == 2
    assert [call[1] for call in running.office.calls] == [["asistente"], None, None]


async def test_a_failed_reload_lists_every_problem(running: Any, ctl: Ctl, problem: Any) -> None:
    failed = ReloadResult("asistente", "failed", 3, "config", (problem, problem))
    running.office.report = ReloadReport((failed,))
    result = await ctl("reload", "asistente")
    assert result.exit_code == 1
    assert result.stderr.count("agents/asistente/config.yaml:3:5: llm.provider: no existe") == 2
    result = await ctl("--json", "reload", "asistente")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert set(found) == {"error", "errors"}
    assert found["errors"][0] == attrs.asdict(problem)


async def test_start_and_stop(running: Any, ctl: Ctl) -> None:
    assert (await ctl("stop", "asistente")).stdout == "asistente: stopped (generación 7)\n"
    assert (await ctl("start", "asistente")).stdout == "asistente: running (generación 7)\n"
    assert (await ctl("start", "nadie")).exit_code == 1


# -- failing --------------------------------------------------------------------------------------


async def test_what_is_unknown_fails_with_one_sentence(running: Any, ctl: Ctl) -> None:
    for args in (("history", "#otra"), ("why", "$x"), ("stop", "x"), ("cron", "run", "x")):
        result = await ctl(*args)
        assert result.exit_code == 1
        assert len(result.stderr.splitlines()) == 1
    found = json.loads((await ctl("--json", "history", "#otra")).stdout)
    assert set(found) == {"error", "errors"}


ONLINE = [
    ("status",),
    ("tree",),
    ("reload",),
    ("reload", "x"),
    ("start", "x"),
    ("stop", "x"),
    ("say", "#taller", "a"),
    ("history", "#taller"),
    ("why", "$x"),
    ("reminders",),
    ("cron", "list"),
    ("cron", "runs"),
    ("cron", "run", "x"),
]


@pytest.mark.parametrize("args", ONLINE)
def test_without_a_supervisor_the_exit_code_is_4(workspace: Path, args: tuple[str, ...]) -> None:
    result = invoke(workspace, *args)
    assert result.exit_code == 4
    assert "no hay ningún supervisor" in result.stderr
    assert len(result.stderr.splitlines()) == 1
    found = json.loads(invoke(workspace, "--json", *args).stdout)
    assert found["errors"] == []


def test_a_workspace_that_is_not_there_runs_no_supervisor(tmp_path: Path) -> None:
    assert invoke(tmp_path / "nowhere", "status").exit_code == 4


def test_a_dead_socket_file_is_no_supervisor(workspace: Path) -> None:
    import socket

    (workspace / "run").mkdir()
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(workspace / "run" / "control.sock"))
    assert invoke(workspace, "status").exit_code == 4


def test_english_where_the_workspace_says_so(workspace: Path) -> None:
    (workspace / "supervisor.yaml").write_text("timezone: UTC\nlocale: en\n")
    assert "no supervisor is running" in invoke(workspace, "status").stderr
    assert "Show every agent" in invoke(workspace, "--help").stdout


@pytest.mark.parametrize(
    "args",
    [
        ("nada",),
        ("say", "#taller"),
        ("status", "--nada"),
        ("history", "#taller", "--limit", "0"),
        ("say", "#taller", "a", "--wait", "-1"),
        ("say", "#taller", "a", "--wait", "nan"),
        ("cron",),
        ("when", "mañana a las 9", "--locale", "fr"),
        ("cron", "next", "* * * * *", "--count", "0"),
    ],
)
def test_bad_usage_exits_2(workspace: Path, args: tuple[str, ...]) -> None:
    assert invoke(workspace, *args).exit_code == 2


def test_a_bug_is_one_sentence_unless_debugged(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("vaya")

    monkeypatch.setattr("supervisor.desk.client.Client.get", broken)
    result = invoke(workspace, "status")
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "agentctl: error inesperado: ZeroDivisionError: vaya (con VIVERO_DEBUG=1 se ve entero)"
    ]
    env = {"VIVERO_DEBUG": "1", "VIVERO_WORKSPACE": str(workspace)}
    result = CliRunner().invoke(agentctl, ["status"], env=env)
    assert isinstance(result.exception, ZeroDivisionError)


async def test_an_internal_error_of_the_server_is_one_sentence(running: Any, ctl: Ctl) -> None:
    running.office.error = RuntimeError("secreto")
    result = await ctl("status")
    assert result.exit_code == 1
    assert "error interno" in result.stderr
    running.office.error = OfficeError("aún no", 503)
    assert "aún no" in (await ctl("status")).stderr


# -- as a real process ----------------------------------------------------------------------------


def spawn(workspace: Path, *args: str, **options: Any) -> subprocess.Popen[str]:
    env = {**os.environ, "VIVERO_WORKSPACE": str(workspace), "USER": "ana"}
    return subprocess.Popen([*MODULE, *args], env=env, text=True, **options)


async def test_the_real_process_talks_to_the_real_api(running: Any, workspace: Path) -> None:
    running.office.replies = ["hola, ana"]
    process = spawn(workspace, "say", "#taller", "hola", "--wait", "0.2", stdout=subprocess.PIPE)
    output, _ = await trio.to_thread.run_sync(process.communicate)
    assert (process.returncode, output) == (0, "asistente: hola, ana\n")


async def test_ctrl_c_is_quiet_and_exits_130(running: Any, workspace: Path) -> None:
    process = spawn(workspace, "say", "#taller", "hola", "--wait", "60", stderr=subprocess.PIPE)
    with trio.fail_after(20):
        await running.office.spoken.wait()
    process.send_signal(signal.SIGINT)
    _, complaint = await trio.to_thread.run_sync(process.communicate)
    assert (process.returncode, complaint.strip()) == (130, "")


async def test_a_reader_that_leaves_is_no_traceback(running: Any, workspace: Path) -> None:
    for _ in range(900):
        running.office.add("@ana", "x" * 500)
    process = spawn(
        workspace,
        "history",
        "#taller",
        "--limit",
        "1000",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    await trio.to_thread.run_sync(process.stdout.readline)
    process.stdout.close()
    complaint = await trio.to_thread.run_sync(process.stderr.read)
    process.stderr.close()
    await trio.to_thread.run_sync(process.wait)
    assert complaint == ""


def test_exit_codes_of_the_real_process(workspace: Path) -> None:
    codes = []
    for args in (("status",), ("nada",), ("when", "x y z"), ("when", "en 5 minutos")):
        with spawn(workspace, *args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as one:
            codes.append(one.wait())
    assert codes == [4, 2, 1, 0]


# -- the fallback ---------------------------------------------------------------------------------


def test_reload_falls_back_to_the_signal_of_the_proven_owner(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    run = workspace / "run"
    with Lock(run / "supervisor.lock"):
        assert invoke(workspace, "reload", "asistente").exit_code == 4  # no pid file yet
        (run / "supervisor.pid").write_text("1\n")
        assert invoke(workspace, "reload", "asistente").exit_code == 4  # a stranger's pid
        assert sent == []
        (run / "supervisor.pid").write_text(f"{os.getpid()}\n")
        result = invoke(workspace, "reload", "asistente")
        assert result.exit_code == 0
        assert sent == [(os.getpid(), signal.SIGHUP)]
        assert (run / "reload.txt").read_text() == "asistente\n"
        found = json.loads(invoke(workspace, "reload", "devops", "--json").stdout)
        assert found == [{"id": "devops", "outcome": "requested"}]
        assert (run / "reload.txt").read_text() == "asistente\ndevops\n"
        assert invoke(workspace, "reload").exit_code == 0
        assert (run / "reload.txt").read_text() == "*\n"
    assert invoke(workspace, "reload").exit_code == 4
    assert len(sent) == 3


async def test_a_supervisor_that_hangs_is_asked_by_signal(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listening socket that nobody accepts on is what a stopped supervisor looks like."""
    import socket

    monkeypatch.setattr(os, "kill", lambda pid, number: None)
    monkeypatch.setattr("supervisor.desk.client.Client.answers.__defaults__", (0.05,))
    run = workspace / "run"
    run.mkdir(0o700)
    with socket.socket(socket.AF_UNIX) as hung, Lock(run / "supervisor.lock"):
        hung.bind(str(run / "control.sock"))
        hung.listen(1)
        (run / "supervisor.pid").write_text(f"{os.getpid()}\n")
        result = await trio.to_thread.run_sync(partial(invoke, workspace, "reload"))
    assert result.exit_code == 0
    assert "recarga pedida por señal" in result.stdout
