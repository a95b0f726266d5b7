"""Starts, crashes, reloads, stops, tells, asks and cancels in any order, in virtual time."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from channels.bus import Bus
from channels.errors import BusError, UnknownAddress
from channels.mailbox import Inbox
from channels.messages import CellState, StopReason
from supervisor.cell import CellInfo
from supervisor.errors import SupervisionError
from supervisor.policy import Exhausted, Intensity
from supervisor.spec import ChildSpec
from supervisor.supervisor import Supervisor
from tests.supervisor.kit import STEADY, Status, child

NAMES = ("a", "b", "c")
UP = (CellState.RUNNING, CellState.DRAINING)
DOWN = (CellState.STOPPED, CellState.QUARANTINED)

names = st.sampled_from(NAMES)
modes = st.sampled_from(("good", "slow", "broken", "stuck"))


class Nursery:
    """One Trio run in a thread of its own, in time that moves only when it is told to."""

    def __init__(self) -> None:
        self.clock = trio.testing.MockClock()
        self._ready: SimpleQueue[trio.lowlevel.TrioToken] = SimpleQueue()
        self.errors: list[BaseException] = []
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        self.token = self._ready.get()

    def _run(self) -> None:
        try:
            trio.run(self._main, clock=self.clock)
        except BaseException as error:
            self.errors.append(error)

    async def _main(self) -> None:
        self.over = trio.Event()
        async with trio.open_nursery() as self.nursery:
            self._ready.put(trio.lowlevel.current_trio_token())
            await self.over.wait()

    def do(self, function: Callable[[], Any]) -> Any:
        """Call `function` inside the run, let everything settle, return what it returned."""

        async def step() -> Any:
            value = function()
            await trio.testing.wait_all_tasks_blocked()
            return value

        return trio.from_thread.run(step, trio_token=self.token)

    def close(self) -> None:
        self.token.run_sync_soon(self.over.set)
        self.thread.join(10)
        assert not self.thread.is_alive()
        if self.errors:
            raise self.errors[0]


class Supervision(RuleBasedStateMachine):
    """A root with three possible children; the model is what each call and each ask came to."""

    def __init__(self) -> None:
        super().__init__()
        self.trio = Nursery()
        self.bus = Bus()
        self.root = Supervisor("root", bus=self.bus, stop_timeout=4.0)
        self.alive: Counter[str] = Counter()
        self.heard: Counter[int] = Counter()
        self.told: set[int] = set()
        self.refused = 0
        self.number = 0
        self.asks: dict[int, list[str]] = {}
        self.calls: dict[int, list[str]] = {}
        self.scopes: list[trio.CancelScope] = []
        self.crashed_at: Counter[str] = Counter()
        self.trio.do(lambda: self.trio.nursery.start_soon(self.root.run))

    # What children do.

    def spec(self, name: str, mode: str) -> ChildSpec:
        async def run(inbox: Inbox, status: Status) -> None:
            assert not self.alive[name], "two generations at once"
            self.alive[name] += 1
            try:
                await self.begin(mode, status)
                await self.work(inbox)
            finally:
                self.alive[name] -= 1

        return child(
            name,
            run,
            grace=1.0,
            start_timeout=2.0,
            backoff=STEADY,
            intensity=Intensity(2, 30.0),
            exhausted=Exhausted.QUARANTINE,
        )

    async def begin(self, mode: str, status: Status) -> None:
        if mode == "broken":
            raise OSError("cannot start")
        if mode != "good":
            await trio.sleep(1.0 if mode == "slow" else 99.0)
        status.started()

    async def work(self, inbox: Inbox) -> None:
        async for message in inbox:
            if message.wants_reply:
                if message.body == "hang":
                    await trio.sleep_forever()
                message.reply(message.body)
                continue
            number, verb = message.body
            self.heard[number] += 1
            if verb == "crash":
                raise ValueError("boom")
            if verb == "poison":
                try:
                    await trio.sleep_forever()
                finally:
                    raise KeyError("cleanup")

    # What callers do.

    def call(self, function: Callable[[], Awaitable[object]], *, alone: str) -> None:
        """Run a call in a task; the other children's generations must not change with it."""
        key = self.number = self.number + 1
        results = self.calls[key] = []
        before = self.generations()
        self.spawn(function, results)
        after = self.generations()
        for name in before.keys() & after.keys() - {alone}:
            assert before[name] == after[name], f"{name} noticed a call about {alone}"

    def spawn(self, function: Callable[[], Awaitable[object]], results: list[str]) -> None:
        scope = trio.CancelScope()
        self.scopes.append(scope)

        async def run() -> None:
            with scope:
                try:
                    await function()
                    results.append("done")
                except (BusError, SupervisionError) as error:
                    results.append(type(error).__name__)
            if scope.cancelled_caught:
                results.append("cancelled")

        self.trio.do(lambda: self.trio.nursery.start_soon(run))

    def generations(self) -> dict[str, int]:
        return {info.name: info.generation for info in self.root.tree().children}

    def children(self) -> dict[str, CellInfo]:
        return {info.name: info for info in self.root.tree().children}

    @rule(name=names, mode=modes)
    def start(self, name: str, mode: str) -> None:
        self.call(lambda: self.root.start_child(self.spec(name, mode)), alone=name)

    @rule(name=names, mode=modes)
    def reload(self, name: str, mode: str) -> None:
        spec = self.spec(name, mode)
        self.call(lambda: self.root.restart_child(name, spec=spec), alone=name)

    @rule(name=names)
    def restart(self, name: str) -> None:
        self.call(lambda: self.root.restart_child(name), alone=name)

    @rule(name=names)
    def stop(self, name: str) -> None:
        self.call(lambda: self.root.stop_child(name, StopReason.STOPPED), alone=name)

    @rule(name=names)
    def remove(self, name: str) -> None:
        self.call(lambda: self.root.remove_child(name), alone=name)

    @rule(name=names)
    def revive(self, name: str) -> None:
        self.call(lambda: self.root.revive(name), alone=name)

    @rule(name=names, verb=st.sampled_from(("hello", "hello", "crash", "poison")))
    def tell(self, name: str, verb: str) -> None:
        key = self.number = self.number + 1
        before = self.generations()
        try:
            self.trio.do(lambda: self.bus.tell_nowait(name, (key, verb)))
            self.told.add(key)
        except UnknownAddress:
            self.refused += 1
        after = self.generations()
        assert {n: g for n, g in before.items() if n != name} == {
            n: g for n, g in after.items() if n != name
        }

    @rule(name=names, body=st.sampled_from(("hello", "hang")))
    def ask(self, name: str, body: str) -> None:
        key = self.number = self.number + 1
        results = self.asks[key] = []
        self.spawn(lambda: self.bus.ask(name, body, timeout=7.0), results)
        if name not in self.bus.names():
            assert results

    @precondition(lambda self: self.scopes)
    @rule(data=st.data())
    def cancel_a_caller(self, data: st.DataObject) -> None:
        scope = data.draw(st.sampled_from(range(len(self.scopes))))
        self.trio.do(self.scopes.pop(scope).cancel)

    @rule(seconds=st.sampled_from((0.5, 1.0, 2.5, 10.0, 40.0)))
    def time_passes(self, seconds: float) -> None:
        left = seconds
        while left > 0:  # in small jumps, as timers set off other timers
            self.trio.clock.jump(0.5)
            self.trio.do(lambda: None)
            left -= 0.5

    # What always holds.

    @invariant()
    def a_child_is_registered_exactly_while_it_may_be_reached(self) -> None:
        registered = set(self.bus.names())
        for name, info in self.children().items():
            if info.state in UP:
                assert name in registered
            if info.state in DOWN:
                assert name not in registered
        assert registered <= self.children().keys()

    @invariant()
    def every_ask_and_call_ends_at_most_once(self) -> None:
        assert all(len(results) <= 1 for results in (self.asks | self.calls).values())

    @invariant()
    def nothing_is_heard_twice(self) -> None:
        assert not self.heard or max(self.heard.values()) == 1
        assert self.heard.keys() <= self.told

    @invariant()
    def the_supervisor_lives(self) -> None:
        assert self.root.state is CellState.RUNNING
        assert not self.trio.errors

    def teardown(self) -> None:
        self.trio.do(self.root.shutdown)
        for _ in range(40):
            self.trio.clock.jump(0.5)
            self.trio.do(lambda: None)
        left = self.trio.do(lambda: len(self.trio.nursery.child_tasks))
        self.trio.close()
        assert left == 0
        assert self.bus.names() == ()
        assert not any(self.alive.values())
        assert all(len(results) == 1 for results in (self.asks | self.calls).values())
        statistics = self.bus.statistics()
        assert not statistics.subscriptions
        assert (statistics.waits, statistics.deadlines) == (0, 0)
        self.everything_told_is_accounted_for()

    def everything_told_is_accounted_for(self) -> None:
        letters = self.bus.dead_letters()
        unheard = letters.count - letters.by_reason.get("interrupted", 0)
        asks_refused = sum(
            results[0] in ("UnknownAddress", "Stopped") for results in self.asks.values()
        )
        lost = len(self.told) - len(self.heard)
        assert lost <= unheard - self.refused <= lost + asks_refused


TestSupervision = pytest.mark.promise("P4", "P5")(Supervision.TestCase)
TestSupervision.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
