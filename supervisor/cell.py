"""A cell: what stays of a child across its generations, and the one task that runs them in turn.

Every change of state here is synchronous. The task awaits only while an actor lives and while there
is nothing to do, so no cancel of anybody can leave a child half-way between two states.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from random import Random
from typing import Any, Protocol

import attrs
import structlog
import trio

from channels.bus import Bus
from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.lanes import current_lane
from channels.mailbox import Mailbox, MailboxStatistics
from channels.messages import CellChanged, CellState, StopReason
from supervisor.crashes import CrashRecord
from supervisor.errors import NotSupervising
from supervisor.generation import Generation
from supervisor.operation import Operation, Outcome
from supervisor.policy import (
    Ended,
    Escalate,
    PolicyState,
    Quarantine,
    Restart,
    RestartAfter,
    decide,
)
from supervisor.spec import Actor, ChildSpec

__all__ = ["TOPIC", "Cell", "CellInfo", "Host", "current_path"]

TOPIC = "supervision"
CRASHES_KEPT = 10

current_path: ContextVar[str] = ContextVar("current_path", default="")
"""Where in the tree the running actor is, `root/agents/asistente`; "" outside of every tree."""

_UNTROUBLED = PolicyState()
_AT_REST = (CellState.STOPPED, CellState.QUARANTINED, CellState.FAILED)

declare_crash_points("supervisor.before_start")

log = structlog.get_logger("supervisor")


@attrs.frozen
class CellInfo:
    """A child, and what it supervises itself, at one moment. `started_at` is Unix time."""

    name: str
    path: str
    address: str | None
    state: CellState
    generation: int
    restarts: int
    mailbox: MailboxStatistics | None
    started_at: float | None
    crashes: tuple[CrashRecord, ...]
    children: tuple[CellInfo, ...] = ()


class Host(Protocol):
    """What a cell needs of its supervisor."""

    bus: Bus
    clock: WallClock
    random: Random

    @property
    def stopping(self) -> bool:
        """Whether it is too late to begin another generation."""
        ...

    def spawn(self, function: Callable[..., Awaitable[Any]], *args: Any) -> None:
        """Run a helper task in the supervisor's nursery."""
        ...

    def take_over(self, cell: Cell, delay: float) -> bool:
        """Whether the supervisor restarts this failed child together with its siblings."""
        ...

    def gave_up(self, cell: Cell, text: str) -> None:
        """The child has spent its restarts and its rules say that the supervisor must end."""
        ...

    def gone(self, cell: Cell) -> None:
        """The cell's task is over."""
        ...


@attrs.define(eq=False)
class Cell:
    """One child of a supervisor: its address and mailbox, its state, its history as text."""

    spec: ChildSpec
    path: str
    _host: Host
    state: CellState = CellState.STARTING
    number: int = 0
    restarts: int = 0
    crashes: tuple[CrashRecord, ...] = ()
    started_at: float | None = None
    ended: bool = False
    _policy: PolicyState = _UNTROUBLED
    _mailbox: Mailbox | None = None
    _registered: bool = False
    _live: Generation | None = None
    _ending: StopReason | None = None
    _stop: Operation | None = None  # asked for; done when the generation has ended
    _queued: Operation | None = None  # to begin when the generation has ended
    _active: Operation | None = None  # decided by the start that is under way
    _proven: ChildSpec | None = None  # what to fall back to if that start fails
    _proven_state: CellState = CellState.STARTING
    _refused: str = ""  # why the new spec failed, while the proven one starts again
    _held: bool = False  # down until the supervisor restarts the siblings too
    _until: float = math.inf  # when the pause before a restart ends
    _news: trio.Event | None = None

    def start(self, operation: Operation) -> Operation:
        """Be up: done at once when it runs, else with the start under way, else start it now."""
        self._check_open()
        live = self._live
        if live is not None and live.stopping is not None:
            return self.restart(operation)
        if live is not None and live.ready is not None:
            operation.settle(Outcome(self.number))
            return operation
        if live is not None and self._active is None:
            self._active = operation
        return self._active or self.restart(operation)

    def restart(self, operation: Operation) -> Operation:
        """Begin a new generation after the running one has really ended.

        What is asked while a restart waits for that end becomes part of it; what is asked while
        its new generation starts comes after it.
        """
        self._check_open()
        if self._queued is not None:
            return self._queued.join(operation)
        if self._live is None and self._active is None:
            self._begin(operation)
            return operation
        self._queued = operation
        if self._live is not None and self._active is None:
            self._begin_stop(self._live, operation.reason)
        return operation

    def stop(self, reason: StopReason) -> Operation:
        """Go down and stay down until started again; overrules every restart under way."""
        self._check_open()
        self._abandon(f"stopped meanwhile ({reason.value})")
        if self._live is None:
            self._down(CellState.STOPPED, reason.value)
            done = Operation(reason)
            done.settle(Outcome(None))
            return done
        self._stop = self._stop or Operation(reason)
        self._begin_stop(self._live, reason)
        return self._stop

    def hold(self) -> Generation | None:
        """Go down with a failed sibling, until `resume`; returns the generation to wait for."""
        if self._live is not None:
            self._begin_stop(self._live, StopReason.SIBLING)
        elif self.state in (CellState.STARTING, CellState.BACKOFF):
            self._wait_for_siblings("a sibling failed")
        return self._live

    def resume(self) -> Operation | None:
        """Start again after `hold`; None when somebody has stopped or started it meanwhile."""
        if not self._held:
            return None
        self._held = False
        self._active = self._active or Operation(StopReason.SIBLING)
        self._set(CellState.STARTING, "restarted with its siblings")
        return self._active

    def end(self, reason: StopReason) -> None:
        """Go down for good: the task ends when the generation has ended."""
        generation = self._begin_end(reason)
        if generation is not None:
            self._host.spawn(generation.see_out, self.spec.grace)

    def cut(self, reason: StopReason) -> None:
        """Go down for good, without any further grace."""
        self._begin_end(reason)
        live = self._live
        if live is not None:
            if not live.watched:
                self._host.spawn(live.see_out, 0)
            live.cancel()

    async def see_out(self, reason: StopReason) -> None:
        """`end`, and wait until the task is over."""
        generation = self._begin_end(reason)
        if generation is not None:
            await generation.see_out(self.spec.grace)
        while not self.ended:
            await self._changed()

    async def first_ready(self) -> None:
        """Wait until it has been ready once, or stays down, however many attempts that takes."""
        while self.started_at is None and self.state not in _AT_REST:
            await self._changed()

    @property
    def dismissed(self) -> bool:
        """Whether its end was asked for, rather than brought by a cancel from outside."""
        return self._ending is not None

    def info(self) -> CellInfo:
        """Describe the cell, and below it the children of an actor that has a `tree()` itself."""
        tree = getattr(self.actor, "tree", None)
        return CellInfo(
            name=self.spec.name,
            path=self.path,
            address=self.spec.address,
            state=self.state,
            generation=self.number,
            restarts=self.restarts,
            mailbox=None if self._mailbox is None else self._mailbox.statistics(),
            started_at=self.started_at,
            crashes=self.crashes,
            children=() if tree is None else tree().children,
        )

    @property
    def actor(self) -> Actor | None:
        """The actor of the running generation."""
        return None if self._live is None else self._live.actor

    async def run(self) -> None:
        """Run generations until the end is asked for. A cancel ends the child at once."""
        try:
            while self._ending is None:
                if self.state is CellState.STARTING and not self._host.stopping:
                    await self._run_generation()
                else:
                    await self._rest()
                if self._ending is None:
                    # A child that fails without ever waiting must not starve the others.
                    await trio.lowlevel.checkpoint()
        finally:
            self._finish()

    async def _run_generation(self) -> None:
        self.number += 1
        current_lane.set(self.spec.address or "")
        current_path.set(self.path)
        generation = self._live = self._conceive()
        try:
            await generation.live(self.spec, self._make, self._host.clock)
        finally:
            self._bury(generation)
        self._settle(generation)

    def _conceive(self) -> Generation:
        if self._mailbox is None:
            self._mailbox = Mailbox(self.spec.mailbox)
        elif self._mailbox.spec != self.spec.mailbox:
            self._mailbox.resize(self.spec.mailbox)
        now = trio.current_time()
        scope = trio.CancelScope(deadline=now + self.spec.start_timeout)
        inbox = self._mailbox.open_inbox()
        return Generation(self.number, self.path, inbox, now, scope, self._on_ready)

    def _make(self) -> Actor:
        if self.spec.address is not None and not self._registered:
            assert self._mailbox is not None
            self._host.bus.register(self.spec.address, self._mailbox)
            self._registered = True
        crash_point("supervisor.before_start")
        return self.spec.factory()

    async def _rest(self) -> None:
        with trio.CancelScope(deadline=self._until) as pause:
            await self._changed()
        if pause.cancelled_caught and self.state is CellState.BACKOFF:
            self._until = math.inf
            self._set(CellState.STARTING)

    async def _changed(self) -> None:
        if self._news is None:
            self._news = trio.Event()
        await self._news.wait()

    def _on_ready(self) -> None:
        self.started_at = self._host.clock.now()
        self._proven = None
        operation, self._active = self._active, None
        refused, self._refused = self._refused, ""
        if operation is not None:
            if refused:
                operation.settle(Outcome(None, refused, restored=True))
            else:
                self._policy = _UNTROUBLED
                operation.settle(Outcome(self.number))
        self._set(CellState.RUNNING)
        if self._queued is not None and self._live is not None:
            self._begin_stop(self._live, self._queued.reason)

    def _bury(self, generation: Generation) -> None:
        self._live = None
        generation.close()
        record = generation.crash
        if record is not None:
            self.crashes = (*self.crashes, record)[-CRASHES_KEPT:]
            log.error(
                "child_failed",
                child=self.path,
                generation=record.generation,
                error=record.text,
                trace=record.traceback,
            )

    def _settle(self, generation: Generation) -> None:
        if self._ending is not None:
            return
        if generation.stopping is not None:
            self._after_stop()
        elif generation.ready is None and self._proven is not None:
            self._fall_back(_text(generation))
        else:
            self._decide(generation)
        free = self._active is None and self.state is not CellState.FAILED
        if self._queued is not None and free:
            self._begin(self._queued)

    def _after_stop(self) -> None:
        if self._stop is not None:
            operation, self._stop = self._stop, None
            self._down(CellState.STOPPED, operation.reason.value)
            operation.settle(Outcome(None))
        elif self._queued is None:
            self._wait_for_siblings("a sibling failed")

    def _decide(self, generation: Generation) -> None:
        text = _text(generation)
        event = Ended(
            generation.how, generation.began, generation.ready, self._host.random.random()
        )
        decision = decide(self.spec.rules, self._policy, event, trio.current_time())
        self._policy = decision.state
        operation, self._active = self._active, None
        if operation is not None:
            operation.settle(Outcome(None, self._refused or text))
        self._refused = ""
        self._carry_out(decision.action, text)

    def _carry_out(self, action: object, text: str) -> None:
        if isinstance(action, RestartAfter):
            self._restart_after(action.delay, text)
        elif isinstance(action, Quarantine):
            log.error("child_quarantined", child=self.path, error=text)
            self._down(CellState.QUARANTINED, text)
        elif isinstance(action, Escalate):
            self._down(CellState.FAILED, text)
            self._host.gave_up(self, text)
        else:
            self._down(CellState.STOPPED, text)
            if self.spec.restart is Restart.TEMPORARY:
                self._ending = StopReason.STOPPED

    def _restart_after(self, delay: float, text: str) -> None:
        self.restarts += 1
        if self._host.take_over(self, delay):
            self._wait_for_siblings(text)
        elif delay > 0:
            self._until = trio.current_time() + delay
            self._set(CellState.BACKOFF, text)
        else:
            self._set(CellState.STARTING, text)

    def _fall_back(self, text: str) -> None:
        assert self._proven is not None
        self.spec, self._proven = self._proven, None
        if self._proven_state is CellState.STARTING:
            self._refused = text
            self._set(CellState.STARTING, f"the previous spec again: {text}")
        else:
            operation, self._active = self._active, None
            if operation is not None:
                operation.settle(Outcome(None, text))
            self._down(self._proven_state, text)

    def _begin(self, operation: Operation) -> None:
        self._queued, self._active = None, operation
        resting = self.state in _AT_REST
        if operation.spec is not None:
            self._proven, self.spec = self.spec, operation.spec
            self._proven_state = self.state if resting else CellState.STARTING
        if operation.fresh:
            self._policy, self.crashes = _UNTROUBLED, ()
        self._held = False
        self._until = math.inf
        self._set(CellState.STARTING, operation.reason.value)

    def _begin_stop(self, live: Generation, reason: StopReason) -> None:
        if live.stopping is None:
            live.ask_to_stop(reason)
            self._set(CellState.DRAINING, reason.value)
            self._host.spawn(live.see_out, self.spec.grace)

    def _begin_end(self, reason: StopReason) -> Generation | None:
        """Returns the generation whose end nobody sees to yet."""
        if self._ending is not None or self.ended:
            return None
        self._ending = reason
        self._abandon(f"stopped meanwhile ({reason.value})")
        live = self._live
        if live is None or live.stopping is not None:
            self._tell_news()
            return None
        live.ask_to_stop(reason)
        self._set(CellState.DRAINING, reason.value)
        return live

    def _abandon(self, text: str) -> None:
        for operation in (self._queued, self._active):
            if operation is not None:
                operation.settle(Outcome(None, text))
        self._queued = self._active = None
        self._refused = ""
        if self._proven is not None:
            self.spec, self._proven = self._proven, None

    def _wait_for_siblings(self, text: str) -> None:
        self._held = True
        self._until = math.inf
        self._set(CellState.BACKOFF, text)

    def _down(self, state: CellState, why: str) -> None:
        self._held = False
        self._until = math.inf
        self._unregister(why)
        self._set(state, why)

    def _unregister(self, why: str) -> None:
        if self._registered and self.spec.address is not None:
            self._registered = False
            self._host.bus.unregister(self.spec.address, why)
            self._mailbox = None

    def _finish(self) -> None:
        self.ended = True
        reason = "cancelled" if self._ending is None else self._ending.value
        self._abandon(f"stopped meanwhile ({reason})")
        if self.state not in (CellState.STOPPED, CellState.FAILED):
            self._down(CellState.STOPPED, reason)
        if self._stop is not None:
            self._stop.settle(Outcome(None))
        self._tell_news()
        self._host.gone(self)

    def _set(self, state: CellState, reason: str = "") -> None:
        self.state = state
        self._host.bus.publish(TOPIC, CellChanged(self.path, state, self.number, reason))
        self._tell_news()

    def _tell_news(self) -> None:
        if self._news is not None:
            self._news.set()
            self._news = None

    def _check_open(self) -> None:
        if self._ending is not None or self.ended:
            raise NotSupervising(f"{self.path} is stopping for good")


def _text(generation: Generation) -> str:
    return "finished" if generation.crash is None else generation.crash.text
