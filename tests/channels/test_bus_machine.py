"""The bus against a model: sends, answers, cancels, deaths, drains, stops in any order keep P5."""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Awaitable, Callable
from itertools import count
from typing import Any

import attrs
import pytest
import trio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from trio.testing import MockClock, wait_all_tasks_blocked

from channels.bus import Bus
from channels.errors import ActorDied, AskCycle, AskTimeout, MailboxFull, RemoteError, Stopped
from channels.lanes import lane
from channels.mailbox import Inbox, Mailbox, MailboxSpec, Message, Overflow

pytestmark = pytest.mark.promise("P5")

NAMES = ("a", "b", "c")
CAPACITY = 3
names = st.sampled_from(NAMES)


class World:
    """One Trio run in a helper thread; everything else happens in calls into it."""

    def __init__(self) -> None:
        self.clock = MockClock()
        started: queue.Queue[trio.lowlevel.TrioToken] = queue.Queue()
        self.thread = threading.Thread(
            target=lambda: trio.run(self._main, started, clock=self.clock), daemon=True
        )
        self.thread.start()
        self.token = started.get(timeout=10)

    async def _main(self, started: queue.Queue[trio.lowlevel.TrioToken]) -> None:
        self.over = trio.Event()
        async with Bus.open() as self.bus, trio.open_nursery() as self.nursery:
            started.put(trio.lowlevel.current_trio_token())
            await self.over.wait()

    def call(self, action: Callable[[], Awaitable[Any]]) -> Any:
        """Run `action` there and return when all its consequences have settled."""

        async def settled() -> Any:
            result = await action()
            await wait_all_tasks_blocked()
            return result

        return trio.from_thread.run(settled, trio_token=self.token)

    def end(self) -> None:
        async def stop() -> None:
            self.over.set()

        trio.from_thread.run(stop, trio_token=self.token)
        self.thread.join(10)
        assert not self.thread.is_alive(), "a task was left behind"


@attrs.define(eq=False)
class Sent:
    """A message as the model sees it; `expected` is how it must have ended, None while open."""

    number: int
    to: str
    caller: str
    is_ask: bool
    deadline: float = math.inf
    scope: trio.CancelScope = attrs.Factory(trio.CancelScope)
    message: Message | None = None  # when taken by the running generation
    expected: str | None = None
    ends: list[str] = attrs.Factory(list)


@attrs.define(eq=False)
class Address:
    """An actor as the model sees it."""

    mailbox: Mailbox
    inbox: Inbox
    overflow: Overflow
    waiting: list[Sent] = attrs.Factory(list)  # queued or waiting for room, in order of sending
    taken: list[Sent] = attrs.Factory(list)  # asks in the hands of the generation
    in_hand: Sent | None = None  # the last tell it took


class BusMachine(RuleBasedStateMachine):
    """Three actors whose every receive, answer and death is a rule."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.numbers = count()
        self.sent: list[Sent] = []
        self.live: dict[str, Address] = {}
        self.dead = {"unknown": 0, "stopped": 0, "dropped": 0, "interrupted": 0}
        self.seen: dict[int, int] = {}  # deliveries by number
        self.subscriptions: dict[int, list[int]] = {}
        self.heard: dict[int, list[int]] = {}

    @initialize(overflow=st.sampled_from([Overflow.WAIT, Overflow.DROP_OLDEST, Overflow.REJECT]))
    def begin(self, overflow: Overflow) -> None:
        for name in NAMES:
            self.start(name, overflow)

    def start(self, name: str, overflow: Overflow) -> None:
        async def register() -> Address:
            mailbox = Mailbox(MailboxSpec(CAPACITY, overflow))
            self.world.bus.register(name, mailbox)
            return Address(mailbox, mailbox.open_inbox(), overflow)

        self.live[name] = self.world.call(register)

    @precondition(lambda self: len(self.live) < len(NAMES))
    @rule(overflow=st.sampled_from(Overflow))
    def start_again(self, overflow: Overflow) -> None:
        self.start(next(name for name in NAMES if name not in self.live), overflow)

    def close(self, name: str, error: str | None) -> None:
        address = self.live[name]
        for sent in address.taken:
            sent.expected = "ActorDied"
        address.taken.clear()
        if address.in_hand is not None and error is not None:
            self.dead["interrupted"] += 1
        address.in_hand = None
        address.inbox.close(error)

    @rule(name=names, error=st.sampled_from([None, "boom"]), drain=st.booleans())
    def new_generation(self, name: str, error: str | None, drain: bool) -> None:
        if name not in self.live:
            return

        async def replace() -> None:
            address = self.live[name]
            if drain:
                address.inbox.drain()
                await wait_all_tasks_blocked()
            self.close(name, error)
            await wait_all_tasks_blocked()
            address.inbox = address.mailbox.open_inbox()

        self.world.call(replace)

    @rule(name=names)
    def final_stop(self, name: str) -> None:
        if name not in self.live:
            return

        async def stop() -> None:
            self.close(name, "stopped")
            address = self.live.pop(name)
            for sent in address.waiting:
                if sent.is_ask:
                    sent.expected = "Stopped"
                else:
                    self.dead["stopped"] += 1
                    sent.expected = "Stopped" if sent.expected is None else sent.expected
            self.world.bus.unregister(name, "stopped")

        self.world.call(stop)

    def refused(self, sent: Sent) -> bool:
        """Apply what the wires must do at once; returns whether the message goes no further."""
        address = self.live.get(sent.to)
        if address is None:
            self.dead["stopped"] += 1
            sent.expected = "Stopped"
        elif sent.is_ask and self.waits_on(sent.to, sent.caller):
            sent.expected = "AskCycle"
        elif len(address.waiting) < CAPACITY or address.overflow is Overflow.WAIT:
            return False
        elif address.overflow is Overflow.DROP_OLDEST:
            oldest = address.waiting.pop(0)
            if oldest.is_ask:
                oldest.expected = "MailboxFull"
            else:
                self.dead["dropped"] += 1
            return False
        elif address.overflow is Overflow.DROP_NEWEST and not sent.is_ask:
            self.dead["dropped"] += 1
            sent.expected = "sent"
        else:
            sent.expected = "MailboxFull"
        return True

    def waits_on(self, node: str, caller: str) -> bool:
        if node == caller:
            return True
        return any(
            self.waits_on(sent.to, caller)
            for sent in self.sent
            if sent.is_ask and sent.expected is None and sent.caller == node
        )

    def send(self, sent: Sent, act: Callable[[], Awaitable[Any]]) -> None:
        async def run() -> None:
            try:
                with sent.scope, lane(sent.caller):
                    await act()
                    sent.ends.append("replied" if sent.is_ask else "sent")
                if sent.scope.cancelled_caught:
                    sent.ends.append("cancelled")
            except (ActorDied, AskCycle, AskTimeout, MailboxFull, RemoteError, Stopped) as error:
                sent.ends.append(type(error).__name__)

        async def start() -> None:
            self.world.nursery.start_soon(run)

        if not self.refused(sent):
            self.live[sent.to].waiting.append(sent)
        self.sent.append(sent)
        self.world.call(start)
        self.admit(sent.to)

    def admit(self, name: str) -> None:
        """Tells that are within the bound count as sent."""
        if name in self.live:
            for sent in self.live[name].waiting[:CAPACITY]:
                if not sent.is_ask:
                    sent.expected = "sent"

    @rule(to=names, caller=st.sampled_from(["", *NAMES]))
    def tell(self, to: str, caller: str) -> None:
        sent = Sent(next(self.numbers), to, caller, is_ask=False)
        self.send(sent, lambda: self.world.bus.tell(to, sent))

    @rule(
        to=names,
        caller=st.sampled_from(["x", "y", *NAMES]),
        timeout=st.sampled_from([1, 2, 5, math.inf]),
    )
    def ask(self, to: str, caller: str, timeout: float) -> None:
        sent = Sent(next(self.numbers), to, caller, is_ask=True)
        sent.deadline = self.world.clock.current_time() + timeout
        self.send(sent, lambda: self.world.bus.ask(to, sent, timeout=timeout))

    @rule(name=names)
    def receive(self, name: str) -> None:
        if name not in self.live:
            return
        address = self.live[name]

        async def take() -> Message | None:
            with trio.move_on_after(0.5) as scope:
                self.world.nursery.start_soon(self.tick, scope)
                return await address.inbox.receive()
            return None

        address.in_hand = None
        message = self.world.call(take)
        if not address.waiting:
            assert message is None
            return
        sent = address.waiting.pop(0)
        assert message is not None and message.body is sent
        self.seen[sent.number] = self.seen.get(sent.number, 0) + 1
        if sent.is_ask:
            sent.message = message
            address.taken.append(sent)
        else:
            address.in_hand = sent
        self.admit(name)

    async def tick(self, scope: trio.CancelScope) -> None:
        """Give up on the receive once everybody sleeps."""
        await wait_all_tasks_blocked()
        scope.cancel()

    def open_asks(self) -> list[Sent]:
        return [sent for sent in self.sent if sent.is_ask and sent.expected is None]

    def forget(self, sent: Sent) -> None:
        address = self.live[sent.to]
        for place in (address.waiting, address.taken):
            if sent in place:
                place.remove(sent)
        self.admit(sent.to)

    @rule(data=st.data(), good=st.booleans())
    def answer(self, data: st.DataObject, good: bool) -> None:
        taken = [sent for address in self.live.values() for sent in address.taken]
        if not taken:
            return
        sent = data.draw(st.sampled_from(taken), label="answered")
        self.forget(sent)
        sent.expected = "replied" if good else "RemoteError"

        async def act() -> bool:
            assert sent.message is not None
            assert sent.message.wants_reply
            if good:
                return sent.message.reply(1)
            return sent.message.fail(RemoteError("no"))

        assert self.world.call(act)

    @rule(data=st.data())
    def answer_too_late(self, data: st.DataObject) -> None:
        over = [sent for sent in self.sent if sent.message is not None and sent.expected]
        if not over:
            return
        sent = data.draw(st.sampled_from(over), label="answered again")

        async def act() -> bool:
            assert sent.message is not None
            assert not sent.message.wants_reply
            return sent.message.reply("again") or sent.message.fail(RemoteError("again"))

        assert not self.world.call(act)

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        open_sends = [sent for sent in self.sent if sent.expected is None]
        if not open_sends:
            return
        sent = data.draw(st.sampled_from(open_sends), label="cancelled")
        sent.expected = "cancelled"
        self.forget(sent)

        async def act() -> None:
            sent.scope.cancel()

        self.world.call(act)

    @rule(seconds=st.sampled_from([0.5, 1, 3]))
    def time_passes(self, seconds: float) -> None:
        now = self.world.clock.current_time() + seconds
        for sent in self.open_asks():
            if sent.deadline <= now:
                sent.expected = "AskTimeout"
                self.forget(sent)

        async def act() -> None:
            self.world.clock.jump(seconds)
            await trio.lowlevel.checkpoint()

        self.world.call(act)

    @rule()
    def subscribe(self) -> None:
        async def listen(started: trio.Event) -> None:
            with self.world.bus.subscribe("t/*") as subscription:
                key = subscription.id
                self.subscriptions[key], self.heard[key] = [], []
                started.set()
                async for event in subscription:
                    self.heard[key].append(event)

        async def act() -> None:
            started = trio.Event()
            self.world.nursery.start_soon(listen, started)
            await started.wait()

        self.world.call(act)

    @precondition(lambda self: self.subscriptions)
    @rule(data=st.data())
    def unsubscribe(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.subscriptions)), label="unsubscribed")

        async def act() -> bool:
            return self.world.bus.unsubscribe(key)

        assert self.world.call(act)
        assert self.heard.pop(key) == self.subscriptions.pop(key)

    @rule()
    def publish(self) -> None:
        number = next(self.numbers)

        async def act() -> int:
            return self.world.bus.publish("t/x", number)

        assert self.world.call(act) == len(self.subscriptions)
        for expected in self.subscriptions.values():
            expected.append(number)

    @invariant()
    def everything_is_where_the_model_says(self) -> None:
        async def look() -> tuple[Any, Any]:
            return self.world.bus.statistics(), self.world.bus.dead_letters()

        now, letters = self.world.call(look)
        for sent in self.sent:
            assert sent.ends == ([] if sent.expected is None else [sent.expected]), sent
            assert self.seen.get(sent.number, 0) <= 1
        assert dict(letters.by_reason) == {k: n for k, n in self.dead.items() if n}
        assert now.asks.open == now.waits == len(self.open_asks())
        assert now.deadlines == sum(sent.deadline < math.inf for sent in self.open_asks())
        assert set(now.mailboxes) == set(self.live)
        assert set(now.subscriptions) == set(self.subscriptions)
        assert self.heard == self.subscriptions
        for name, address in self.live.items():
            seen = now.mailboxes[name]
            assert seen.depth + seen.waiting_senders == len(address.waiting)
            assert seen.depth == min(CAPACITY, len(address.waiting))
            assert seen.in_flight == len(address.taken) + (address.in_hand is not None)

    def teardown(self) -> None:
        for name in list(self.live):
            self.final_stop(name)
        for key in list(self.subscriptions):
            self.world.call(self._unsubscriber(key))
            self.subscriptions.pop(key), self.heard.pop(key)
        self.everything_is_where_the_model_says()
        assert all(sent.expected for sent in self.sent)
        self.world.end()

    def _unsubscriber(self, key: int) -> Callable[[], Awaitable[Any]]:
        async def act() -> None:
            self.world.bus.unsubscribe(key)

        return act


TestBusMachine = BusMachine.TestCase
TestBusMachine.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
