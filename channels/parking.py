"""One reader waits until there is something to take; it is woken, never handed the thing itself.

A value handed over in the tick of a cancel is lost at the reader's next checkpoint. So whoever
writes only wakes the reader, and the reader looks for a pending cancel before it takes.
"""

from __future__ import annotations

from typing import Any

import attrs
import trio
from trio.lowlevel import (
    Abort,
    Task,
    cancel_shielded_checkpoint,
    checkpoint_if_cancelled,
    current_task,
    reschedule,
    wait_task_rescheduled,
)

__all__ = ["RUN", "Parking"]

RUN = 64
"""How many messages one task may send or take in a row before it lets the others run."""


@attrs.define(eq=False)
class Parking:
    """Where the one reader of a queue sleeps."""

    taken: int = 0  # in a row, without having slept or let others run
    reader: Task | None = None  # asleep here

    async def pause(self) -> None:
        """Let the other tasks run. A checkpoint."""
        self.taken = 0
        await cancel_shielded_checkpoint()
        await checkpoint_if_cancelled()

    async def sleep(self) -> None:
        """Sleep until `wake()`. A cancel that arrives in the tick of the wake-up still wins.

        Raises trio.BusyResourceError when another task sleeps here already.
        """
        if self.reader is not None:
            raise trio.BusyResourceError("another task is already receiving here")
        self.reader = current_task()
        self.taken = 0
        await wait_task_rescheduled(self._abort)
        await checkpoint_if_cancelled()

    def wake(self) -> None:
        """Wake the sleeping reader, if there is one."""
        reader = self.reader
        if reader is not None:
            self.reader = None
            reschedule(reader)

    def _abort(self, _: Any) -> Abort:
        self.reader = None
        return Abort.SUCCEEDED
