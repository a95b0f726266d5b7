"""Opening the reminder store: migrated after a copy was made, set aside when it is damaged."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import sqlite_utils
import structlog

from channels.clock import WallClock
from channels.database import Database
from channels.database_errors import DatabaseCorrupt
from cronactor.health import Health
from cronactor.store import MIGRATIONS, ReminderStore

__all__ = ["open_store"]

log = structlog.get_logger()

_BESIDE = ("", "-wal", "-shm")


async def open_store(
    path: Path, health: Health, clock: WallClock, *, threaded: bool = True
) -> ReminderStore:
    """Open the store; a damaged file is kept as `FILE.corrupt-STAMP`, and a fresh one is begun.

    What was lost is in the log and in `health`. Raises the other kinds of DatabaseError.
    """
    try:
        return await _open_sound(path, threaded)
    except DatabaseCorrupt as error:
        kept = _set_aside(path, clock.now())
        log.error("reminders_corrupt", file=str(path), kept=str(kept), error=str(error))
        health.lost.append(
            f"{path.name} was damaged and is kept as {kept.name}; a fresh one was begun: reminders"
            " and the calendar of schedules start anew"
        )
    return await _open_sound(path, threaded)


async def _open_sound(path: Path, threaded: bool) -> ReminderStore:
    db = await Database.open(path, MIGRATIONS, threaded=threaded, back_up=True)
    try:
        await db.read(partial(_check, path))
    except BaseException:
        await db.close()
        raise
    if db.migrated.backup is not None:
        names, backup = db.migrated.names, str(db.migrated.backup)
        log.info("reminders_migrated", migrations=len(names), last=names[-1], backup=backup)
    return ReminderStore(db)


def _check(path: Path, db: sqlite_utils.Database) -> None:
    (found,) = db.conn.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise DatabaseCorrupt(f"{path}: the database is damaged ({found})")


def _set_aside(path: Path, now: float) -> Path:
    """Rename a file and what SQLite keeps beside it, over nothing that exists."""
    stamp = datetime.fromtimestamp(now, UTC).strftime("%Y%m%dT%H%M%SZ")
    kept = path.with_name(f"{path.name}.corrupt-{stamp}")
    number = 1
    while kept.exists():
        number += 1
        kept = path.with_name(f"{path.name}.corrupt-{stamp}-{number}")
    for suffix in reversed(_BESIDE):
        part = path.with_name(path.name + suffix)
        if part.exists():
            part.rename(kept.with_name(kept.name + suffix))
    return kept
