"""Start-up of the example as a real process: seconds until ready, memory, what is imported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from benchmarks.base import Row

ROOT = Path(__file__).parent.parent
READY_SECONDS, MEMORY_MB, STOP_SECONDS = 1.0, 120.0, 2.0
FORBIDDEN = ("nio", "trio_asyncio", "openai", "mcp")
_PROBE = """
import sys
from supervisor import signals
signals.hold()
import supervisor.launcher as launcher
from supervisor.commands import run_commands
code = run_commands(sys.argv[1:])
sys.stderr.write("imported " + repr(sorted({name.split(".")[0] for name in sys.modules})) + "\\n")
sys.exit(code)
"""


def rows(quick: bool) -> list[Row]:
    """Start and stop the example 5 times (3 when quick); medians."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "workspace"
        _run(workspace)  # makes the workspace and the compiled files
        runs = [_run(workspace) for _ in range(3 if quick else 5)]
        loaded = _imports(workspace)
    ready, memory, stop = (median(run[i] for run in runs) for i in range(3))
    unwanted = sorted(set(FORBIDDEN) & loaded)
    return [
        Row(
            "example ready after exec", ready, "s", f"≤ {READY_SECONDS:g} s", ready <= READY_SECONDS
        ),
        Row("example resident", memory, "MB", f"≤ {MEMORY_MB:g} MB", memory <= MEMORY_MB),
        Row("example SIGTERM to exit", stop, "s", f"≤ {STOP_SECONDS:g} s", stop <= STOP_SECONDS),
        Row(
            "heavy libraries imported on local",
            float(len(unwanted)),
            "of 4",
            "none",
            not unwanted,
            note=", ".join(unwanted),
        ),
    ]


def _environment() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def _start(command: list[str], workspace: Path) -> subprocess.Popen[str]:
    options = ["run", "--workspace", str(workspace), "--log-format", "json"]
    return subprocess.Popen(
        [*command, *options],
        cwd=ROOT,
        env=_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def _await_ready(process: subprocess.Popen[str]) -> None:
    assert process.stderr
    for line in process.stderr:
        if json.loads(line).get("event") == "ready":
            return
    raise RuntimeError(f"the supervisor ended with {process.wait()} before it was ready")


def _run(workspace: Path) -> tuple[float, float, float]:
    begun = time.perf_counter()
    process = _start([sys.executable, "-m", "supervisor"], workspace)
    _await_ready(process)
    ready = time.perf_counter() - begun
    status = Path(f"/proc/{process.pid}/status").read_text()
    (resident,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
    asked = time.perf_counter()
    process.send_signal(signal.SIGTERM)
    process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"SIGTERM ended the supervisor with {process.returncode}")
    return ready, int(resident.split()[1]) / 1024, time.perf_counter() - asked


def _imports(workspace: Path) -> set[str]:
    process = _start([sys.executable, "-c", _PROBE], workspace)
    _await_ready(process)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate()
    (line,) = [line for line in errors.splitlines() if line.startswith("imported ")]
    return set(line.removeprefix("imported ").strip("[]").replace("'", "").split(", "))
