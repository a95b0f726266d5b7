"""A stop, a cancel, or a caller that gives up, at every single step of a busy story."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from random import Random

import attrs
import pytest
import trio
import trio.testing

from channels.bus import Bus
from channels.errors import BusError
from channels.messages import CellState
from supervisor.cell import CellInfo
from supervisor.errors import SupervisionError
from supervisor.policy import Exhausted, Strategy
from supervisor.spec import ChildSpec
from supervisor.supervisor import Supervisor
from supervisor.testkit.orders import run_in_order
from tests.supervisor.kit import STEADY, broken, child, deaf

QUARANTINE = Exhausted.QUARANTINE
ORDERS = 3

Sweep = Callable[[int | None], Awaitable[int]]


class AtStep(trio.abc.Instrument):
    """Calls `strike` once, after the n-th step of any task."""

    def __init__(self, n: int | None, strike: Callable[[], None]) -> None:
        self.n, self.strike, self.steps = n, strike, 0

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += 1
        if self.steps == self.n:
            self.strike()


@attrs.define
class Story:
    """Calls of every kind against a small tree; `ended` has one entry for each ask begun."""

    bus: Bus = attrs.field(factory=Bus)
    begun: int = 0
    ended: list[str] = attrs.field(factory=list)
    root: Supervisor = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.root = Supervisor("root", self._children(), bus=self.bus, stop_timeout=3.0)

    async def tell_all(self) -> None:
        """The story; errors of the bus and of supervision are part of it."""
        root = self.root
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.ask, "a", "hang")
            nursery.start_soon(self.ask, "b", 1)
            await self.passes(lambda: root.restart_child("a", spec=child("a", grace=0.5)))
            await self.passes(lambda: root.restart_child("a", spec=child("a", broken)))
            await self.passes(lambda: self.bus.tell("a", "crash"))
            nursery.start_soon(self.ask, "a", 1)
            await self.passes(lambda: self.bus.tell("x1", "crash"))
            await self.passes(lambda: root.stop_child("b"))
            await self.passes(lambda: root.revive("b"))
            await self.passes(lambda: root.start_child(child("c", deaf, grace=0.5)))
            nursery.start_soon(self.passes, lambda: root.restart_child("c"))
            await self.passes(lambda: root.remove_child("c"))
        await trio.sleep(5)

    async def ask(self, to: str, body: object) -> None:
        self.begun += 1
        try:
            await self.bus.ask(to, body, timeout=4)
            self.ended.append("reply")
        except BusError as error:
            self.ended.append(type(error).__name__)
        except trio.Cancelled:
            self.ended.append("cancelled")
            raise

    async def passes(self, call: Callable[[], Awaitable[object]]) -> None:
        try:
            await call()
        except (BusError, SupervisionError) as error:
            assert str(error)

    def _children(self) -> list[ChildSpec]:
        group = [child("x1", backoff=STEADY), child("x2")]
        return [
            child("a", exhausted=QUARANTINE, grace=0.5),
            ChildSpec(
                "x",
                lambda: Supervisor("x", group, bus=self.bus, strategy=Strategy.ONE_FOR_ALL),
            ),
            child("b"),
        ]

    def is_over(self) -> None:
        """Nothing of it is left."""
        assert self.bus.names() == ()
        assert len(self.ended) == self.begun
        statistics = self.bus.statistics()
        assert (statistics.waits, statistics.deadlines) == (0, 0)
        assert not statistics.subscriptions
        assert set(flat(self.root.tree())) == {CellState.STOPPED}


def flat(info: CellInfo) -> list[CellState]:
    return [info.state, *(state for inner in info.children for state in flat(inner))]


async def cancelled(n: int | None) -> int:
    """Cancel the supervisor and all callers together."""
    story = Story()
    with trio.CancelScope() as scope:
        instrument = AtStep(n, scope.cancel)
        trio.lowlevel.add_instrument(instrument)
        async with trio.open_nursery() as nursery:
            await nursery.start(story.root.run)
            await story.tell_all()
            story.root.shutdown()
    trio.lowlevel.remove_instrument(instrument)
    story.is_over()
    return instrument.steps


async def shut_down(n: int | None) -> int:
    """Stop in an orderly way while the callers go on."""
    story = Story()
    instrument = AtStep(n, story.root.shutdown)
    trio.lowlevel.add_instrument(instrument)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(story.root.run)
        await trio.testing.wait_all_tasks_blocked()
        begun = trio.current_time()
        await story.tell_all()
        story.root.shutdown()
    trio.lowlevel.remove_instrument(instrument)
    assert trio.current_time() - begun < 20
    story.is_over()
    return instrument.steps


async def given_up(n: int | None) -> int:
    """Cancel only the callers; what they asked for must end by itself in a whole state."""
    story = Story()
    callers = trio.CancelScope()
    instrument = AtStep(n, callers.cancel)
    async with trio.open_nursery() as nursery:
        await nursery.start(story.root.run)
        trio.lowlevel.add_instrument(instrument)
        with callers:
            await story.tell_all()
        trio.lowlevel.remove_instrument(instrument)
        await trio.sleep(20)
        resting = {info.name: info.state for info in story.root.tree().children}
        assert resting.pop("b") in (CellState.RUNNING, CellState.STOPPED)
        assert set(resting.values()) == {CellState.RUNNING}
        assert await story.bus.ask("a", "well", timeout=1) == "well"
        assert await story.bus.ask("x2", "well", timeout=1) == "well"
        story.root.shutdown()
    story.is_over()
    return instrument.steps


@pytest.mark.promise("P4", "P5")
@pytest.mark.parametrize("sweep", [cancelled, shut_down, given_up])
def test_at_every_step_in_several_task_orders(sweep: Sweep, seed: int) -> None:
    for order in range(seed, seed + ORDERS):
        steps = run_in_order(lambda _: sweep(None), seed=order)
        assert steps > 50
        for n in range(1, steps + 1):
            try:
                run_in_order(partial(at, sweep, n), seed=order)
            except BaseException as error:
                raise AssertionError(f"{sweep.__name__} at step {n} of order {order}") from error


async def at(sweep: Sweep, n: int, _: Random) -> int:
    return await sweep(n)
