"""One SQLite connection per file: serialised, migrated, every write one `BEGIN IMMEDIATE`."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Generator, Sequence
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import attrs
import outcome
import sqlite_utils
import trio

from channels.backup import copied_before
from channels.crashpoints import crash_point, declare_crash_points
from channels.database_errors import (
    DatabaseClosed,
    DatabaseCorrupt,
    DatabaseError,
    DatabaseFull,
    DatabaseLocked,
    DatabaseTooNew,
    DatabaseUnavailable,
    explained,
    primary_code,
)
from channels.group_commit import GroupCommit, Write

__all__ = [
    "Database",
    "DatabaseClosed",
    "DatabaseCorrupt",
    "DatabaseError",
    "DatabaseFull",
    "DatabaseLocked",
    "DatabaseTooNew",
    "DatabaseUnavailable",
    "Migrated",
    "Migration",
]

declare_crash_points("database.before_commit", "database.after_commit")

T = TypeVar("T")
Job = Callable[[sqlite_utils.Database], T]

BUSY_SECONDS = 5.0
CLOSE_SECONDS = 5.0
MEMORY = Path(":memory:")


@attrs.frozen
class Migration:
    """One step of a file's schema, applied in the transaction that opens it. Name: `module.NNN`."""

    name: str
    apply: Callable[[sqlite_utils.Database], None]


@attrs.frozen
class Migrated:
    """The migrations that an opening applied, and the copy that was made before, if any."""

    names: tuple[str, ...] = ()
    backup: Path | None = None


class Database:
    """One SQLite file. Operations run one at a time, in a worker thread, in the order of asking.

    Open with `await Database.open(...)` or `async with Database.open(...) as db`. A cancel that
    comes before an operation has started cancels it; one that has started delivers its result.
    """

    def __init__(
        self, path: Path, raw: sqlite_utils.Database, threaded: bool, migrated: Migrated
    ) -> None:
        self.path = path
        self.migrated = migrated
        self._raw: sqlite_utils.Database | None = raw
        self._threaded = threaded
        self._limiter = trio.CapacityLimiter(1)
        self._group = GroupCommit(self._limiter, self._commit_in_thread)
        self._closing = False
        self._close_when_idle = False

    @classmethod
    def open(
        cls,
        path: str | Path,
        migrations: Sequence[Migration],
        *,
        threaded: bool = True,
        busy_timeout: float = BUSY_SECONDS,
        back_up: bool = False,
    ) -> Opening:
        """Open (or create, mode 0600) the file, or `:memory:`, and bring its schema up to date.

        `migrations` is everything this version knows of the file, oldest first. `busy_timeout` is
        the longest wait in seconds for another process. `threaded=False` runs operations in the
        calling thread (for virtual clocks). `back_up`: a file that has data and is about to be
        migrated is first copied to `FILE.backup-VERSION`. Await the result, or enter it with `async
        with` to have it closed.

        Raises DatabaseTooNew, DatabaseCorrupt, DatabaseLocked, DatabaseFull or DatabaseUnavailable.
        """
        return Opening(cls, Path(path), tuple(migrations), threaded, busy_timeout, back_up)

    async def read(self, fn: Job[T]) -> T:
        """Run `fn(db)` on one consistent snapshot, unable to write, and return its result.

        `fn` runs in a worker thread and must return finished values, not cursors. Raises what `fn`
        raises, and the DatabaseError family.
        """
        return await self._run(partial(self._reading, fn))

    async def write(self, fn: Job[T]) -> T:
        """Run `fn(db)` inside `BEGIN IMMEDIATE` … `COMMIT` and return its result.

        Any exception rolls everything back. `db.atomic()` inside nests as a savepoint. Writes that
        wait at the same time are committed together, each with its own result. Raises what `fn`
        raises, and the DatabaseError family.
        """
        if not self._threaded:
            return await self._run(partial(self._writing, fn))
        if self._closing:
            raise DatabaseClosed(f"{self.path}: the database is closed")
        result: T = await self._group.run(fn)
        return result

    async def close(self) -> None:
        """Fold the write-ahead log into the file and close. Idempotent.

        Shielded from cancels, and bounded: waits at most a few seconds for the operation that runs.
        """
        if self._closing:
            return
        self._closing = True
        with trio.CancelScope(shield=True, deadline=trio.current_time() + CLOSE_SECONDS):
            if self._threaded:
                await trio.to_thread.run_sync(self._close_now, limiter=self._limiter)
            else:
                self._close_now()
        if self._raw is not None:
            self._close_when_idle = True

    @property
    def closed(self) -> bool:
        """True once `close()` was asked for."""
        return self._closing

    @property
    def waiting(self) -> int:
        """How many operations wait for their turn."""
        readers = self._limiter.statistics().tasks_waiting - self._group.leader_waits
        return readers + self._group.waiting

    async def _run(self, job: Callable[[], T]) -> T:
        if self._closing:
            raise DatabaseClosed(f"{self.path}: the database is closed")
        if self._threaded:
            return await trio.to_thread.run_sync(job, limiter=self._limiter)
        await trio.lowlevel.checkpoint_if_cancelled()
        try:
            return job()
        finally:
            await trio.lowlevel.cancel_shielded_checkpoint()

    def _reading(self, fn: Job[T]) -> T:
        with self._in_use() as raw:
            raw.conn.execute("PRAGMA query_only=ON")
            try:
                raw.conn.execute("BEGIN")
                return fn(raw)
            finally:
                _rollback(raw.conn)
                raw.conn.execute("PRAGMA query_only=OFF")

    def _writing(self, fn: Job[T]) -> T:
        with self._in_use() as raw:
            raw.conn.execute("BEGIN IMMEDIATE")
            try:
                result = fn(raw)
                if not raw.conn.in_transaction:
                    raise DatabaseError(f"{self.path}: a write ended its own transaction")
                crash_point("database.before_commit")
                raw.conn.execute("COMMIT")
            except BaseException:
                _rollback(raw.conn)
                raise
            crash_point("database.after_commit")
            return result

    async def _commit_in_thread(self, writes: Sequence[Write]) -> None:
        with trio.CancelScope(shield=True):  # the thread that runs cannot be stopped anyway
            await trio.to_thread.run_sync(self._commit, writes, limiter=trio.CapacityLimiter(1))

    def _commit(self, writes: Sequence[Write]) -> None:
        """Commit these writes in one transaction, set every result; one that fails is undone."""
        if len(writes) == 1:
            writes[0].result = outcome.capture(self._writing, writes[0].fn)
            return
        try:
            results = self._writing(partial(self._each, writes))
        except BaseException as error:  # nothing was stored: all of them hear of it
            for write in writes:
                write.result = outcome.Error(copy(error))
            return
        for write, result in zip(writes, results, strict=True):
            write.result = result

    def _each(
        self, writes: Sequence[Write], raw: sqlite_utils.Database
    ) -> list[outcome.Outcome[Any]]:
        results: list[outcome.Outcome[Any]] = []
        for write in writes:
            result = outcome.capture(self._in_savepoint, raw, write.fn)
            if isinstance(result, outcome.Error) and not isinstance(result.error, Exception):
                raise result.error  # no ordinary error: the process is ending
            if not raw.conn.in_transaction:
                raise DatabaseError(f"{self.path}: a write beside this one ended the transaction")
            results.append(result)
        return results

    def _in_savepoint(self, raw: sqlite_utils.Database, fn: Job[T]) -> T:
        raw.conn.execute("SAVEPOINT one_of_many")
        try:
            result = fn(raw)
        except BaseException as error:
            if raw.conn.in_transaction:
                raw.conn.execute("ROLLBACK TO one_of_many")
                raw.conn.execute("RELEASE one_of_many")
            if isinstance(error, sqlite3.Error | UnicodeDecodeError):
                raise explained(self.path, error) from error
            raise
        if raw.conn.in_transaction:
            raw.conn.execute("RELEASE one_of_many")
        return result

    @contextlib.contextmanager
    def _in_use(self) -> Generator[sqlite_utils.Database, None, None]:
        if self._raw is None:
            raise DatabaseClosed(f"{self.path}: the database is closed")
        try:
            yield self._raw
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise explained(self.path, error) from error
        finally:
            if self._close_when_idle:
                self._close_now()

    def _close_now(self) -> None:
        raw, self._raw = self._raw, None
        if raw is None:
            return
        with contextlib.suppress(sqlite3.Error):
            # A reader elsewhere may hold the log: then it is folded in at the next opening.
            raw.conn.execute("PRAGMA busy_timeout=500")
            raw.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        raw.conn.close()


@attrs.define
class Opening:
    """What `Database.open` returns: await it for a Database, or enter it to have it closed too."""

    _cls: type[Database]
    _path: Path
    _migrations: tuple[Migration, ...]
    _threaded: bool
    _busy_timeout: float
    _back_up: bool = False
    _opened: Database | None = None

    def __await__(self) -> Generator[Any, Any, Database]:
        return self._open().__await__()

    async def __aenter__(self) -> Database:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(self, *exc_info: object) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def _open(self) -> Database:
        connect = partial(_connect, self._path, self._migrations, self._busy_timeout, self._back_up)
        if self._threaded:
            raw, migrated = await trio.to_thread.run_sync(connect)
        else:
            raw, migrated = connect()
        return self._cls(self._path, raw, self._threaded, migrated)


def _connect(
    path: Path, migrations: tuple[Migration, ...], busy_timeout: float, back_up: bool
) -> tuple[sqlite_utils.Database, Migrated]:
    conn = None
    try:
        if path != MEMORY:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        conn = sqlite3.connect(
            path, timeout=busy_timeout, isolation_level=None, check_same_thread=False
        )
        raw = sqlite_utils.Database(conn, execute_plugins=False)
        _use_write_ahead_log(conn, busy_timeout)
        for pragma in ("synchronous=FULL", "foreign_keys=ON", "temp_store=MEMORY"):
            conn.execute(f"PRAGMA {pragma}")
        known = [migration.name for migration in migrations]
        copy_to = copied_before(path, conn, known) if back_up else None
        return raw, Migrated(_migrate(path, raw, migrations), copy_to)
    except BaseException as error:
        if conn is not None:
            conn.close()
        if isinstance(error, OSError):
            text = f"{path}: cannot open the database: {error.strerror or error}"
            raise DatabaseUnavailable(text) from error
        if isinstance(error, sqlite3.Error | UnicodeDecodeError):
            raise explained(path, error) from error
        raise


def _use_write_ahead_log(conn: sqlite3.Connection, patience: float) -> None:
    """Switch to WAL. Two processes that switch together are told "locked" at once: try again."""
    give_up = time.monotonic() + patience
    while True:
        try:
            if conn.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                conn.execute("PRAGMA journal_mode=WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.01)


def _migrate(
    path: Path, raw: sqlite_utils.Database, migrations: tuple[Migration, ...]
) -> tuple[str, ...]:
    names = [migration.name for migration in migrations]
    if len(set(names)) != len(names):
        raise ValueError(f"{path}: two migrations share a name: {names}")
    raw.conn.execute("BEGIN IMMEDIATE")
    try:
        raw.conn.execute(
            "CREATE TABLE IF NOT EXISTS migrations("
            "name TEXT PRIMARY KEY, applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)"
        )
        applied = {row[0] for row in raw.conn.execute("SELECT name FROM migrations")}
        unknown = sorted(applied - set(names))
        if unknown:
            raise DatabaseTooNew(
                f"{path}: written by a newer version (unknown migrations: {', '.join(unknown)}); "
                "use that version, or another workspace"
            )
        pending = [migration for migration in migrations if migration.name not in applied]
        for migration in pending:
            migration.apply(raw)
            raw.conn.execute("INSERT INTO migrations(name) VALUES (?)", (migration.name,))
        raw.conn.execute("COMMIT")
        return tuple(migration.name for migration in pending)
    except BaseException:
        _rollback(raw.conn)
        raise


def _rollback(conn: sqlite3.Connection) -> None:
    if conn.in_transaction:
        with contextlib.suppress(sqlite3.Error):
            conn.execute("ROLLBACK")
