"""The bus: an ask ends exactly once, a ring of asks is refused, nothing is lost silently."""

from __future__ import annotations

import gc
import math
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from channels.bus import DEAD_LETTERS, Bus
from channels.errors import (
    ActorDied,
    AskCycle,
    AskTimeout,
    BusError,
    RemoteError,
    Stopped,
    UnknownAddress,
)
from channels.lanes import current_lane, lane
from channels.mailbox import Inbox, Mailbox, MailboxSpec, Message

pytestmark = pytest.mark.promise("P5")


@pytest.fixture(params=["shared timer", "no timer"])
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus]:
    """Both kinds of bus keep the same promises."""
    if request.param == "no timer":
        yield Bus()
    else:
        async with Bus.open() as opened:
            yield opened


def inbox_of(bus: Bus, name: str, **spec: Any) -> Inbox:
    mailbox = Mailbox(MailboxSpec(**spec))
    bus.register(name, mailbox)
    return mailbox.open_inbox()


@asynccontextmanager
async def echoing(bus: Bus, name: str) -> AsyncIterator[None]:
    """An actor that answers every ask with its body."""
    inbox = inbox_of(bus, name)

    async def echo() -> None:
        async for message in inbox:
            message.reply(message.body)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(echo)
        yield
        inbox.drain()
    inbox.close()


def assert_nothing_left(bus: Bus) -> None:
    now = bus.statistics()
    assert (now.asks.open, now.waits, now.deadlines) == (0, 0, 0)
    assert all(mailbox.asks_open == 0 for mailbox in now.mailboxes.values())


def test_an_address_belongs_to_one_mailbox_and_a_mailbox_to_one_address() -> None:
    bus = Bus()
    mailbox = Mailbox()
    bus.register("a", mailbox)
    with pytest.raises(ValueError, match="a: this address is taken"):
        bus.register("a", Mailbox())
    with pytest.raises(ValueError, match="registered as a"):
        bus.register("b", mailbox)
    assert bus.names() == ("a",)


def test_a_stopped_address_can_be_registered_again() -> None:
    bus = Bus()
    mailbox = Mailbox()
    bus.register("a", mailbox)
    assert bus.unregister("a", "stopped")
    assert not bus.unregister("a", "stopped")
    with pytest.raises(Stopped):
        bus.tell_nowait("a", 1)
    bus.register("a", mailbox)
    bus.tell_nowait("a", 1)
    assert mailbox.statistics().depth == 1


async def test_sending_to_nobody_raises_and_counts(bus: Bus) -> None:
    with pytest.raises(UnknownAddress, match="zz: nobody"):
        await bus.tell("zz", 1)
    with pytest.raises(UnknownAddress):
        bus.tell_nowait("zz", 1)
    with pytest.raises(UnknownAddress):
        await bus.tell_control("zz", 1)
    with pytest.raises(UnknownAddress):
        bus.tell_control_nowait("zz", 1)
    with pytest.raises(UnknownAddress):
        await bus.ask("zz", 1, timeout=1)
    assert bus.dead_letters().by_reason == {"unknown": 5}


async def test_sending_to_the_stopped_says_why_and_counts(bus: Bus) -> None:
    inbox_of(bus, "a")
    bus.unregister("a", "removed from the workspace")
    with pytest.raises(Stopped, match="a: removed from the workspace"):
        await bus.tell("a", 1)
    with pytest.raises(Stopped):
        await bus.ask("a", 1, timeout=1)
    assert bus.dead_letters().by_reason == {"stopped": 2}


def test_only_the_last_stops_are_remembered() -> None:
    bus = Bus()
    for n in range(1000):
        bus.register(str(n), Mailbox())
        bus.unregister(str(n), "done")
    with pytest.raises(Stopped):
        bus.tell_nowait("999", 1)
    with pytest.raises(UnknownAddress) as caught:
        bus.tell_nowait("0", 1)
    assert not isinstance(caught.value, Stopped)


def test_every_error_of_the_wires_is_a_bus_error() -> None:
    from channels import errors

    for name in errors.__all__:
        assert issubclass(getattr(errors, name), BusError)


async def test_a_message_names_its_sender(bus: Bus) -> None:
    inbox = inbox_of(bus, "a")
    with lane("asistente/#taller"):
        await bus.tell("a", 1)
    await bus.tell("a", 2)
    assert [inbox.receive_nowait().sender for _ in range(2)] == ["asistente/#taller", ""]


async def test_an_ask_returns_the_reply(bus: Bus) -> None:
    async with echoing(bus, "a"):
        assert await bus.ask("a", {"some": "body"}, timeout=5) == {"some": "body"}
        assert await bus.ask("a", None, timeout=math.inf) is None
    assert bus.statistics().asks.replied == 2
    assert_nothing_left(bus)


async def test_an_ask_raises_what_the_callee_failed_it_with(bus: Bus) -> None:
    inbox = inbox_of(bus, "a")
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def asker() -> None:
            with pytest.raises(RemoteError, match="could not"):
                await bus.ask("a", 1, timeout=5)

        message = await inbox.receive()
        assert message.wants_reply
        assert message.fail(RemoteError("could not"))
        assert not message.wants_reply
    assert bus.statistics().asks.failed == 1
    assert_nothing_left(bus)


async def test_an_ask_times_out_when_its_time_is_over(bus: Bus, autojump_clock: MockClock) -> None:
    inbox_of(bus, "a")
    start = trio.current_time()
    with pytest.raises(AskTimeout, match=r"a: no answer within 2\.5 s"):
        await bus.ask("a", 1, timeout=2.5)
    assert trio.current_time() - start == pytest.approx(2.5)
    assert bus.statistics().asks.timed_out == 1
    assert bus.statistics().mailboxes["a"].depth == 0
    assert_nothing_left(bus)


async def test_asks_time_out_in_order_of_their_deadlines(
    bus: Bus, autojump_clock: MockClock
) -> None:
    inbox_of(bus, "a")
    ended: list[tuple[float, float]] = []
    start = trio.current_time()

    async def asker(timeout: float) -> None:
        with pytest.raises(AskTimeout):
            await bus.ask("a", 1, timeout=timeout)
        ended.append((timeout, round(trio.current_time() - start, 6)))

    async with trio.open_nursery() as nursery:
        for timeout in (5, 1, 3, 2, 4):
            nursery.start_soon(asker, timeout)
            await wait_all_tasks_blocked()
    assert ended == [(n, n) for n in (1, 2, 3, 4, 5)]


async def test_an_ask_may_have_no_time_at_all(bus: Bus, autojump_clock: MockClock) -> None:
    inbox_of(bus, "a")
    with pytest.raises(AskTimeout):
        await bus.ask("a", 1, timeout=0)


@pytest.mark.parametrize("timeout", [-1, math.nan, -math.inf])
async def test_a_timeout_is_a_duration(bus: Bus, timeout: float) -> None:
    inbox_of(bus, "a")
    with pytest.raises(ValueError, match="timeout"):
        await bus.ask("a", 1, timeout=timeout)


async def test_waiting_for_room_counts_as_waiting_for_the_answer(
    bus: Bus, autojump_clock: MockClock
) -> None:
    inbox = inbox_of(bus, "a", capacity=1)
    bus.tell_nowait("a", "in the way")
    with pytest.raises(AskTimeout):
        await bus.ask("a", 1, timeout=1)
    assert bus.statistics().mailboxes["a"].waiting_senders == 0
    assert (await inbox.receive()).body == "in the way"


async def test_a_cancelled_ask_is_over_and_a_late_answer_is_only_counted(bus: Bus) -> None:
    inbox = inbox_of(bus, "a")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: bus.ask("a", 1, timeout=5))
        message = await inbox.receive()
        nursery.cancel_scope.cancel()
    assert not message.wants_reply
    assert not message.reply("too late")
    assert not message.fail(ValueError("too late"))
    asks = bus.statistics().asks
    assert (asks.cancelled, asks.late_replies) == (1, 2)
    assert_nothing_left(bus)


async def test_only_the_first_answer_counts(bus: Bus) -> None:
    inbox = inbox_of(bus, "a")
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def asker() -> None:
            assert await bus.ask("a", 1, timeout=5) == "first"

        message = await inbox.receive()
        assert message.reply("first")
        assert not message.reply("second")
        assert not message.fail(ValueError("third"))
    assert bus.statistics().asks.late_replies == 2


async def test_a_reply_in_the_tick_of_a_cancel_is_still_the_one_end(bus: Bus) -> None:
    inbox = inbox_of(bus, "a")
    got = []
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def asker() -> None:
            got.append(await bus.ask("a", 1, timeout=5))

        message = await inbox.receive()
        message.reply("in time")
        nursery.cancel_scope.cancel()
    assert got == ["in time"]
    asks = bus.statistics().asks
    assert (asks.replied, asks.cancelled) == (1, 0)


async def test_a_tell_has_nobody_to_answer(bus: Bus) -> None:
    inbox = inbox_of(bus, "a")
    await bus.tell("a", 1)
    message = await inbox.receive()
    assert not message.wants_reply
    assert not message.reply(1)
    assert not message.fail(ValueError())


async def test_a_died_callee_fails_its_asks_and_the_next_generation_takes_the_queued(
    bus: Bus,
) -> None:
    mailbox = Mailbox()
    bus.register("a", mailbox)
    inbox = mailbox.open_inbox()
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def first() -> None:
            with pytest.raises(ActorDied, match="a: ValueError: boom"):
                await bus.ask("a", 1, timeout=math.inf)

        await wait_all_tasks_blocked()

        @nursery.start_soon
        async def second() -> None:
            assert await bus.ask("a", 2, timeout=math.inf) == "answered"

        await wait_all_tasks_blocked()
        await inbox.receive()
        inbox.close("ValueError: boom")
        (await mailbox.open_inbox().receive()).reply("answered")
    assert_nothing_left(bus)


async def test_cleanup_under_a_cancel_can_still_ask_and_time_out(
    autojump_clock: MockClock,
) -> None:
    timed_out = False
    with trio.CancelScope() as outer:
        async with Bus.open() as bus:
            inbox_of(bus, "a")
            outer.cancel()
            with trio.CancelScope(shield=True), pytest.raises(AskTimeout):
                await bus.ask("a", 1, timeout=1)
            timed_out = True
    assert timed_out


async def test_asks_still_open_when_the_bus_ends_time_out_then(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery, Bus.open() as bus:
        inbox_of(bus, "a")

        @nursery.start_soon
        async def asker() -> None:
            with pytest.raises(AskTimeout):
                await bus.ask("a", 1, timeout=99)
            assert trio.current_time() < 99

        await wait_all_tasks_blocked()
    assert_nothing_left(bus)


async def test_the_block_of_a_bus_raises_its_own_errors_unwrapped() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with Bus.open():
            raise KeyError("mine")
    with pytest.raises(ExceptionGroup) as caught:
        async with Bus.open():
            raise ExceptionGroup("mine", [KeyError("a"), ValueError("b")])
    assert caught.value.message == "mine"


async def test_a_failed_ask_keeps_neither_its_error_nor_its_body(
    autojump_clock: MockClock,
) -> None:
    class Body:
        pass

    async with Bus.open() as bus:
        mailbox = Mailbox()
        bus.register("a", mailbox)
        body = Body()
        kept: list[weakref.ref[Any]] = [weakref.ref(body)]
        gc.disable()
        try:
            try:
                await bus.ask("a", body, timeout=1)
            except AskTimeout as error:
                kept.append(weakref.ref(error))
            del body
            with pytest.raises(trio.WouldBlock):
                mailbox.open_inbox().receive_nowait()
            assert [ref() for ref in kept] == [None, None]
        finally:
            gc.enable()


async def test_asks_that_ended_do_not_pile_up_in_the_timer() -> None:
    async with Bus.open() as bus, echoing(bus, "a"):
        for n in range(1000):
            await bus.ask("a", n, timeout=3600)
        assert len(bus._asks.deadlines._heap) < 200
        assert bus.statistics().deadlines == 0


async def test_an_ask_of_oneself_is_refused(bus: Bus) -> None:
    inbox_of(bus, "a")
    with lane("a"), pytest.raises(AskCycle, match="a -> a"):
        await bus.ask("a", 1, timeout=5)
    assert_nothing_left(bus)


async def test_an_ask_that_closes_a_ring_is_refused_at_once_and_the_others_go_on(bus: Bus) -> None:
    refused: list[tuple[str, ...]] = []

    async def forward(name: str, to: str) -> None:
        with lane(name):
            message = await inboxes[name].receive()
            try:
                message.reply(await bus.ask(to, message.body, timeout=math.inf))
            except AskCycle as cycle:
                refused.append(cycle.path)
                message.reply("refused")

    inboxes = {name: inbox_of(bus, name) for name in "abc"}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(forward, "a", "b")
        nursery.start_soon(forward, "b", "c")
        nursery.start_soon(forward, "c", "a")
        assert await bus.ask("a", "go", timeout=math.inf) == "refused"
    assert refused == [("c", "a", "b", "c")]
    assert_nothing_left(bus)


async def test_lanes_of_one_actor_do_not_wait_for_each_other(bus: Bus) -> None:
    """Two agents may ask each other when other rooms or tasks of them do the work."""
    a, b = inbox_of(bus, "a"), inbox_of(bus, "b")
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def turn_of_a() -> None:
            with lane("a/#taller"):
                assert await bus.ask("b", "q", timeout=5, lane="t1") == "from a/t2"

        @nursery.start_soon
        async def task_of_b() -> None:
            message = await b.receive()
            with lane("b/t1"):
                message.reply(await bus.ask("a", "q", timeout=5, lane="t2"))

        (await a.receive()).reply("from a/t2")


async def test_the_same_lane_asked_back_is_a_ring(bus: Bus) -> None:
    inbox_of(bus, "a")
    b = inbox_of(bus, "b")
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def turn_of_a() -> None:
            with lane("a/#taller"):
                assert await bus.ask("b", "q", timeout=5, lane="t1") == "no"

        message = await b.receive()
        with lane("b/t1"), pytest.raises(AskCycle):
            await bus.ask("a", "q", timeout=5, lane="#taller")
        message.reply("no")


async def test_who_has_answered_may_ask_back_at_once(bus: Bus) -> None:
    a, b = inbox_of(bus, "a"), inbox_of(bus, "b")
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def actor_a() -> None:
            with lane("a"):
                assert await bus.ask("b", 1, timeout=5) == "b's answer"
                (await a.receive()).reply("a's answer")

        message = await b.receive()
        message.reply("b's answer")
        with lane("b"):
            assert await bus.ask("a", 2, timeout=5) == "a's answer"
    assert_nothing_left(bus)


async def test_who_asks_in_nobodys_name_takes_no_part(bus: Bus) -> None:
    a = inbox_of(bus, "a")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(lambda: bus.ask("a", 1, timeout=5))
        message = await a.receive()
        assert bus.statistics().waits == 0
        message.reply(None)


async def test_a_lane_may_ask_several_at_once(bus: Bus) -> None:
    a, b = inbox_of(bus, "a"), inbox_of(bus, "b")
    async with trio.open_nursery() as nursery:
        with lane("me"):
            nursery.start_soon(lambda: bus.ask("a", 1, timeout=5))
            nursery.start_soon(lambda: bus.ask("a", 1, timeout=5))
            nursery.start_soon(lambda: bus.ask("b", 1, timeout=5))
        await wait_all_tasks_blocked()
        assert bus.statistics().waits == 3
        (await a.receive()).reply(None)
        await wait_all_tasks_blocked()
        inbox_of(bus, "me")
        with lane("a"), pytest.raises(AskCycle):
            await bus.ask("me", 1, timeout=5)
        (await a.receive()).reply(None)
        (await b.receive()).reply(None)
    assert_nothing_left(bus)


def test_a_lane_ends_with_its_block() -> None:
    with lane("outer"):
        with lane("inner"):
            assert current_lane.get() == "inner"
        assert current_lane.get() == "outer"
    assert current_lane.get() == ""


class Secretive:
    def __repr__(self) -> str:
        raise AssertionError("a body must never be shown")

    __str__ = __repr__


async def test_dead_letters_are_text_and_never_show_the_body(bus: Bus) -> None:
    with lane("b"), pytest.raises(UnknownAddress):
        await bus.tell("a", Secretive())
    letter = bus.dead_letters().recent[0]
    assert str(letter) == "unknown: Secretive from b to a"
    assert "Secretive" in repr(Message(Secretive(), "b"))


async def test_dead_letters_are_bounded_but_counted(bus: Bus) -> None:
    for n in range(250):
        with pytest.raises(UnknownAddress):
            bus.tell_nowait(str(n), n)
    letters = bus.dead_letters()
    assert letters.count == 250
    assert [letter.to for letter in letters.recent] == [str(n) for n in range(150, 250)]


async def test_dead_letters_are_published_without_making_more(bus: Bus) -> None:
    with bus.subscribe(DEAD_LETTERS, capacity=1) as letters:
        for to in ("a", "b", "c"):
            with pytest.raises(UnknownAddress):
                bus.tell_nowait(to, 1)
        assert (await letters.receive()).to == "c"
    assert bus.dead_letters().count == 3


async def test_dead_letters_are_dated_by_the_given_clock() -> None:
    class Noon:
        def now(self) -> float:
            return 43200.0

    async with Bus.open(Noon()) as bus:
        with pytest.raises(UnknownAddress):
            bus.tell_nowait("a", 1)
        assert bus.dead_letters().recent[0].at == 43200.0


async def test_statistics_show_everything_that_queues(bus: Bus) -> None:
    inbox_of(bus, "a", capacity=7)
    bus.tell_nowait("a", 1)
    with bus.subscribe("news") as news:
        bus.publish("news", "event")
        now = bus.statistics()
        assert (now.mailboxes["a"].depth, now.mailboxes["a"].capacity) == (1, 7)
        assert now.subscriptions[news.id].depth == 1
        assert now.published == 1
