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

__all__ = ["Parking"]

RUN = 16  # takes in a row before the reader lets other tasks run


@attrs.define(eq=False)
class Parking:
    """Where the one reader of a queue sleeps."""

    _task: Task | None = None
    _run: int = 0

    async def breathe(self) -> None:
        """Be a cancel point always, and a schedule point at least once every 16 calls."""
        await checkpoint_if_cancelled()
        self._run += 1
        if self._run >= RUN:
            self._run = 0
            await cancel_shielded_checkpoint()
            await checkpoint_if_cancelled()

    async def sleep(self) -> None:
        """Sleep until `wake()`. A cancel that arrives in the tick of the wake-up still wins.

        Raises trio.BusyResourceError when another task sleeps here already.
        """
        if self._task is not None:
            raise trio.BusyResourceError("another task is already receiving here")
        self._task = current_task()
        self._run = 0
        await wait_task_rescheduled(self._abort)
        await checkpoint_if_cancelled()

    def wake(self) -> None:
        """Wake the sleeping reader, if there is one."""
        task = self._task
        if task is not None:
            self._task = None
            reschedule(task)

    def _abort(self, _: Any) -> Abort:
        self._task = None
        return Abort.SUCCEEDED
