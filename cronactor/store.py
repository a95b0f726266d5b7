"""Reminders and schedules on disk, and the door to the ledger of their occurrences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs
import sqlite_utils
import structlog

from channels.database import Database
from cronactor.finding import (
    COLUMNS,
    Find,
    RoomFull,
    check_room,
    fetch,
    first,
    insert,
    insert_new,
    matching,
    replace,
    search,
)
from cronactor.jobs import Job, Schedule
from cronactor.ledger import Ledger
from cronactor.reminder import DELETED, FIRED, Reminder
from cronactor.tables import MIGRATIONS
from cronactor.zonebook import ZoneBook

__all__ = ["MIGRATIONS", "Change", "ReminderStore", "RoomFull"]

log = structlog.get_logger()

Change = Callable[[Reminder], Reminder]
"""What becomes of a reminder; one with another id is a new one beside it."""


class ReminderStore:
    """The one store of a workspace. Every method is one transaction; reads change nothing."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.ledger = Ledger(db)

    @classmethod
    async def open(cls, path: str | Path, *, threaded: bool = True) -> ReminderStore:
        """Open or create the file. Raises the DatabaseError family; close with `close()`."""
        return cls(await Database.open(path, MIGRATIONS, threaded=threaded))

    def zonebook(self, timezone: str, configured: Callable[[str], str | None]) -> ZoneBook:
        """Return the zones that were set; `load()` it first."""
        return ZoneBook(self._db, timezone, configured)

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

        def keep(db: sqlite_utils.Database) -> tuple[Reminder, bool]:
            known = first(db, "idempotency_key = ?", reminder.idempotency_key)
            if known is not None:
                return known, False
            check_room(db, reminder.room, max_per_room)
            return insert(db, reminder), True

        return await self._db.write(keep)

    async def create_many(self, reminders: Iterable[Reminder]) -> tuple[Reminder, ...]:
        """Keep many new reminders in one transaction, as `create` would each, without a limit.

        100 000 take seconds, in which nothing else is written.
        """
        given = tuple(reminders)
        return await self._db.write(lambda db: tuple(insert_new(db, each) for each in given))

    async def change(
        self,
        find: Find,
        change: Change,
        *,
        key: str,
        now: float,
        max_per_room: int | None = None,
    ) -> tuple[Reminder, bool] | None:
        """Change the reminder that is found; return it as it is now, and True. None: no such.

        Under a `key` seen before ("" is no key) nothing is changed: the reminder is returned with
        False. Raises Ambiguous, RoomFull, and what `change` raises; nothing is then changed.
        """

        def work(db: sqlite_utils.Database) -> tuple[Reminder, bool] | None:
            done = db.conn.execute("SELECT reminder FROM effects WHERE key = ?", (key,)).fetchone()
            known = first(db, "id = ?", done[0]) if done else search(db, find)
            if known is None or done:
                return None if known is None else (known, False)
            changed = change(known)
            if changed.id != known.id or (changed.kept and not known.kept):
                check_room(db, changed.room, max_per_room)
            if changed.id != known.id:
                changed = insert(db, changed)
            elif changed != known:
                replace(db, changed)
            if key:
                sql = "INSERT INTO effects(key, reminder, done_at) VALUES (?, ?, ?)"
                db.conn.execute(sql, (key, changed.id, now))
            return changed, True

        return await self._db.write(work)

    async def matching(self, find: Find) -> tuple[Reminder, ...]:
        """Return the reminders that fit."""
        return await self._db.read(lambda db: matching(db, find))

    async def heard(self) -> int | None:
        """Return up to where reactions were taken up; None before the first time."""
        sql = "SELECT seq FROM heard"
        row = await self._db.read(lambda db: db.conn.execute(sql).fetchone())
        return None if row is None else int(row[0])

    async def set_heard(self, seq: int) -> None:
        """Remember up to where reactions were taken up."""
        sql = "INSERT OR REPLACE INTO heard(one, seq) VALUES (1, ?)"
        await self._db.write(lambda db: db.conn.execute(sql, (seq,)))

    async def followed(self, user: str, room: str) -> tuple[Reminder, ...]:
        """Return the reminders of a room, active or paused, that `user` follows."""
        where = "room = ? AND state IN ('active', 'paused')"
        where += " AND instr(' ' || followers || ' ', ' ' || ? || ' ')"
        return await self._select(where, room, user)

    async def by_key(self, key: str) -> Reminder | None:
        """Return the reminder created under an idempotency key, in whatever state."""
        return await self._db.read(lambda db: first(db, "idempotency_key = ?", key))

    async def get(self, id: str) -> Reminder | None:
        """Return a reminder in whatever state."""
        return await self._db.read(lambda db: first(db, "id = ?", id))

    async def delete(self, id: str, *, at: float, room: str | None = None) -> Reminder | None:
        """Mark an active or paused reminder as deleted at the instant `at` and return it.

        None when there is none (in `room`).

        One that is deleted already is returned as well: deleting twice is deleting.
        """

        def mark(db: sqlite_utils.Database) -> Reminder | None:
            known = first(db, "id = ?", id)
            if known is None or not (known.kept or known.state == DELETED):
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

    async def listed(
        self, room: str | None = None, *, all: bool = False, paused: bool = False
    ) -> tuple[Reminder, ...]:
        """Return the active reminders of a room or all, soonest first.

        `paused` adds those that are paused, at the end, `all` those of every state.
        """
        where, values = ["1"], []
        if room is not None:
            where.append("room = ?")
            values.append(room)
        if not all:
            where.append("state IN ('active', 'paused')" if paused else "state = 'active'")
        order = "next_due IS NULL, next_due, rowid"
        if paused:
            order = f"state = 'paused', {order}"
        return await self._select(f"{' AND '.join(where)} ORDER BY {order}", *values)

    async def load_active(self) -> tuple[Reminder, ...]:
        """Return every active reminder, the soonest first. Rows that cannot be read are logged."""
        # By rowid, so that neighbours are read together: half the time of the order of the index.
        found = await self._select(
            "rowid IN (SELECT rowid FROM reminders WHERE state = 'active') ORDER BY rowid"
        )
        return tuple(sorted(found, key=lambda each: (each.next_due is None, each.next_due or 0.0)))

    async def overdue(self, before: float, limit: int = 100) -> tuple[str, ...]:
        """Return the ids of active reminders that were due before an instant, oldest first."""
        sql = (
            "SELECT id FROM reminders WHERE state = 'active' AND next_due < ?"
            " ORDER BY next_due LIMIT ?"
        )
        rows = await self._db.read(lambda db: db.conn.execute(sql, (before, limit)).fetchall())
        return tuple(row[0] for row in rows)

    async def mark_fired(self, id: str, at: float) -> bool:
        """Record that a reminder spoke at the instant `at`; a one-shot is then done with.

        Returns False when it is not active.
        """

        def mark(db: sqlite_utils.Database) -> bool:
            changed = db.conn.execute(
                "UPDATE reminders SET fired_at = :at,"
                " ended_at = CASE WHEN coalesce(cron, every) IS NULL THEN :at ELSE NULL END,"
                " next_due = CASE WHEN coalesce(cron, every) IS NULL THEN NULL ELSE next_due END,"
                " state = CASE WHEN coalesce(cron, every) IS NULL THEN :fired ELSE state END"
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

        def select(db: sqlite_utils.Database) -> list[tuple[Any, ...]]:
            return db.conn.execute(
                "SELECT id, spec, next_due, anchor FROM schedules"
                " WHERE removed_at IS NULL AND (dynamic OR ? IS NULL OR epoch = ?) ORDER BY id",
                (epoch, epoch),
            ).fetchall()

        found = [_schedule(*row) for row in await self._db.read(select)]
        return tuple(schedule for schedule in found if schedule is not None)

    async def job(self, id: str) -> Job | None:
        """Return the reminder or schedule of an id in whatever state; None when it is forgotten."""
        if "/" not in id:
            return await self.get(id)
        sql = "SELECT id, spec, next_due, anchor FROM schedules WHERE id = ?"
        row = await self._db.read(lambda db: db.conn.execute(sql, (id,)).fetchone())
        return None if row is None else _schedule(*row)

    async def _select(self, where: str, *values: object) -> tuple[Reminder, ...]:
        sql = f"SELECT {COLUMNS} FROM reminders WHERE {where}"
        rows = await self._db.read(lambda db: fetch(db, sql, *values))
        return tuple(_readable(rows))


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
        "SELECT spec, next_due, anchor FROM schedules WHERE id = ? AND removed_at IS NULL",
        (schedule.id,),
    ).fetchone()
    if row is not None and row[0] == spec:
        owed = schedule.next_due if row[1] is None else row[1]  # None: it was given up
        schedule = attrs.evolve(schedule, next_due=owed, anchor=row[2])
    due = (schedule.next_due, schedule.anchor)
    db.conn.execute(
        "INSERT OR REPLACE INTO schedules(id, agent, dynamic, spec, next_due, anchor, epoch)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (schedule.id, schedule.agent, schedule.dynamic, spec, *due, epoch),
    )
    return schedule


def _schedule(id: str, spec: str, next_due: float | None, anchor: float | None) -> Schedule | None:
    try:
        return Schedule.loaded(spec, next_due, anchor)
    except (ValueError, KeyError, TypeError) as error:
        log.error("schedule_unreadable", id=id, error=str(error))
        return None


_PURGES = (
    "DELETE FROM reminders WHERE state NOT IN ('active', 'paused') AND NOT EXISTS"
    " (SELECT 1 FROM occurrences WHERE schedule_id = reminders.id"
    " AND (finished IS NULL OR finished >= :before))"
    " AND ended_at < :before",
    "DELETE FROM occurrences WHERE outcome IS NOT NULL AND finished < :before",
    "DELETE FROM effects WHERE done_at < :before",
    "DELETE FROM schedules WHERE removed_at < :before AND NOT EXISTS (SELECT 1 FROM occurrences"
    " WHERE schedule_id = schedules.id AND outcome IS NULL)",
)
