"""How occurrences are written, inside a transaction of the ledger's: claimed, missed, ended."""

from __future__ import annotations

from operator import attrgetter

import attrs
import sqlite_utils

from cronactor.catchup import Missed, Plan
from cronactor.jobs import Job, Occurrence, Outcome, occurrence_txn
from cronactor.reminder import FAILED, FIRED, MISSED, Reminder

__all__ = [
    "COLUMNS",
    "Entry",
    "Fenced",
    "Verdict",
    "check_fence",
    "claim",
    "finish",
    "give_up",
    "insert",
    "occurrence_of",
]

_FIELDS = tuple(field.name for field in attrs.fields(Occurrence))
COLUMNS = ", ".join(_FIELDS)
_values = attrgetter(*_FIELDS)
_ENDS = {"fired": FIRED, "missed": MISSED}


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


def check_fence(db: sqlite_utils.Database, token: int) -> None:
    """Raise Fenced when the token is an old one."""
    if db.conn.execute("SELECT token FROM fence").fetchone()[0] != token:
        raise Fenced("another scheduler has taken over this reminder store")


def claim(
    db: sqlite_utils.Database, token: int, entry: Entry, now: float
) -> tuple[Occurrence, ...]:
    """Do to one entry what is planned; return what is to be run, the oldest first."""
    job, plan = entry.job, entry.plan
    if not _still_due(db, job, entry.due):
        return ()
    if plan.missed is not None:
        insert(db, _missed(job, plan.missed, token, now))
    planned = (_planned(entry, n, at, token, now) for n, at in enumerate(plan.fires))
    claimed = tuple(one for one in planned if insert(db, one) and one.outcome is None)
    _move(db, entry, now, pending=bool(claimed))
    return claimed


def _planned(entry: Entry, place: int, at: float, token: int, now: float) -> Occurrence:
    occurrence = occurrence_of(entry.job, at, token, now)
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


def occurrence_of(job: Job, at: float, token: int, now: float) -> Occurrence:
    """Return the occurrence of a job at an instant, claimed now."""
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
        occurrence_of(job, missed.first, token, now),
        finished=now,
        outcome="missed",
        reason=reason,
        last_at=missed.last,
        count=missed.count,
    )


def insert(db: sqlite_utils.Database, occurrence: Occurrence) -> bool:
    """Write an occurrence; False when that instant is known already."""
    marks = ", ".join("?" * len(_FIELDS))
    sql = f"INSERT OR IGNORE INTO occurrences({COLUMNS}) VALUES ({marks})"
    return db.conn.execute(sql, _values(occurrence)).rowcount == 1


def finish(db: sqlite_utils.Database, token: int, verdict: Verdict, now: float) -> bool:
    """Record an outcome, with which a one-shot is done; False when it is no longer ours."""
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


def give_up(db: sqlite_utils.Database, token: int, entry: Entry, why: str, now: float) -> None:
    """End a job that cannot even be claimed, with a failed occurrence of it."""
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
