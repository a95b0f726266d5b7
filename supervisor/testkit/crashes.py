"""Arm a named crash point: at its n-th pass it raises, calls back, or kills the process."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import attrs

from channels.crashpoints import all_crash_points, set_crash_hook

__all__ = ["Crash", "CrashLog", "all_crash_points", "armed", "kill_now", "recorded"]


class Crash(BaseException):
    """What an armed crash point raises: no handler of ordinary errors may swallow it."""


@attrs.define
class CrashLog:
    """How often each crash point was passed."""

    passes: Counter[str] = attrs.field(factory=Counter)

    def missed(self) -> tuple[str, ...]:
        """Return the declared points that were never passed."""
        return tuple(name for name in all_crash_points() if not self.passes[name])


def kill_now(name: str) -> None:
    """End this very process as `kill -9` would: nothing is flushed, no handler runs."""
    os.kill(os.getpid(), signal.SIGKILL)


def _raise(name: str) -> None:
    raise Crash(name)


@contextmanager
def recorded() -> Iterator[CrashLog]:
    """Count the passes of every crash point within the block."""
    log = CrashLog()

    def note(name: str) -> None:
        log.passes[name] += 1

    previous = set_crash_hook(note)
    try:
        yield log
    finally:
        set_crash_hook(previous)


@contextmanager
def armed(point: str, *, nth: int = 1, act: Callable[[str], None] = _raise) -> Iterator[CrashLog]:
    """Within the block, call `act(point)` at the `nth` pass (1 is the first) of `point`.

    The default raises `Crash`; `kill_now` ends the process; a callable may cancel a scope.
    Raises KeyError if nobody declared the point.
    """
    if point not in all_crash_points():
        raise KeyError(f"no crash point is named {point!r}")
    log = CrashLog()

    def strike(name: str) -> None:
        log.passes[name] += 1
        if name == point and log.passes[name] == nth:
            act(name)

    previous = set_crash_hook(strike)
    try:
        yield log
    finally:
        set_crash_hook(previous)
