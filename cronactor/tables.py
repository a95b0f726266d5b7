"""The tables of reminders.db."""

from __future__ import annotations

import sqlite_utils

from channels.database import Migration

__all__ = ["MIGRATIONS"]


def _create(db: sqlite_utils.Database) -> None:
    for statement in _STATEMENTS:
        db.conn.execute(statement)


_STATEMENTS = (
    """
    CREATE TABLE reminders(
        id TEXT PRIMARY KEY, agent TEXT NOT NULL, room TEXT NOT NULL, user TEXT NOT NULL,
        message TEXT NOT NULL, timezone TEXT NOT NULL, locale TEXT NOT NULL,
        created_at REAL NOT NULL, next_due REAL, cron TEXT, wall TEXT, fired_at REAL,
        state TEXT NOT NULL, idempotency_key TEXT NOT NULL UNIQUE, ended_at REAL
    )
    """,
    "CREATE INDEX reminders_due ON reminders(state, next_due)",
    "CREATE INDEX reminders_room ON reminders(room, state)",
    """
    CREATE TABLE schedules(
        id TEXT PRIMARY KEY, agent TEXT NOT NULL, dynamic INTEGER NOT NULL, spec TEXT NOT NULL,
        next_due REAL, epoch TEXT NOT NULL, removed_at REAL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX schedules_agent ON schedules(agent)",
    """
    CREATE TABLE occurrences(
        schedule_id TEXT NOT NULL, scheduled_at REAL NOT NULL, agent TEXT NOT NULL,
        room TEXT NOT NULL, txn_id TEXT NOT NULL, token INTEGER NOT NULL,
        claimed_at REAL NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, started REAL,
        finished REAL, outcome TEXT, reason TEXT NOT NULL DEFAULT '', event_id TEXT,
        last_at REAL, count INTEGER NOT NULL DEFAULT 1,
        PRIMARY KEY(schedule_id, scheduled_at)
    ) WITHOUT ROWID
    """,
    "CREATE INDEX occurrences_open ON occurrences(claimed_at) WHERE outcome IS NULL",
    "CREATE INDEX occurrences_txn ON occurrences(txn_id)",
    "CREATE INDEX occurrences_finished ON occurrences(finished)",
    "CREATE TABLE fence(one INTEGER PRIMARY KEY CHECK (one = 1), token INTEGER NOT NULL)",
    "INSERT INTO fence(one, token) VALUES (1, 0)",
)


def _add_zones_and_changes(db: sqlite_utils.Database) -> None:
    for statement in _CHANGES:
        db.conn.execute(statement)


_CHANGES = (
    "ALTER TABLE reminders ADD COLUMN every REAL",
    "ALTER TABLE reminders ADD COLUMN anchor REAL",
    "ALTER TABLE reminders ADD COLUMN followers TEXT NOT NULL DEFAULT ''",
    "ALTER TABLE reminders ADD COLUMN origin TEXT NOT NULL DEFAULT ''",
    "CREATE INDEX reminders_fired ON reminders(room, fired_at) WHERE fired_at IS NOT NULL",
    "CREATE INDEX reminders_origin ON reminders(origin) WHERE origin != ''",
    "CREATE INDEX occurrences_event ON occurrences(event_id) WHERE event_id IS NOT NULL",
    """
    CREATE TABLE zones(
        kind TEXT NOT NULL CHECK(kind IN ('user', 'room')), name TEXT NOT NULL,
        zone TEXT NOT NULL, set_at REAL NOT NULL, PRIMARY KEY(kind, name)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE effects(
        key TEXT PRIMARY KEY, reminder TEXT NOT NULL, done_at REAL NOT NULL
    ) WITHOUT ROWID
    """,
    "CREATE INDEX effects_done ON effects(done_at)",
    "CREATE TABLE heard(one INTEGER PRIMARY KEY CHECK (one = 1), seq INTEGER NOT NULL)",
)

_ANCHORS = ("ALTER TABLE schedules ADD COLUMN anchor REAL",)


def _add_anchors(db: sqlite_utils.Database) -> None:
    for statement in _ANCHORS:
        db.conn.execute(statement)


MIGRATIONS = (
    Migration("reminders.001", _create),
    Migration("reminders.002", _add_zones_and_changes),
    Migration("reminders.003", _add_anchors),
)
