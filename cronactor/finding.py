"""Reminders found in the store: by id, by what was said of them, by who was reminded last."""

from __future__ import annotations

import sqlite3
from operator import attrgetter
from typing import Any

import attrs
import sqlite_utils

from cronactor.reminder import ACTIVE, PAUSED, Reminder, short_id

__all__ = [
    "COLUMNS",
    "Ambiguous",
    "Find",
    "RoomFull",
    "check_room",
    "fetch",
    "first",
    "insert",
    "insert_new",
    "search",
]

FIELDS = tuple(field.name for field in attrs.fields(Reminder))
COLUMNS = ", ".join(FIELDS)
_MARKS = ", ".join("?" * len(FIELDS))
_values = attrgetter(*FIELDS)
_INSERT_NEW = f"INSERT OR IGNORE INTO reminders({COLUMNS}) VALUES ({_MARKS})"


class RoomFull(Exception):
    """A room already has as many reminders as it may."""

    def __init__(self, active: int, limit: int) -> None:
        super().__init__(f"{active} active reminders, the most is {limit}")
        self.active = active
        self.limit = limit


class Ambiguous(Exception):
    """Several reminders are meant; `ids` names them."""

    def __init__(self, ids: tuple[str, ...]) -> None:
        super().__init__(", ".join(ids))
        self.ids = ids


@attrs.frozen
class Find:
    """What is known of a reminder of `room`; the first that is given decides.

    `id`; `event`: that of a message it said; `agent` and `origin`: who confirmed it in which chain;
    `user` and `since`: who was reminded by it, at that instant or later, the latest counts.
    """

    room: str
    id: str = ""
    event: str = ""
    agent: str = ""
    origin: str = ""
    user: str = ""
    since: float = 0.0


def fetch(db: sqlite_utils.Database, sql: str, *values: object) -> list[Any]:
    """Return all rows; text that is not UTF-8, in one of them, does not hide the others."""
    try:
        return db.conn.execute(sql, values).fetchall()
    except sqlite3.OperationalError as error:
        if "Could not decode to UTF-8" not in str(error):
            raise
    usual = db.conn.text_factory
    db.conn.text_factory = lambda data: data.decode("utf-8", "replace")
    try:
        return db.conn.execute(sql, values).fetchall()
    finally:
        db.conn.text_factory = usual


def search(db: sqlite_utils.Database, find: Find) -> Reminder | None:
    """Return the reminder, in whatever state but deleted. Raises Ambiguous."""
    found = matching(db, find)
    if len(found) > 1:
        raise Ambiguous(tuple(reminder.id for reminder in found))
    return found[0] if found else None


def matching(db: sqlite_utils.Database, find: Find) -> tuple[Reminder, ...]:
    """Return all that fits; where some are over and others are not, those that are not."""
    if find.id:
        return _all(db, "id = ? AND room = ?", find.id, find.room)
    if find.event:
        said = "id IN (SELECT schedule_id FROM occurrences WHERE event_id = ?)"
        return _all(db, f"{said} AND room = ?", find.event, find.room)
    if find.origin:
        where = "origin = ? AND agent = ? AND room = ?"
        return _all(db, where, find.origin, find.agent, find.room)
    where = (
        "room = ? AND fired_at >= ? AND state != 'deleted' AND"
        " (user = ? OR instr(' ' || followers || ' ', ' ' || ? || ' ')) ORDER BY fired_at DESC"
    )
    latest = first(db, where, find.room, find.since, find.user, find.user)
    return () if latest is None else (latest,)


def first(db: sqlite_utils.Database, where: str, *values: object) -> Reminder | None:
    """Return the first reminder that satisfies an SQL condition."""
    sql = f"SELECT {COLUMNS} FROM reminders WHERE {where} LIMIT 1"
    rows = fetch(db, sql, *values)
    return Reminder(*rows[0]) if rows else None


def _all(db: sqlite_utils.Database, where: str, *values: object) -> tuple[Reminder, ...]:
    sql = f"SELECT {COLUMNS} FROM reminders WHERE {where} AND state != 'deleted' ORDER BY rowid"
    found = tuple(Reminder(*row) for row in fetch(db, sql, *values))
    return tuple(reminder for reminder in found if reminder.kept) or found


def insert(db: sqlite_utils.Database, reminder: Reminder) -> Reminder:
    """Keep a new reminder; an id that is taken is replaced by another."""
    attempt = 0
    while db.conn.execute("SELECT 1 FROM reminders WHERE id = ?", (reminder.id,)).fetchone():
        attempt += 1
        reminder = attrs.evolve(reminder, id=short_id(reminder.idempotency_key, attempt))
    marks = ", ".join("?" * len(FIELDS))
    db.conn.execute(f"INSERT INTO reminders({COLUMNS}) VALUES ({marks})", attrs.astuple(reminder))
    return reminder


def insert_new(db: sqlite_utils.Database, reminder: Reminder) -> Reminder:
    """Keep a new reminder, most often in one statement; return it, or the one that has its key."""
    if not reminder.idempotency_key:
        reminder = attrs.evolve(reminder, idempotency_key=reminder.id)
    if db.conn.execute(_INSERT_NEW, _values(reminder)).rowcount == 1:
        return reminder
    return first(db, "idempotency_key = ?", reminder.idempotency_key) or insert(db, reminder)


def replace(db: sqlite_utils.Database, reminder: Reminder) -> None:
    """Write a reminder over the row that has its id."""
    sets = ", ".join(f"{name} = ?" for name in FIELDS)
    values = (*attrs.astuple(reminder), reminder.id)
    db.conn.execute(f"UPDATE reminders SET {sets} WHERE id = ?", values)


def check_room(db: sqlite_utils.Database, room: str, limit: int | None) -> None:
    """Raise RoomFull when the room may have no more; paused ones count as well."""
    if limit is None:
        return
    sql = "SELECT count(*) FROM reminders WHERE room = ? AND state IN (?, ?)"
    active = db.conn.execute(sql, (room, ACTIVE, PAUSED)).fetchone()[0]
    if active >= limit:
        raise RoomFull(active, limit)
