"""One owner: the lock refuses at once, a stopped owner keeps it, it dies with its process."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from supervisor.lock import Lock, LockedError, is_locked

pytestmark = pytest.mark.promise("P8")


def held_by_child(path: Path) -> int:
    """Fork a child that takes the lock, says so, and waits for its end."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        Lock(path).acquire()
        os.write(write, b"x")
        signal.pause()
        os._exit(0)
    os.close(write)
    assert os.read(read, 1) == b"x"
    os.close(read)
    return child


def test_a_second_owner_is_refused_with_the_pid_of_the_first(tmp_path: Path) -> None:
    child = held_by_child(tmp_path / "lock")
    try:
        with pytest.raises(LockedError) as refused:
            Lock(tmp_path / "lock").acquire()
        assert refused.value.pid == child
        assert is_locked(tmp_path / "lock")
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_stopped_owner_keeps_it_and_a_killed_one_does_not(tmp_path: Path) -> None:
    child = held_by_child(tmp_path / "lock")
    os.kill(child, signal.SIGSTOP)
    os.waitpid(child, os.WUNTRACED)
    with pytest.raises(LockedError):
        Lock(tmp_path / "lock").acquire()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with Lock(tmp_path / "lock"):
        assert is_locked(tmp_path / "lock")
    assert not is_locked(tmp_path / "lock")
    assert (tmp_path / "lock").exists()


def test_someone_who_only_looks_never_makes_an_owner_fail(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with Lock(path):
        pass
    looker = os.fork()
    if looker == 0:
        while True:
            is_locked(path)
    try:
        for _ in range(300):
            with Lock(path):
                pass
    finally:
        os.kill(looker, signal.SIGKILL)
        os.waitpid(looker, 0)


def test_a_lock_nobody_ever_took_is_free(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / "never")
