"""Rooms inside this process, kept in a file; transaction ids mean the same as on Matrix."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import attrs
import sqlite_utils
import trio

from channels import local_store as store
from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.database import Database
from channels.local_store import MIGRATIONS, LocalRoom, RoomError
from channels.rooms import RoomEvent, TransportError, TransportState, text_content

__all__ = ["MIGRATIONS", "LocalRoom", "LocalRooms", "LocalTransport", "RoomError"]

declare_crash_points("local.before_append", "local.after_append")

BATCH = 256
_NAME = re.compile(r"@?(\w[\w.=/+-]{0,63})")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Publisher(Protocol):
    """What of the bus the rooms use."""

    def publish(self, topic: str, event: Any) -> object:
        """Hand an event to whoever subscribed; never blocks."""
        ...


@attrs.define(eq=False)
class _Signal:
    """Wakes who waits for a member's rooms; `version` tells what came before the wait began."""

    version: int = 0
    lot: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)

    def fire(self) -> None:
        self.version += 1
        self.lot.unpark_all()


class LocalRooms:
    """The rooms of one file. One process owns the file; waiting transports are woken from it alone.

    `bus` (optional): every event is published on topic `rooms/<room>`. Members whose id begins with
    `@` are people (or foreign bots); all others are our agents.
    """

    def __init__(
        self,
        db: Database,
        clock: WallClock,
        bus: Publisher | None = None,
        *,
        agents: Iterable[str] = (),
    ) -> None:
        self._db = db
        self._clock = clock
        self._bus = bus
        self._agents = set(agents)
        self._signals: dict[str, _Signal] = {}

    def set_agents(self, agents: Iterable[str]) -> None:
        """Say which ids are our agents: no person may bear such a name."""
        self._agents = set(agents)

    async def ensure_room(
        self, id: str, alias: str | None = None, members: Iterable[str] = ()
    ) -> None:
        """Make a room, or bring its alias up to date, and join those `members` that are not in it.

        Raises RoomError for an unusable id or alias, or one that names another room.
        """
        for name in (id, alias):
            _check_name(name)
        given = tuple(map(self._member, members))
        now = self._clock.now()

        def work(db: sqlite_utils.Database) -> store.News:
            store.name_room(db, id, alias)
            return store.join_all(db, id, given, now)

        self._spread(await self._db.write(work))

    async def name_rooms(self, names: Mapping[str, str | None]) -> None:
        """Make these rooms or bring their aliases (id -> alias) up to date, all or none.

        A room that bears an alias which is meant for another now loses it. Raises RoomError for an
        unusable name, or an alias that is the id of a room with a past.
        """
        for name in (*names, *names.values()):
            _check_name(name)
        await self._db.write(lambda db: store.name_rooms(db, names))

    async def post(
        self,
        room: str,
        sender: str,
        content: Mapping[str, Any] | str,
        *,
        txn_id: str | None = None,
        as_bot: bool = False,
    ) -> str:
        """Say something as a person (`ana` and `@ana` are the same), who joins the room by it.

        Returns the event id; the same `txn_id` again returns the first one's. `as_bot` plays a
        foreign bot. Raises RoomError: unknown room, a name that is an agent's or unusable, an empty
        or too long text, control characters.
        """
        person = self.person(sender)
        given = text_content(content) if isinstance(content, str) else dict(content)
        if isinstance(given.get("body"), str):
            given["body"] = _plain_lines(given["body"])
        return await self._append(room, person, given, bot=as_bot, txn_id=txn_id, may_join=True)

    async def send_as(
        self, agent: str, room: str, content: Mapping[str, Any], txn_id: str | None
    ) -> str:
        """Say something as an agent, which must be in the room. Control characters are dropped.

        Raises RoomError: unknown room, not a member, an empty or too long text.
        """
        given = dict(content)
        if isinstance(given.get("body"), str):
            given["body"] = _CONTROL.sub("", given["body"])
        return await self._append(room, agent, given, bot=False, txn_id=txn_id, may_join=False)

    def person(self, name: str) -> str:
        """The id of a person: `@name`. Raises RoomError for an agent's name or an unusable one."""
        found = _NAME.fullmatch(name)
        if found is None:
            raise RoomError(f"{name!r} cannot be a name: use letters, digits and . _ = / + -")
        plain = found[1]
        if plain.casefold() in {agent.casefold() for agent in self._agents}:
            raise RoomError(f"{plain!r} is an agent; a person needs another name")
        return f"@{plain}"

    async def join(self, room: str, member: str) -> None:
        """Put a person (`@ana`) or an agent in a room, if it is not in it. Raises RoomError."""
        now = self._clock.now()
        known = self._member(member)
        work = partial(store.join_named, room=room, member=known, now=now)
        self._spread(await self._db.write(work))

    async def leave(self, room: str, member: str) -> None:
        """Take a member out of a room; it hears of that, and of nothing after. Raises RoomError."""
        now = self._clock.now()
        self._spread(await self._db.write(partial(store.leave, room=room, member=member, now=now)))

    async def history(self, room: str, limit: int = 50) -> tuple[RoomEvent, ...]:
        """The last messages and notices of a room, oldest first. Raises RoomError: unknown room."""
        return await self._db.read(partial(store.history, room=room, limit=limit))

    async def rooms(self, member: str | None = None) -> tuple[LocalRoom, ...]:
        """All rooms, or those that `member` is in, by id."""
        everyone = await self._db.read(store.all_rooms)
        return tuple(room for room in everyone if member is None or member in room.members)

    async def room(self, room: str) -> LocalRoom:
        """One room by its id or alias. Raises RoomError: unknown room."""
        by_name = {name: room for room in await self.rooms() for name in (room.alias, room.id)}
        if room not in by_name:
            raise store.unknown_room(room)
        return by_name[room]

    async def since(
        self, seq: int, member: str, limit: int = BATCH
    ) -> tuple[tuple[RoomEvent, ...], int]:
        """What `member` could hear after `seq`, and up to where that reaches."""
        return await self._db.read(partial(store.since, seq=seq, member=member, limit=limit))

    async def beginning(self, member: str) -> int:
        """Where a member that never listened begins: right before it joined its first room."""
        return await self._db.read(partial(store.beginning, member=member))

    def signal(self, member: str) -> _Signal:
        """What fires when something happens in a room of `member`."""
        return self._signals.setdefault(member, _Signal())

    def _member(self, member: str) -> str:
        if member.startswith("@"):
            return self.person(member)
        self._agents.add(member)
        return member

    async def _append(
        self,
        room: str,
        sender: str,
        content: dict[str, Any],
        *,
        bot: bool,
        txn_id: str | None,
        may_join: bool,
    ) -> str:
        kind = store.kind_of(content)
        if kind != "reaction" and not store.body_of(content).strip():
            raise RoomError("the message is empty")
        item = store.Append(room, sender, content, kind, bot, txn_id, self._clock.now(), may_join)
        agents = frozenset(self._agents)
        crash_point("local.before_append")
        news = await self._db.write(lambda db: store.append_message(db, item, agents))
        self._spread(news)
        crash_point("local.after_append")
        return news.event_id

    def _spread(self, news: store.News) -> None:
        for member in news.members:
            if member in self._signals:
                self._signals[member].fire()
        if self._bus is not None:
            for event in news.events:
                self._bus.publish(f"rooms/{event.room}", event)


def _check_name(name: str | None) -> None:
    if name is not None and (not name or _CONTROL.search(name) or name != name.strip()):
        raise RoomError(f"{name!r} cannot name a room")


def _plain_lines(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    control = _CONTROL.search(lines)
    if control:
        raise RoomError(f"the text holds a control character (U+{ord(control[0]):04X})")
    return lines


class LocalTransport:
    """One agent's link to the local rooms; its user id is its agent id."""

    state: TransportState = "running"

    def __init__(self, rooms: LocalRooms, agent: str) -> None:
        self.agent = agent
        self.user_id = agent
        self._rooms = rooms
        self._closed = False

    async def start(self) -> None:
        """Connect: nothing to do but pass a checkpoint."""
        self._closed = False
        await trio.lowlevel.checkpoint()

    async def events(self, cursor: str | None) -> tuple[Sequence[RoomEvent], str]:
        """Wait for what happened after `cursor` in this agent's rooms. See Transport.

        An unreadable cursor (of another transport) counts as none.
        """
        if cursor is None or not cursor.isdecimal():
            return (), str(await self._rooms.beginning(self.agent))
        signal, seq = self._rooms.signal(self.agent), int(cursor)
        while not self._closed:
            version = signal.version
            events, seq = await self._rooms.since(seq, self.agent)
            if events:
                return events, str(seq)
            while signal.version == version:
                await signal.lot.park()
        raise TransportError(f"{self.agent}: the connection is closed")

    async def send(self, room: str, content: Mapping[str, Any], txn_id: str) -> str:
        """Send; the same `txn_id` in this room again returns the first event id. See Transport."""
        try:
            return await self._rooms.send_as(self.agent, room, content, txn_id)
        except RoomError as error:
            raise TransportError(str(error), permanent=True) from error

    async def joined_rooms(self) -> Sequence[str]:
        """The ids of the rooms this agent is in."""
        return tuple(room.id for room in await self._rooms.rooms(self.agent))

    async def members(self, room: str) -> frozenset[str]:
        """Who is in a room. Raises TransportError: unknown room."""
        try:
            return frozenset((await self._rooms.room(room)).members)
        except RoomError as error:
            raise TransportError(str(error), permanent=True) from error

    async def aclose(self) -> None:
        """Disconnect: a waiting `events` raises TransportError."""
        self._closed = True
        self._rooms.signal(self.agent).fire()
        await trio.lowlevel.cancel_shielded_checkpoint()
