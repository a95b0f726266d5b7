"""A reload without the socket: `run/reload.txt` and SIGHUP, to a process proven to be the owner."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from config.workspace import Workspace
from supervisor.lock import is_locked

__all__ = ["owner", "reload_by_signal"]


def owner(workspace: Workspace) -> int | None:
    """Return the pid of the supervisor that owns the workspace and can take signals, or None.

    The lock proves that the process whose pid is in the lock file lives. `supervisor.pid` is
    written after the signal handlers are there: until both name the same pid, SIGHUP would kill it,
    or hit a stranger that has inherited an old number.
    """
    if not is_locked(workspace.lock_file):
        return None
    pid = _pid_in(workspace.lock_file)
    return pid if pid is not None and pid == _pid_in(workspace.pid_file) else None


def reload_by_signal(workspace: Workspace, ids: Sequence[str]) -> int | None:
    """Ask the owner to reload these agents (none: all); return its pid, or None without one."""
    pid = owner(workspace)
    if pid is None:
        return None
    _write_request(workspace.reload_txt, ids)
    try:
        os.kill(pid, signal.SIGHUP)
    except ProcessLookupError:
        return None
    return pid


def _write_request(path: Path, ids: Sequence[str]) -> None:
    """Write the request whole (rename); one that is still waiting there is joined, not lost."""
    wanted = list(ids) or ["*"]
    with contextlib.suppress(FileNotFoundError):
        waiting = path.read_text(encoding="utf-8").split()
        wanted = ["*"] if "*" in wanted or not waiting else list(dict.fromkeys(waiting + wanted))
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.touch(0o600)
    draft.write_text("\n".join(wanted) + "\n", encoding="utf-8")
    draft.replace(path)


def _pid_in(path: Path) -> int | None:
    try:
        text = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdigit() else None
