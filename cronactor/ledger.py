"""The ledger of occurrences: claimed once, each with exactly one outcome, fenced by a token."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlite_utils

from channels.database import Database
from cronactor.jobs import Job, Occurrence
from cronactor.ledger_rows import (
    COLUMNS,
    Entry,
    Fenced,
    Verdict,
    check_fence,
    claim,
    finish,
    give_up,
    insert,
    occurrence_of,
)

__all__ = ["Entry", "Fenced", "Ledger", "Verdict"]


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
            check_fence(db, token)
            return tuple(one for entry in entries for one in claim(db, token, entry, now))

        return await self._db.write(take)

    async def claim_now(self, token: int, job: Job, now: float) -> Occurrence:
        """Claim an occurrence at `now`, beside the calendar. Raises Fenced."""
        occurrence = occurrence_of(job, now, token, now)

        def take(db: sqlite_utils.Database) -> Occurrence:
            check_fence(db, token)
            if not insert(db, occurrence):
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
            return tuple(verdict for verdict in given if finish(db, token, verdict, now))

        return await self._db.write(record)

    async def check(self, token: int) -> None:
        """Raise Fenced when another scheduler has taken over since this token was given."""
        await self._db.read(lambda db: check_fence(db, token))

    async def give_up(self, token: int, entry: Entry, why: str, now: float) -> None:
        """End a job that cannot even be claimed, with a failed occurrence of it. Raises Fenced."""

        def end(db: sqlite_utils.Database) -> None:
            check_fence(db, token)
            give_up(db, token, entry, why, now)

        await self._db.write(end)

    async def set_refused(self, refused: Sequence[tuple[str, str]]) -> tuple[str, ...]:
        """Note why a room refused a message: pairs (txn id, why); return the ids of its jobs.

        What had fired by being handed over has failed: nobody has heard it.
        """
        failed = "CASE outcome WHEN 'fired' THEN 'failed' ELSE outcome END"
        sql = f"UPDATE occurrences SET reason = ?, outcome = {failed} WHERE txn_id = ?"
        sql += " AND event_id IS NULL"

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
            f"SELECT {COLUMNS} FROM occurrences WHERE schedule_id = ?"
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
        sql = f"SELECT {COLUMNS} FROM occurrences WHERE {where}"
        rows = await self._db.read(lambda db: db.conn.execute(sql, values).fetchall())
        return tuple(Occurrence(*row) for row in rows)
