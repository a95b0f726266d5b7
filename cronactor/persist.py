"""Writing that outlasts a locked, full or unreachable disk: it is tried again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
import trio

from channels.database_errors import (
    DatabaseClosed,
    DatabaseCorrupt,
    DatabaseFull,
    DatabaseLocked,
    DatabaseUnavailable,
)
from cronactor.health import Health

__all__ = ["BUSY", "DISK", "persist"]

T = TypeVar("T")
log = structlog.get_logger()

DISK = (DatabaseClosed, DatabaseCorrupt, DatabaseFull, DatabaseLocked, DatabaseUnavailable)
"""What is wrong with a file, and not with what was to be written into it."""
BUSY = (DatabaseFull, DatabaseLocked)
"""What leaves nothing written, for certain."""
OUTAGES = (*BUSY, DatabaseUnavailable)
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 30.0


async def persist(
    what: str,
    work: Callable[[], Awaitable[T]],
    health: Health,
    outages: tuple[type[Exception], ...] = OUTAGES,
) -> T:
    """Return what `work` returns, trying again with growing pauses while a disk will not have it.

    `work` must be idempotent, or `outages` be BUSY. A cancel ends the wait. Raises whatever else
    `work` raises.
    """
    pause, tries = FIRST_PAUSE, 0
    while True:
        try:
            result = await work()
        except outages as error:
            tries += 1
            if tries == 1:
                log.error("scheduler_cannot_write", what=what, error=str(error))
            health.cannot_write[what] = str(error)
            await trio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        else:
            if tries:
                log.info("scheduler_writes_again", what=what, tries=tries + 1)
                health.cannot_write.pop(what, None)
            return result
