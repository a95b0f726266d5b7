"""What went wrong, for people, and why a cancel came; cleanup that is shielded and bounded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Final

import structlog
import trio

from actors.turns import CRASH, RESTART
from channels.messages import StopReason

__all__ = ["CLEANUP_SECONDS", "cancel_reason", "cleanup", "error_text"]

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


def cancel_reason(error: BaseException) -> str | None:
    """Return why a cancel that is part of `error` came: a StopReason's value, RESTART, or CRASH.

    None when no cancel is part of it. A cancel that names no reason of ours is that of a nursery in
    which something else has crashed.
    """
    cancels = list(_leaves(error, lambda leaf: isinstance(leaf, trio.Cancelled)))
    if not cancels:
        return None
    reasons = {getattr(cancel, "reason", None) for cancel in cancels}
    return next((reason for reason in sorted(map(str, reasons)) if reason in _STOP_REASONS), CRASH)


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
