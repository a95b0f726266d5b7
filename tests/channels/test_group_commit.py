"""Writes that come while the file is busy share one commit, and each keeps its own fate."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlite_utils
import trio

from channels.database import Database, DatabaseError, Migration
from channels.group_commit import Write
from supervisor.testkit.crashes import Crash, armed, recorded

pytestmark = pytest.mark.promise("P1")

TABLE = Migration("t.001", lambda db: db.execute("CREATE TABLE t(n INTEGER PRIMARY KEY)"))


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "group.db"


def insert(n: int) -> object:
    return lambda db: db.conn.execute("INSERT INTO t VALUES (?)", (n,)).lastrowid


def stored(db: sqlite_utils.Database) -> list[int]:
    return [n for (n,) in db.conn.execute("SELECT n FROM t ORDER BY n")]


async def many(db: Database, numbers: range) -> dict[int, object]:
    """Write all numbers at once; return what each got."""
    results: dict[int, object] = {}

    async def one(n: int) -> None:
        try:
            results[n] = await db.write(insert(n))  # type: ignore[arg-type]
        except Exception as error:
            results[n] = error

    async with trio.open_nursery() as nursery:
        for n in numbers:
            nursery.start_soon(one, n)
    return results


async def test_a_hundred_writes_at_once_need_few_commits_and_all_are_stored(path: Path) -> None:
    async with Database.open(path, [TABLE]) as db:
        with recorded() as log:
            results = await many(db, range(1, 101))
        assert results == {n: n for n in range(1, 101)}
        assert await db.read(stored) == list(range(1, 101))
        assert log.passes["database.after_commit"] <= 10


async def test_one_that_fails_is_undone_alone(path: Path) -> None:
    async with Database.open(path, [TABLE]) as db:
        await db.write(insert(5))  # type: ignore[arg-type]
        results = await many(db, range(1, 10))
        assert isinstance(results.pop(5), sqlite3.IntegrityError)
        assert results == {n: n for n in range(1, 10) if n != 5}
        assert await db.read(stored) == list(range(1, 10))


async def test_one_that_ends_the_transaction_takes_nobody_with_it_unsaid(path: Path) -> None:
    async with Database.open(path, [TABLE]) as db:
        results: dict[str, object] = {}

        async def run(name: str, fn: object) -> None:
            try:
                results[name] = await db.write(fn)  # type: ignore[arg-type]
            except DatabaseError as error:
                results[name] = error

        async with trio.open_nursery() as nursery:
            for name, fn in (
                ("first", insert(1)),
                ("second", insert(2)),
                ("rogue", lambda db: db.conn.execute("ROLLBACK")),
                ("fourth", insert(4)),
            ):
                nursery.start_soon(run, name, fn)
        said = [n for n, name in ((1, "first"), (2, "second"), (4, "fourth")) if results[name] == n]
        assert await db.read(stored) == said


async def test_a_cancelled_waiter_is_never_written_and_a_started_one_always_told(
    path: Path,
) -> None:
    async with Database.open(path, [TABLE]) as db:
        told: list[int] = []

        async def one(n: int, scope: trio.CancelScope) -> None:
            with scope:
                told.append(await db.write(insert(n)))  # type: ignore[arg-type]

        for round_ in range(30):
            scopes = [trio.CancelScope() for _ in range(10)]
            async with trio.open_nursery() as nursery:
                for place, scope in enumerate(scopes):
                    nursery.start_soon(one, round_ * 10 + place + 1, scope)
                for _ in range(round_ % 7):
                    await trio.lowlevel.checkpoint()
                for scope in scopes[round_ % 3 :: 2]:
                    scope.cancel()
        assert await db.read(stored) == sorted(told)


async def test_a_leader_that_is_cancelled_hands_over(path: Path) -> None:
    async with Database.open(path, [TABLE]) as db:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(db.write, insert(1))
            await trio.lowlevel.checkpoint()
            doomed = trio.CancelScope()

            async def leads_next() -> None:
                with doomed:
                    await db.write(insert(2))  # type: ignore[arg-type]

            nursery.start_soon(leads_next)
            nursery.start_soon(db.write, insert(3))
            await trio.lowlevel.checkpoint()
            doomed.cancel()
        assert 3 in await db.read(stored)


async def test_a_crash_before_the_commit_stores_none_of_the_group(path: Path) -> None:
    async with Database.open(path, [TABLE]) as db:
        group = [Write(insert(n)) for n in (1, 2, 3)]  # type: ignore[arg-type]
        with armed("database.before_commit"):
            db._commit(group)
        for write in group:
            assert write.result is not None
            with pytest.raises(Crash):
                write.result.unwrap()
        assert await db.read(stored) == []
