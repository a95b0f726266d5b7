"""Server-sent events: one reader of the feed, bundled and paced, dropped when it lags.

What comes after a quiet moment is written at once, `BURST` times; while more comes, it is bundled
into `WRITES_A_SECOND` writes. Only a write that is full is followed by the next without a pause.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import trio

from supervisor.desk.boundary import Limits, Receive, Scope, Send, TooSlow
from supervisor.desk.feed import KEPT, Feed, Lagged, Reader

__all__ = ["BURST", "WRITES_A_SECOND", "EventStream"]

BURST, WRITES_A_SECOND = 4, 10  # at once: a question, its answer and what else a turn tells
RETRY_MS = 1000  # what a browser waits before it connects again
CHUNK_EVENTS, CHUNK_BYTES = 32, 32 << 10  # encoded in a row, without letting others run
WRITE_BYTES = 256 << 10

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """Answer with the happenings of `topics` that come after the id `since` (None: from now on).

    The first event is `hello`, or `gap` when `since` is unknown or too old: some may be missing,
    and the latest that the ring holds follow. Each event's type is its topic, its id `BOOT.NUMBER`.
    """

    def __init__(
        self, feed: Feed, limits: Limits, topics: Sequence[str], since: str | None
    ) -> None:
        self._feed = feed
        self._limits = limits
        self._topics = topics
        self._first, self._start = self._opening(since)

    def _opening(self, since: str | None) -> tuple[str, int]:
        if since is None:
            return "hello", self._feed.last
        number = self._feed.number(since)
        if number is None or number < self._feed.oldest():
            return "gap", max(self._feed.oldest(), self._feed.last - KEPT)
        return "hello", number

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Stream until the peer goes away. Raises TooSlow for a reader that lags."""
        self._feed.readers += 1
        try:
            await self._until_gone(receive, send)
        finally:
            self._feed.readers -= 1

    async def _until_gone(self, receive: Receive, send: Send) -> None:
        lagged = False
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_watch, receive, nursery.cancel_scope)
            try:
                await self._pump(send)
            except (Lagged, TooSlow):
                lagged = True
            nursery.cancel_scope.cancel()
        if lagged:
            raise TooSlow

    async def _pump(self, send: Send) -> None:
        reader = self._feed.reader(self._topics, self._start)
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        opening = (RETRY_MS, self._first.encode(), self._feed.id(self._start).encode())
        await _write(send, b"retry: %d\nevent: %s\nid: %s\ndata: {}\n\n" % opening)
        pace = _Pace()
        while True:
            with trio.move_on_after(self._limits.heartbeat_seconds) as quiet:
                await reader.wait()
            if quiet.cancelled_caught:
                await _write(send, b": \n\n")
                continue
            data = await _bundle(reader)
            await _write(send, data)
            if len(data) < WRITE_BYTES:
                await pace.keep()


class _Pace:
    """A credit of `BURST` writes that fills up again by `WRITES_A_SECOND`."""

    def __init__(self) -> None:
        self._due = -math.inf  # when all writes so far would have ended at the even pace

    async def keep(self) -> None:
        """Count a write; without credit, wait until the next one is due."""
        now, gap = trio.current_time(), 1 / WRITES_A_SECOND
        self._due = max(self._due, now - BURST * gap) + gap
        if self._due > now:
            await trio.sleep_until(self._due)


async def _bundle(reader: Reader) -> bytes:
    """Return what has come, up to `WRITE_BYTES` or a little more; others run between chunks."""
    data = bytearray()
    while len(data) < WRITE_BYTES and (chunk := reader.take(CHUNK_EVENTS, CHUNK_BYTES)):
        data += chunk
        await trio.lowlevel.checkpoint()
    return bytes(data)


async def _write(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _watch(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
