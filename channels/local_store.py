"""The tables of the local rooms: who is in which, and all that happened in them, in order.

The functions here run inside a caller's transaction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import sqlite_utils

from channels.database import Migration
from channels.outbox import dump_content
from channels.rooms import RoomEvent

__all__ = ["MIGRATIONS", "LocalRoom", "RoomError"]

MAX_BYTES = 65_536
_PREFIX = "local-"
_EVENT = "e.seq, e.room, e.sender, e.ts, e.kind, e.content, e.bot"
_AT = re.compile(r"(?<![\w@])@([\w.=/+-]+)")
_CALLED = re.compile(r"(?<![^\s¡¿(])([\w.=/+-]+)[:,]")


class RoomError(ValueError):
    """A local room refuses; the text is one sentence for people."""


@attrs.frozen
class LocalRoom:
    """A room and who is in it."""

    id: str
    alias: str | None
    members: tuple[str, ...]


@attrs.frozen
class Append:
    """An event to be added. `may_join`: its sender joins the room by it."""

    room: str
    sender: str
    content: Mapping[str, Any]
    kind: str
    bot: bool
    txn_id: str | None
    ts: float
    may_join: bool = False


@attrs.frozen
class News:
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


def unknown_room(room: str) -> RoomError:
    """The refusal of a room that does not exist."""
    return RoomError(f"there is no room {room!r}")


def resolve(db: sqlite_utils.Database, room: str) -> str:
    """The id of a room named by its id or alias. Raises RoomError."""
    row = db.conn.execute("SELECT id FROM rooms WHERE ? IN (id, alias)", (room,)).fetchone()
    if row is None:
        raise unknown_room(room)
    return str(row[0])


def name_room(db: sqlite_utils.Database, id: str, alias: str | None) -> None:
    """Make a room or change its alias. Raises RoomError when a name is taken."""
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


def name_rooms(db: sqlite_utils.Database, names: Mapping[str, str | None]) -> None:
    """Make these rooms or change their aliases (id -> alias); who bears one of them loses it.

    Raises RoomError when an alias is the id of a room that is not among them.
    """
    meant = {*names, *names.values()}
    bearers = db.conn.execute("SELECT id, alias FROM rooms WHERE alias IS NOT NULL").fetchall()
    for id, alias in bearers:
        if alias in meant and names.get(id) != alias:
            db.conn.execute("UPDATE rooms SET alias = NULL WHERE id = ?", (id,))
    for id, alias in names.items():
        name_room(db, id, alias)


def members_of(db: sqlite_utils.Database, room: str) -> tuple[str, ...]:
    """Who is in a room, sorted."""
    rows = db.conn.execute("SELECT member FROM members WHERE room = ? ORDER BY member", (room,))
    return tuple(member for (member,) in rows)


def join_all(db: sqlite_utils.Database, room: str, members: Iterable[str], now: float) -> News:
    """Put members that are not in a room into it."""
    present = set(members_of(db, room))
    events = []
    for member in members:
        if member not in present:
            present.add(member)
            event = _insert(
                db, Append(room, member, {"membership": "join"}, "join", False, None, now)
            )
            seq = int(event.event_id.removeprefix(_PREFIX))
            db.conn.execute("INSERT INTO members VALUES (?, ?, ?)", (room, member, seq - 1))
            events.append(event)
    return News("", tuple(events), tuple(present) if events else ())


def join_named(db: sqlite_utils.Database, *, room: str, member: str, now: float) -> News:
    """Put one member into a room named by id or alias."""
    return join_all(db, resolve(db, room), [member], now)


def leave(db: sqlite_utils.Database, *, room: str, member: str, now: float) -> News:
    """Take a member out of a room."""
    room = resolve(db, room)
    before = members_of(db, room)
    if member not in before:
        return News("", (), ())
    db.conn.execute("DELETE FROM members WHERE room = ? AND member = ?", (room, member))
    item = Append(room, member, {"membership": "leave"}, "leave", False, None, now)
    return News("", (_insert(db, item),), before)


def append_message(db: sqlite_utils.Database, item: Append, agents: frozenset[str]) -> News:
    """Add a message unless its transaction id is known; a person joins by speaking."""
    room = resolve(db, item.room)
    first = db.conn.execute(
        "SELECT seq FROM room_events WHERE room = ? AND sender = ? AND txn_id = ?",
        (room, item.sender, item.txn_id),
    ).fetchone()
    if first:
        return News(f"{_PREFIX}{first[0]}", (), ())
    members = members_of(db, room)
    joined = News("", (), ())
    if item.sender not in members:
        if not item.may_join:
            raise RoomError(f"{item.sender!r} is not in room {room!r}")
        joined = join_all(db, room, [item.sender], item.ts)
        members = joined.members
    content = _with_mentions(item.content, agents.union(members))
    event = _insert(db, attrs.evolve(item, room=room, content=content))
    return News(event.event_id, (*joined.events, event), members)


def _insert(db: sqlite_utils.Database, item: Append) -> RoomEvent:
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


def since(
    db: sqlite_utils.Database, *, seq: int, member: str, limit: int
) -> tuple[tuple[RoomEvent, ...], int]:
    """What `member` could hear after `seq`, and up to where that reaches."""
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


def history(db: sqlite_utils.Database, *, room: str, limit: int) -> tuple[RoomEvent, ...]:
    """The last messages and notices of a room, oldest first."""
    rows = db.conn.execute(
        f"SELECT {_EVENT} FROM room_events e WHERE room = ? AND kind IN ('message', 'notice')"
        " ORDER BY seq DESC LIMIT ?",
        (resolve(db, room), limit),
    ).fetchall()
    return tuple(_event(row) for row in reversed(rows))


def beginning(db: sqlite_utils.Database, *, member: str) -> int:
    """Where a member that never listened begins: right before it joined its first room."""
    row = db.conn.execute(
        "SELECT coalesce((SELECT min(since) FROM members WHERE member = ?),"
        " (SELECT max(seq) FROM room_events), 0)",
        (member,),
    ).fetchone()
    return int(row[0])


def all_rooms(db: sqlite_utils.Database) -> tuple[LocalRoom, ...]:
    """Every room, by id."""
    rows = db.conn.execute("SELECT id, alias FROM rooms ORDER BY id").fetchall()
    return tuple(LocalRoom(id, alias, members_of(db, id)) for id, alias in rows)


def _event(row: tuple[Any, ...]) -> RoomEvent:
    seq, room, sender, ts, kind, content, bot = row
    return RoomEvent(f"{_PREFIX}{seq}", room, sender, ts, json.loads(content), kind, bool(bot))


def kind_of(content: Mapping[str, Any]) -> str:
    """The kind of event that a content makes."""
    relation = content.get("m.relates_to")
    rel_type = relation.get("rel_type") if isinstance(relation, Mapping) else None
    if rel_type in ("m.annotation", "m.replace"):
        return "reaction" if rel_type == "m.annotation" else "edit"
    return "notice" if content.get("msgtype") == "m.notice" else "message"


def body_of(content: Mapping[str, Any]) -> str:
    """The text of a content, "" when there is none."""
    body = content.get("body")
    return body if isinstance(body, str) else ""


def _with_mentions(content: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    """Mark whom the text calls: anyone as `@name`, an agent also as `name:` or `name,`."""
    if "m.mentions" in content:
        return dict(content)
    text = body_of(content)
    ids = {name.casefold(): name for name in names}
    called = {ids.get(word.casefold()) for word in _CALLED.findall(text)}
    for word in _AT.findall(text):
        plain = word.rstrip(".=/+-").casefold()
        called.add(ids.get(plain) or ids.get(f"@{plain}"))
    users = sorted(user for user in called if user is not None)
    return {**content, "m.mentions": {"user_ids": users}} if users else dict(content)
