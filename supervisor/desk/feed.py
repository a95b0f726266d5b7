"""Numbered happenings in a ring: one writer that never waits, readers at their own pace."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import attrs
import trio

from supervisor.desk.encoding import encode
from supervisor.desk.office import Office

__all__ = ["TOPICS", "Entry", "Feed", "Lagged", "matches"]

TOPICS = ("rooms/*", "supervision")


class Lagged(Exception):
    """A reader asked for what the ring no longer holds: it was too slow, or away too long."""


@attrs.frozen
class Entry:
    """One happening; `data` is its JSON, encoded once for all readers."""

    number: int
    topic: str
    data: bytes


def matches(topic: str, patterns: Iterable[str]) -> bool:
    """Return whether a topic is one of the patterns (exact, or a prefix before a trailing `*`)."""
    return any(
        topic.startswith(pattern[:-1]) if pattern.endswith("*") else topic == pattern
        for pattern in patterns
    )


class Feed:
    """The last `capacity` happenings of the bus, each with an id `BOOT.NUMBER`.

    The boot part is random per feed, so that an id kept from before a restart is recognised.
    """

    def __init__(self, capacity: int = 1024) -> None:
        self._boot = secrets.token_hex(4)
        self._ring: deque[Entry] = deque(maxlen=capacity)
        self._last = 0
        self._news = trio.Event()
        self.readers = 0  # event streams that are open now

    @property
    def last(self) -> int:
        """The number of the newest happening, 0 before the first."""
        return self._last

    def id(self, number: int) -> str:
        """Return the public id of a number."""
        return f"{self._boot}.{number}"

    def number(self, event_id: str) -> int | None:
        """Return the number of a public id, or None when this feed never gave it."""
        boot, _, number = event_id.partition(".")
        if boot != self._boot or not (number.isascii() and number.isdigit() and len(number) < 19):
            return None
        return int(number) if int(number) <= self._last else None

    def add(self, topic: str, event: Any) -> None:
        """Append a happening and wake the readers. Never waits."""
        self._last += 1
        self._ring.append(Entry(self._last, topic, encode(event)))
        self._news.set()
        self._news = trio.Event()

    def oldest(self) -> int:
        """Return the number before the oldest happening still held: reading from it gives all."""
        return self._last - len(self._ring)

    async def after(self, number: int) -> Sequence[Entry]:
        """Wait until there is something newer than `number` and return all of it.

        Raises Lagged when some of it has already left the ring. Cancelling loses nothing.
        """
        while self._last <= number:
            await self._news.wait()
        if number < self.oldest():
            raise Lagged
        return tuple(islice(self._ring, number - self.oldest(), None))

    async def run(
        self, office: Office, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Copy the bus topics into the ring until cancelled; started once subscribed to all."""
        async with trio.open_nursery() as nursery:
            for topic in TOPICS:
                await nursery.start(self._copy, office, topic)
            task_status.started()

    async def _copy(
        self, office: Office, topic: str, *, task_status: trio.TaskStatus[None]
    ) -> None:
        with office.subscribe(topic) as subscription:
            task_status.started()
            async for name, event in subscription:
                self.add(name, event)
        raise RuntimeError(f"the subscription to {topic} ended")
