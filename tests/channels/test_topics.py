"""Topics: publishing never waits, a slow subscriber pays itself, a subscription leaves nothing."""

from __future__ import annotations

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import wait_all_tasks_blocked

from channels.bus import Bus
from channels.parking import RUN

pytestmark = pytest.mark.promise("P5")


@pytest.fixture
def bus() -> Bus:
    return Bus()


async def test_subscribers_hear_what_is_published_on_their_topic(bus: Bus) -> None:
    with bus.subscribe("rooms/a") as one, bus.subscribe("rooms/b") as other:
        assert bus.publish("rooms/a", 1) == 1
        assert bus.publish("rooms", 2) == 0
        assert await one.receive() == 1
        with pytest.raises(trio.WouldBlock):
            other.receive_nowait()


async def test_a_trailing_star_hears_every_topic_of_that_prefix(bus: Bus) -> None:
    with bus.subscribe("rooms/*") as rooms, bus.subscribe("*") as everything:
        assert bus.publish("rooms/a", 1) == 2
        assert bus.publish("roomsa", 2) == 1
        assert rooms.receive_nowait() == 1
        assert [everything.receive_nowait() for _ in range(2)] == [1, 2]
        with pytest.raises(trio.WouldBlock):
            rooms.receive_nowait()


async def test_a_slow_subscriber_loses_its_oldest_and_it_is_counted(bus: Bus) -> None:
    with bus.subscribe("t", capacity=2) as slow, bus.subscribe("t") as quick:
        for n in range(5):
            bus.publish("t", n)
        assert [slow.receive_nowait() for _ in range(2)] == [3, 4]
        assert slow.statistics().dropped == 3
        assert slow.statistics().received == 5
        assert quick.statistics().dropped == 0
    assert bus.statistics().events_dropped == 3


async def test_some_are_taken_at_once_in_order_and_never_too_many(bus: Bus) -> None:
    with bus.subscribe("rooms/*", capacity=10_000) as events:
        for number in range(3 * RUN + 1):
            bus.publish("rooms/a", number)
        taken = [await events.receive_some() for _ in range(4)]
        assert [len(some) for some in taken] == [RUN, RUN, RUN, 1]
        assert [number for some in taken for number in some] == list(range(3 * RUN + 1))
        with trio.move_on_after(0) as scope:
            await events.receive_some()
        assert scope.cancelled_caught
        bus.publish("rooms/a", "next")
        assert await events.receive_some() == ["next"]
        bus.unsubscribe(events.id)
        with pytest.raises(trio.EndOfChannel):
            await events.receive_some()


async def test_taking_some_of_a_busy_topic_lets_others_run(bus: Bus) -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    with bus.subscribe("t", capacity=100 * RUN) as events:
        for number in range(100 * RUN):
            bus.publish("t", number)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(others)
            for _ in range(100):
                await events.receive_some()
            nursery.cancel_scope.cancel()
    assert turns >= 90


def test_a_subscription_holds_at_least_one_event(bus: Bus) -> None:
    with pytest.raises(ValueError, match="at least one"):
        bus.subscribe("t", capacity=0)


async def test_leaving_the_block_ends_the_subscription(bus: Bus) -> None:
    with bus.subscribe("t") as subscription:
        bus.publish("t", 1)
    assert bus.publish("t", 2) == 0
    assert bus.statistics().subscriptions == {}
    assert [event async for event in subscription] == []
    assert subscription.statistics().depth == 0
    with pytest.raises(trio.EndOfChannel):
        await subscription.receive()


def test_a_subscription_that_is_never_entered_is_never_registered(bus: Bus) -> None:
    bus.subscribe("t")
    assert bus.publish("t", 1) == 0


def test_a_subscription_is_entered_once_at_a_time(bus: Bus) -> None:
    with bus.subscribe("t") as subscription:
        with pytest.raises(RuntimeError, match="already"):
            subscription.__enter__()
        assert bus.publish("t", 1) == 1


async def test_unsubscribe_ends_the_iterator_quietly_and_is_idempotent(bus: Bus) -> None:
    heard = []

    async with trio.open_nursery() as nursery:
        with bus.subscribe("t") as subscription:

            @nursery.start_soon
            async def listener() -> None:
                heard.extend([event async for event in subscription])

            await wait_all_tasks_blocked()
            bus.publish("t", 1)
            await wait_all_tasks_blocked()
            assert bus.unsubscribe(subscription.id)
            assert not bus.unsubscribe(subscription.id)
    assert heard == [1]
    assert not bus.unsubscribe(12345)


async def test_a_crash_of_the_subscriber_ends_its_subscription(bus: Bus) -> None:
    with pytest.raises(KeyError), bus.subscribe("t"):
        raise KeyError
    assert bus.statistics().subscriptions == {}


@pytest.mark.parametrize("cancel_first", [True, False])
async def test_a_cancel_in_the_tick_of_an_event_loses_no_event(
    bus: Bus, cancel_first: bool
) -> None:
    scope = trio.CancelScope()
    with bus.subscribe("t") as subscription:

        async def listener() -> None:
            with scope:
                await subscription.receive()
                raise AssertionError("the cancel must win")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(listener)
            await wait_all_tasks_blocked()
            if cancel_first:
                scope.cancel()
                bus.publish("t", 1)
            else:
                bus.publish("t", 1)
                scope.cancel()
        assert subscription.receive_nowait() == 1


async def test_a_busy_topic_lets_others_run(bus: Bus) -> None:
    heard = 0

    async def listener() -> None:
        nonlocal heard
        async for _ in subscription:
            heard += 1

    with bus.subscribe("t", capacity=1000) as subscription:
        for n in range(1000):
            bus.publish("t", n)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(listener)
            await trio.lowlevel.checkpoint()
            await trio.lowlevel.checkpoint()
            assert 0 < heard < 1000
            await wait_all_tasks_blocked()
            bus.unsubscribe(subscription.id)
    assert heard == 1000


TOPICS = st.text("ab/", max_size=4)


@given(TOPICS, TOPICS, st.booleans())
def test_a_topic_matches_exactly_or_by_prefix(topic: str, pattern: str, star: bool) -> None:
    bus = Bus()
    with bus.subscribe(pattern + "*" * star):
        expected = topic.startswith(pattern) if star else topic == pattern
        assert bus.publish(topic, 1) == expected
