"""Numbered happenings in a ring: one writer that never waits, readers at their own pace.

What happens is kept as it came. It becomes bytes when the first reader wants it, once for all of
them: what nobody reads costs no encoding.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import attrs
import trio

from supervisor.desk.encoding import encode
from supervisor.desk.office import Office

__all__ = ["TOPICS", "Entry", "Feed", "Lagged", "Reader", "matches"]

TOPICS = ("rooms/*", "supervision")
CAPACITY = 16_384  # three seconds at 5 000/s, then some 8 MB of short messages
KEPT, KEPT_SECONDS = 1024, 10.0  # so many stay, whatever their age; others until the next look
_TOPICS_KNOWN = 1024  # that one reader remembers to want, or not
_STRETCH = 512  # that are passed or let go without letting others run


class Lagged(Exception):
    """A reader asked for what the ring no longer holds: it was too slow, or away too long."""


@attrs.define(eq=False)
class Entry:
    """One happening; `event` is None once it is encoded."""

    number: int
    topic: str
    event: Any
    _frame: bytes | None = None

    def frame(self, boot: str) -> bytes:
        """Return it as a server-sent event; encoded by the first call, kept for the others."""
        if self._frame is None:
            parts = (_head(self.topic, boot), self.number, encode(self.event))
            self._frame = b"%s%d\ndata: %s\n\n" % parts
            self.event = None
        return self._frame


@lru_cache(maxsize=1024)
def _head(topic: str, boot: str) -> bytes:
    return f"event: {' '.join(topic.split())}\nid: {boot}.".encode("utf-8", "replace")


def matches(topic: str, patterns: Iterable[str]) -> bool:
    """Return whether a topic is one of the patterns (exact, or a prefix before a trailing `*`)."""
    return any(
        topic.startswith(pattern[:-1]) if pattern.endswith("*") else topic == pattern
        for pattern in patterns
    )


class Feed:
    """The last `capacity` happenings of the bus, each with an id `BOOT.NUMBER`.

    The boot part is random per feed, so that an id kept from before a restart is recognised. While
    it runs, what a flood has left is let go after a while, all but the last `KEPT`.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self.boot = secrets.token_hex(4)
        self._ring: list[Entry | None] = [None] * capacity
        self._last = 0
        self._oldest = 0
        self._sleepers: dict[Reader, None] = {}  # in the order in which they fell asleep
        self.readers = 0  # event streams that are open now

    @property
    def last(self) -> int:
        """The number of the newest happening, 0 before the first."""
        return self._last

    def id(self, number: int) -> str:
        """Return the public id of a number."""
        return f"{self.boot}.{number}"

    def number(self, event_id: str) -> int | None:
        """Return the number of a public id, or None when this feed never gave it."""
        boot, _, number = event_id.partition(".")
        if boot != self.boot or not (number.isascii() and number.isdigit() and len(number) < 19):
            return None
        return int(number) if int(number) <= self._last else None

    def add(self, topic: str, event: Any) -> None:
        """Append a happening and wake the readers that want it. Never waits, encodes nothing."""
        self._last = number = self._last + 1
        self._ring[number % len(self._ring)] = Entry(number, topic, event)
        if number - self._oldest > len(self._ring):
            self._oldest += 1
        if self._sleepers:
            for reader in tuple(self._sleepers):
                reader.heed(topic, number)

    def forget(self, number: int) -> bool:
        """Let go of what came up to a number, all but the last `KEPT`; True if more is to go.

        It stops after a stretch, so that others may run.
        """
        goal = min(number, self._last - KEPT)
        for old in range(self._oldest + 1, min(goal, self._oldest + _STRETCH) + 1):
            self._ring[old % len(self._ring)] = None
            self._oldest = old
        return self._oldest < goal

    def oldest(self) -> int:
        """Return the number before the oldest happening still held: reading from it gives all."""
        return self._oldest

    def reader(self, patterns: Sequence[str], start: int) -> Reader:
        """Return a reader of the topics that match, from the happening after number `start` on."""
        return Reader(self, self._sleepers, patterns, start)

    def after(self, number: int, count: int) -> Iterator[Entry]:
        """Yield up to `count` happenings after a number. Raises Lagged when the first has left."""
        if number < self._oldest:
            raise Lagged
        size = len(self._ring)
        for wanted in range(number + 1, min(self._last, number + count) + 1):
            entry = self._ring[wanted % size]
            assert entry is not None
            yield entry

    async def run(
        self, office: Office, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Copy the bus topics into the ring until cancelled; started once subscribed to all."""
        async with trio.open_nursery() as nursery:
            for topic in TOPICS:
                await nursery.start(self._copy, office, topic)
            nursery.start_soon(self._tidy)
            task_status.started()

    async def _copy(
        self, office: Office, topic: str, *, task_status: trio.TaskStatus[None]
    ) -> None:
        with office.subscribe(topic) as subscription:
            task_status.started()
            async for name, event in subscription:
                self.add(name, event)
        raise RuntimeError(f"the subscription to {topic} ended")

    async def _tidy(self) -> None:
        while True:
            seen = self._last
            await trio.sleep(KEPT_SECONDS)
            while self.forget(seen):
                await trio.lowlevel.checkpoint()


@attrs.define(eq=False)
class Reader:
    """One reader's place in the feed; `position` is the number of the last happening it passed."""

    _feed: Feed
    _sleepers: dict[Reader, None]
    _patterns: Sequence[str]
    position: int
    _news: trio.Event = attrs.field(factory=trio.Event, init=False)
    _known: dict[str, bool] = attrs.field(factory=dict, init=False)

    def wants(self, topic: str) -> bool:
        """Return whether one of its patterns matches."""
        wanted = self._known.get(topic)
        if wanted is None:
            if len(self._known) >= _TOPICS_KNOWN:
                self._known.clear()
            wanted = self._known[topic] = matches(topic, self._patterns)
        return wanted

    async def wait(self) -> None:
        """Wait until there is something for it to `take`. A cancel loses nothing.

        Raises Lagged as `take` does.
        """
        await trio.lowlevel.checkpoint_if_cancelled()
        while self.position < self._feed.last:
            if self._skip():
                return
            await trio.lowlevel.checkpoint()
        self._news = trio.Event()
        self._sleepers[self] = None
        try:
            await self._news.wait()
        finally:
            self._sleepers.pop(self, None)

    def heed(self, topic: str, number: int) -> None:
        """Hear of a happening while asleep: all that came before it was for others."""
        self.position = number
        if self.wants(topic):
            self.position -= 1
            del self._sleepers[self]
            self._news.set()

    def take(self, count: int, size: int) -> bytes:
        """Return the next events that it wants, encoded: at most `count`, and about `size` bytes.

        Empty when nothing newer is near: `wait` goes on from there. Raises Lagged when the next has
        left the ring.
        """
        frames: list[bytes] = []
        for entry in self._feed.after(self.position, _STRETCH):
            if self.wants(entry.topic):
                if len(frames) >= count or size <= 0:
                    break
                frames.append(entry.frame(self._feed.boot))
                size -= len(frames[-1])
            self.position = entry.number
        return b"".join(frames)

    def _skip(self) -> bool:
        """Pass what it does not want, a stretch at most; return whether it wants the next."""
        for entry in self._feed.after(self.position, _STRETCH):
            if self.wants(entry.topic):
                return True
            self.position = entry.number
        return False
