"""What can be wrong with a database file, in sentences for people."""

from __future__ import annotations

import sqlite3
from pathlib import Path

__all__ = [
    "DatabaseClosed",
    "DatabaseCorrupt",
    "DatabaseError",
    "DatabaseFull",
    "DatabaseLocked",
    "DatabaseTooNew",
    "DatabaseUnavailable",
    "explained",
    "primary_code",
]


class DatabaseError(Exception):
    """A database file cannot do what was asked; the text is one sentence for people."""


class DatabaseClosed(DatabaseError):
    """The database was closed before this call."""


class DatabaseCorrupt(DatabaseError):
    """The file is not a healthy SQLite database. Nothing was changed or moved."""


class DatabaseLocked(DatabaseError):
    """Another process held the file for longer than the busy timeout. Nothing was changed."""


class DatabaseFull(DatabaseError):
    """No space is left for the file. The transaction was rolled back."""


class DatabaseTooNew(DatabaseError):
    """The file holds migrations that this version does not know. Nothing was changed."""


class DatabaseUnavailable(DatabaseError):
    """The file cannot be opened, read or written (path, permissions, I/O)."""


def primary_code(error: sqlite3.Error) -> int | None:
    """SQLite's result code without its extension; None for errors that never reached SQLite."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


_SENTENCES: dict[int, tuple[type[DatabaseError], str]] = {
    sqlite3.SQLITE_BUSY: (DatabaseLocked, "another process keeps the database locked"),
    sqlite3.SQLITE_LOCKED: (DatabaseLocked, "another process keeps the database locked"),
    sqlite3.SQLITE_CORRUPT: (
        DatabaseCorrupt,
        "the database is damaged; restore it from a copy or move it away",
    ),
    sqlite3.SQLITE_NOTADB: (
        DatabaseCorrupt,
        "this is not a database; restore it from a copy or move it away",
    ),
    sqlite3.SQLITE_FULL: (DatabaseFull, "no space left for the database"),
    sqlite3.SQLITE_READONLY: (DatabaseUnavailable, "the database cannot be written"),
    sqlite3.SQLITE_CANTOPEN: (DatabaseUnavailable, "the database cannot be opened"),
    sqlite3.SQLITE_IOERR: (DatabaseUnavailable, "reading or writing the database failed"),
    sqlite3.SQLITE_PERM: (DatabaseUnavailable, "no permission for the database"),
}


def explained(path: Path, error: sqlite3.Error | UnicodeDecodeError) -> Exception:
    """Turn what SQLite says about a file into our errors; errors in the SQL stay as they are.

    Text that is not UTF-8, in the file or in SQLite's words about it, is damage: none is stored.
    """
    if isinstance(error, UnicodeDecodeError) or "Could not decode to UTF-8" in str(error):
        kind, sentence = _SENTENCES[sqlite3.SQLITE_CORRUPT]
        return kind(f"{path}: {sentence} (text that is not UTF-8)")
    known = _SENTENCES.get(primary_code(error) or 0)
    if known is None:
        return error
    kind, sentence = known
    return kind(f"{path}: {sentence} ({error})")
