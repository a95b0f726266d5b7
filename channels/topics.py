"""Publish and subscribe: a publisher never waits, a slow subscriber loses its oldest, counted."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import count
from types import TracebackType
from typing import Any

import attrs
import trio
from trio.lowlevel import checkpoint_if_cancelled

from channels.parking import RUN, Parking

__all__ = ["Subscription", "SubscriptionStatistics", "Topics"]


@attrs.frozen
class SubscriptionStatistics:
    """A subscription at one moment; `received` counts all offers, `dropped` those lost again."""

    topic: str
    depth: int
    capacity: int
    received: int
    dropped: int


@attrs.define(eq=False, repr=False)
class Subscription(Parking):
    """The events of one topic, from entering its `with` block to leaving it or `unsubscribe(id)`.

    An async iterator for one task at a time; it ends quietly when the subscription ends.
    """

    id: int = attrs.field(kw_only=True)
    topic: str = attrs.field(kw_only=True)
    capacity: int = attrs.field(kw_only=True)
    _topics: Topics = attrs.field(kw_only=True)
    _events: deque[Any] = attrs.field(kw_only=True)
    _live: bool = False
    _received: int = 0
    _dropped: int = 0

    def __enter__(self) -> Subscription:
        self._topics.add(self)
        self._live = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._topics.remove(self.id)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> Any:
        await self._wait()
        if not self._live:
            raise StopAsyncIteration
        return self._events.popleft()

    async def receive(self) -> Any:
        """Wait for the next event.

        Raises trio.EndOfChannel once the subscription has ended. A cancel loses no event.
        """
        await self._wait()
        return self.receive_nowait()

    async def receive_some(self) -> Sequence[Any]:
        """Wait for events and take those that are here, at most `RUN`.

        Raises trio.EndOfChannel once the subscription has ended. A cancel loses no event.
        """
        await self._wait()
        if not self._live:
            raise trio.EndOfChannel
        taken = [self._events.popleft() for _ in range(min(RUN, len(self._events)))]
        self.taken += len(taken)
        return taken

    def receive_nowait(self) -> Any:
        """Return the next event; raises trio.WouldBlock without one, EndOfChannel at the end."""
        if not self._live:
            raise trio.EndOfChannel
        if not self._events:
            raise trio.WouldBlock
        return self._events.popleft()

    def statistics(self) -> SubscriptionStatistics:
        """Return a snapshot."""
        return SubscriptionStatistics(
            self.topic, len(self._events), self.capacity, self._received, self._dropped
        )

    def offer(self, event: Any) -> bool:
        """Take one event; returns False when the oldest had to go for it."""
        kept = len(self._events) < self.capacity
        self._received += 1
        self._dropped += not kept
        self._events.append(event)
        self.wake()
        return kept

    def end(self) -> None:
        """End the iterator. What was not read is forgotten."""
        self._live = False
        self._events.clear()
        self.wake()

    async def _wait(self) -> None:
        await checkpoint_if_cancelled()
        self.taken += 1
        if self.taken > RUN:
            await self.pause()
        while self._live and not self._events:
            await self.sleep()


@attrs.define(eq=False)
class Topics:
    """The subscriptions by exact topic and by prefix (`rooms/*`)."""

    published: int = 0
    dropped: int = 0
    _ids: count[int] = attrs.Factory(lambda: count(1))
    _by_id: dict[int, Subscription] = attrs.Factory(dict)
    _exact: dict[str, dict[int, Subscription]] = attrs.Factory(dict)
    _prefix: dict[str, dict[int, Subscription]] = attrs.Factory(dict)

    def subscription(self, topic: str, capacity: int) -> Subscription:
        """Make a subscription; it takes part from its `__enter__` on."""
        if capacity < 1:
            raise ValueError("a subscription holds at least one event")
        return Subscription(
            id=next(self._ids),
            topic=topic,
            capacity=capacity,
            topics=self,
            events=deque(maxlen=capacity),
        )

    def add(self, subscription: Subscription) -> None:
        """Let it take part. Raises RuntimeError when it already did."""
        if subscription.id in self._by_id:
            raise RuntimeError("this subscription is already entered")
        table, key = self._table(subscription.topic)
        self._by_id[subscription.id] = subscription
        table.setdefault(key, {})[subscription.id] = subscription

    def remove(self, id: int) -> bool:
        """End a subscription. Returns False when there is none of this id."""
        subscription = self._by_id.pop(id, None)
        if subscription is None:
            return False
        table, key = self._table(subscription.topic)
        del table[key][id]
        if not table[key]:
            del table[key]
        subscription.end()
        return True

    def publish(self, topic: str, event: Any) -> int:
        """Offer to all that match; returns how many. Never waits, runs no subscriber's code."""
        self.published += 1
        reached = 0
        for subscription in self._exact.get(topic, {}).values():
            self.dropped += not subscription.offer(event)
            reached += 1
        for prefix, subscriptions in self._prefix.items():
            if topic.startswith(prefix):
                for subscription in subscriptions.values():
                    self.dropped += not subscription.offer(event)
                    reached += 1
        return reached

    def all(self) -> tuple[Subscription, ...]:
        """Return the live subscriptions, oldest first."""
        return tuple(self._by_id.values())

    def _table(self, topic: str) -> tuple[dict[str, dict[int, Subscription]], str]:
        if topic.endswith("*"):
            return self._prefix, topic[:-1]
        return self._exact, topic
