"""Signals before, at and after start: held until handlers stand, then read one by one in a task."""

from __future__ import annotations

import os
import signal

__all__ = ["HANDLED", "hold", "ignore", "outlast", "release", "terminal_lost", "watch_terminal"]

HANDLED = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGUSR1)

_terminal_at_start = False


def hold() -> None:
    """Keep the handled signals pending: an early SIGHUP must reload, not kill."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)


def release() -> None:
    """Let through what came meanwhile; call it once handlers are installed."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)


def outlast() -> None:
    """Let what comes after the last receiver has closed do nothing: by default it would kill.

    Blocking does not help there, for it is each thread's own, and ignoring would drop what is held.
    """
    for number in HANDLED:
        signal.signal(number, lambda *_: None)


def ignore() -> None:
    """Ignore the handled signals for the rest of the process; its exit code is decided."""
    for number in HANDLED:
        signal.signal(number, signal.SIG_IGN)


def watch_terminal() -> None:
    """Remember whether this process has a controlling terminal to lose.

    Under `nohup` (SIGHUP ignored when we began) losing it means nothing. `./dev run` ignores it
    too, only until we listen, and says so in the environment.
    """
    global _terminal_at_start
    held = os.environ.pop("VIVERO_HANGUP_HELD", "")
    ignored = not held and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    _terminal_at_start = not ignored and _has_terminal()


def terminal_lost() -> bool:
    """Tell whether the controlling terminal that was there at start has gone away since."""
    return _terminal_at_start and not _has_terminal()


def _has_terminal() -> bool:
    try:
        descriptor = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    os.close(descriptor)
    return True
