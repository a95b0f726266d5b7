"""What went wrong, for people, and why a cancel came; cleanup that is shielded and bounded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Final

import structlog
import trio

from actors.turns import CRASH, RESTART
from channels.messages import StopReason

__all__ = ["CLEANUP_SECONDS", "cancel_reason", "cleanup", "error_text", "has_cancel"]

CLEANUP_SECONDS: Final = 2.0

_STOP_REASONS = frozenset(reason.value for reason in StopReason) | {RESTART}

_log = structlog.get_logger("actors.agent")


@asynccontextmanager
async def cleanup(agent: str) -> AsyncIterator[None]:
    """Run the block under a cancel, for a bounded time; its own failure is logged, not raised."""
    with trio.CancelScope(shield=True, deadline=trio.current_time() + CLEANUP_SECONDS) as scope:
        try:
            yield
        except Exception as error:
            _log.error("cleanup_failed", agent=agent, exc_info=error)
    if scope.cancelled_caught:
        _log.error("cleanup_too_slow", agent=agent, seconds=CLEANUP_SECONDS)


def has_cancel(error: BaseException) -> bool:
    """Whether a cancel is part of `error`: cleanup that failed during one comes beside it."""
    return any(_leaves(error, lambda leaf: isinstance(leaf, trio.Cancelled)))


async def cancel_reason() -> str | None:
    """Return why the calling task is being cancelled: a StopReason's value, RESTART, or CRASH.

    None when it is not. A scope cancelled for no reason of ours is that of a nursery in which
    something else has crashed. Asked of Trio afresh, at the caller's level: a Cancelled in flight
    may name an inner deadline that ran out in the same instant.
    """
    try:
        await trio.lowlevel.checkpoint_if_cancelled()
    except trio.Cancelled as cancelled:  # asked for, and answered
        reason = cancelled.reason
        return reason if reason in _STOP_REASONS else CRASH
    return None


def error_text(error: BaseException) -> str:
    """Return the errors in `error`, groups flattened, as one line for people."""
    leaves = _leaves(error, lambda leaf: not isinstance(leaf, trio.Cancelled))
    texts = [f"{type(leaf).__name__}: {leaf}".rstrip(": ") for leaf in leaves]
    return "; ".join(dict.fromkeys(texts))


def _leaves(
    error: BaseException, wanted: Callable[[BaseException], bool]
) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for part in error.exceptions:
            yield from _leaves(part, wanted)
    elif wanted(error):
        yield error
