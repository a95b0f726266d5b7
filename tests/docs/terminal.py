"""A reader's terminal: one bash, its output as it comes, and Ctrl-C."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

__all__ = ["Terminal", "TerminalFault", "commands_of"]

_MARK = "\x01"


class TerminalFault(AssertionError):
    """A command did not do what the page says; the text shows the terminal."""


def commands_of(text: str) -> list[str]:
    """Split a block into commands: one a line, a line that ends in a backslash goes on."""
    joined = re.sub(r"\\\n\s*", "", text)
    return [line.strip() for line in joined.splitlines() if line.strip()]


class Terminal:
    """A bash that lives as long as the page; its state (folder, activation) stays."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
            start_new_session=True,
        )
        self._output = ""
        self._news = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._begin = 0  # where the output of the present block begins
        self.foreground: str | None = None

    def _read(self) -> None:
        assert self._bash.stdout is not None
        while part := os.read(self._bash.stdout.fileno(), 65536):
            with self._news:
                self._output += part.decode("utf-8", "replace")
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()

    # -- typing ------------------------------------------------------------------------------------

    def type(self, command: str, timeout: float) -> str:
        """Run a command; return what it printed. Raises TerminalFault unless it ends 0."""
        self.begin(command)
        output, code = self._finish(timeout)
        if code != 0:
            raise TerminalFault(f"$ {command}\n{output}\nended with exit code {code}")
        return output

    def begin(self, command: str) -> None:
        """Type a command and leave it running. Raises TerminalFault for what bash cannot read."""
        if self.foreground is not None:
            raise TerminalFault(f"{self.foreground!r} still runs here: nobody can type {command!r}")
        checked = subprocess.run(["bash", "-n", "-c", command], capture_output=True, text=True)
        if checked.returncode != 0:
            raise TerminalFault(f"$ {command}\n{checked.stderr}")
        assert self._bash.stdin is not None
        with self._news:
            self._begin = len(self._output)
        self.foreground = command
        self._bash.stdin.write(f"{command}\nprintf '{_MARK}%d{_MARK}' $?\n")

    def _finish(self, timeout: float) -> tuple[str, int]:
        found = self._wait(re.compile(f"(.*?){_MARK}(\\d+){_MARK}", re.S), timeout)
        self.foreground = None
        return found[1], int(found[2])

    def see(self, expected: re.Pattern[str], timeout: float) -> None:
        """Wait until the running command has printed what is expected, after what was seen."""
        found = self._wait(re.compile(r"(?m:^)" + expected.pattern), timeout)
        with self._news:
            self._begin += found.end()

    def interrupt(self, timeout: float) -> str:
        """Press Ctrl-C; return what is printed then. Raises TerminalFault unless it ends 0."""
        command = self.foreground
        for child in psutil.Process(self._bash.pid).children():
            child.send_signal(signal.SIGINT)
        output, code = self._finish(timeout)
        if code != 0:
            raise TerminalFault(f"{command!r} ended with exit code {code} on Ctrl-C:\n{output}")
        return output

    def close(self) -> None:
        """Hang up: whatever this terminal still runs is killed."""
        os.killpg(self._bash.pid, signal.SIGKILL)
        self._bash.wait(10)
        self._reader.join(5)
        for stream in (self._bash.stdin, self._bash.stdout):
            if stream is not None:
                stream.close()

    # -- reading -----------------------------------------------------------------------------------

    def _wait(self, wanted: re.Pattern[str], timeout: float) -> re.Match[str]:
        deadline = time.monotonic() + timeout
        with self._news:
            while True:
                if found := wanted.search(self._output[self._begin :]):
                    return found
                left = deadline - time.monotonic()
                if left <= 0 or self._ended:
                    raise TerminalFault(self._missing(wanted, timeout))
                self._news.wait(left)

    def _missing(self, wanted: re.Pattern[str], timeout: float) -> str:
        shown = self._output[self._begin :]
        what = "no end" if _MARK in wanted.pattern else f"not seen: {wanted.pattern}"
        return f"{self.foreground!r} within {timeout:g} s: {what}\nthe terminal shows:\n{shown}"
