"""Taking in what a transport heard: who is a bot, which chain it belongs to, what opens a slot.

The functions here run inside a caller's transaction and take any shape that a stranger sends.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import attrs
import sqlite_utils

from channels import hops, slots
from channels.chain import Place, Stamp, has_more, place, read_stamp
from channels.outbox import dump_content
from channels.rooms import RoomEvent

__all__ = ["Admitted", "Known"]

TOO_OLD = "too_old"
SUSPICION_SECONDS = 600.0


@attrs.frozen
class Known:
    """Our agents (user id -> agent id), and globs of foreign bots' user ids."""

    agents: Mapping[str, str] = attrs.field(factory=dict)
    bots: tuple[str, ...] = ()

    def is_bot(self, event: RoomEvent) -> bool:
        """True for our agents, listed bots, stamps, notices, and what the transport says."""
        return (
            event.sender_is_bot
            or event.kind == "notice"
            or event.sender in self.agents
            or event.stamp is not None
            or any(fnmatchcase(event.sender, glob) for glob in self.bots)
        )


@attrs.frozen
class Admitted:
    """What an admission brought that was new.

    `slot_ids`: slots opened and waiting for a decision. `expired`: slots that ended at once as too
    old. `controls`: `!stop`, `!yes`, `!no` from people. `memberships`: joins and leaves.
    """

    slot_ids: tuple[int, ...] = ()
    expired: tuple[int, ...] = ()
    controls: tuple[RoomEvent, ...] = ()
    reactions: tuple[RoomEvent, ...] = ()
    memberships: tuple[RoomEvent, ...] = ()


@attrs.frozen
class Batch:
    """An admission's circumstances. What happened before `oldest` expires (None: nothing does)."""

    known: Known
    now: float
    oldest: float | None


@attrs.define
class _News:
    slot_ids: list[int] = attrs.field(factory=list)
    expired: list[int] = attrs.field(factory=list)
    controls: list[RoomEvent] = attrs.field(factory=list)
    reactions: list[RoomEvent] = attrs.field(factory=list)
    memberships: list[RoomEvent] = attrs.field(factory=list)

    def frozen(self) -> Admitted:
        return Admitted(
            **{key: tuple(value) for key, value in attrs.asdict(self, recurse=False).items()}
        )


def create_events(db: sqlite_utils.Database) -> None:
    """Migration: what was heard, up to where each connection has heard, and who is where."""
    db.executescript(
        """
        CREATE TABLE events(
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            event_id TEXT NOT NULL UNIQUE,
            room TEXT NOT NULL,
            sender TEXT NOT NULL,
            ts REAL NOT NULL,
            content TEXT NOT NULL,
            kind TEXT NOT NULL,
            sender_is_bot INTEGER NOT NULL,
            chain TEXT NOT NULL,
            received_at REAL NOT NULL
        );
        CREATE INDEX events_room ON events(room, seq);
        CREATE TABLE cursors(key TEXT PRIMARY KEY, cursor TEXT NOT NULL, moved_at REAL NOT NULL);
        CREATE TABLE current_chains(room TEXT PRIMARY KEY, chain TEXT NOT NULL);
        CREATE TABLE suspects(
            room TEXT NOT NULL, sender TEXT NOT NULL, since REAL NOT NULL, PRIMARY KEY(room, sender)
        );
        CREATE TABLE present(
            room TEXT NOT NULL, member TEXT NOT NULL, PRIMARY KEY(room, member)
        ) WITHOUT ROWID;
        """
    )


def index_reactions(db: sqlite_utils.Database) -> None:
    """Migration: reactions are found without reading everything that was said."""
    db.conn.execute("CREATE INDEX events_reactions ON events(seq) WHERE kind = 'reaction'")


def move_cursor(db: sqlite_utils.Database, key: str, cursor: str, now: float) -> None:
    """Remember up to where a connection has heard."""
    db.conn.execute(
        "INSERT INTO cursors VALUES (?, ?, ?)"
        " ON CONFLICT DO UPDATE SET cursor = excluded.cursor, moved_at = excluded.moved_at",
        (key, cursor, now),
    )


def admit(db: sqlite_utils.Database, events: Iterable[RoomEvent], batch: Batch) -> Admitted:
    """Store events not stored before and open a slot for each that may be answered."""
    news = _News()
    for event in events:
        _admit_one(db, _storable(event, batch.now), batch, news)
    return news.frozen()


def _admit_one(db: sqlite_utils.Database, event: RoomEvent, batch: Batch, news: _News) -> None:
    suspect = is_suspect(db, event.room, event.sender, batch.now)
    if suspect or batch.known.is_bot(event):
        event = attrs.evolve(event, sender_is_bot=True)
    where = _place(db, event, batch.known)
    if not _store(db, event, where, batch.now):
        return
    too_old = batch.oldest is not None and event.ts < batch.oldest
    if event.kind in ("join", "leave"):
        _remember_membership(db, event)
        news.memberships.append(event)
    elif event.kind == "reaction" and not too_old:
        news.reactions.append(event)
    elif event.kind == "message":
        _renew_suspicion(db, event.room, event.sender, suspect, batch.now)
        _take_place(db, event.room, where)
        if event.control is None:
            _open_slot(db, event, where, batch, too_old, news)
        elif not (too_old or event.sender_is_bot):
            news.controls.append(event)


def _open_slot(
    db: sqlite_utils.Database,
    event: RoomEvent,
    where: Place,
    batch: Batch,
    too_old: bool,
    news: _News,
) -> None:
    if event.sender in batch.known.agents and has_more(event.content):
        return  # a part of an answer: its last part is the one to reply to
    slot_id = slots.open_slot(
        db, event_id=event.event_id, room=event.room, chain=where.chain, now=batch.now
    )
    if too_old:
        slots.end(db, slot_id, None, "expired", now=batch.now, rule=TOO_OLD, reason=TOO_OLD)
        news.expired.append(slot_id)
    else:
        news.slot_ids.append(slot_id)


def _place(db: sqlite_utils.Database, event: RoomEvent, known: Known) -> Place:
    row = db.conn.execute(
        "SELECT chain FROM current_chains WHERE room = ?", (event.room,)
    ).fetchone()
    return place(
        event.event_id,
        event.room,
        is_bot=event.sender_is_bot,
        own_stamp=_own_stamp(db, event, known) if event.sender_is_bot else None,
        current=row[0] if row else None,
    )


def _own_stamp(db: sqlite_utils.Database, event: RoomEvent, known: Known) -> Stamp | None:
    """The stamp of a message that is ours by its sender, or by what the outbox remembers of it."""
    if event.sender in known.agents and event.stamp is not None:
        return event.stamp
    row = db.conn.execute(
        "SELECT content FROM outbox WHERE event_id = ? AND room = ?", (event.event_id, event.room)
    ).fetchone()
    return read_stamp(json.loads(row[0])) if row else None


def _take_place(db: sqlite_utils.Database, room: str, where: Place) -> None:
    if where.current:
        db.conn.execute(
            "INSERT INTO current_chains VALUES (?, ?)"
            " ON CONFLICT DO UPDATE SET chain = excluded.chain",
            (room, where.chain),
        )
    if where.turns and not hops.is_reserved(db, room, where.chain, where.turns):
        hops.raise_turns(db, room, where.chain, where.turns)


def _store(db: sqlite_utils.Database, event: RoomEvent, where: Place, now: float) -> bool:
    cursor = db.conn.execute(
        "INSERT INTO events(event_id, room, sender, ts, content, kind, sender_is_bot, chain,"
        " received_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (
            event.event_id,
            event.room,
            event.sender,
            event.ts,
            dump_content(event.content),
            event.kind,
            event.sender_is_bot,
            where.chain,
            now,
        ),
    )
    return cursor.rowcount == 1


def _remember_membership(db: sqlite_utils.Database, event: RoomEvent) -> None:
    if event.kind == "join":
        sql = "INSERT INTO present VALUES (?, ?) ON CONFLICT DO NOTHING"
    else:
        sql = "DELETE FROM present WHERE room = ? AND member = ?"
    db.conn.execute(sql, (event.room, _utf8(event.member)))


def set_present(db: sqlite_utils.Database, room: str, members: Sequence[str]) -> None:
    """Replace what is known of who is in a room."""
    db.conn.execute("DELETE FROM present WHERE room = ?", (room,))
    db.conn.executemany(
        "INSERT INTO present VALUES (?, ?) ON CONFLICT DO NOTHING",
        [(room, member) for member in members],
    )


def is_suspect(db: sqlite_utils.Database, room: str, sender: str, now: float) -> bool:
    """True while the pair guard treats this sender as a bot in this room.

    That lapses when the sender has said nothing there for `SUSPICION_SECONDS`.
    """
    found = db.conn.execute(
        "SELECT 1 FROM suspects WHERE room = ? AND sender = ? AND since > ?",
        (room, sender, now - SUSPICION_SECONDS),
    ).fetchone()
    return found is not None


def _renew_suspicion(
    db: sqlite_utils.Database, room: str, sender: str, suspect: bool, now: float
) -> None:
    """A new message of a suspect prolongs the suspicion; if that has lapsed, nothing is left."""
    if suspect:
        sql = "UPDATE suspects SET since = ? WHERE room = ? AND sender = ?"
        db.conn.execute(sql, (now, room, sender))
    else:
        db.conn.execute("DELETE FROM suspects WHERE room = ? AND sender = ?", (room, sender))


def set_suspect(
    db: sqlite_utils.Database, room: str, sender: str, suspected: bool, now: float
) -> bool:
    """Begin or end to treat a sender as a bot in a room; True when that changed something."""
    was = is_suspect(db, room, sender, now)
    if not suspected:
        db.conn.execute("DELETE FROM suspects WHERE room = ? AND sender = ?", (room, sender))
    elif not was:
        db.conn.execute("INSERT OR REPLACE INTO suspects VALUES (?, ?, ?)", (room, sender, now))
    return was is not suspected


def _storable(event: RoomEvent, now: float) -> RoomEvent:
    """Make a stranger's event fit for a table: finite time, text that is valid UTF-8."""
    return attrs.evolve(
        event,
        event_id=_utf8(event.event_id),
        room=_utf8(event.room),
        sender=_utf8(event.sender),
        kind=_utf8(event.kind),
        ts=event.ts if math.isfinite(event.ts) else now,
    )


def _utf8(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
