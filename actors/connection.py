"""An agent's link to its rooms: admits what is heard, sends what waits, outlives outages."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
import structlog
import trio

from actors.sending import Backoff, Sender
from channels.bus import Bus
from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.errors import BusError, RemoteError
from channels.inbox import EventInbox
from channels.mailbox import Inbox, Message
from channels.messages import (
    REACTIONS,
    ControlMessage,
    Deliver,
    Flush,
    JoinedRooms,
    Membership,
    Notice,
    SlotOpened,
)
from channels.outbox import Outbox, OutgoingMessage
from channels.rooms import RoomEvent, Transport, TransportError, text_content

__all__ = ["ADMITTED", "Connection", "notice_txn"]

declare_crash_points("connection.before_admit", "connection.after_admit", "connection.after_tell")

ORCHESTRATOR: Final = "orchestrator"
ADMITTED: Final = "admitted"  # the topic on which the ids of admitted events are published
FIRST_CONNECT_SECONDS: Final = 3.0
CLOSE_SECONDS: Final = 2.0
LIVE_AFTER_SECONDS: Final = 5.0

_log = structlog.get_logger("actors.connection")


def notice_txn(key: str) -> str:
    """Return the transaction id of the notice `key`: said once per room for ever."""
    return f"notice-{hashlib.sha256(key.encode()).hexdigest()[:24]}"


def _nobody() -> Mapping[str, str]:
    return {}


@attrs.define(eq=False)
class Connection:
    """The actor at "<id>/connection". One object is one generation.

    `agents` maps the user ids of our agents to their ids, as of now. An outage is a state
    (`reconnecting`), never a crash: events and answers wait and are caught up with. The connection
    closes its transport at its end.
    """

    agent: str
    transport: Transport
    inbox: EventInbox
    outbox: Outbox
    bus: Bus
    clock: WallClock
    agents: Callable[[], Mapping[str, str]] = _nobody
    backoff: Backoff = attrs.field(factory=Backoff)
    rng: random.Random = attrs.field(factory=random.Random)
    send_seconds: float = 30.0
    settle_seconds: float = 5.0
    _sender: Sender = attrs.field(init=False)
    _rooms: set[str] | None = attrs.field(init=False, default=None)
    _unplaced: list[Notice] = attrs.field(init=False, factory=list)
    _error: str | None = attrs.field(init=False, default=None)
    _tried: trio.Event = attrs.field(init=False, factory=trio.Event)
    _catching_up: bool = attrs.field(init=False, default=True)
    _connected_at: float = attrs.field(init=False, default=0.0)

    def __attrs_post_init__(self) -> None:
        self._sender = Sender(
            self.agent,
            self.transport,
            self.outbox,
            self.bus,
            self.backoff,
            self.rng,
            self.send_seconds,
            self.settle_seconds,
            self._note,
        )

    @property
    def address(self) -> str:
        """Where this actor is reached."""
        return f"{self.agent}/connection"

    @property
    def state(self) -> str:
        """`running`, or `reconnecting` while the rooms cannot be reached."""
        return "running" if self._error is None else "reconnecting"

    def status(self) -> dict[str, Any]:
        """Return what `agentctl status` shows of the connection."""
        rooms = None if self._rooms is None else sorted(self._rooms)
        return {"state": self.state, "error": self._error, "rooms": rooms}

    # -- life ---------------------------------------------------------------------------------

    async def run(
        self, inbox: Inbox, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Listen and send until drained (what is pending is tried once more) or cancelled.

        A cancel lets the send in flight settle for `settle_seconds`. Ready when the first try to
        connect has ended, well or not, or after `FIRST_CONNECT_SECONDS`.
        """
        try:
            async with trio.open_nursery() as nursery:
                listening = await nursery.start(self._listen)
                with trio.move_on_after(FIRST_CONNECT_SECONDS):
                    await self._tried.wait()
                sending = trio.Event()
                nursery.start_soon(self._send, sending)
                task_status.started()
                async for message in inbox:
                    await self._take(message)
                listening.cancel(reason="drained")
                self._sender.close()
                await sending.wait()
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSE_SECONDS):
                await self.transport.aclose()

    async def _send(self, ended: trio.Event) -> None:
        await self._sender.run()
        ended.set()

    async def _take(self, message: Message) -> None:
        match message.body:
            case Flush():
                self._sender.flush()
            case Deliver(row_id=row_id):
                await self._sender.deliver(row_id, message)
            case Notice():
                await self._put_notice(message.body)
            case JoinedRooms():
                message.reply(None if self._rooms is None else tuple(sorted(self._rooms)))
            case other:
                text = f"{self.address} does not understand {type(other).__name__}"
                if not message.fail(RemoteError(text)):
                    _log.warning("message_not_understood", agent=self.agent, text=text)

    async def _put_notice(self, notice: Notice) -> None:
        if notice.room is None and self._rooms is None:
            self._unplaced.append(notice)  # it is said when the rooms are known
            return
        rooms = sorted(self._rooms or ()) if notice.room is None else [notice.room]
        content = text_content(notice.text, notice=True)
        txn_id = notice_txn(notice.key)
        await self.outbox.put(OutgoingMessage(self.agent, room, txn_id, content) for room in rooms)
        self._sender.flush()

    # -- outages ------------------------------------------------------------------------------

    def _note(self, error: TransportError | None) -> None:
        """Say once that the link is lost, and once that it is back."""
        lost, self._error = self._error is not None, None if error is None else str(error)
        if error is not None and not lost:
            _log.warning("connection_lost", agent=self.agent, error=str(error))
        elif error is None and lost:
            _log.info("connection_restored", agent=self.agent)

    async def _listen(
        self, task_status: trio.TaskStatus[trio.CancelScope] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Connect and pull events, again and again through outages."""
        tries = 0
        with trio.CancelScope() as scope:
            task_status.started(scope)
            while True:
                try:
                    await self._connect()
                    tries = 0
                    await self._pull()
                except TransportError as error:
                    self._note(error)
                    self._tried.set()
                    await trio.sleep(self.backoff.delay(tries, error.retry_after, self.rng))
                    tries += 1

    async def _connect(self) -> None:
        self._connected_at = self.clock.now()
        self._catching_up = True
        await self.transport.start()
        rooms = await self.transport.joined_rooms()
        for room in rooms:
            await self.inbox.set_members(room, await self.transport.members(room))
            await self._tell_orchestrator(Membership(self.agent, room, True))
        self._rooms = set(rooms)
        while self._unplaced:
            await self._put_notice(self._unplaced.pop(0))
        self._note(None)
        self._tried.set()

    # -- hearing ------------------------------------------------------------------------------

    async def _pull(self) -> None:
        cursor = await self.inbox.cursor(self.address)
        while True:
            began = trio.current_time()
            events, after = await self.transport.events(cursor)
            if trio.current_time() - began >= LIVE_AFTER_SECONDS:
                self._catching_up = False  # what lay ready would have come at once
            await self._admit(events, after)
            cursor = after
            if any(event.ts >= self._connected_at for event in events):
                self._catching_up = False  # here ended what happened while we were away

    async def _admit(self, events: Sequence[RoomEvent], cursor: str) -> None:
        crash_point("connection.before_admit")
        admitted = await self.inbox.admit(
            events,
            cursor_key=self.address,
            cursor=cursor,
            own=self.transport.user_id,
            catching_up=self._catching_up,
        )
        crash_point("connection.after_admit")
        self.bus.publish(ADMITTED, frozenset(event.event_id for event in events))
        if admitted.reactions:
            self.bus.publish(REACTIONS, len(admitted.reactions))
        if admitted.expired:
            _log.warning("too_old_to_answer", agent=self.agent, slots=len(admitted.expired))
        for event in events:
            if event.kind in ("join", "leave") and event.member == self.transport.user_id:
                await self._moved(event.room, event.kind == "join")
        if admitted.slot_ids:
            await self._tell_orchestrator(SlotOpened(admitted.slot_ids))
        for event in admitted.controls:
            await self._control(event)
        crash_point("connection.after_tell")

    async def _moved(self, room: str, joined: bool) -> None:
        assert self._rooms is not None
        (self._rooms.add if joined else self._rooms.discard)(room)
        await self._tell_orchestrator(Membership(self.agent, room, joined))

    async def _control(self, event: RoomEvent) -> None:
        """Hand a person's `!stop`, `!yes`, `!no` to each agent of the room, past its mailbox."""
        control = event.control
        if control is None or event.sender_is_bot:
            return
        body = ControlMessage(event.room, event.sender, *control, event.event_id)
        members = await self.transport.members(event.room)
        for user, agent in self.agents().items():
            if user in members:
                try:
                    self.bus.tell_control_nowait(agent, body)
                except BusError as error:
                    _log.info("control_not_told", agent=agent, error=str(error))

    async def _tell_orchestrator(self, body: Any) -> None:
        """Tell what the inbox knows already: what is lost here the orchestrator finds there."""
        try:
            await self.bus.tell(ORCHESTRATOR, body)
        except BusError as error:
            _log.warning("orchestrator_not_told", agent=self.agent, error=str(error))
