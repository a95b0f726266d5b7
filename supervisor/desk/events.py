"""Server-sent events: one reader of the feed, dropped when it lags, never waited for."""

from __future__ import annotations

from collections.abc import Sequence

import trio

from supervisor.desk.boundary import Limits, Receive, Scope, Send, TooSlow
from supervisor.desk.feed import Entry, Feed, Lagged, matches

__all__ = ["EventStream"]

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"x-accel-buffering", b"no"),
]


class EventStream:
    """Answer with the happenings of `topics` that come after the id `since` (None: from now on).

    The first event is `hello`, or `gap` when `since` is unknown or too old: some may be missing,
    and all that the ring still holds follows. Each event's type is its topic, its id `BOOT.NUMBER`.
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
            return "gap", self._feed.oldest()
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
        number = self._start
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        await _write(
            send,
            b"event: %s\nid: %s\ndata: {}\n\n"
            % (self._first.encode(), self._feed.id(number).encode()),
        )
        while True:
            batch: Sequence[Entry] = ()
            with trio.move_on_after(self._limits.heartbeat_seconds):
                batch = await self._feed.after(number)
            if batch:
                number = batch[-1].number
            frames = [self._frame(entry) for entry in batch if matches(entry.topic, self._topics)]
            if frames or not batch:
                await _write(send, b"".join(frames) or b": \n\n")

    def _frame(self, entry: Entry) -> bytes:
        topic = " ".join(entry.topic.split()).encode("utf-8", "replace")
        event_id = self._feed.id(entry.number).encode()
        return b"event: %s\nid: %s\ndata: %s\n\n" % (topic, event_id, entry.data)


async def _write(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _watch(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
