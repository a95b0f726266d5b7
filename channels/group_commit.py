"""Writes that wait for the same file are committed together: one sync of the disk for all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import attrs
import outcome
import trio

__all__ = ["GroupCommit", "Write"]


@attrs.define(eq=False)
class Write:
    """One caller's write; `result` is set once it is committed or has failed."""

    fn: Callable[[Any], Any]
    result: outcome.Outcome[Any] | None = None
    started: bool = False
    _task: trio.lowlevel.Task | None = None

    async def wait(self, withdraw: Callable[[Write], None]) -> None:
        """Wait to be woken, by its result or to lead. A cancel before it started withdraws it."""

        def abort(_: object) -> trio.lowlevel.Abort:
            if self.started:
                return trio.lowlevel.Abort.FAILED
            self._task = None
            withdraw(self)
            return trio.lowlevel.Abort.SUCCEEDED

        self._task = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(abort)

    def wake(self) -> None:
        """Wake the caller, if it waits."""
        task, self._task = self._task, None
        if task is not None:
            trio.lowlevel.reschedule(task)


@attrs.define(eq=False)
class GroupCommit:
    """Whoever writes first leads: it takes along all that have come by the time the file is free.

    `commit(writes)` runs them in one transaction, each undone alone if it fails, and sets every
    `result`; it must not be cancellable.
    """

    _limiter: trio.CapacityLimiter
    _commit: Callable[[Sequence[Write]], Awaitable[None]]
    _queue: list[Write] = attrs.field(init=False, factory=list)
    _led: bool = attrs.field(init=False, default=False)
    _committing: bool = attrs.field(init=False, default=False)

    @property
    def waiting(self) -> int:
        """How many writes have not started."""
        return len(self._queue)

    @property
    def leader_waits(self) -> bool:
        """Whether somebody already waits for the file on behalf of the queue."""
        return self._led and bool(self._queue) and not self._committing

    async def run(self, fn: Callable[[Any], Any]) -> Any:
        """Run one write; return its result or raise its error.

        A cancel before it has started withdraws it; one that has started delivers its result.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        write = Write(fn)
        self._queue.append(write)
        if self._led:
            await write.wait(self._queue.remove)
        if write.result is None:
            await self._lead(write)
        else:
            await trio.lowlevel.cancel_shielded_checkpoint()
        assert write.result is not None
        return write.result.unwrap()

    async def _lead(self, own: Write) -> None:
        self._led = True
        group: list[Write] = []
        try:
            async with self._limiter:
                group, self._queue = self._queue, []
                for write in group:
                    write.started = True
                self._committing = True
                await self._commit(group)
        finally:
            self._committing = False
            if not own.started:
                self._queue.remove(own)
            for write in group:
                write.wake()
            self._led = bool(self._queue)
            if self._led:
                self._queue[0].wake()  # the next leader
