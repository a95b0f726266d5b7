"""Sending what waits in the outbox: in order within a room, rooms side by side."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from typing import Final

import attrs
import structlog
import trio

from channels.bus import Bus
from channels.crashpoints import crash_point, declare_crash_points
from channels.errors import RemoteError
from channels.mailbox import Message
from channels.messages import Refused, Sent
from channels.outbox import Outbox, OutboxRow
from channels.rooms import Transport, TransportError

__all__ = ["Backoff", "Sender", "settle"]

declare_crash_points("connection.before_send", "connection.after_send", "connection.after_mark")

SENT_TOPIC: Final = "sent"
REFUSED_TOPIC: Final = "refused"

_log = structlog.get_logger("actors.connection")


@attrs.frozen
class Backoff:
    """How long to wait before try `n` (0, 1, ...) after a failure, in seconds, with jitter."""

    initial: float = 0.5
    factor: float = 2.0
    maximum: float = 30.0
    jitter: float = 0.2

    def delay(self, tries: int, wish: float | None, rng: random.Random) -> float:
        """Return the pause; at least what the server wished for (`Retry-After`)."""
        delay = min(self.initial * self.factor ** min(tries, 32), self.maximum)
        delay *= 1 + self.jitter * (2 * rng.random() - 1)
        return max(delay, wish or 0.0)


async def settle(work: Callable[[], Awaitable[None]], patience: float) -> None:
    """Run `work` to its end although a cancel comes: from then on it has `patience` seconds more.

    Raises what `work` raises, and lets the cancel through afterwards.
    """
    shield = trio.CancelScope(shield=True)
    failed: list[TransportError] = []

    async def do() -> None:
        with shield:
            try:
                await work()
            except TransportError as error:
                failed.append(error)
        nursery.cancel_scope.cancel(reason="settled")

    async def watch() -> None:
        try:
            await trio.sleep_forever()
        finally:
            shield.deadline = trio.current_time() + patience

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        nursery.start_soon(do)
    if failed:
        raise failed.pop()


@attrs.define(eq=False)
class Sender:
    """Drains one agent's outbox through its transport.

    `send_seconds`: the deadline of one send. `settle_seconds`: how long a send in flight may go on
    after a cancel. `on_state(error)` hears of each failure, and with None of each success.
    """

    agent: str
    transport: Transport
    outbox: Outbox
    bus: Bus
    backoff: Backoff
    rng: random.Random
    send_seconds: float
    settle_seconds: float
    on_state: Callable[[TransportError | None], None]
    _busy: set[str] = attrs.field(init=False, factory=set)
    _given_up: set[str] = attrs.field(init=False, factory=set)
    _wake: trio.Event = attrs.field(init=False, factory=trio.Event)
    _closing: bool = attrs.field(init=False, default=False)
    _waiters: dict[int, list[Message]] = attrs.field(init=False, factory=dict)

    async def run(self) -> None:
        """Send rows as they come, until `close()` was called and what can be sent now is sent."""
        async with trio.open_nursery() as nursery:
            while True:
                wake = self._wake = trio.Event()
                by_room: dict[str, list[OutboxRow]] = {}
                for row in await self.outbox.pending(self.agent):
                    by_room.setdefault(row.room, []).append(row)
                for room in by_room.keys() - self._busy - self._given_up:
                    self._busy.add(room)
                    nursery.start_soon(self._send_room, room, by_room[room])
                if self._closing and not self._busy:
                    return
                await wake.wait()

    def flush(self) -> None:
        """Look into the outbox again."""
        self._wake.set()

    def close(self) -> None:
        """Try once more to send what is pending, then end `run`; what fails stays in the outbox."""
        self._closing = True
        self._wake.set()

    async def deliver(self, row_id: int, message: Message) -> None:
        """Answer an ask with the row's event id, at once or when it is sent."""
        self._waiters.setdefault(row_id, []).append(message)
        row = await self.outbox.row(row_id)
        if row is None or row.agent != self.agent:
            self._fail(row_id, f"no outbox row {row_id} of {self.agent}")
        elif row.event_id is not None:
            self._reply(row_id, row.event_id)
        elif row.state == "failed":
            self._fail(row_id, row.last_error or "refused")
        else:
            self.flush()

    async def _send_room(self, room: str, rows: list[OutboxRow]) -> None:
        for row in rows:
            if not await self._send(row):
                self._given_up.add(room)
                break
        self._busy.discard(room)
        self.flush()

    async def _send(self, row: OutboxRow) -> bool:
        """Send one row, trying again through outages; False: closing, and it failed."""
        tries = 0
        while True:
            await trio.lowlevel.checkpoint_if_cancelled()
            try:
                await settle(lambda: self._send_once(row), self.settle_seconds)
            except TransportError as error:
                if error.permanent:
                    await self._refused(row, error)
                    return True
                await self._failed(row, error)
                if self._closing:
                    return False
                await trio.sleep(self.backoff.delay(tries, error.retry_after, self.rng))
                tries += 1
            else:
                return True

    async def _send_once(self, row: OutboxRow) -> None:
        crash_point("connection.before_send")
        event_id = None
        with trio.move_on_after(self.send_seconds):
            event_id = await self.transport.send(row.room, row.content, row.txn_id)
        if event_id is None:
            raise TransportError(f"no answer to a send within {self.send_seconds:g} s")
        crash_point("connection.after_send")
        await self.outbox.mark_sent(row.id, event_id, getattr(self.transport, "device", None))
        crash_point("connection.after_mark")
        self.on_state(None)
        self.bus.publish(SENT_TOPIC, Sent(self.agent, row.room, row.txn_id, event_id))
        self._reply(row.id, event_id)

    async def _failed(self, row: OutboxRow, error: TransportError) -> None:
        self.on_state(error)
        await self.outbox.mark_tried(row.id, str(error))

    async def _refused(self, row: OutboxRow, error: TransportError) -> None:
        _log.error("send_refused", agent=self.agent, room=row.room, row=row.id, error=str(error))
        await self.outbox.mark_failed(row.id, str(error))
        refused = Refused(self.agent, row.room, row.txn_id, str(error))
        self.bus.publish(REFUSED_TOPIC, refused)
        self._fail(row.id, str(error))

    def _reply(self, row_id: int, event_id: str) -> None:
        for message in self._waiters.pop(row_id, ()):
            message.reply(event_id)

    def _fail(self, row_id: int, why: str) -> None:
        for message in self._waiters.pop(row_id, ()):
            message.fail(RemoteError(why))
