"""What waits for one actor, across its generations, and the inbox that each generation reads."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import trio
from trio.lowlevel import checkpoint_if_cancelled

from channels.envelopes import Ask, Message
from channels.errors import ActorDied, Drained
from channels.parking import RUN
from channels.queueing import Lost, Overflow, Queue

__all__ = [
    "ControlInbox",
    "Inbox",
    "Mailbox",
    "MailboxSpec",
    "MailboxStatistics",
    "Message",
    "Overflow",
]


def _at_least_one(instance: object, attribute: attrs.Attribute[int], value: int) -> None:
    if value < 1:
        raise ValueError(f"{attribute.name} must be at least 1")


@attrs.frozen
class MailboxSpec:
    """How much a mailbox holds and what it does when full. The control lane always waits."""

    capacity: int = attrs.field(default=1024, validator=_at_least_one)
    overflow: Overflow = Overflow.WAIT
    control_capacity: int = attrs.field(default=256, validator=_at_least_one)


@attrs.frozen
class MailboxStatistics:
    """A mailbox at one moment. Counters run from the mailbox's creation, over all generations.

    `in_flight`: taken by the running generation and not done with; `asks_open`: asks that wait here
    or are in flight; `dropped` and `rejected`: by the overflow policy.
    """

    depth: int
    capacity: int
    control_depth: int
    received: int
    dropped: int
    rejected: int
    waiting_senders: int
    in_flight: int
    asks_open: int


@attrs.define(eq=False)
class Mailbox:
    """A bounded queue and a control queue beside it. Belongs to a cell; survives generations."""

    spec: MailboxSpec = attrs.field(factory=MailboxSpec)
    queue: Queue = attrs.field(init=False)
    _control: Queue | None = attrs.field(init=False, default=None)
    _inbox: Inbox | None = attrs.field(init=False, default=None)

    def __attrs_post_init__(self) -> None:
        self.queue = Queue(capacity=self.spec.capacity, overflow=self.spec.overflow)

    @property
    def address(self) -> str:
        """The name it is registered under; "" when it is not."""
        return self.queue.address

    @property
    def control(self) -> Queue:
        """The control queue, made when first used: most actors never hear a control message."""
        if self._control is None:
            self._control = Queue(
                capacity=self.spec.control_capacity,
                overflow=Overflow.WAIT,
                address=self.queue.address,
                lost=self.queue.lost,
            )
        return self._control

    def bind(self, address: str, lost: Lost) -> None:
        """Called by the bus: take the name, and report dead letters to it."""
        for queue in self._queues():
            queue.address = address
            queue.lost = lost

    def resize(self, spec: MailboxSpec) -> None:
        """Take another capacity and policy. What is queued stays, also above a smaller capacity."""
        self.spec = spec
        self.queue.capacity, self.queue.overflow = spec.capacity, spec.overflow
        if self._control is not None:
            self._control.capacity = spec.control_capacity
        for queue in self._queues():
            queue.admit_waiting()

    def open_inbox(self) -> Inbox:
        """Begin a generation. Raises RuntimeError while the previous inbox is not closed."""
        if self._inbox is not None:
            raise RuntimeError(f"{self.address}: the previous generation still holds the inbox")
        self._inbox = Inbox(self.queue, self)
        return self._inbox

    def close(self, why: str) -> None:
        """Final stop: queued asks and waiting senders fail with Stopped, tells are dead letters."""
        for queue in self._queues():
            queue.close(why)

    def statistics(self) -> MailboxStatistics:
        """Return a snapshot."""
        queues = self._queues()
        taken = self._inbox.taken() if self._inbox is not None else ()
        asks = sum(1 for queue in queues for _ in queue.asks())
        return MailboxStatistics(
            depth=len(self.queue),
            capacity=self.spec.capacity,
            control_depth=len(self._control) if self._control is not None else 0,
            received=sum(queue.received for queue in queues),
            dropped=sum(queue.dropped for queue in queues),
            rejected=sum(queue.rejected for queue in queues),
            waiting_senders=sum(queue.waiting_senders for queue in queues),
            in_flight=len(taken),
            asks_open=asks + sum(message.wants_reply for message in taken),
        )

    def released(self) -> None:
        """Called by the inbox when its generation has ended."""
        self._inbox = None

    def _queues(self) -> tuple[Queue, ...]:
        return (self.queue,) if self._control is None else (self.queue, self._control)


@attrs.define(eq=False)
class _Receiver:
    """One generation's end of one queue. For one task at a time."""

    _queue: Queue
    _ended: bool = attrs.field(init=False, default=False)
    _current: Message | None = attrs.field(init=False, default=None)
    _asks: dict[Ask, None] = attrs.field(init=False, factory=dict)

    async def receive(self) -> Message:
        """Wait for the next message; asking for it says that the previous tell is done with.

        A cancel leaves the message in the queue. Lets other tasks run at least every 64 messages.

        Raises Drained when this generation gets no more, and trio.BusyResourceError when another
        task waits here already.
        """
        message = await self._next()
        if message is None:
            raise Drained("this generation gets no further messages")
        return message

    def receive_nowait(self) -> Message:
        """Like `receive`, but raises trio.WouldBlock when nothing is queued. Not a checkpoint."""
        self._current = None
        if self._ended:
            raise Drained("this generation gets no further messages")
        message = self._queue.pop()
        if message is None:
            raise trio.WouldBlock
        return self._take(message)

    async def receive_batch(self, most: int = 64) -> Iterator[Message]:
        """Wait for a message, then iterate over it and what else is queued, up to `most`.

        Each message is taken when the iteration reaches it, so a crash half-way leaves the rest to
        the next generation. Raises and cancels like `receive`.
        """
        return self._batch(await self.receive(), most)

    def requeue(self, message: Message) -> None:
        """Put back a message taken from here, to be the next one of this generation or another."""
        if message is self._current:
            self._current = None
        elif isinstance(message, Ask):
            self._asks.pop(message, None)
        self._queue.put_back(message)

    def forget(self, ask: Ask) -> None:
        """An ask taken from here has ended."""
        self._asks.pop(ask, None)

    def taken(self) -> tuple[Message, ...]:
        """Return what this generation has taken and is not done with."""
        return (*self._asks, *(() if self._current is None else (self._current,)))

    def __aiter__(self) -> _Receiver:
        return self

    async def __anext__(self) -> Message:
        message = await self._next()
        if message is None:
            raise StopAsyncIteration
        return message

    async def _next(self) -> Message | None:
        self._current = None
        queue = self._queue
        await checkpoint_if_cancelled()
        queue.taken += 1
        if queue.taken > RUN:
            await queue.pause()
        while not self._ended:
            message = queue.pop()
            if message is not None:
                return self._take(message)
            await queue.sleep()
        return None

    def _take(self, message: Message) -> Message:
        if type(message) is Message:
            self._current = message
        else:
            assert isinstance(message, Ask)
            message.place = self
            self._asks[message] = None
        return message

    def _batch(self, first: Message, most: int) -> Iterator[Message]:
        yield first
        for _ in range(most - 1):
            self._current = None
            message = None if self._ended else self._queue.pop()
            if message is None:
                return
            yield self._take(message)

    def _end(self) -> None:
        self._ended = True
        self._queue.wake()

    def _close(self, error: str | None) -> None:
        self._end()
        asks, self._asks = self._asks, {}
        for ask in asks:
            ask.place = None
            why = "ended without answering" if error is None else error
            ask.end(ActorDied(self._queue.address, why), "failed")
        message, self._current = self._current, None
        if message is not None and error is not None:
            self._queue.lost(self._queue.address, message, "interrupted")


@attrs.define(eq=False)
class ControlInbox(_Receiver):
    """Control messages of one generation: never behind other messages, not ended by drain."""


@attrs.define(eq=False)
class Inbox(_Receiver):
    """What one generation of an actor receives from: an async iterator that drain ends."""

    _mailbox: Mailbox
    _control: ControlInbox | None = attrs.field(init=False, default=None)
    _drained: trio.Event | None = attrs.field(init=False, default=None)
    _closed: bool = attrs.field(init=False, default=False)
    drain_reason: str = attrs.field(init=False, default="")

    @property
    def control(self) -> ControlInbox:
        """The control lane: same protocol, open until the generation has really ended."""
        if self._control is None:
            self._control = ControlInbox(self._mailbox.control)
            if self._closed:
                self._control._end()
        return self._control

    @property
    def draining(self) -> bool:
        """True once this generation was asked to end."""
        return self._ended

    async def wait_draining(self) -> None:
        """Wait until this generation is asked to end. A checkpoint; a cancel loses nothing."""
        if self._drained is None:
            self._drained = trio.Event()
            if self._ended:
                self._drained.set()
        await self._drained.wait()

    def drain(self, reason: str = "") -> None:
        """Ask the generation to end: it gets no further messages; what is queued stays queued.

        The first `reason` stays, for who must pass it on.
        """
        self.drain_reason = self.drain_reason or reason
        self._end()
        if self._drained is not None:
            self._drained.set()

    def close(self, error: str | None = None) -> None:
        """End the generation; `error` says why it died, None that it ended normally. Idempotent.

        Asks it had taken and not answered fail with ActorDied. The tell it was working on when it
        died is a dead letter, "interrupted".
        """
        if self._closed:
            return
        self._closed = True
        self.drain()
        self._close(error)
        if self._control is not None:
            self._control._close(error)
        self._mailbox.released()

    def taken(self) -> tuple[Message, ...]:
        """Return what this generation has taken, on both lanes, and is not done with."""
        control = () if self._control is None else self._control.taken()
        return (*super().taken(), *control)
