"""The directory of addresses: tell, ask, publish, subscribe among actors that know only names."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, NoReturn

import attrs
import trio
from trio.lowlevel import cancel_shielded_checkpoint, checkpoint_if_cancelled, current_task

from channels.asking import Asks, AskStatistics
from channels.clock import SystemClock, WallClock
from channels.deadletters import DeadLetter, DeadLetterLog, DeadLetters
from channels.envelopes import Ask, Message
from channels.errors import Stopped, UnknownAddress
from channels.lanes import current_lane, lane
from channels.mailbox import Mailbox, MailboxStatistics
from channels.parking import RUN
from channels.topics import Subscription, SubscriptionStatistics, Topics

__all__ = ["DEAD_LETTERS", "Bus", "BusStatistics", "current_lane", "lane"]

DEAD_LETTERS = "dead_letters"  # the topic that every DeadLetter is published on
REMEMBERED_STOPS = 256


@attrs.frozen
class BusStatistics:
    """The bus at one moment: everything that queues, and what is registered."""

    mailboxes: Mapping[str, MailboxStatistics]
    subscriptions: Mapping[int, SubscriptionStatistics]
    asks: AskStatistics
    waits: int
    deadlines: int
    published: int
    events_dropped: int
    dead_letters: int


@attrs.define(eq=False)
class Bus:
    """Carries messages between addresses. All its methods belong to one Trio run, one thread.

    `async with Bus.open() as bus` gives a bus whose asks share one timer; a plain `Bus()` works the
    same, only with a cancel scope for each ask. `clock` dates the dead letters.
    """

    _clock: WallClock = attrs.field(factory=SystemClock)
    _mailboxes: dict[str, Mailbox] = attrs.field(init=False, factory=dict)
    _stopped: dict[str, str] = attrs.field(init=False, factory=dict)
    _topics: Topics = attrs.field(init=False, factory=Topics)
    _letters: DeadLetterLog = attrs.field(init=False, factory=DeadLetterLog)
    _asks: Asks = attrs.field(init=False, factory=Asks)
    _told: int = attrs.field(init=False, default=0)  # in a row, without letting others run

    @classmethod
    @asynccontextmanager
    async def open(cls, clock: WallClock | None = None) -> AsyncIterator[Bus]:
        """Run a bus for the block. Asks still open at its end time out there and then."""
        bus = cls() if clock is None else cls(clock)
        try:
            async with trio.open_nursery() as nursery:
                with bus._asks.deadlines.kept_by(nursery):
                    yield bus
        except BaseExceptionGroup as group:
            _raise_alone(group)

    def register(self, name: str, mailbox: Mailbox) -> None:
        """Make `mailbox` reachable as `name`. Raises ValueError when either is taken."""
        if name in self._mailboxes:
            raise ValueError(f"{name}: this address is taken")
        if mailbox.address:
            raise ValueError(f"{name}: this mailbox is registered as {mailbox.address}")
        mailbox.bind(name, self._dead)
        self._mailboxes[name] = mailbox
        self._stopped.pop(name, None)

    def unregister(self, name: str, why: str) -> bool:
        """Stop an address for good; `why` is text for people. Returns False when there is none.

        Its queued asks and waiting senders fail with Stopped, its queued tells are dead letters.
        """
        mailbox = self._mailboxes.pop(name, None)
        if mailbox is None:
            return False
        self._stopped[name] = why
        if len(self._stopped) > REMEMBERED_STOPS:
            del self._stopped[next(iter(self._stopped))]
        mailbox.close(why)
        mailbox.bind("", self._dead)
        return True

    def names(self) -> tuple[str, ...]:
        """Return the registered addresses, oldest first."""
        return tuple(self._mailboxes)

    async def tell(self, to: str, body: Any) -> None:
        """Queue `body` for `to`, waiting for room if that is its mailbox's policy.

        A cancel means that it was not queued. Lets other tasks run at least every 64 messages.
        Raises UnknownAddress (Stopped after a final stop; both count a dead letter), and
        MailboxFull if the policy rejects.
        """
        await checkpoint_if_cancelled()
        queue = self._mailbox(to, body).queue
        message = Message(body, current_lane.get())
        if not queue.offer(message):
            await queue.wait_for_room(message)
        self._told += 1
        if self._told >= RUN:
            await self._pause()

    def tell_nowait(self, to: str, body: Any) -> None:
        """Like `tell`, but raises MailboxFull instead of waiting. Not a checkpoint."""
        queue = self._mailbox(to, body).queue
        if not queue.offer(Message(body, current_lane.get())):
            raise queue.full()

    async def tell_control(self, to: str, body: Any) -> None:
        """Like `tell`, on the control lane, which always waits for room. Always a checkpoint."""
        await checkpoint_if_cancelled()
        queue = self._mailbox(to, body).control
        message = Message(body, current_lane.get())
        if not queue.offer(message):
            await queue.wait_for_room(message)
        await self._pause()

    def tell_control_nowait(self, to: str, body: Any) -> None:
        """Like `tell_nowait`, on the control lane."""
        queue = self._mailbox(to, body).control
        if not queue.offer(Message(body, current_lane.get())):
            raise queue.full()

    async def ask(self, to: str, body: Any, *, timeout: float, lane: str | None = None) -> Any:
        """Send `body` to `to` and wait for the answer, at most `timeout` seconds (or math.inf).

        `lane` names the serial lane of the callee that will work on it (a room, a task): asks of
        different lanes of one actor do not wait for each other.

        Returns the reply, or raises what the callee failed it with, AskTimeout, ActorDied (the
        callee died with it), Stopped, MailboxFull, UnknownAddress, or AskCycle (the callee waits
        for the caller's lane). A cancel abandons the ask: still queued, it is never delivered.
        """
        if not timeout >= 0:
            raise ValueError("timeout must be 0 or more seconds")
        queue = self._mailbox(to, body).queue
        asks = self._asks
        sender = current_lane.get()
        node = ""
        if sender:
            node = to if lane is None else f"{to}/{lane}"
            asks.graph.check(sender, node)
        ask = Ask(body, sender, to, node, timeout, asks, current_task())
        queue.put_ask(ask)
        asks.opened += 1
        if node:
            asks.graph.add(sender, node)
        await asks.wait(ask)
        if ask.error is not None:
            error, ask.error = ask.error, None
            try:
                raise error
            finally:
                del error  # this frame is in its traceback: a cycle that would keep both
        return ask.value

    def publish(self, topic: str, event: Any) -> int:
        """Offer `event` to the subscribers of `topic`; returns how many. Never waits or raises."""
        return self._topics.publish(topic, event)

    def subscribe(self, topic: str, *, capacity: int = 256) -> Subscription:
        """Return a subscription to enter with `with`: `topic` exactly, or by prefix ("rooms/*").

        It keeps the newest `capacity` unread events. Raises ValueError for a capacity below 1.
        """
        return self._topics.subscription(topic, capacity)

    def unsubscribe(self, id: int) -> bool:
        """End a subscription's iterator. Idempotent; returns False when none has this id."""
        return self._topics.remove(id)

    def dead_letters(self) -> DeadLetters:
        """Return counts by reason and the last hundred, as text."""
        return self._letters.snapshot()

    def statistics(self) -> BusStatistics:
        """Return a snapshot."""
        return BusStatistics(
            mailboxes={name: box.statistics() for name, box in self._mailboxes.items()},
            subscriptions={sub.id: sub.statistics() for sub in self._topics.all()},
            asks=self._asks.statistics(),
            waits=len(self._asks.graph),
            deadlines=len(self._asks.deadlines),
            published=self._topics.published,
            events_dropped=self._topics.dropped,
            dead_letters=self._letters.count,
        )

    async def _pause(self) -> None:
        self._told = 0
        await cancel_shielded_checkpoint()

    def _mailbox(self, to: str, body: Any) -> Mailbox:
        mailbox = self._mailboxes.get(to)
        if mailbox is None:
            raise self._unknown(to, body)
        return mailbox

    def _unknown(self, to: str, body: Any) -> UnknownAddress:
        why = self._stopped.get(to)
        self._dead(to, Message(body, current_lane.get()), "unknown" if why is None else "stopped")
        return UnknownAddress(to) if why is None else Stopped(to, why)

    def _dead(self, address: str, message: Message, reason: str) -> None:
        letter = DeadLetter(
            at=self._clock.now(),
            reason=reason,
            to=address,
            sender=message.sender,
            body=type(message.body).__qualname__,
        )
        self._letters.add(letter)
        self._topics.publish(DEAD_LETTERS, letter)


def _raise_alone(group: BaseExceptionGroup[BaseException]) -> NoReturn:
    """Raise what the block raised, as it was: the timer beside it never raises."""
    error: BaseException = group.exceptions[0] if len(group.exceptions) == 1 else group
    context = error.__context__
    try:
        raise error
    finally:
        error.__context__ = context
        del error, context
