"""The ledger of occurrences: claimed once, each with exactly one outcome, fenced by a token."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs
import sqlite_utils

from channels.database import Database
from cronactor.catchup import Missed, Plan
from cronactor.jobs import Job, Occurrence, Outcome, occurrence_txn
from cronactor.reminder import FAILED, FIRED, MISSED, Reminder

__all__ = ["Entry", "Fenced", "Ledger", "Verdict"]

_FIELDS = tuple(field.name for field in attrs.fields(Occurrence))
_COLUMNS = ", ".join(_FIELDS)


class Fenced(Exception):
    """Another scheduler has taken this store over: this one must not fire anything any more."""


@attrs.frozen
class Entry:
    """Something due and what is planned. `skip` or `fail` is why `plan.fires` must not be run.

    The first `keep` of them are run although the others are skipped. `txn_id` is the name of the
    message in which several occurrences are said together, "" for one of its own.
    """

    job: Job
    due: float
    plan: Plan
    skip: str = ""
    fail: str = ""
    keep: int = 0
    txn_id: str = ""


@attrs.frozen
class Verdict:
    """The outcome of one claimed occurrence."""

    schedule_id: str
    scheduled_at: float
    outcome: Outcome
    reason: str = ""


class Ledger:
    """The occurrences of one store. Every method is one transaction."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def begin(self) -> int:
        """Take the store over: return the new fencing token; older tokens are worth nothing now.

        Claims without outcome pass to the new token, to be recovered.
        """

        def take(db: sqlite_utils.Database) -> int:
            db.conn.execute("UPDATE fence SET token = token + 1")
            token = int(db.conn.execute("SELECT token FROM fence").fetchone()[0])
            db.conn.execute("UPDATE occurrences SET token = ? WHERE outcome IS NULL", (token,))
            return token

        return await self._db.write(take)

    async def claim(
        self, token: int, entries: Sequence[Entry], now: float
    ) -> tuple[Occurrence, ...]:
        """Claim what is due, record what was missed or is skipped, move each to its next instant.

        An entry whose job is gone, or no longer due at that instant, is left alone. Returns the
        occurrences to be run. Raises Fenced.
        """

        def take(db: sqlite_utils.Database) -> tuple[Occurrence, ...]:
            _check_fence(db, token)
            return tuple(one for entry in entries for one in _claim(db, token, entry, now))

        return await self._db.write(take)

    async def claim_now(self, token: int, job: Job, now: float) -> Occurrence:
        """Claim an occurrence at `now`, beside the calendar. Raises Fenced."""
        occurrence = _occurrence(job, now, token, now)

        def take(db: sqlite_utils.Database) -> Occurrence:
            _check_fence(db, token)
            if not _insert(db, occurrence):
                raise Fenced("this very instant was claimed already")
            return occurrence

        return await self._db.write(take)

    async def begun(self, token: int, occurrence: Occurrence, now: float) -> bool:
        """Count one more try of a model run before it starts; False when it is no longer ours."""
        sql = (
            "UPDATE occurrences SET attempts = attempts + 1, started = coalesce(started, ?)"
            " WHERE schedule_id = ? AND scheduled_at = ? AND token = ? AND outcome IS NULL"
        )
        values = (now, occurrence.schedule_id, occurrence.scheduled_at, token)
        return await self._db.write(lambda db: db.conn.execute(sql, values).rowcount == 1)

    async def finish(
        self, token: int, verdicts: Iterable[Verdict], now: float
    ) -> tuple[Verdict, ...]:
        """Record outcomes; a one-shot is then done with. Returns those that were new."""
        given = tuple(verdicts)

        def record(db: sqlite_utils.Database) -> tuple[Verdict, ...]:
            return tuple(verdict for verdict in given if _finish(db, token, verdict, now))

        return await self._db.write(record)

    async def check(self, token: int) -> None:
        """Raise Fenced when another scheduler has taken over since this token was given."""
        await self._db.read(lambda db: _check_fence(db, token))

    async def give_up(self, token: int, entry: Entry, why: str, now: float) -> None:
        """End a job that cannot even be claimed, with a failed occurrence if there can be one."""

        def end(db: sqlite_utils.Database) -> None:
            _check_fence(db, token)
            id = entry.job.id
            db.conn.execute("UPDATE schedules SET next_due = NULL WHERE id = ?", (id,))
            sql = "UPDATE reminders SET state = ?, next_due = NULL, ended_at = ? WHERE id = ?"
            db.conn.execute(sql, (FAILED, now, id))
            sql = (
                "INSERT OR IGNORE INTO occurrences(schedule_id, scheduled_at, agent, room, txn_id,"
                " token, claimed_at, finished, outcome, reason)"
                " VALUES (?, ?, '', '', '', ?, ?, ?, 'failed', ?)"
            )
            db.conn.execute(sql, (id, entry.due, token, now, now, why))

        await self._db.write(end)

    async def set_refused(self, refused: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """Note why a room refused a message: pairs (txn id, why); return the ids of its jobs."""
        sql = "UPDATE occurrences SET reason = ? WHERE txn_id = ? AND event_id IS NULL"

        def update(db: sqlite_utils.Database) -> list[str]:
            found = []
            for txn_id, why in refused:
                db.conn.execute(sql, (why, txn_id))
                ids = "SELECT schedule_id FROM occurrences WHERE txn_id = ?"
                found += [row[0] for row in db.conn.execute(ids, (txn_id,))]
            return found

        return tuple(await self._db.write(update))

    async def newest(self) -> float | None:
        """Return the latest instant at which anything ended, as the clock showed it."""
        sql = "SELECT max(finished) FROM occurrences"
        row = await self._db.read(lambda db: db.conn.execute(sql).fetchone())
        return None if row[0] is None else float(row[0])

    async def unfinished(self) -> tuple[Occurrence, ...]:
        """Return the claims without outcome, oldest first."""
        return await self._select("outcome IS NULL ORDER BY scheduled_at")

    async def get(self, schedule_id: str, scheduled_at: float) -> Occurrence | None:
        """Return one occurrence."""
        where = "schedule_id = ? AND scheduled_at = ?"
        found = await self._select(where, schedule_id, scheduled_at)
        return found[0] if found else None

    async def said(self, event_id: str) -> Occurrence | None:
        """Return the occurrence whose message became this event."""
        found = await self._select("event_id = ?", event_id)
        return found[0] if found else None

    async def runs(self, schedule_id: str | None = None, limit: int = 50) -> tuple[Occurrence, ...]:
        """Return the latest occurrences of a schedule or of all, newest first."""
        where = "(? IS NULL OR schedule_id = ?) ORDER BY scheduled_at DESC LIMIT ?"
        return await self._select(where, schedule_id, schedule_id, limit)

    async def latest(self, ids: Sequence[str]) -> Mapping[str, Occurrence]:
        """Return the latest occurrence of each schedule that has one."""
        sql = (
            f"SELECT {_COLUMNS} FROM occurrences WHERE schedule_id = ?"
            " ORDER BY scheduled_at DESC LIMIT 1"
        )

        def select(db: sqlite_utils.Database) -> list[Any]:
            return [db.conn.execute(sql, (id,)).fetchone() for id in ids]

        rows = [row for row in await self._db.read(select) if row is not None]
        return {row[0]: Occurrence(*row) for row in rows}

    async def without_event(self, limit: int = 1000) -> tuple[Occurrence, ...]:
        """Return the latest fired occurrences whose event id is not known."""
        where = "outcome = 'fired' AND event_id IS NULL ORDER BY finished DESC LIMIT ?"
        return await self._select(where, limit)

    async def set_events(self, events: Sequence[tuple[str, str]]) -> None:
        """Record event ids by transaction id: pairs (txn id, event id)."""
        sql = "UPDATE occurrences SET event_id = ? WHERE txn_id = ? AND event_id IS NULL"
        values = [(event_id, txn_id) for txn_id, event_id in events]

        def update(db: sqlite_utils.Database) -> None:
            db.conn.executemany(sql, values)

        await self._db.write(update)

    async def _select(self, where: str, *values: object) -> tuple[Occurrence, ...]:
        sql = f"SELECT {_COLUMNS} FROM occurrences WHERE {where}"
        rows = await self._db.read(lambda db: db.conn.execute(sql, values).fetchall())
        return tuple(Occurrence(*row) for row in rows)


def _check_fence(db: sqlite_utils.Database, token: int) -> None:
    if db.conn.execute("SELECT token FROM fence").fetchone()[0] != token:
        raise Fenced("another scheduler has taken over this reminder store")


def _claim(
    db: sqlite_utils.Database, token: int, entry: Entry, now: float
) -> tuple[Occurrence, ...]:
    """Do to one entry what is planned; return what is to be run, the oldest first."""
    job, plan = entry.job, entry.plan
    if not _still_due(db, job, entry.due):
        return ()
    if plan.missed is not None:
        _insert(db, _missed(job, plan.missed, token, now))
    planned = (_planned(entry, n, at, token, now) for n, at in enumerate(plan.fires))
    claimed = tuple(one for one in planned if _insert(db, one) and one.outcome is None)
    _move(db, entry, now, pending=bool(claimed))
    return claimed


def _planned(entry: Entry, place: int, at: float, token: int, now: float) -> Occurrence:
    occurrence = _occurrence(entry.job, at, token, now)
    if entry.txn_id:
        occurrence = attrs.evolve(occurrence, txn_id=entry.txn_id)
    if entry.fail:
        return attrs.evolve(occurrence, finished=now, outcome="failed", reason=entry.fail)
    if entry.skip and place >= entry.keep:
        return attrs.evolve(occurrence, finished=now, outcome="skipped", reason=entry.skip)
    return occurrence


def _still_due(db: sqlite_utils.Database, job: Job, due: float) -> bool:
    if isinstance(job, Reminder):
        sql = "SELECT 1 FROM reminders WHERE id = ? AND next_due = ? AND state = 'active'"
    else:
        sql = "SELECT 1 FROM schedules WHERE id = ? AND next_due = ? AND removed_at IS NULL"
    return db.conn.execute(sql, (job.id, due)).fetchone() is not None


def _move(db: sqlite_utils.Database, entry: Entry, now: float, *, pending: bool) -> None:
    """Set what is due next. A one-shot that is not run, nor will be, ends here."""
    job, upcoming = entry.job, entry.plan.next_due
    if not isinstance(job, Reminder):
        db.conn.execute("UPDATE schedules SET next_due = ? WHERE id = ?", (upcoming, job.id))
        return
    db.conn.execute("UPDATE reminders SET next_due = ? WHERE id = ?", (upcoming, job.id))
    if upcoming is None and not pending:
        state = FAILED if entry.fail else MISSED
        sql = "UPDATE reminders SET state = ?, ended_at = ? WHERE id = ?"
        db.conn.execute(sql, (state, now, job.id))


def _occurrence(job: Job, at: float, token: int, now: float) -> Occurrence:
    room = job.room if isinstance(job, Reminder) else job.config.output_room
    return Occurrence(
        schedule_id=job.id,
        scheduled_at=at,
        agent=job.agent,
        room=room,
        txn_id=occurrence_txn(job.id, at),
        token=token,
        claimed_at=now,
    )


def _missed(job: Job, missed: Missed, token: int, now: float) -> Occurrence:
    reason = missed.reason if missed.counted else f"{missed.reason}; at least {missed.count}"
    return attrs.evolve(
        _occurrence(job, missed.first, token, now),
        finished=now,
        outcome="missed",
        reason=reason,
        last_at=missed.last,
        count=missed.count,
    )


def _insert(db: sqlite_utils.Database, occurrence: Occurrence) -> bool:
    marks = ", ".join("?" * len(_FIELDS))
    sql = f"INSERT OR IGNORE INTO occurrences({_COLUMNS}) VALUES ({marks})"
    return db.conn.execute(sql, attrs.astuple(occurrence)).rowcount == 1


def _finish(db: sqlite_utils.Database, token: int, verdict: Verdict, now: float) -> bool:
    key = (verdict.schedule_id, verdict.scheduled_at, token)
    changed = db.conn.execute(
        "UPDATE occurrences SET outcome = ?, reason = ?, finished = ?,"
        " started = coalesce(started, claimed_at)"
        " WHERE schedule_id = ? AND scheduled_at = ? AND token = ? AND outcome IS NULL",
        (verdict.outcome, verdict.reason, now, *key),
    )
    if changed.rowcount != 1:
        return False
    if verdict.outcome == "fired":
        sql = "UPDATE reminders SET fired_at = ? WHERE id = ?"
        db.conn.execute(sql, (now, verdict.schedule_id))
    db.conn.execute(
        "UPDATE reminders SET state = ?, ended_at = ?"
        " WHERE id = ? AND state = 'active' AND coalesce(cron, every) IS NULL AND next_due IS NULL",
        (_ENDS.get(verdict.outcome, FAILED), now, verdict.schedule_id),
    )
    return True


_ENDS = {"fired": FIRED, "missed": MISSED}
