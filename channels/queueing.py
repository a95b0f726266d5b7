"""A bounded queue of messages: what happens when it is full, and who waits for room, in order."""

from __future__ import annotations

import enum
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from typing import Any

import attrs
from outcome import Error
from trio.lowlevel import (
    Abort,
    Task,
    current_task,
    reschedule,
    wait_task_rescheduled,
)

from channels.envelopes import Ask, Message
from channels.errors import MailboxFull, Stopped
from channels.parking import Parking

__all__ = ["Lost", "Overflow", "Queue"]

Lost = Callable[[str, Message, str], None]  # (address, message, reason)

COMPACT_FROM = 32


class Overflow(enum.Enum):
    """What a full mailbox does with one more message.

    WAIT: the sender waits for room (`tell_nowait` raises MailboxFull). REJECT: the sender gets
    MailboxFull. DROP_NEWEST and DROP_OLDEST: a dropped tell is a dead letter, a dropped ask fails
    at once with MailboxFull.
    """

    WAIT = "wait"
    REJECT = "reject"
    DROP_NEWEST = "drop_newest"
    DROP_OLDEST = "drop_oldest"


def _not_reported(address: str, message: Message, reason: str) -> None:
    """Before a mailbox is registered nobody hears of its dead letters."""


@attrs.define(eq=False)
class Queue(Parking):
    """Messages in order of arrival; senders wait in order of arrival, and nobody overtakes them.

    An ask that ended while it was queued stays as a hole that is skipped; holes take no room.
    """

    capacity: int = attrs.field(kw_only=True)
    overflow: Overflow = attrs.field(kw_only=True)
    address: str = ""
    lost: Lost = _not_reported
    received: int = 0
    dropped: int = 0
    rejected: int = 0
    _messages: deque[Message] = attrs.Factory(deque)
    _holes: int = 0
    _waiting: OrderedDict[Message, Task | None] = attrs.Factory(OrderedDict)

    def __len__(self) -> int:
        return len(self._messages) - self._holes

    @property
    def waiting_senders(self) -> int:
        """How many tells and asks wait for room."""
        return len(self._waiting)

    def asks(self) -> Iterator[Ask]:
        """Iterate over the open asks in the queue and before it."""
        for message in (*self._messages, *self._waiting):
            if isinstance(message, Ask) and message.wants_reply:
                yield message

    def offer(self, message: Message) -> bool:
        """Queue a tell, or deal with it by policy. Returns False when it would have to wait."""
        if len(self._messages) - self._holes < self.capacity or self._make_room():
            self._messages.append(message)
            if self.reader is not None:
                self.wake()
        elif self.overflow is Overflow.WAIT:
            return False
        elif self.overflow is Overflow.DROP_NEWEST:
            self.dropped += 1
            self.lost(self.address, message, "dropped")
        else:
            raise self.full()
        return True

    async def wait_for_room(self, message: Message) -> None:
        """Queue a tell that `offer` refused, behind those who wait already.

        A checkpoint. A cancel means that the message was not, and will not be, queued.
        """

        def give_up(_: Any) -> Abort:
            del self._waiting[message]
            return Abort.SUCCEEDED

        self._waiting[message] = current_task()
        await wait_task_rescheduled(give_up)

    def full(self) -> MailboxFull:
        """Count a message that was refused; return the exception to raise."""
        if self.overflow is Overflow.DROP_NEWEST:
            self.dropped += 1
        else:
            self.rejected += 1
        return MailboxFull(self.address, self.capacity)

    def put_ask(self, ask: Ask) -> None:
        """Queue an ask, or let it wait for room while its asker sleeps; MailboxFull by policy."""
        if len(self._messages) - self._holes < self.capacity or self._make_room():
            self._messages.append(ask)
            if self.reader is not None:
                self.wake()
        elif self.overflow is Overflow.WAIT:
            self._waiting[ask] = None
        else:
            raise self.full()
        ask.place = self

    def put_back(self, message: Message) -> None:
        """Put a message in front again, even over capacity; an ask that has ended is left out."""
        if isinstance(message, Ask):
            if not message.wants_reply:
                return
            message.place = self
        self.received -= 1
        self._messages.appendleft(message)
        self.wake()

    def pop(self) -> Message | None:
        """Take the first message, skipping holes; None when there is none."""
        messages = self._messages
        if self._holes:
            self._skip_holes()
        if not messages:
            return None
        message = messages.popleft()
        self.received += 1
        if self._waiting:
            self.admit_waiting()
        return message

    def forget(self, ask: Ask) -> None:
        """An ask has ended while it was here."""
        if ask in self._waiting:
            del self._waiting[ask]
            return
        self._holes += 1
        if self._holes > COMPACT_FROM and self._holes * 2 > len(self._messages):
            kept = [m for m in self._messages if not self._is_hole(m)]
            self._messages.clear()
            self._messages.extend(kept)
            self._holes = 0
        self.admit_waiting()

    def close(self, why: str) -> None:
        """Nobody will read this again: asks and waiting senders fail, tells are dead letters."""
        messages, waiting = self._messages, self._waiting
        self._messages, self._waiting, self._holes = deque(), OrderedDict(), 0
        for message in (*messages, *waiting):
            if isinstance(message, Ask):
                message.place = None
                message.end(Stopped(self.address, why), "failed")
            else:
                self.lost(self.address, message, "stopped")
        for task in waiting.values():
            if task is not None:
                reschedule(task, Error(Stopped(self.address, why)))

    def _make_room(self) -> bool:
        """The queue is full: drop the oldest if that is the policy; is there room now?"""
        if self.overflow is not Overflow.DROP_OLDEST:
            return False
        oldest = self.pop()
        assert oldest is not None
        self.received -= 1
        self.dropped += 1
        if isinstance(oldest, Ask):
            oldest.place = None
            oldest.end(MailboxFull(self.address, self.capacity), "failed")
        else:
            self.lost(self.address, oldest, "dropped")
        return True

    def _skip_holes(self) -> None:
        while self._messages and self._is_hole(self._messages[0]):
            self._messages.popleft()
            self._holes -= 1

    def admit_waiting(self) -> None:
        """Let in, in order, who waits, as far as there is room."""
        while self._waiting and len(self) < self.capacity:
            message, task = self._waiting.popitem(last=False)
            self._messages.append(message)
            if task is not None:
                reschedule(task)

    @staticmethod
    def _is_hole(message: Message) -> bool:
        return isinstance(message, Ask) and not message.wants_reply
