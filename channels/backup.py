"""A copy of a database file, made beside it before its schema changes."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

__all__ = ["copied_before"]


def copied_before(path: Path, conn: sqlite3.Connection, known: Sequence[str]) -> Path | None:
    """Copy a file that is about to be migrated to `FILE.backup-VERSION`; whole or not at all.

    `known`: the names of all migrations, oldest first; VERSION is the number of the last one that
    the file has. Returns None, and copies nothing, when there is nothing to migrate or to lose.
    """
    tables = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migrations'"
    if conn.execute(tables).fetchone() is None:
        return None
    applied = {row[0] for row in conn.execute("SELECT name FROM migrations")}
    if not applied or applied.issuperset(known) or not applied.issubset(known):
        return None
    version = max(applied, key=list(known).index).rpartition(".")[2]
    backup = path.with_name(f"{path.name}.backup-{version}")
    fresh = backup.with_name(f"{backup.name}.new")
    fresh.unlink(missing_ok=True)
    os.close(os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    copy = sqlite3.connect(fresh)
    try:
        conn.backup(copy)
    finally:
        copy.close()
    fresh.replace(backup)
    return backup
