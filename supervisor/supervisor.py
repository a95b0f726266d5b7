"""Keeps children alive: starts them in order, restarts what fails, stops them in reverse.

A supervisor is itself an actor, so supervisors nest. One task runs each child; the nursery that
owns those tasks is the supervisor's, and `run` returns only when all of them are over.
"""

from __future__ import annotations

import contextvars
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any

import attrs
import structlog
import trio

from channels.bus import Bus
from channels.clock import SystemClock, WallClock
from channels.mailbox import Inbox
from channels.messages import CellState, StopReason
from supervisor.cell import Cell, CellInfo, current_path
from supervisor.errors import (
    ChildExists,
    IntensityExceeded,
    NotSupervising,
    RestartFailed,
    StartFailed,
    UnknownChild,
)
from supervisor.operation import Operation
from supervisor.policy import Exhausted, Strategy, affected
from supervisor.spec import Actor, ChildSpec

__all__ = ["Supervisor"]

log = structlog.get_logger("supervisor")


@attrs.define(eq=False)
class Supervisor:
    """Runs `children` under one strategy; its methods may be called from any task of the Trio run.

    `stop_timeout`: seconds for all children together to stop, then what is left is cancelled at
    once. `random` decides the jitter (seed it in tests), `clock` dates crashes.

    Raises ValueError for two children of one name, and for quarantine outside of one_for_one: where
    children depend on each other, none can go missing.
    """

    name: str
    _initial: Sequence[ChildSpec] = ()
    bus: Bus = attrs.field(kw_only=True)
    strategy: Strategy = attrs.field(kw_only=True, default=Strategy.ONE_FOR_ONE)
    stop_timeout: float = attrs.field(kw_only=True, default=5.0)
    clock: WallClock = attrs.field(kw_only=True, factory=SystemClock)
    random: Random = attrs.field(kw_only=True, factory=Random)
    path: str = attrs.field(init=False, default="")
    state: CellState = attrs.field(init=False, default=CellState.STARTING)
    _started_at: float | None = attrs.field(init=False, default=None)
    _cells: dict[str, Cell] = attrs.field(init=False, factory=dict)
    _nursery: trio.Nursery | None = attrs.field(init=False, default=None)
    _context: contextvars.Context = attrs.field(init=False, factory=contextvars.Context)
    _serving: trio.CancelScope = attrs.field(init=False, factory=trio.CancelScope)
    _used: bool = attrs.field(init=False, default=False)
    _reason: StopReason = attrs.field(init=False, default=StopReason.SHUTDOWN)
    _failure: tuple[str, str] | None = attrs.field(init=False, default=None)
    _fallen: dict[str, float] = attrs.field(init=False, factory=dict)
    _regrouping: bool = attrs.field(init=False, default=False)

    def __attrs_post_init__(self) -> None:
        if not self.stop_timeout >= 0:
            raise ValueError(f"stop_timeout must not be negative: {self.stop_timeout}")
        names = [spec.name for spec in self._initial]
        if len(set(names)) != len(names):
            raise ValueError(f"{self.name}: two children of one name among {names}")
        for spec in self._initial:
            self._check(spec)

    async def run(
        self,
        inbox: Inbox | None = None,
        *,
        task_status: trio.TaskStatus[Any] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Start the children in order, then supervise until `inbox` is drained or `shutdown`.

        Infrastructure (exhausted=ESCALATE) must be ready before the next child starts; of a child
        that can be quarantined only the first attempt is waited for. A cancel cancels every child
        at once, without drain or grace.

        Raises IntensityExceeded, after an orderly stop, when a child has spent its restarts.
        """
        if self._used:
            raise RuntimeError(f"supervisor {self.name} runs once; make a new one for each run")
        self._used = True
        self.path = current_path.get() or self.name
        self._context = contextvars.copy_context()
        try:
            async with trio.open_nursery(strict_exception_groups=True) as self._nursery:
                with self._serving:
                    await self._serve(inbox, task_status)
                    self._pass_on(inbox)
                await self._stop_children()
                self._nursery.cancel_scope.cancel(reason="all children have stopped")
        finally:
            self.state, self._nursery = CellState.STOPPED, None
        if self._failure is not None:
            raise IntensityExceeded(*self._failure)

    def shutdown(self, reason: StopReason = StopReason.SHUTDOWN) -> None:
        """Begin an orderly stop; `run` returns when it is done. Idempotent, not a checkpoint."""
        if not self.stopping:
            self._reason = reason
            self._serving.cancel(reason=reason.value)

    async def start_child(self, spec: ChildSpec) -> int:
        """Add a child after the others and start it; returns its generation.

        Raises ChildExists, NotSupervising, or StartFailed when its first attempt failed: the child
        stays and its policy goes on. A cancel ends the wait only.
        """
        if self.state is not CellState.RUNNING:
            raise NotSupervising(f"supervisor {self.path or self.name} is {self.state.value}")
        self._check(spec)
        if spec.name in self._cells:
            raise ChildExists(f"{self.path} already has a child {spec.name}")
        cell = self._add(spec)
        return await self._started(spec.name, cell.start(Operation(StopReason.STOPPED)))

    async def stop_child(self, name: str, reason: StopReason = StopReason.STOPPED) -> None:
        """Stop a child until `revive` or `restart_child`: drain, grace, cancel, real exit.

        A restart of it under way fails. Its address is gone meanwhile. Raises UnknownChild,
        NotSupervising. A cancel ends the wait only.
        """
        await self._find(name).stop(reason).wait()

    async def remove_child(self, name: str, reason: StopReason = StopReason.REMOVED) -> None:
        """Stop a child and forget it. Raises UnknownChild, NotSupervising. A cancel ends the wait
        only.
        """
        cell = self._find(name)
        cell.end(reason)
        await cell.see_out(reason)

    async def restart_child(
        self,
        name: str,
        *,
        spec: ChildSpec | None = None,
        reason: StopReason = StopReason.RELOAD,
    ) -> int:
        """Replace the running generation, with a new spec if given; returns the new generation.

        The old one is drained, cancelled after its grace, and has really exited before the new one
        is made. Also starts what is stopped, quarantined or waiting to be restarted. Calls for one
        child are served in turn; those that come while an earlier one waits for the exit join it.

        Raises RestartFailed when the new one was not ready in time or a stop came in between; if it
        had a new spec, the previous one is started again (`restored`). Raises UnknownChild,
        NotSupervising, ValueError for a spec of another name or address. A cancel ends the wait
        only.
        """
        cell = self._find(name)
        if spec is not None:
            self._check(spec)
            if (spec.name, spec.address) != (cell.spec.name, cell.spec.address):
                raise ValueError(f"{name}: a restart keeps the name and the address")
        outcome = await cell.restart(Operation(reason, spec)).wait()
        if outcome.generation is None:
            raise RestartFailed(name, outcome.text, restored=outcome.restored)
        return outcome.generation

    async def revive(self, name: str) -> int:
        """Start a child that is stopped or quarantined, its failures forgotten; returns its
        generation. One that runs is left alone.

        Raises StartFailed (the policy goes on), UnknownChild, NotSupervising. A cancel ends the
        wait only.
        """
        operation = Operation(StopReason.STOPPED, fresh=True)
        return await self._started(name, self._find(name).start(operation))

    def actor(self, name: str) -> Actor | None:
        """Return the running actor of a child, None between generations. Raises UnknownChild."""
        return self._known(name).actor

    def cell(self, name: str) -> CellInfo:
        """Describe one child. Raises UnknownChild."""
        return self._known(name).info()

    def tree(self) -> CellInfo:
        """Describe this supervisor and everything below it."""
        return CellInfo(
            name=self.name,
            path=self.path or self.name,
            address=None,
            state=self.state,
            generation=int(self._used),
            restarts=0,
            mailbox=None,
            started_at=self._started_at,
            crashes=(),
            children=tuple(cell.info() for cell in self._cells.values()),
        )

    def child(self, name: str) -> CellInfo | None:
        """Describe one child and what is below it; None when there is none of that name."""
        cell = self._cells.get(name)
        return None if cell is None else cell.info()

    @property
    def stopping(self) -> bool:
        """Whether the stop has begun: no child starts any more."""
        return self._serving.cancel_called

    def spawn(self, function: Callable[..., Awaitable[Any]], *args: Any, name: str = "") -> None:
        """Run a task in this supervisor's nursery, in its context and not in the caller's."""
        assert self._nursery is not None
        self._context.run(self._nursery.start_soon, function, *args, name=name or None)

    def take_over(self, cell: Cell, delay: float) -> bool:
        """Restart the siblings along with a failed child, unless the strategy is one_for_one."""
        if self.strategy is Strategy.ONE_FOR_ONE:
            return False
        self._fallen[cell.spec.name] = delay
        if not self._regrouping:
            self._regrouping = True
            self.spawn(self._regroup)
        return True

    def gave_up(self, cell: Cell, text: str) -> None:
        """A child escalates: stop all others, then fail."""
        if self._failure is None:
            self._failure = cell.path, text
            log.error("supervisor_gives_up", supervisor=self.path, child=cell.path, error=text)
        self.shutdown(StopReason.SIBLING)

    def gone(self, cell: Cell) -> None:
        """A child's task is over: what was removed, and what is temporary, is forgotten."""
        if cell.dismissed and not self.stopping:
            del self._cells[cell.spec.name]

    async def _serve(self, inbox: Inbox | None, task_status: trio.TaskStatus[Any]) -> None:
        for spec in self._initial:
            cell = self._add(spec)
            await cell.start(Operation(StopReason.STOPPED)).wait()
            if spec.exhausted is Exhausted.ESCALATE:
                await cell.first_ready()
            # A stop in the tick of that news does not reach a wait that is over.
            await trio.lowlevel.checkpoint_if_cancelled()
        self.state, self._started_at = CellState.RUNNING, self.clock.now()
        task_status.started()
        if inbox is None:
            await trio.sleep_forever()
        else:
            await inbox.wait_draining()

    def _pass_on(self, inbox: Inbox | None) -> None:
        """Stop the children for the reason this supervisor is stopped for."""
        if inbox is not None and inbox.drain_reason:
            self._reason = StopReason(inbox.drain_reason)

    async def _stop_children(self) -> None:
        self._serving.cancel()
        self.state = CellState.DRAINING
        cells = tuple(reversed(self._cells.values()))
        with trio.move_on_after(self.stop_timeout) as total:
            for cell in cells:
                await cell.see_out(self._reason)
        if total.cancelled_caught:
            late = [cell for cell in cells if not cell.ended]
            log.warning("stop_timeout", supervisor=self.path, late=[cell.path for cell in late])
            for cell in late:
                cell.cut(self._reason)
            for cell in late:
                await cell.see_out(self._reason)

    async def _regroup(self) -> None:
        """Take down and start again, in order, everyone whom the recent failures affect."""
        while self._fallen:
            cells = self._affected()
            for cell in reversed(cells):
                generation = cell.hold()
                if generation is not None:
                    await generation.exited()
            await trio.sleep(max(self._fallen.values()))
            if self._affected() == cells:  # else somebody else fell meanwhile: take in those too
                self._fallen.clear()
                await self._resume(cells)
        self._regrouping = False

    async def _resume(self, cells: Sequence[Cell]) -> None:
        for cell in cells:
            operation = cell.resume()
            if operation is not None:
                await operation.wait()
            if self._fallen:
                return

    def _affected(self) -> tuple[Cell, ...]:
        names = tuple(self._cells)
        fallen = [name for name in names if name in self._fallen]
        if not fallen:
            return ()
        chosen = affected(self.strategy, names, fallen[0])
        return tuple(self._cells[name] for name in chosen)

    def _add(self, spec: ChildSpec) -> Cell:
        cell = self._cells[spec.name] = Cell(spec, f"{self.path}/{spec.name}", self)
        self.spawn(cell.run, name=cell.path)
        return cell

    async def _started(self, name: str, operation: Operation) -> int:
        outcome = await operation.wait()
        if outcome.generation is None:
            raise StartFailed(name, outcome.text)
        return outcome.generation

    def _check(self, spec: ChildSpec) -> None:
        alone = self.strategy is Strategy.ONE_FOR_ONE
        if spec.exhausted is Exhausted.QUARANTINE and not alone:
            raise ValueError(f"{spec.name}: quarantine needs the strategy one_for_one")

    def _check_serving(self) -> None:
        if self._nursery is None or self.stopping:
            raise NotSupervising(f"supervisor {self.path or self.name} is not running")

    def _known(self, name: str) -> Cell:
        try:
            return self._cells[name]
        except KeyError:
            raise UnknownChild(f"{self.path or self.name} has no child {name}") from None

    def _find(self, name: str) -> Cell:
        self._check_serving()
        return self._known(name)
