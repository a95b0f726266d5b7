"""Reminders and schedules on disk, and the door to the ledger of their occurrences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs
import sqlite_utils
import structlog

from channels.database import Database
from cronactor.jobs import Job, Schedule
from cronactor.ledger import Ledger
from cronactor.reminder import ACTIVE, DELETED, FIRED, Reminder, short_id
from cronactor.tables import MIGRATIONS

__all__ = ["MIGRATIONS", "ReminderStore", "RoomFull"]

log = structlog.get_logger()

_REMINDER = tuple(field.name for field in attrs.fields(Reminder))
_COLUMNS = ", ".join(_REMINDER)


class RoomFull(Exception):
    """A room already has as many active reminders as it may."""

    def __init__(self, active: int, limit: int) -> None:
        super().__init__(f"{active} active reminders, the most is {limit}")
        self.active = active
        self.limit = limit


class ReminderStore:
    """The one store of a workspace. Every method is one transaction; reads change nothing."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.ledger = Ledger(db)

    @classmethod
    async def open(cls, path: str | Path, *, threaded: bool = True) -> ReminderStore:
        """Open or create the file. Raises the DatabaseError family; close with `close()`."""
        return cls(await Database.open(path, MIGRATIONS, threaded=threaded))

    async def close(self) -> None:
        """Close the file. Idempotent."""
        await self._db.close()

    # -- reminders --------------------------------------------------------------------------------

    async def create(
        self, reminder: Reminder, *, max_per_room: int | None = None
    ) -> tuple[Reminder, bool]:
        """Keep a new reminder; return it and True.

        One whose idempotency key is known is not created again: the first is returned, with False.
        An id that is taken is replaced by another. Raises RoomFull.
        """
        if not reminder.idempotency_key:
            reminder = attrs.evolve(reminder, idempotency_key=reminder.id)

        def insert(db: sqlite_utils.Database) -> tuple[Reminder, bool]:
            known = _first(db, "idempotency_key = ?", reminder.idempotency_key)
            if known is not None:
                return known, False
            _check_room(db, reminder.room, max_per_room)
            return _insert(db, reminder), True

        return await self._db.write(insert)

    async def by_key(self, key: str) -> Reminder | None:
        """Return the reminder created under an idempotency key, in whatever state."""
        return await self._db.read(lambda db: _first(db, "idempotency_key = ?", key))

    async def get(self, id: str) -> Reminder | None:
        """Return a reminder in whatever state."""
        return await self._db.read(lambda db: _first(db, "id = ?", id))

    async def delete(self, id: str, *, at: float, room: str | None = None) -> Reminder | None:
        """Mark an active reminder as deleted at the instant `at` and return it; None when there is
        none (in `room`).

        One that is deleted already is returned as well: deleting twice is deleting.
        """

        def mark(db: sqlite_utils.Database) -> Reminder | None:
            known = _first(db, "id = ?", id)
            if known is None or known.state not in (ACTIVE, DELETED):
                return None
            if room is not None and known.room != room:
                return None
            if known.state == DELETED:
                return known
            db.conn.execute(
                "UPDATE reminders SET state = ?, next_due = NULL, ended_at = ? WHERE id = ?",
                (DELETED, at, id),
            )
            return attrs.evolve(known, state=DELETED, next_due=None, ended_at=at)

        return await self._db.write(mark)

    async def listed(self, room: str | None = None, *, all: bool = False) -> tuple[Reminder, ...]:
        """Return the active reminders (`all`: of every state) of a room or all, soonest first."""
        where, values = ["1"], []
        if room is not None:
            where.append("room = ?")
            values.append(room)
        if not all:
            where.append("state = 'active'")
        order = "next_due IS NULL, next_due, rowid"
        return await self._select(f"{' AND '.join(where)} ORDER BY {order}", *values)

    async def load_active(self) -> tuple[Reminder, ...]:
        """Return every active reminder, the soonest first. Rows that cannot be read are logged."""
        return await self._select("state = 'active' ORDER BY next_due, rowid")

    async def mark_fired(self, id: str, at: float) -> bool:
        """Record that a reminder spoke at the instant `at`; a one-shot is then done with.

        Returns False when it is not active.
        """

        def mark(db: sqlite_utils.Database) -> bool:
            changed = db.conn.execute(
                "UPDATE reminders SET fired_at = :at,"
                " ended_at = CASE WHEN cron IS NULL THEN :at ELSE NULL END,"
                " next_due = CASE WHEN cron IS NULL THEN NULL ELSE next_due END,"
                " state = CASE WHEN cron IS NULL THEN :fired ELSE state END"
                " WHERE id = :id AND state = 'active'",
                {"at": at, "fired": FIRED, "id": id},
            )
            return changed.rowcount == 1

        return await self._db.write(mark)

    async def purge(self, before: float) -> int:
        """Forget what ended before the instant `before`; return how many rows went."""

        def sweep(db: sqlite_utils.Database) -> int:
            gone = 0
            for statement in _PURGES:
                gone += db.conn.execute(statement, {"before": before}).rowcount
            return gone

        return await self._db.write(sweep)

    # -- schedules --------------------------------------------------------------------------------

    async def set_schedules(
        self, agent: str, wanted: Sequence[Schedule], *, epoch: str, now: float
    ) -> tuple[Schedule, ...]:
        """Make `wanted` the configured schedules of an agent; return them with what is due next.

        A schedule that is the same as before keeps what it is owed; a new or changed one starts
        with its own `next_due`. `epoch` names the running process that vouches for them.
        """

        def replace(db: sqlite_utils.Database) -> tuple[Schedule, ...]:
            db.conn.execute(
                "UPDATE schedules SET removed_at = ?"
                " WHERE agent = ? AND NOT dynamic AND removed_at IS NULL"
                f" AND id NOT IN ({', '.join('?' * len(wanted))})",
                (now, agent, *(schedule.id for schedule in wanted)),
            )
            return tuple(_keep(db, schedule, epoch) for schedule in wanted)

        return await self._db.write(replace)

    async def add_schedule(self, schedule: Schedule, *, epoch: str) -> Schedule:
        """Keep one schedule, instead of what had its id; return it with what is due next."""
        return await self._db.write(lambda db: _keep(db, schedule, epoch))

    async def remove_schedule(self, id: str, now: float) -> bool:
        """Mark a schedule as removed; False when there is none."""
        sql = "UPDATE schedules SET removed_at = ? WHERE id = ? AND removed_at IS NULL"
        return await self._db.write(lambda db: db.conn.execute(sql, (now, id)).rowcount == 1)

    async def schedules(self, *, epoch: str | None = None) -> tuple[Schedule, ...]:
        """Return the schedules in use; with `epoch` only those that may run in that process."""

        def select(db: sqlite_utils.Database) -> list[tuple[str, str, float | None]]:
            return db.conn.execute(
                "SELECT id, spec, next_due FROM schedules"
                " WHERE removed_at IS NULL AND (dynamic OR ? IS NULL OR epoch = ?) ORDER BY id",
                (epoch, epoch),
            ).fetchall()

        found = [_schedule(*row) for row in await self._db.read(select)]
        return tuple(schedule for schedule in found if schedule is not None)

    async def job(self, id: str) -> Job | None:
        """Return the reminder or schedule of an id in whatever state; None when it is forgotten."""
        if "/" not in id:
            return await self.get(id)
        sql = "SELECT id, spec, next_due FROM schedules WHERE id = ?"
        row = await self._db.read(lambda db: db.conn.execute(sql, (id,)).fetchone())
        return None if row is None else _schedule(*row)

    async def _select(self, where: str, *values: object) -> tuple[Reminder, ...]:
        sql = f"SELECT {_COLUMNS} FROM reminders WHERE {where}"
        rows = await self._db.read(lambda db: db.conn.execute(sql, values).fetchall())
        return tuple(_readable(rows))


def _insert(db: sqlite_utils.Database, reminder: Reminder) -> Reminder:
    attempt = 0
    while db.conn.execute("SELECT 1 FROM reminders WHERE id = ?", (reminder.id,)).fetchone():
        attempt += 1
        reminder = attrs.evolve(reminder, id=short_id(reminder.idempotency_key, attempt))
    marks = ", ".join("?" * len(_REMINDER))
    db.conn.execute(f"INSERT INTO reminders({_COLUMNS}) VALUES ({marks})", attrs.astuple(reminder))
    return reminder


def _check_room(db: sqlite_utils.Database, room: str, limit: int | None) -> None:
    if limit is None:
        return
    sql = "SELECT count(*) FROM reminders WHERE room = ? AND state = 'active'"
    active = db.conn.execute(sql, (room,)).fetchone()[0]
    if active >= limit:
        raise RoomFull(active, limit)


def _first(db: sqlite_utils.Database, where: str, value: str) -> Reminder | None:
    row = db.conn.execute(f"SELECT {_COLUMNS} FROM reminders WHERE {where}", (value,)).fetchone()
    return None if row is None else Reminder(*row)


def _readable(rows: Iterable[tuple[Any, ...]]) -> Iterable[Reminder]:
    for row in rows:
        reminder = Reminder(*row)
        if isinstance(reminder.next_due, (int, float)) or reminder.next_due is None:
            yield reminder
        else:
            log.error("reminder_unreadable", id=reminder.id, next_due=repr(reminder.next_due))


def _keep(db: sqlite_utils.Database, schedule: Schedule, epoch: str) -> Schedule:
    spec = schedule.dumped()
    row = db.conn.execute(
        "SELECT spec, next_due FROM schedules WHERE id = ? AND removed_at IS NULL", (schedule.id,)
    ).fetchone()
    if row is not None and row[0] == spec:
        schedule = attrs.evolve(schedule, next_due=row[1])
    db.conn.execute(
        "INSERT OR REPLACE INTO schedules(id, agent, dynamic, spec, next_due, epoch)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (schedule.id, schedule.agent, schedule.dynamic, spec, schedule.next_due, epoch),
    )
    return schedule


def _schedule(id: str, spec: str, next_due: float | None) -> Schedule | None:
    try:
        return Schedule.loaded(spec, next_due)
    except (ValueError, KeyError, TypeError) as error:
        log.error("schedule_unreadable", id=id, error=str(error))
        return None


_PURGES = (
    "DELETE FROM reminders WHERE state != 'active' AND NOT EXISTS (SELECT 1 FROM occurrences"
    " WHERE schedule_id = reminders.id AND (finished IS NULL OR finished >= :before))"
    " AND ended_at < :before",
    "DELETE FROM occurrences WHERE outcome IS NOT NULL AND finished < :before",
    "DELETE FROM schedules WHERE removed_at < :before AND NOT EXISTS (SELECT 1 FROM occurrences"
    " WHERE schedule_id = schedules.id AND outcome IS NULL)",
)
