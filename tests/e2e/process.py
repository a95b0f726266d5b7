"""A real supervisor in a process of its own, driven as people do: signals, files, `agentctl`."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from config.starter import init_workspace
from config.workspace import Workspace
from supervisor.desk.client import Client, NoAnswer, NoSupervisor

T = TypeVar("T")

ROOT = Path(__file__).parent.parent.parent
AGENTCTL = Path(sys.executable).parent / "agentctl"
SCRAPS = ("VIVERO_", "COVERAGE", "PYTHONDONTWRITEBYTECODE", "XDG_RUNTIME_DIR")


def environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(SCRAPS)}
    path = f"{AGENTCTL.parent}{os.pathsep}{kept.get('PATH', '')}"
    return kept | {"TZ": "Europe/Madrid", "USER": "ana", "PATH": path}


def command(workspace: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "supervisor", "run", "--workspace", str(workspace), *arguments]


def make_workspace(folder: Path, files: Mapping[str, str] | None = None) -> Path:
    """Write the example, then `files` (relative path -> text) over it."""
    init_workspace(folder, "Europe/Madrid")
    write(folder, files or {})
    return folder


def write(workspace: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def supervisor_yaml(*, rooms: Mapping[str, str], **more: object) -> str:
    """A `supervisor.yaml` with one shared room for each name -> its participants, as a YAML list.

    Its agents answer people only, and people always: a test hears just what it asked for.
    """
    top = {"timezone": "Europe/Madrid", **more}
    lines = [f"{key}: {json.dumps(value)}" for key, value in top.items()]
    lines.append("rooms:")
    for name, participants in rooms.items():
        lines.append(
            f'  - {{id: "{name}", participants: {participants}, cooldown_applies_to: bots,'
        )
        lines.append("     max_agent_messages_per_hour: 100000}")
    return "\n".join(lines) + "\n"


def replaying(script: str, *more: str) -> dict[str, str]:
    """The files of an agent `asistente` that plays a script; `more` are lines of its config."""
    lines = ["description: repite", "llm: {provider: replay, script: script.yaml}", *more]
    folder = "agents/asistente"
    return {f"{folder}/config.yaml": "\n".join(lines) + "\n", f"{folder}/script.yaml": script}


class Supervisor:
    """`python -m supervisor` on a workspace; its log (JSON lines) and stdout read as they come."""

    def __init__(
        self, workspace: Path, *arguments: str, env: Mapping[str, str] | None = None
    ) -> None:
        self.workspace = workspace
        self.log: list[dict[str, Any]] = []
        self.stdout: list[str] = []
        self._news = threading.Condition()
        self._ended = 0
        self._seen = 0
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command(workspace, "--log-format", "json", *arguments),
            cwd=ROOT,
            env=environment() | dict(env or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr and self.process.stdout
        self._readers = [
            threading.Thread(
                target=self._read, args=(self.process.stderr, self._take_log), daemon=True
            ),
            threading.Thread(
                target=self._read, args=(self.process.stdout, self.stdout.append), daemon=True
            ),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    @cached_property
    def client(self) -> Client:
        """The API without a process for each call."""
        return Client(Workspace(self.workspace).find_socket())

    # -- output ------------------------------------------------------------------------------------

    def _read(self, stream: Any, take: Callable[[str], None]) -> None:
        for line in stream:
            with self._news:
                take(line)
                self._news.notify_all()
        with self._news:
            self._ended += 1
            self._news.notify_all()

    def _take_log(self, line: str) -> None:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = {"event": "", "raw": line}
        self.log.append(entry)

    def wait_for(
        self,
        matches: Callable[[dict[str, Any]], bool],
        timeout: float = 15,
        *,
        since: int | None = None,
    ) -> dict[str, Any]:
        """Return the next log entry that matches.

        Each entry is looked at once, unless `since` (a `mark()`) says where to begin.
        """
        at = self._seen if since is None else since
        deadline = time.monotonic() + timeout
        with self._news:
            while True:
                for index in range(at, len(self.log)):
                    if matches(self.log[index]):
                        self._seen = max(self._seen, index + 1)
                        return self.log[index]
                at = len(self.log)
                assert self._ended < len(self._readers), f"ended; the log: {self.tail()}"
                left = deadline - time.monotonic()
                assert left > 0, f"not logged within {timeout} s; the log: {self.tail()}"
                self._news.wait(left)

    def wait_event(
        self, event: str, timeout: float = 15, *, since: int | None = None, **fields: object
    ) -> dict[str, Any]:
        return self.wait_for(
            lambda e: e.get("event") == event and all(e.get(k) == v for k, v in fields.items()),
            timeout,
            since=since,
        )

    def wait_printed(self, text: str, timeout: float = 15) -> str:
        """Wait until a line of standard output holds `text`; return that line."""
        deadline = time.monotonic() + timeout
        with self._news:
            while not (found := [line for line in self.stdout if text in line]):
                left = deadline - time.monotonic()
                assert left > 0 and self._ended < len(self._readers), (text, self.stdout)
                self._news.wait(left)
        return found[0]

    def wait_ready(self, timeout: float = 30) -> float:
        """Wait until it says it is ready; return the seconds since it was started."""
        self.wait_event("ready", timeout)
        return time.monotonic() - self.started

    def mark(self) -> int:
        """A place in the log to look from later."""
        return len(self.log)

    def logged(self, event: str, since: int = 0) -> list[dict[str, Any]]:
        return [entry for entry in self.log[since:] if entry.get("event") == event]

    def tail(self, count: int = 25) -> str:
        return "\n".join(json.dumps(entry, ensure_ascii=False) for entry in self.log[-count:])

    def assert_no_traceback(self) -> None:
        """No entry, and no line that is no entry, shows Python's insides."""
        for entry in self.log:
            assert "Traceback" not in json.dumps(entry), entry

    # -- asking ------------------------------------------------------------------------------------

    def ctl(self, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        return agentctl(self.workspace, *arguments, timeout=timeout)

    def json(self, *arguments: str, timeout: float = 60) -> Any:
        done = self.ctl("--json", *arguments, timeout=timeout)
        assert done.returncode == 0, (done.stdout, done.stderr, self.tail())
        return json.loads(done.stdout)

    def agent(self, name: str) -> dict[str, Any]:
        (found,) = [a for a in self.client.get("status")["agents"] if a["id"] == name]
        return dict(found)

    def generations(self) -> dict[str, int]:
        return {a["id"]: a["generation"] for a in self.client.get("status")["agents"]}

    def say(self, room: str, text: str, name: str = "ana") -> dict[str, Any]:
        """Post without waiting for an answer; return the line, with the `since` of its stream."""
        return dict(self.client.post("rooms", room, "messages", body={"text": text, "as": name}))

    def hear(self, said: Mapping[str, Any], count: int = 1, timeout: float = 20) -> list[str]:
        """Wait for `count` lines that agents say after the line in its room; return their texts."""
        until = time.monotonic() + timeout
        heard: list[str] = []
        with contextlib.closing(self.client.events(said["since"], ["rooms/*"], until)) as events:
            for event in events:
                line = event.data
                if (
                    event.type.startswith("rooms/")
                    and line["agent"]
                    and line["room"] == said["room"]
                ):
                    heard.append(line["text"])
                if len(heard) >= count:
                    return heard
        raise AssertionError(f"heard only {heard} in {timeout} s; the log: {self.tail()}")

    def ask(self, room: str, text: str, name: str = "ana", timeout: float = 20) -> str:
        return self.hear(self.say(room, text, name), timeout=timeout)[0]

    def said(self, room: str, sender: str) -> list[str]:
        lines = self.client.get("rooms", room, "messages", limit=1000)
        return [line["text"] for line in lines if line["sender"] == sender]

    def slots(self, said: Mapping[str, Any]) -> list[dict[str, Any]]:
        return list(self.client.get("why", said["event_id"])["slots"])

    def wait_slot(self, said: Mapping[str, Any], state: str, timeout: float = 20) -> dict[str, Any]:
        """Wait until the one answer slot of a line is in a state; an answer is in its room then."""

        def found() -> dict[str, Any] | None:
            (slot,) = self.slots(said) or [{"state": "not admitted"}]
            there = slot["state"] == state and (state != "answered" or slot["answers"])
            return slot if there else None

        return until(found, timeout, lambda: f"{self.slots(said)}; the log: {self.tail()}")

    def wait_turn(self, agent: str, room: str, timeout: float = 20) -> None:
        """Wait until a turn of the agent runs in a room."""
        until(
            lambda: [t for t in self.agent(agent)["turns"] if t["room"] == room] or None,
            timeout,
            self.tail,
        )

    def wait_state(self, agent: str, state: str, timeout: float = 20) -> dict[str, Any]:
        def found() -> dict[str, Any] | None:
            now = self.agent(agent)
            return now if now["state"] == state else None

        return until(found, timeout, lambda: f"{self.agent(agent)}; the log: {self.tail()}")

    def metric(self, name: str) -> float | None:
        """The value of one line of /metrics, named with its labels."""
        lines = self.get("/metrics").splitlines()
        return next((float(x.split()[-1]) for x in lines if x.startswith(f"{name} ")), None)

    def get(self, path: str) -> str:
        """The body of a GET on the socket, of what lies outside /api."""
        connection = http.client.HTTPConnection("localhost", timeout=15)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.settimeout(15)
        connection.sock.connect(str(Workspace(self.workspace).find_socket()))
        with contextlib.closing(connection):
            connection.request("GET", path)
            answer = connection.getresponse()
            assert answer.status == 200, answer.status
            return answer.read().decode()

    # -- ending ------------------------------------------------------------------------------------

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        self.process.kill()
        self.finish()

    def stop(self, timeout: float = 20) -> int:
        if self.process.poll() is None:
            self.process.terminate()
        return self.finish(timeout)

    def finish(self, timeout: float = 20) -> int:
        code = self.process.wait(timeout)
        for reader in self._readers:
            reader.join(5)
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()
        return code


def between(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> float:
    """The seconds between two log entries, by their own time stamps."""
    one, two = (datetime.fromisoformat(entry["timestamp"]) for entry in (earlier, later))
    return (two - one).total_seconds()


def until(found: Callable[[], T | None], timeout: float, explain: Callable[[], str]) -> T:
    """Ask again and again until there is an answer."""
    deadline = time.monotonic() + timeout
    while True:
        with contextlib.suppress(NoAnswer, NoSupervisor):
            if (value := found()) is not None:
                return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not so within {timeout} s: {explain()}")
        threading.Event().wait(0.02)


@contextlib.contextmanager
def supervisor(
    workspace: Path, *arguments: str, ready: bool = True, env: Mapping[str, str] | None = None
) -> Iterator[Supervisor]:
    running = Supervisor(workspace, *arguments, env=env)
    try:
        if ready:
            running.wait_ready()
        yield running
    finally:
        if running.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                running.signal(signal.SIGCONT)
            running.process.kill()
        running.finish()


def agentctl(
    workspace: Path, *arguments: str, timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(AGENTCTL), "--workspace", str(workspace), *arguments],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
