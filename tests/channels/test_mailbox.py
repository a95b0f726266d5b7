"""Mailboxes: bounds and policies, order, fairness, generations, drain, what a death leaves."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from channels.bus import Bus
from channels.errors import ActorDied, Drained, MailboxFull, Stopped
from channels.mailbox import Inbox, Mailbox, MailboxSpec, Overflow

pytestmark = pytest.mark.promise("P5")


@pytest.fixture
def bus() -> Bus:
    return Bus()


def opened(bus: Bus, name: str = "a", **spec: Any) -> tuple[Mailbox, Inbox]:
    """Register a mailbox and begin its first generation."""
    mailbox = Mailbox(MailboxSpec(**spec))
    bus.register(name, mailbox)
    return mailbox, mailbox.open_inbox()


def bodies(inbox: Inbox) -> list[Any]:
    """Take everything that is queued."""

    def each() -> Iterator[Any]:
        while True:
            try:
                yield inbox.receive_nowait().body
            except trio.WouldBlock:
                return

    return list(each())


@pytest.mark.parametrize("field", ["capacity", "control_capacity"])
def test_a_mailbox_holds_at_least_one_message(field: str) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        MailboxSpec(**{field: 0})


async def test_a_waiting_policy_makes_tell_wait_until_there_is_room(bus: Bus) -> None:
    mailbox, inbox = opened(bus, capacity=1)
    await bus.tell("a", 1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bus.tell, "a", 2)
        await wait_all_tasks_blocked()
        assert mailbox.statistics().waiting_senders == 1
        assert mailbox.statistics().depth == 1
        assert (await inbox.receive()).body == 1
    assert (await inbox.receive()).body == 2
    assert mailbox.statistics().waiting_senders == 0


async def test_a_waiting_policy_refuses_a_tell_that_may_not_wait(bus: Bus) -> None:
    mailbox, _ = opened(bus, capacity=1)
    bus.tell_nowait("a", 1)
    with pytest.raises(MailboxFull, match="a: mailbox full"):
        bus.tell_nowait("a", 2)
    assert mailbox.statistics().rejected == 1
    assert bus.dead_letters().count == 0


async def test_reject_refuses_tells_and_asks_at_once(bus: Bus) -> None:
    mailbox, inbox = opened(bus, capacity=1, overflow=Overflow.REJECT)
    await bus.tell("a", 1)
    with pytest.raises(MailboxFull):
        await bus.tell("a", 2)
    with pytest.raises(MailboxFull):
        await bus.ask("a", 3, timeout=1)
    assert bodies(inbox) == [1]
    assert mailbox.statistics().rejected == 2
    assert bus.statistics().asks.open == 0


async def test_drop_newest_makes_a_dead_letter_of_the_tell_and_fails_the_ask(bus: Bus) -> None:
    mailbox, inbox = opened(bus, capacity=1, overflow=Overflow.DROP_NEWEST)
    bus.tell_nowait("a", 1)
    await bus.tell("a", 2)
    with pytest.raises(MailboxFull):
        await bus.ask("a", 3, timeout=1)
    assert bodies(inbox) == [1]
    assert bus.dead_letters().by_reason == {"dropped": 1}
    assert mailbox.statistics().dropped == 2


async def test_drop_oldest_makes_room_for_the_newest(bus: Bus) -> None:
    mailbox, inbox = opened(bus, capacity=2, overflow=Overflow.DROP_OLDEST)
    for n in range(4):
        await bus.tell("a", n)
    assert bodies(inbox) == [2, 3]
    assert bus.dead_letters().by_reason == {"dropped": 2}
    assert mailbox.statistics().dropped == 2
    assert mailbox.statistics().received == 2


async def test_an_ask_dropped_from_the_queue_fails_at_once(bus: Bus) -> None:
    _, inbox = opened(bus, capacity=1, overflow=Overflow.DROP_OLDEST)
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def asker() -> None:
            with pytest.raises(MailboxFull):
                await bus.ask("a", "first", timeout=9)

        await wait_all_tasks_blocked()
        bus.tell_nowait("a", "second")
    assert bodies(inbox) == ["second"]
    assert bus.dead_letters().count == 0


async def test_the_control_lane_has_room_when_the_mailbox_is_full(bus: Bus) -> None:
    mailbox, inbox = opened(bus, capacity=1)
    bus.tell_nowait("a", "work")
    bus.tell_control_nowait("a", "stop")
    assert mailbox.statistics().control_depth == 1
    assert (await inbox.control.receive()).body == "stop"
    assert (await inbox.receive()).body == "work"


async def test_the_control_lane_is_bounded_too(bus: Bus) -> None:
    _, inbox = opened(bus, control_capacity=1)
    await bus.tell_control("a", 1)
    with pytest.raises(MailboxFull):
        bus.tell_control_nowait("a", 2)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bus.tell_control, "a", 3)
        await wait_all_tasks_blocked()
        assert (await inbox.control.receive()).body == 1
    assert (await inbox.control.receive()).body == 3


async def test_waiting_senders_are_served_in_order_and_not_overtaken(bus: Bus) -> None:
    mailbox, inbox = opened(bus, capacity=1)
    bus.tell_nowait("a", 0)
    async with trio.open_nursery() as nursery:
        for n in (1, 2, 3):
            nursery.start_soon(bus.tell, "a", n)
            await wait_all_tasks_blocked()
        got = []
        while len(got) < 4:
            with pytest.raises(MailboxFull):
                bus.tell_nowait("a", "pushing in")
            got.append((await inbox.receive()).body)
            if mailbox.statistics().waiting_senders == 0 and len(got) == 3:
                break
    assert got == [0, 1, 2]
    assert bodies(inbox) == [3]


async def test_a_talker_lets_others_run(bus: Bus) -> None:
    opened(bus, capacity=10**6)
    turns = 0

    async def talker() -> None:
        while True:
            await bus.tell("a", "blah")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(talker)
        for _ in range(100):
            await trio.lowlevel.checkpoint()
            turns += 1
        nursery.cancel_scope.cancel()
    assert turns == 100


async def test_talkers_on_many_addresses_let_others_run(bus: Bus) -> None:
    for n in range(1000):
        opened(bus, str(n))
    told = 0

    async def talker() -> None:
        nonlocal told
        for n in range(1000):
            await bus.tell(str(n), "blah")
            told += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(talker)
        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        assert 0 < told < 1000


async def test_a_reader_with_a_full_mailbox_lets_others_run(bus: Bus) -> None:
    _, inbox = opened(bus, capacity=1000)
    for n in range(1000):
        bus.tell_nowait("a", n)
    seen: list[int] = []

    async def reader() -> None:
        async for message in inbox:
            seen.append(message.body)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader)
        await trio.lowlevel.checkpoint()
        await trio.lowlevel.checkpoint()
        assert 0 < len(seen) < 1000
        await wait_all_tasks_blocked()
        inbox.drain()
    assert seen == list(range(1000))


async def test_a_tell_burst_without_a_checkpoint_ends_at_the_bound(bus: Bus) -> None:
    opened(bus, capacity=50)
    told = 0
    with pytest.raises(MailboxFull):
        while True:
            bus.tell_nowait("a", told)
            told += 1
    assert told == 50


async def test_many_talkers_all_get_through(bus: Bus) -> None:
    _, inbox = opened(bus, capacity=4)

    async def talker(who: int) -> None:
        for n in range(50):
            await bus.tell("a", (who, n))

    got: list[tuple[int, int]] = []
    async with trio.open_nursery() as nursery:
        for who in range(10):
            nursery.start_soon(talker, who)
        while len(got) < 500:
            got.append((await inbox.receive()).body)
    for who in range(10):
        assert [n for talker, n in got if talker == who] == list(range(50))


async def test_cancelling_a_waiting_sender_leaves_nothing_behind(bus: Bus) -> None:
    mailbox, inbox = opened(bus, capacity=1)
    bus.tell_nowait("a", 1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bus.tell, "a", 2)
        await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert mailbox.statistics().waiting_senders == 0
    assert bodies(inbox) == [1]


async def test_a_cancelled_tell_was_not_queued(bus: Bus) -> None:
    _, inbox = opened(bus)
    with trio.CancelScope() as scope:
        scope.cancel()
        await bus.tell("a", 1)
    assert scope.cancelled_caught
    assert bodies(inbox) == []


@pytest.mark.parametrize("cancel_first", [True, False])
async def test_a_cancel_in_the_tick_of_the_wake_up_loses_no_message(
    bus: Bus, cancel_first: bool
) -> None:
    _, inbox = opened(bus)
    got: list[Any] = []
    scope = trio.CancelScope()

    async def reader() -> None:
        with scope:
            got.append((await inbox.receive()).body)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader)
        await wait_all_tasks_blocked()
        if cancel_first:
            scope.cancel()
            bus.tell_nowait("a", "kept")
        else:
            bus.tell_nowait("a", "kept")
            scope.cancel()
    assert got == []
    assert bodies(inbox) == ["kept"]


async def test_a_reader_that_is_cancelled_before_it_reads_takes_nothing(bus: Bus) -> None:
    _, inbox = opened(bus)
    bus.tell_nowait("a", "kept")
    with trio.CancelScope() as scope:
        scope.cancel()
        await inbox.receive()
    assert scope.cancelled_caught
    assert bodies(inbox) == ["kept"]


async def test_a_sender_admitted_in_the_tick_of_its_cancel_has_sent_once(bus: Bus) -> None:
    _, inbox = opened(bus, capacity=1)
    bus.tell_nowait("a", 1)
    scope = trio.CancelScope()
    done = False

    async def sender() -> None:
        nonlocal done
        with scope:
            await bus.tell("a", 2)
            done = True

    async with trio.open_nursery() as nursery:
        nursery.start_soon(sender)
        await wait_all_tasks_blocked()
        assert inbox.receive_nowait().body == 1
        scope.cancel()
    assert done
    assert bodies(inbox) == [2]


async def test_only_one_task_reads_an_inbox(bus: Bus) -> None:
    _, inbox = opened(bus)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(inbox.receive)
        await wait_all_tasks_blocked()
        with pytest.raises(trio.BusyResourceError):
            await inbox.receive()
        bus.tell_nowait("a", 1)


async def test_reading_without_waiting_says_when_there_is_nothing(bus: Bus) -> None:
    _, inbox = opened(bus)
    with pytest.raises(trio.WouldBlock):
        inbox.receive_nowait()
    inbox.drain()
    with pytest.raises(Drained):
        inbox.receive_nowait()


async def test_a_batch_takes_messages_one_by_one(bus: Bus) -> None:
    mailbox, inbox = opened(bus)
    for n in range(5):
        bus.tell_nowait("a", n)
    batch = await inbox.receive_batch(3)
    assert next(batch).body == 0
    assert mailbox.statistics().depth == 4
    assert [message.body for message in batch] == [1, 2]
    assert mailbox.statistics().depth == 2


async def test_a_crash_inside_a_batch_leaves_the_rest_to_the_next_generation(bus: Bus) -> None:
    mailbox, inbox = opened(bus)
    for n in range(5):
        bus.tell_nowait("a", n)
    batch = await inbox.receive_batch()
    next(batch), next(batch)
    inbox.close("ValueError: boom")
    assert bodies(mailbox.open_inbox()) == [2, 3, 4]
    assert bus.dead_letters().by_reason == {"interrupted": 1}


async def test_a_requeued_message_is_the_next_one(bus: Bus) -> None:
    mailbox, inbox = opened(bus, capacity=2)
    bus.tell_nowait("a", 1)
    bus.tell_nowait("a", 2)
    message = await inbox.receive()
    bus.tell_nowait("a", 3)
    inbox.requeue(message)
    assert mailbox.statistics().in_flight == 0
    assert bodies(inbox) == [1, 2, 3]
    inbox.close("died")
    assert mailbox.statistics().received == 3


async def test_a_requeued_ask_is_answered_by_the_next_generation(bus: Bus) -> None:
    mailbox, inbox = opened(bus)
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def asker() -> None:
            assert await bus.ask("a", "q", timeout=9) == "late but there"

        inbox.requeue(await inbox.receive())
        inbox.close("died")
        (await mailbox.open_inbox().receive()).reply("late but there")


async def test_messages_wait_for_the_next_generation(bus: Bus) -> None:
    mailbox, inbox = opened(bus)
    inbox.close()
    await bus.tell("a", "meanwhile")
    assert (await mailbox.open_inbox().receive()).body == "meanwhile"


async def test_two_generations_never_read_at_once(bus: Bus) -> None:
    mailbox, inbox = opened(bus)
    with pytest.raises(RuntimeError, match="a: the previous generation"):
        mailbox.open_inbox()
    inbox.close()
    mailbox.open_inbox()


async def test_a_generation_that_ends_twice_does_not_end_the_next_one(bus: Bus) -> None:
    mailbox, old = opened(bus)
    old.close("boom")
    mailbox.open_inbox()
    old.close("boom")
    with pytest.raises(RuntimeError):
        mailbox.open_inbox()


async def test_drain_ends_the_iterator_and_keeps_what_is_queued(bus: Bus) -> None:
    mailbox, inbox = opened(bus)
    got = []
    bus.tell_nowait("a", 1)
    bus.tell_nowait("a", 2)
    async for message in inbox:
        got.append(message.body)
        inbox.drain()
    assert got == [1]
    assert inbox.draining
    with pytest.raises(Drained):
        await inbox.receive()
    inbox.close()
    assert bodies(mailbox.open_inbox()) == [2]


async def test_drain_wakes_a_waiting_reader_and_who_waits_for_it(bus: Bus) -> None:
    _, inbox = opened(bus)
    ended = []

    async def reader() -> None:
        with pytest.raises(Drained):
            await inbox.receive()
        ended.append("reader")

    async def watcher() -> None:
        await inbox.wait_draining()
        ended.append("watcher")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader)
        nursery.start_soon(watcher)
        await wait_all_tasks_blocked()
        assert not inbox.draining
        inbox.drain()
    assert sorted(ended) == ["reader", "watcher"]
    await inbox.wait_draining()


async def test_drain_does_not_end_the_control_lane_but_close_does(bus: Bus) -> None:
    _, inbox = opened(bus)
    heard = []

    async def listener() -> None:
        async for message in inbox.control:
            heard.append(message.body)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(listener)
        await wait_all_tasks_blocked()
        inbox.drain()
        bus.tell_control_nowait("a", "stop")
        await wait_all_tasks_blocked()
        assert heard == ["stop"]
        inbox.close()
    assert [message async for message in inbox.control] == []


async def test_a_control_lane_first_used_after_the_end_is_ended(bus: Bus) -> None:
    _, inbox = opened(bus)
    inbox.close()
    with pytest.raises(Drained):
        await inbox.control.receive()


@pytest.mark.parametrize("lane", ["main", "control"])
async def test_the_tell_in_hand_of_a_dead_generation_is_a_dead_letter(bus: Bus, lane: str) -> None:
    mailbox, inbox = opened(bus)
    if lane == "main":
        bus.tell_nowait("a", "work")
        await inbox.receive()
    else:
        bus.tell_control_nowait("a", "work")
        await inbox.control.receive()
    assert mailbox.statistics().in_flight == 1
    inbox.close("ValueError: boom")
    inbox.close("again")
    assert bus.dead_letters().by_reason == {"interrupted": 1}


async def test_the_last_tell_of_a_generation_that_ended_normally_was_handled(bus: Bus) -> None:
    _, inbox = opened(bus)
    bus.tell_nowait("a", "work")
    await inbox.receive()
    inbox.close()
    assert bus.dead_letters().count == 0


async def test_asking_for_the_next_message_finishes_the_previous_one(bus: Bus) -> None:
    _, inbox = opened(bus)
    bus.tell_nowait("a", "work")
    await inbox.receive()
    with trio.move_on_after(0):
        await inbox.receive()
    inbox.close("ValueError: boom")
    assert bus.dead_letters().count == 0


@pytest.mark.parametrize("error", ["ValueError: boom", None])
async def test_asks_in_hand_fail_at_once_when_the_generation_ends(
    bus: Bus, error: str | None
) -> None:
    mailbox, inbox = opened(bus)
    failed = []

    async def asker(body: str) -> None:
        try:
            assert await bus.ask("a", body, timeout=99) == "done"
        except ActorDied as died:
            failed.append((body, died.why))

    async with trio.open_nursery() as nursery:
        for body in ("taken", "answered", "taken too", "queued"):
            nursery.start_soon(asker, body)
            await wait_all_tasks_blocked()
        await inbox.receive()
        (await inbox.receive()).reply("done")
        await inbox.receive()
        assert mailbox.statistics().in_flight == 2
        assert mailbox.statistics().asks_open == 3
        inbox.close(error)
        await wait_all_tasks_blocked()
        why = error or "ended without answering"
        assert sorted(failed) == [("taken", why), ("taken too", why)]
        (await mailbox.open_inbox().receive()).reply("done")
    assert mailbox.statistics().asks_open == 0


async def test_final_stop_fails_what_waits(bus: Bus) -> None:
    mailbox, inbox = opened(bus, capacity=2)
    stopped = []

    async def sender(ask: bool, body: str) -> None:
        try:
            await (bus.ask("a", body, timeout=99) if ask else bus.tell("a", body))
        except Stopped as error:
            stopped.append((body, error.why))

    async with trio.open_nursery() as nursery:
        for ask, body in ((True, "q"), (False, "t"), (True, "waiting q"), (False, "waiting t")):
            nursery.start_soon(sender, ask, body)
            await wait_all_tasks_blocked()
        bus.tell_control_nowait("a", "c")
        inbox.close()
        bus.unregister("a", "removed")
    assert sorted(stopped) == [("q", "removed"), ("waiting q", "removed"), ("waiting t", "removed")]
    assert bus.dead_letters().by_reason == {"stopped": 3}
    assert mailbox.statistics().depth == mailbox.statistics().asks_open == 0


async def test_an_abandoned_ask_is_never_delivered_and_takes_no_room(bus: Bus) -> None:
    mailbox, inbox = opened(bus, capacity=1)
    with trio.move_on_after(0):
        await bus.ask("a", "abandoned", timeout=99)
    assert mailbox.statistics().depth == 0
    bus.tell_nowait("a", "kept")
    assert bodies(inbox) == ["kept"]


async def test_an_abandoned_ask_makes_room_for_a_waiting_sender(bus: Bus) -> None:
    mailbox, inbox = opened(bus, capacity=1)
    scope = trio.CancelScope()

    async def asker() -> None:
        with scope:
            await bus.ask("a", "abandoned", timeout=99)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(asker)
        await wait_all_tasks_blocked()
        nursery.start_soon(bus.tell, "a", "admitted")
        await wait_all_tasks_blocked()
        assert mailbox.statistics().waiting_senders == 1
        scope.cancel()
    assert bodies(inbox) == ["admitted"]


async def test_an_ask_that_waits_for_room_can_be_abandoned(bus: Bus) -> None:
    mailbox, inbox = opened(bus, capacity=1)
    bus.tell_nowait("a", 1)
    with trio.move_on_after(0):
        await bus.ask("a", "abandoned", timeout=99)
    assert mailbox.statistics().waiting_senders == 0
    assert bodies(inbox) == [1]


async def test_abandoned_asks_do_not_pile_up_in_a_mailbox_nobody_reads(bus: Bus) -> None:
    mailbox, _ = opened(bus)
    for n in range(1000):
        with trio.move_on_after(0):
            await bus.ask("a", n, timeout=99)
    assert mailbox.statistics().depth == 0
    gc.collect()
    kept = [thing for thing in gc.get_referents(mailbox.queue) if isinstance(thing, deque)]
    assert sum(map(len, kept)) < 100


OPERATIONS = st.lists(st.sampled_from(["tell", "ask", "abandon", "take", "crash"]), max_size=60)


@given(OPERATIONS, st.integers(1, 5), st.sampled_from(list(Overflow)))
def test_a_mailbox_keeps_order_bound_and_count(
    operations: list[str], capacity: int, overflow: Overflow
) -> None:
    """Every message is delivered once in order, refused, dropped or abandoned: nothing else."""

    async def main() -> None:
        bus = Bus()
        mailbox, inbox = opened(bus, capacity=capacity, overflow=overflow)
        model: list[int] = []  # what is queued, oldest first
        scopes: dict[int, trio.CancelScope] = {}

        async def asker(body: int) -> None:
            with scopes[body]:
                try:
                    await bus.ask("a", body, timeout=99)
                except (MailboxFull, ActorDied):
                    scopes.pop(body)

        async with trio.open_nursery() as nursery:
            for body, operation in enumerate(operations):
                full = len(model) >= capacity
                if operation == "tell":
                    try:
                        bus.tell_nowait("a", body)
                    except MailboxFull:
                        assert full and overflow in (Overflow.WAIT, Overflow.REJECT)
                    else:
                        if full and overflow is Overflow.DROP_OLDEST:
                            model.pop(0)
                        if not full or overflow is Overflow.DROP_OLDEST:
                            model.append(body)
                elif operation == "ask" and not (full and overflow is Overflow.WAIT):
                    scopes[body] = trio.CancelScope()
                    nursery.start_soon(asker, body)
                    if full and overflow is Overflow.DROP_OLDEST:
                        model.pop(0)
                    if not full or overflow is Overflow.DROP_OLDEST:
                        model.append(body)
                elif operation == "abandon" and scopes:
                    victim = next(iter(scopes))
                    scopes.pop(victim).cancel()
                    if victim in model:
                        model.remove(victim)
                elif operation == "take":
                    if model:
                        assert inbox.receive_nowait().body == model.pop(0)
                    else:
                        with pytest.raises(trio.WouldBlock):
                            inbox.receive_nowait()
                elif operation == "crash":
                    inbox.close("boom")
                    inbox = mailbox.open_inbox()
                await wait_all_tasks_blocked()
                assert mailbox.statistics().depth == len(model) <= capacity
            assert bodies(inbox) == model
            nursery.cancel_scope.cancel()
        assert mailbox.statistics().asks_open == 0

    trio.run(main)


async def test_a_mailbox_can_grow_and_those_who_wait_come_in_order() -> None:
    bus = Bus()
    mailbox = Mailbox(MailboxSpec(capacity=1))
    bus.register("a", mailbox)
    async with trio.open_nursery() as nursery:
        await bus.tell("a", 0)
        for number in (1, 2, 3):
            nursery.start_soon(bus.tell, "a", number)
            await trio.testing.wait_all_tasks_blocked()
        mailbox.resize(MailboxSpec(capacity=3))
        assert mailbox.statistics().depth == 3
        assert mailbox.statistics().waiting_senders == 1
        inbox = mailbox.open_inbox()
        assert [(await inbox.receive()).body for _ in range(4)] == [0, 1, 2, 3]


async def test_a_mailbox_that_shrinks_keeps_what_is_queued() -> None:
    bus = Bus()
    mailbox = Mailbox(MailboxSpec(capacity=3))
    bus.register("a", mailbox)
    for number in range(3):
        bus.tell_nowait("a", number)
    mailbox.resize(MailboxSpec(capacity=1, overflow=Overflow.REJECT))
    with pytest.raises(MailboxFull):
        bus.tell_nowait("a", 3)
    inbox = mailbox.open_inbox()
    assert [(await inbox.receive()).body for _ in range(3)] == [0, 1, 2]
    bus.tell_nowait("a", 4)
