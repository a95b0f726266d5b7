"""One life of an actor: a cancel scope whose deadline is the start timeout until it is ready."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import attrs
import structlog
import trio

from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.mailbox import Inbox
from channels.messages import StopReason
from supervisor.crashes import CrashRecord, crash_record, sort_out, stack_text
from supervisor.policy import How, Restart
from supervisor.spec import Actor, ChildSpec

__all__ = ["RESISTS_AFTER", "Generation"]

RESISTS_AFTER = 1.0
"""Seconds after a cancel until the first report that the child does not end, doubled each time."""

declare_crash_points("supervisor.before_ready")

log = structlog.get_logger("supervisor")


@attrs.define(eq=False)
class Generation:
    """A running actor, and the task status that its `run` is given.

    `stopping` says why it was asked to end; `how` and `crash` are known once it has ended.
    """

    number: int
    path: str
    inbox: Inbox
    began: float
    scope: trio.CancelScope
    _on_ready: Callable[[], None]
    actor: Actor | None = None
    ready: float | None = None
    stopping: StopReason | None = None
    how: How = How.RETURNED
    crash: CrashRecord | None = None
    _task: trio.lowlevel.Task | None = None
    _grace: trio.CancelScope | None = None
    _cancelled_at: float = math.inf
    _patience: float = RESISTS_AFTER
    _over: bool = False
    _exited: trio.Event | None = None

    def started(self, value: Any = None) -> None:
        """The actor is ready: the start's deadline no longer applies. Ignored when too late.

        Raises RuntimeError on a second call.
        """
        if self.ready is not None:
            raise RuntimeError("task_status.started() was called twice")
        if self.scope.cancel_called:
            return
        crash_point("supervisor.before_ready")
        self.ready = trio.current_time()
        self.scope.deadline = math.inf
        self._on_ready()

    async def live(self, spec: ChildSpec, make: Callable[[], Actor], clock: WallClock) -> None:
        """Make the actor and run it to its end, which is then in `how` and `crash`.

        Only what is not the actor's to keep leaves here: a cancel from outside, an interrupt, an
        exit.
        """
        self._task = trio.lowlevel.current_task()
        try:
            with self.scope:
                self.actor = make()
                await self.actor.run(self.inbox, task_status=self)
        except BaseException as exc:  # sorted: what is not a crash is raised on
            crash, passing = sort_out(exc)
            if passing is not None and _nobody_asked(passing):
                crash, passing = exc, None
            self._crashed(crash, clock, stopping=passing is not None)
            if passing is exc:
                raise
            if passing is not None:
                raise passing from None
        else:
            self._returned(spec, clock)

    def ask_to_stop(self, reason: StopReason) -> None:
        """Drain, or cancel at once what is not ready yet. The first reason stays."""
        if self.stopping is None:
            self.stopping = reason
            if self.ready is None:
                self.cancel()
            else:
                self.inbox.drain(reason.value)

    def cancel(self) -> None:
        """Cancel with the reason it was asked to stop for; a grace still running ends too."""
        self._cancelled_at = min(self._cancelled_at, trio.current_time())
        self.scope.cancel(reason=None if self.stopping is None else self.stopping.value)
        if self._grace is not None:
            self._grace.cancel()

    @property
    def watched(self) -> bool:
        """Whether somebody sees it out."""
        return self._grace is not None

    async def see_out(self, grace: float) -> None:
        """Wait `grace` seconds for its end, then cancel it and wait on, reporting if it resists.

        A cancel of this wait leaves the generation as it is.
        """
        until = trio.current_time() + (grace if self.ready is not None else 0)
        try:
            with trio.CancelScope(deadline=until) as self._grace:
                await self.exited()
                return
            self.cancel()
            await self._insist()
        finally:
            self._grace = None

    async def _insist(self) -> None:
        while not self._over:
            with trio.move_on_at(self._cancelled_at + self._patience):
                await self.exited()
                return
            self._report_resistance()
            self._patience *= 2

    async def exited(self) -> None:
        """Wait until the actor has really ended."""
        if not self._over:
            if self._exited is None:
                self._exited = trio.Event()
            await self._exited.wait()

    def close(self) -> None:
        """The life is over: what it took and did not answer fails. Idempotent."""
        if self._over:
            return
        self._over = True
        self._task = self.actor = None
        self.inbox.close(self._epitaph())
        if self._exited is not None:
            self._exited.set()

    def _epitaph(self) -> str | None:
        if self.crash is not None:
            return self.crash.text
        if self.scope.cancelled_caught and self.stopping is not None:
            return f"stopped ({self.stopping.value})"
        return None

    def _crashed(self, exc: BaseException | None, clock: WallClock, *, stopping: bool) -> None:
        self.how = How.CRASHED if self.ready is not None else How.START_FAILED
        if exc is not None:
            stopping = stopping or self.stopping is not None
            prefix = "crashed while stopping: " if stopping else ""
            self.crash = crash_record(exc, clock.now(), self.number, prefix)

    def _returned(self, spec: ChildSpec, clock: WallClock) -> None:
        text = ""
        if self.stopping is not None:
            return
        if self.ready is None and self.scope.cancelled_caught:
            self.how = How.START_FAILED
            text = f"not ready within {spec.start_timeout:g} s (start_timeout)"
        elif spec.restart is Restart.PERMANENT:
            self.how = How.RETURNED if self.ready is not None else How.START_FAILED
            text = "returned" if self.ready is not None else "returned before it was ready"
        if text:
            self.crash = CrashRecord(text, clock.now(), self.number)

    def _report_resistance(self) -> None:
        stack = stack_text(self._task) if self._task is not None else ""
        log.warning("child_resists_cancel", child=self.path, waited=self._patience, stack=stack)


def _nobody_asked(passing: BaseException) -> bool:
    """Whether a Cancelled came out although no scope around this task is cancelled: a stray one."""
    found, other = (
        passing.split(trio.Cancelled)
        if isinstance(passing, BaseExceptionGroup)
        else (isinstance(passing, trio.Cancelled), None)
    )
    return bool(found) and other is None and trio.current_effective_deadline() > trio.current_time()
