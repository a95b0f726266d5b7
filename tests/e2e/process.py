"""A real supervisor in a process of its own, driven as a person would: signals, files and `agentctl`."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent
AGENTCTL = Path(sys.executable).parent / "agentctl"


def environment() -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("VIVERO_", "COVERAGE"))}
    return kept | {"TZ": "Europe/Madrid", "USER": "ana"}


class Supervisor:
    """`python -m supervisor` on a workspace; its log (JSON lines) is read as it comes."""

    def __init__(self, workspace: Path, *arguments: str) -> None:
        self.workspace = workspace
        self.log: list[dict[str, Any]] = []
        self.stdout: list[str] = []
        self._fresh: queue.Queue[dict[str, Any] | None] = queue.Queue()
        command = [sys.executable, "-m", "supervisor", "run", "--workspace", str(workspace)]
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [*command, "--log-format", "json", *arguments],
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._readers = [
            threading.Thread(target=self._read_log, daemon=True),
            threading.Thread(target=self._read_stdout, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def _read_log(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            try:
                entry = json.loads(line)
            except ValueError:
                entry = {"event": "", "raw": line}
            self.log.append(entry)
            self._fresh.put(entry)
        self._fresh.put(None)

    def _read_stdout(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.stdout.append(line)

    def wait_for(
        self, matches: Callable[[dict[str, Any]], bool], timeout: float = 15
    ) -> dict[str, Any]:
        """Return the next log entry that matches; each entry is looked at once."""
        deadline = time.monotonic() + timeout
        while True:
            try:
                entry = self._fresh.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                raise AssertionError(
                    f"not logged within {timeout} s; the log: {self.tail()}"
                ) from None
            if entry is None:
                raise AssertionError(f"ended with {self.process.wait()}; the log: {self.tail()}")
            if matches(entry):
                return entry

    def wait_event(self, event: str, timeout: float = 15, **fields: object) -> dict[str, Any]:
        return self.wait_for(
            lambda e: e.get("event") == event and all(e.get(k) == v for k, v in fields.items()),
            timeout,
        )

    def wait_ready(self, timeout: float = 20) -> float:
        """Wait until it says it is ready; return the seconds since it was started."""
        self.wait_event("ready", timeout)
        return time.monotonic() - self.started

    def tail(self, count: int = 25) -> str:
        return "\n".join(json.dumps(entry, ensure_ascii=False) for entry in self.log[-count:])

    def ctl(self, *arguments: str, timeout: float = 40) -> subprocess.CompletedProcess[str]:
        return agentctl(self.workspace, *arguments, timeout=timeout)

    def json(self, *arguments: str, timeout: float = 40) -> Any:
        done = self.ctl("--json", *arguments, timeout=timeout)
        assert done.returncode == 0, (done.stdout, done.stderr, self.tail())
        return json.loads(done.stdout)

    def agent(self, name: str) -> dict[str, Any]:
        (found,) = [a for a in self.json("status")["agents"] if a["id"] == name]
        return dict(found)

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


@contextlib.contextmanager
def supervisor(workspace: Path, *arguments: str, ready: bool = True) -> Iterator[Supervisor]:
    running = Supervisor(workspace, *arguments)
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
    workspace: Path, *arguments: str, timeout: float = 40
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(AGENTCTL), "--workspace", str(workspace), *arguments],
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=timeout,
    )
