"""Rooms inside this process, kept in a file: no server, the same promises about transaction ids as Matrix."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

import attrs
import sqlite_utils
import trio

from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.database import Database, Migration
from channels.outbox import dump_content
from channels.rooms import RoomEvent, TransportError, TransportState, text_content

__all__ = ["MIGRATIONS", "LocalRoom", "LocalRooms", "LocalTransport", "RoomError"]

declare_crash_points("local.before_append", "local.after_append")

MAX_BYTES = 65_536
BATCH = 256
_PREFIX = "local-"
_NAME = re.compile(r"@?(\w[\w.=/+-]{0,63})")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_AT = re.compile(r"(?<![\w@])@([\w.=/+-]+)")
_CALLED = re.compile(r"(?<![^\s¡¿(])([\w.=/+-]+)[:,]")


class RoomError(ValueError):
    """A local room refuses; the text is one sentence for people."""


class Publisher(Protocol):
    """What of the bus the rooms use."""

    def publish(self, topic: str, event: Any) -> object:
        """Hand an event to whoever subscribed; never blocks."""
        ...


@attrs.frozen
class LocalRoom:
    """A room and who is in it; `events` counts what ever happened in it."""

    id: str
    alias: str | None
    members: tuple[str, ...]
    events: int


@attrs.define(eq=False)
class _Signal:
    """Wakes whoever waits for one member's rooms; `version` tells what came before the wait began."""

    version: int = 0
    lot: trio.lowlevel.ParkingLot = attrs.field(factory=trio.lowlevel.ParkingLot)

    def fire(self) -> None:
        self.version += 1
        self.lot.unpark_all()


@attrs.frozen
class _Append:
    room: str
    sender: str
    content: Mapping[str, Any]
    kind: str
    bot: bool
    txn_id: str | None
    ts: float
    may_join: bool = False


@attrs.frozen
class _News:
    """What an operation brought: the event asked for, all new events, and whom to wake."""

    event_id: str
    events: tuple[RoomEvent, ...]
    members: tuple[str, ...]


def _create(db: sqlite_utils.Database) -> None:
    db.executescript(
        """
        CREATE TABLE rooms(id TEXT PRIMARY KEY, alias TEXT UNIQUE);
        CREATE TABLE members(
            room TEXT NOT NULL REFERENCES rooms(id),
            member TEXT NOT NULL,
            since INTEGER NOT NULL,
            PRIMARY KEY(room, member)
        );
        CREATE INDEX members_member ON members(member);
        CREATE TABLE room_events(
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            room TEXT NOT NULL REFERENCES rooms(id),
            sender TEXT NOT NULL,
            txn_id TEXT,
            ts REAL NOT NULL,
            kind TEXT NOT NULL,
            content TEXT NOT NULL,
            bot INTEGER NOT NULL,
            UNIQUE(room, sender, txn_id)
        );
        CREATE INDEX room_events_room ON room_events(room, seq);
        """
    )


MIGRATIONS = (Migration("local.001", _create),)

_EVENT = "e.seq, e.room, e.sender, e.ts, e.kind, e.content, e.bot"


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
        """Make a room, or bring its alias up to date, and join whoever of `members` is not in it yet.

        Raises RoomError for an unusable id or alias, or one that names another room.
        """
        for name in (id, alias):
            if name is not None and (not name or _CONTROL.search(name) or name != name.strip()):
                raise RoomError(f"{name!r} cannot name a room")
        given = tuple(members)
        self._agents.update(member for member in given if not member.startswith("@"))
        now = self._clock.now()

        def work(db: sqlite_utils.Database) -> _News:
            _name_room(db, id, alias)
            return _join_all(db, id, given, now)

        self._spread(await self._db.write(work))

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

        The same `txn_id` again returns the first event's id. `as_bot` plays a foreign bot. Returns the
        event id. Raises RoomError: unknown room, a name that is an agent's or unusable, an empty or
        too long text, control characters.
        """
        person = self.person(sender)
        given = text_content(content) if isinstance(content, str) else dict(content)
        control = _CONTROL.search(_body(given))
        if control:
            raise RoomError(f"the text holds a control character (U+{ord(control[0]):04X})")
        return await self._append(room, person, given, bot=as_bot, txn_id=txn_id, may_join=True)

    async def send_as(
        self, agent: str, room: str, content: Mapping[str, Any], txn_id: str | None
    ) -> str:
        """Say something as one of our agents, which must be in the room. Control characters are dropped.

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
        """Put a member in a room; nothing happens when it is in it. Raises RoomError: unknown room."""
        now = self._clock.now()
        work = partial(_join_named, room=room, member=member, now=now)
        self._spread(await self._db.write(work))

    async def leave(self, room: str, member: str) -> None:
        """Take a member out of a room; it hears of that, and of nothing after. Raises RoomError."""
        now = self._clock.now()
        self._spread(await self._db.write(partial(_leave, room=room, member=member, now=now)))

    async def history(self, room: str, limit: int = 50) -> tuple[RoomEvent, ...]:
        """The last messages and notices of a room, oldest first. Raises RoomError: unknown room."""

        def work(db: sqlite_utils.Database) -> tuple[RoomEvent, ...]:
            rows = db.conn.execute(
                f"SELECT {_EVENT} FROM room_events e WHERE room = ? AND kind IN"
                " ('message', 'notice') ORDER BY seq DESC LIMIT ?",
                (_resolve(db, room), limit),
            ).fetchall()
            return tuple(_event(row) for row in reversed(rows))

        return await self._db.read(work)

    async def rooms(self, member: str | None = None) -> tuple[LocalRoom, ...]:
        """All rooms, or those that `member` is in, by id."""
        everyone = await self._db.read(_rooms)
        return tuple(room for room in everyone if member is None or member in room.members)

    async def room(self, room: str) -> LocalRoom:
        """One room by its id or alias. Raises RoomError: unknown room."""
        by_name = {name: room for room in await self.rooms() for name in (room.alias, room.id)}
        if room not in by_name:
            raise _unknown(room)
        return by_name[room]

    async def since(
        self, seq: int, member: str, limit: int = BATCH
    ) -> tuple[tuple[RoomEvent, ...], int]:
        """What happened after `seq` in `member`'s rooms while it was in them, and up to where that reaches."""
        return await self._db.read(partial(_since, seq=seq, member=member, limit=limit))

    async def beginning(self, member: str) -> int:
        """Where a member that never listened begins: right before it joined its first room."""

        def work(db: sqlite_utils.Database) -> int:
            row = db.conn.execute(
                "SELECT coalesce((SELECT min(since) FROM members WHERE member = ?),"
                " (SELECT max(seq) FROM room_events), 0)",
                (member,),
            ).fetchone()
            return int(row[0])

        return await self._db.read(work)

    def signal(self, member: str) -> _Signal:
        """What fires when something happens in a room of `member`."""
        return self._signals.setdefault(member, _Signal())

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
        kind = _kind(content)
        if kind != "reaction" and not _body(content).strip():
            raise RoomError("the message is empty")
        item = _Append(room, sender, content, kind, bot, txn_id, self._clock.now(), may_join)
        agents = frozenset(self._agents)
        crash_point("local.before_append")
        news = await self._db.write(lambda db: _append_message(db, item, agents))
        self._spread(news)
        crash_point("local.after_append")
        return news.event_id

    def _spread(self, news: _News) -> None:
        for member in news.members:
            if member in self._signals:
                self._signals[member].fire()
        if self._bus is not None:
            for event in news.events:
                self._bus.publish(f"rooms/{event.room}", event)


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


def _unknown(room: str) -> RoomError:
    return RoomError(f"there is no room {room!r}")


def _resolve(db: sqlite_utils.Database, room: str) -> str:
    row = db.conn.execute(
        "SELECT id FROM rooms WHERE id = ? OR alias = ? ORDER BY id = ? DESC", (room, room, room)
    ).fetchone()
    if row is None:
        raise _unknown(room)
    return str(row[0])


def _name_room(db: sqlite_utils.Database, id: str, alias: str | None) -> None:
    taken = db.conn.execute(
        "SELECT id FROM rooms WHERE (alias = ? AND id != ?) OR (id != ? AND (id = ? OR alias = ?))",
        (id, id, id, alias, alias),
    ).fetchone()
    if taken:
        raise RoomError(f"the names of room {id!r} ({alias!r}) clash with room {taken[0]!r}")
    db.conn.execute(
        "INSERT INTO rooms(id, alias) VALUES (?, ?)"
        " ON CONFLICT(id) DO UPDATE SET alias = excluded.alias",
        (id, alias),
    )


def _members_of(db: sqlite_utils.Database, room: str) -> tuple[str, ...]:
    rows = db.conn.execute("SELECT member FROM members WHERE room = ? ORDER BY member", (room,))
    return tuple(member for (member,) in rows)


def _join_all(db: sqlite_utils.Database, room: str, members: Iterable[str], now: float) -> _News:
    present = set(_members_of(db, room))
    events = []
    for member in members:
        if member not in present:
            present.add(member)
            event = _insert(
                db, _Append(room, member, {"membership": "join"}, "join", False, None, now)
            )
            seq = int(event.event_id.removeprefix(_PREFIX))
            db.conn.execute("INSERT INTO members VALUES (?, ?, ?)", (room, member, seq - 1))
            events.append(event)
    return _News("", tuple(events), tuple(present) if events else ())


def _join_named(db: sqlite_utils.Database, *, room: str, member: str, now: float) -> _News:
    return _join_all(db, _resolve(db, room), [member], now)


def _leave(db: sqlite_utils.Database, *, room: str, member: str, now: float) -> _News:
    room = _resolve(db, room)
    before = _members_of(db, room)
    if member not in before:
        return _News("", (), ())
    db.conn.execute("DELETE FROM members WHERE room = ? AND member = ?", (room, member))
    item = _Append(room, member, {"membership": "leave"}, "leave", False, None, now)
    return _News("", (_insert(db, item),), before)


def _append_message(db: sqlite_utils.Database, item: _Append, agents: frozenset[str]) -> _News:
    room = _resolve(db, item.room)
    first = db.conn.execute(
        "SELECT seq FROM room_events WHERE room = ? AND sender = ? AND txn_id = ?",
        (room, item.sender, item.txn_id),
    ).fetchone()
    if first:
        return _News(f"{_PREFIX}{first[0]}", (), ())
    members = _members_of(db, room)
    joined = _News("", (), ())
    if item.sender not in members:
        if not item.may_join:
            raise RoomError(f"{item.sender!r} is not in room {room!r}")
        joined = _join_all(db, room, [item.sender], item.ts)
        members = joined.members
    content = _with_mentions(item.content, agents.union(members))
    event = _insert(db, attrs.evolve(item, room=room, content=content))
    return _News(event.event_id, (*joined.events, event), members)


def _insert(db: sqlite_utils.Database, item: _Append) -> RoomEvent:
    content = dump_content(item.content)
    size = len(content.encode())
    if size > MAX_BYTES:
        raise RoomError(f"the message is too long: {size} bytes, at most {MAX_BYTES}")
    cursor = db.conn.execute(
        "INSERT INTO room_events(room, sender, txn_id, ts, kind, content, bot)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (item.room, item.sender, item.txn_id, item.ts, item.kind, content, item.bot),
    )
    assert cursor.lastrowid is not None
    row = (cursor.lastrowid, item.room, item.sender, item.ts, item.kind, content, item.bot)
    return _event(row)


def _since(
    db: sqlite_utils.Database, *, seq: int, member: str, limit: int
) -> tuple[tuple[RoomEvent, ...], int]:
    rows = db.conn.execute(
        f"SELECT {_EVENT} FROM room_events e"
        " LEFT JOIN members m ON m.room = e.room AND m.member = ?"
        " WHERE e.seq > ? AND (e.seq > m.since OR (e.kind = 'leave' AND e.sender = ?))"
        " ORDER BY e.seq LIMIT ?",
        (member, seq, member, limit),
    ).fetchall()
    if len(rows) == limit:
        return tuple(map(_event, rows)), rows[-1][0]
    end = db.conn.execute("SELECT coalesce(max(seq), 0) FROM room_events").fetchone()[0]
    return tuple(map(_event, rows)), max(seq, end)


def _rooms(db: sqlite_utils.Database) -> tuple[LocalRoom, ...]:
    rows = db.conn.execute(
        "SELECT id, alias, (SELECT count(*) FROM room_events WHERE room = id) FROM rooms ORDER BY id"
    ).fetchall()
    return tuple(LocalRoom(id, alias, _members_of(db, id), count) for id, alias, count in rows)


def _event(row: tuple[Any, ...]) -> RoomEvent:
    seq, room, sender, ts, kind, content, bot = row
    return RoomEvent(f"{_PREFIX}{seq}", room, sender, ts, json.loads(content), kind, bool(bot))


def _kind(content: Mapping[str, Any]) -> str:
    relation = content.get("m.relates_to")
    rel_type = relation.get("rel_type") if isinstance(relation, Mapping) else None
    if rel_type in ("m.annotation", "m.replace"):
        return "reaction" if rel_type == "m.annotation" else "edit"
    return "notice" if content.get("msgtype") == "m.notice" else "message"


def _body(content: Mapping[str, Any]) -> str:
    body = content.get("body")
    return body if isinstance(body, str) else ""


def _with_mentions(content: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Mark whom the text calls: anyone as `@name`, an agent also as `name:` or `name,`."""
    if "m.mentions" in content:
        return dict(content)
    text = _body(content)
    ids = {name.casefold(): name for name in names}
    called = {ids.get(word.casefold()) for word in _CALLED.findall(text)}
    for word in _AT.findall(text):
        plain = word.rstrip(".=/+-").casefold()
        called.add(ids.get(plain) or ids.get(f"@{plain}"))
    users = sorted(user for user in called if user is not None)
    return {**content, "m.mentions": {"user_ids": users}} if users else dict(content)
