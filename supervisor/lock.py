"""Who owns a workspace and a reminder store: a `flock` on a file that is never deleted decides."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import attrs

__all__ = ["Lock", "LockedError", "is_locked"]


class LockedError(Exception):
    """Another process holds the lock; `pid` is what it wrote, or None."""

    def __init__(self, path: Path, pid: int | None) -> None:
        owner = f"process {pid}" if pid else "another process"
        super().__init__(f"{owner} holds {path}")
        self.path, self.pid = path, pid


@attrs.define
class Lock:
    """An exclusive lock for as long as this process lives; the kernel frees it at any death.

    A stopped (SIGSTOP) owner keeps it: a second process is refused, never promoted.
    """

    path: Path
    _descriptor: int = attrs.field(default=-1, init=False)

    def acquire(self) -> None:
        """Take the lock or raise LockedError; waits at most 0.2 s, for someone who only looks."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        for pause in (0.02,) * 10:
            if _try_exclusive(descriptor):
                break
            time.sleep(pause)  # `is_locked` of another process holds it for microseconds
        else:
            pid = _written_pid(descriptor)
            os.close(descriptor)
            raise LockedError(self.path, pid)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        self._descriptor = descriptor

    def release(self) -> None:
        """Give the lock up; the file stays. Does nothing when it is not held."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def is_locked(path: Path) -> bool:
    """Tell whether some process holds the lock, without taking it for longer than the look."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _try_exclusive(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _written_pid(descriptor: int) -> int | None:
    text = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
    return int(text) if text.isdigit() else None
