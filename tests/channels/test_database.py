"""Database: one connection, serial, transactional, and clear about what is wrong with the file."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import sqlite_utils
import trio
import trio.testing

from channels.database import (
    Database,
    DatabaseClosed,
    DatabaseCorrupt,
    DatabaseError,
    DatabaseFull,
    DatabaseLocked,
    DatabaseTooNew,
    DatabaseUnavailable,
    Migration,
)
from supervisor.testkit.crashes import Crash, armed

pytestmark = pytest.mark.promise("P1")


def make_notes(db: sqlite_utils.Database) -> None:
    db.executescript("CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT UNIQUE);")


NOTES = Migration("notes.001", make_notes)


@pytest.fixture
async def db(tmp_path: Path) -> AsyncIterator[Database]:
    async with Database.open(tmp_path / "notes.db", [NOTES]) as opened:
        yield opened


def add(text: str):
    return lambda db: db.conn.execute("INSERT INTO notes(text) VALUES (?)", (text,)).lastrowid


def texts(db: sqlite_utils.Database) -> list[str]:
    return [row[0] for row in db.conn.execute("SELECT text FROM notes ORDER BY id")]


async def test_what_was_written_is_read_after_reopening(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    async with Database.open(path, [NOTES]) as db:
        assert await db.write(add("uno")) == 1
    db = await Database.open(path, [NOTES])
    try:
        assert await db.read(texts) == ["uno"]
    finally:
        await db.close()


async def test_a_failed_write_changes_nothing(db: Database) -> None:
    def half(raw: sqlite_utils.Database) -> None:
        add("uno")(raw)
        raise LookupError("half way")

    with pytest.raises(LookupError, match="half way"):
        await db.write(half)
    assert await db.read(texts) == []


async def test_sql_errors_reach_the_caller_as_they_are(db: Database) -> None:
    await db.write(add("uno"))
    with pytest.raises(sqlite3.IntegrityError):
        await db.write(add("uno"))
    assert await db.read(texts) == ["uno"]


async def test_nested_atomic_blocks_are_savepoints_of_the_write(db: Database) -> None:
    def work(raw: sqlite_utils.Database) -> None:
        add("kept")(raw)
        with pytest.raises(LookupError), raw.atomic():
            add("dropped")(raw)
            raise LookupError
        with raw.atomic():
            raw["notes"].insert_all([{"text": "too"}, {"text": "also"}])

    await db.write(work)
    assert await db.read(texts) == ["kept", "too", "also"]

    def undone(raw: sqlite_utils.Database) -> None:
        raw["notes"].insert({"text": "gone"})
        raise LookupError

    with pytest.raises(LookupError):
        await db.write(undone)
    assert "gone" not in await db.read(texts)


async def test_a_write_that_ends_its_own_transaction_is_refused(db: Database) -> None:
    with pytest.raises(DatabaseError, match="ended its own transaction"):
        await db.write(lambda raw: raw.conn.execute("COMMIT"))
    assert await db.write(add("still works")) == 1


async def test_reading_cannot_write(db: Database) -> None:
    with pytest.raises(DatabaseUnavailable, match="cannot be written"):
        await db.read(add("uno"))
    assert await db.write(add("dos")) == 1


async def test_a_read_sees_one_snapshot_while_another_connection_writes(
    db: Database, tmp_path: Path
) -> None:
    other = sqlite3.connect(tmp_path / "notes.db", check_same_thread=False, isolation_level=None)

    def twice(raw: sqlite_utils.Database) -> tuple[list[str], list[str]]:
        first = texts(raw)
        other.execute("INSERT INTO notes(text) VALUES ('meanwhile')")
        return first, texts(raw)

    try:
        assert await db.read(twice) == ([], [])
        assert await db.read(texts) == ["meanwhile"]
    finally:
        other.close()


async def test_operations_run_one_at_a_time_in_the_order_asked(db: Database) -> None:
    running, overlaps, order = [], [], []
    gate = threading.Event()

    def work(name: int):
        def run(raw: sqlite_utils.Database) -> None:
            overlaps.extend(running)
            running.append(name)
            gate.wait(5)
            order.append(name)
            running.remove(name)

        return run

    async with trio.open_nursery() as nursery:
        for name in range(5):
            nursery.start_soon(db.write, work(name))
            while db.waiting < name or not running:
                await trio.lowlevel.checkpoint()
        gate.set()
    assert overlaps == []
    assert order == [0, 1, 2, 3, 4]


async def test_a_cancel_before_the_start_cancels_and_after_it_delivers(db: Database) -> None:
    started, gate = threading.Event(), threading.Event()

    def slow(raw: sqlite_utils.Database) -> int | None:
        started.set()
        gate.wait(5)
        return add("started")(raw)

    results: list[object] = []

    async def run(work, scope: trio.CancelScope) -> None:
        with scope:
            results.append(await db.write(work))

    first, second = trio.CancelScope(), trio.CancelScope()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, slow, first)
        await trio.to_thread.run_sync(started.wait)
        nursery.start_soon(run, add("waiting"), second)
        while not db.waiting:
            await trio.lowlevel.checkpoint()
        first.cancel()
        second.cancel()
        while db.waiting:
            await trio.lowlevel.checkpoint()
        gate.set()
    assert results == [1]
    assert await db.read(texts) == ["started"]


async def test_without_threads_it_runs_in_place_with_the_same_cancel_rule(tmp_path: Path) -> None:
    async with Database.open(tmp_path / "notes.db", [NOTES], threaded=False) as db:
        seen = await db.write(lambda raw: threading.current_thread())
        assert seen is threading.current_thread()
        with trio.CancelScope() as scope:
            scope.cancel()
            await db.write(add("never"))
        assert scope.cancelled_caught
        with trio.CancelScope() as scope:
            assert await db.write(lambda raw: (scope.cancel(), add("yes")(raw))[1]) == 1
        with trio.testing.assert_checkpoints():
            assert await db.read(texts) == ["yes"]


async def test_a_closed_database_says_so_and_closing_twice_is_fine(tmp_path: Path) -> None:
    db = await Database.open(tmp_path / "notes.db", [NOTES])
    await db.close()
    await db.close()
    assert db.closed
    with pytest.raises(DatabaseClosed, match=r"notes\.db: the database is closed"):
        await db.read(texts)


async def test_closing_folds_the_log_into_the_file_even_under_a_cancel(tmp_path: Path) -> None:
    db = await Database.open(tmp_path / "notes.db", [NOTES])
    await db.write(add("uno"))
    with trio.CancelScope() as scope:
        scope.cancel()
        await db.close()
    assert not (tmp_path / "notes.db-wal").exists()


async def test_closing_waits_a_bounded_time_and_leaves_the_rest_to_the_running_operation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("channels.database.CLOSE_SECONDS", 0.02)
    db = await Database.open(tmp_path / "notes.db", [NOTES])
    started, gate = threading.Event(), threading.Event()

    def slow(raw: sqlite_utils.Database) -> int | None:
        started.set()
        gate.wait(5)
        return add("late")(raw)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(db.write, slow)
        await trio.to_thread.run_sync(started.wait)
        await db.close()
        gate.set()
    assert db._raw is None
    async with Database.open(tmp_path / "notes.db", [NOTES]) as again:
        assert await again.read(texts) == ["late"]


async def test_migrations_run_once_and_in_order(tmp_path: Path) -> None:
    ran: list[str] = []
    steps = [
        Migration("a.001", lambda raw: ran.append("a.001")),
        Migration("b.001", lambda raw: ran.append("b.001")),
    ]
    later = [steps[0], Migration("a.002", lambda raw: ran.append("a.002")), steps[1]]
    async with Database.open(tmp_path / "x.db", steps):
        pass
    async with Database.open(tmp_path / "x.db", later):
        pass
    assert ran == ["a.001", "b.001", "a.002"]


async def test_a_migration_that_fails_leaves_no_trace(tmp_path: Path) -> None:
    def broken(raw: sqlite_utils.Database) -> None:
        raw.executescript("CREATE TABLE half(x); CREATE TABLE half(x);")

    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        await Database.open(tmp_path / "x.db", [NOTES, Migration("bad.001", broken)])
    async with Database.open(tmp_path / "x.db", []) as db:
        assert await db.read(lambda raw: raw.table_names()) == ["migrations"]


async def test_a_file_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    newer = Migration("notes.002", lambda raw: None)
    async with Database.open(tmp_path / "notes.db", [NOTES, newer]):
        pass
    with pytest.raises(DatabaseTooNew, match=r"newer version .*notes\.002"):
        await Database.open(tmp_path / "notes.db", [NOTES])


async def test_two_migrations_of_one_name_are_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="share a name"):
        await Database.open(tmp_path / "x.db", [NOTES, NOTES])


async def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_bytes(b"this is a letter, not a database" * 200)
    before = path.read_bytes()
    with pytest.raises(DatabaseCorrupt, match="not a database"):
        await Database.open(path, [NOTES])
    assert path.read_bytes() == before


async def test_a_damaged_database_is_named_when_the_damage_is_met(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    async with Database.open(path, [NOTES]) as db:
        await db.write(lambda raw: [add("x" * 500 + str(i))(raw) for i in range(200)])
    data = bytearray(path.read_bytes())
    data[-8 * 4096 :] = b"\xa5" * (8 * 4096)
    path.write_bytes(data)
    async with Database.open(path, [NOTES]) as db:
        with pytest.raises(DatabaseCorrupt, match="damaged"):
            await db.read(texts)


async def test_damage_anywhere_in_the_file_is_one_sentence_and_never_a_slip(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    async with Database.open(path, [NOTES]) as db:
        await db.write(lambda raw: [add("x" * 500 + str(i))(raw) for i in range(200)])
    whole = path.read_bytes()
    for start in (16, 100, 1024, 4096, 8192):
        for step in (1, 97):
            data = bytearray(whole)
            data[start::step] = b"\xff" * len(data[start::step])
            path.write_bytes(data)
            with contextlib.suppress(DatabaseError):
                async with Database.open(path, [NOTES]) as db:
                    await db.read(texts)


async def test_a_missing_folder_and_a_folder_as_file_are_explained(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere" / "x.db", tmp_path):
        with pytest.raises(DatabaseUnavailable, match="cannot open the database"):
            await Database.open(path, [NOTES])


async def test_a_new_file_is_private(tmp_path: Path) -> None:
    async with Database.open(tmp_path / "notes.db", [NOTES]) as db:
        await db.write(add("uno"))
        modes = {stat.S_IMODE(file.stat().st_mode) for file in os.scandir(tmp_path)}
    assert modes == {0o600}


async def test_a_full_disk_is_an_error_that_changes_nothing_and_passes(db: Database) -> None:
    pages = await db.read(lambda raw: raw.conn.execute("PRAGMA page_count").fetchone()[0])

    def limit(pages: int):
        return lambda raw: raw.conn.execute(f"PRAGMA max_page_count={pages}").fetchone()

    await db.write(limit(pages))
    with pytest.raises(DatabaseFull, match="no space left"):
        await db.write(lambda raw: [add("x" * 3000 + str(i))(raw) for i in range(50)])
    assert await db.read(texts) == []
    await db.write(limit(10_000))
    assert await db.write(add("again")) == 1


async def test_a_file_locked_elsewhere_is_an_error_after_the_busy_timeout(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    async with Database.open(path, [NOTES], busy_timeout=0.05) as db:
        other = sqlite3.connect(path, isolation_level=None)
        try:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(DatabaseLocked, match="another process"):
                await db.write(add("uno"))
            assert await db.read(texts) == []
            other.execute("ROLLBACK")
        finally:
            other.close()
        assert await db.write(add("uno")) == 1


COUNTING = """
import sys, trio
from channels.database import Database, Migration

def make(db):
    db.executescript("CREATE TABLE n(value INTEGER); INSERT INTO n VALUES (0);")

def bump(db):
    value = db.conn.execute("SELECT value FROM n").fetchone()[0]
    db.conn.execute("UPDATE n SET value = ?", (value + 1,))
    return value + 1

async def main():
    async with Database.open(sys.argv[1], [Migration("n.001", make)]) as db:
        print("ready", flush=True)
        sys.stdin.readline()
        for _ in range(100):
            await db.write(bump)

trio.run(main)
"""


def test_two_processes_share_one_file_without_losing_a_write(tmp_path: Path) -> None:
    path = str(tmp_path / "n.db")
    children = [
        subprocess.Popen(
            [sys.executable, "-W", "error", "-c", COUNTING, path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        for child in children:
            assert child.stdout is not None and child.stdout.readline() == "ready\n"
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        assert [child.wait(60) for child in children] == [0, 0]
    finally:
        for child in children:
            child.kill()
            child.communicate()
    conn = sqlite3.connect(path)
    try:
        assert conn.execute("SELECT value FROM n").fetchone() == (200,)
    finally:
        conn.close()


async def test_a_crash_before_the_commit_loses_the_write_and_after_it_keeps_it(
    db: Database,
) -> None:
    with armed("database.before_commit"), pytest.raises(Crash):
        await db.write(add("lost"))
    with armed("database.after_commit"), pytest.raises(Crash):
        await db.write(add("kept"))
    assert await db.read(texts) == ["kept"]
