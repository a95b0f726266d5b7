"""A damaged reminder store is set aside, never overwritten; a migration is counted and copied."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
import structlog

from channels.database import Database, Migration
from channels.database_errors import DatabaseTooNew
from cronactor import opening
from cronactor.health import Health
from cronactor.opening import open_store
from cronactor.store import MIGRATIONS
from tests.cronactor.test_ledger import kept

pytestmark = pytest.mark.promise("P7")


class At:
    """A clock that stands still."""

    def now(self) -> float:
        return 1_775_000_000.0


STAMP = "20260331T233320Z"


async def opened(path: Path, health: Health | None = None) -> Any:
    return await open_store(path, health or Health(), At(), threaded=False)


async def filled(path: Path) -> bytes:
    store = await opened(path)
    for n in range(300):
        await kept(store, f"k{n}", message="regar " * 40)
    await store.close()
    return read(path)


def read(path: Path) -> bytes:
    return path.read_bytes()


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def truncated(data: bytes) -> bytes:
    return data[: len(data) // 2]


def garbage(data: bytes) -> bytes:
    return b"this is no database " * 500


def flipped(data: bytes) -> bytes:
    """Damage in the middle, which opening alone would not notice."""
    middle = len(data) // 2 // 4096 * 4096
    return data[:middle] + b"\xff" * 4096 + data[middle + 4096 :]


@pytest.mark.parametrize("damage", [truncated, garbage, flipped])
async def test_a_damaged_store_is_kept_as_it_is_and_a_fresh_one_begun(
    tmp_path: Path, damage: Any
) -> None:
    path, health = tmp_path / "reminders.db", Health()
    bad = damage(await filled(path))
    path.write_bytes(bad)
    with structlog.testing.capture_logs() as logs:
        store = await opened(path, health)
    assert await store.listed() == ()
    assert (tmp_path / f"reminders.db.corrupt-{STAMP}").read_bytes() == bad
    (problem,) = health.problems()
    assert f"reminders.db.corrupt-{STAMP}" in problem
    assert [entry["event"] for entry in logs] == ["reminders_corrupt"]
    await kept(store, "neu")
    await store.close()


async def test_what_was_set_aside_before_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "reminders.db"
    for text in (b"first " * 1000, b"second " * 1000):
        path.write_bytes(text)
        await (await opened(path)).close()
    first, second = f"reminders.db.corrupt-{STAMP}", f"reminders.db.corrupt-{STAMP}-2"
    assert names(tmp_path) == ["reminders.db", first, second]
    assert [read(tmp_path / name)[:5] for name in (first, second)] == [b"first", b"secon"]


async def test_a_sound_or_missing_store_is_left_alone(tmp_path: Path) -> None:
    path, health = tmp_path / "reminders.db", Health()
    await filled(path)
    store = await opened(path, health)
    assert len(await store.listed()) == 300
    await store.close()
    assert list(health.problems()) == []
    assert names(tmp_path) == ["reminders.db"]


async def test_a_newer_store_is_refused_not_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "reminders.db"
    newer = (*MIGRATIONS, Migration("reminders.999", lambda db: None))
    async with Database.open(path, newer, threaded=False):
        pass
    with pytest.raises(DatabaseTooNew):
        await opened(path)
    assert names(tmp_path) == ["reminders.db"]


async def older(path: Path) -> None:
    """A store of the first version, with a row in it."""
    async with Database.open(path, MIGRATIONS[:1], threaded=False) as db:
        sql = (
            "INSERT INTO schedules(id, agent, dynamic, spec, epoch) VALUES ('a/b', 'a', 0, '', '')"
        )
        await db.write(lambda raw: raw.conn.execute(sql).rowcount)


async def test_an_older_store_is_copied_before_it_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "reminders.db"
    await older(path)
    with structlog.testing.capture_logs() as logs:
        await (await opened(path)).close()
    (entry,) = logs
    assert (entry["event"], entry["migrations"]) == ("reminders_migrated", len(MIGRATIONS) - 1)
    backup = tmp_path / "reminders.db.backup-001"
    assert entry["backup"] == str(backup)
    assert backup.stat().st_mode & 0o777 == 0o600
    assert rows(backup, "SELECT name FROM migrations") == [("reminders.001",)]
    assert rows(backup, "SELECT id FROM schedules") == [("a/b",)]
    assert rows(path, "SELECT id FROM schedules") == [("a/b",)]
    await (await opened(path)).close()
    assert names(tmp_path) == [path.name, backup.name]


async def test_a_migration_that_fails_leaves_the_old_store_and_its_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "reminders.db"
    await older(path)

    def fail(db: Any) -> None:
        db.conn.execute("CREATE TABLE half(x)")
        raise RuntimeError("half way")

    broken = (*MIGRATIONS, Migration("reminders.998", fail))
    monkeypatch.setattr(opening, "MIGRATIONS", broken)
    with pytest.raises(RuntimeError, match="half way"):
        await opened(path)
    assert rows(path, "SELECT name FROM migrations") == [("reminders.001",)]
    assert rows(path, "SELECT count(*) FROM sqlite_master WHERE name = 'half'") == [(0,)]
    assert (tmp_path / "reminders.db.backup-001").exists()


def rows(path: Path, sql: str) -> list[Any]:
    conn = sqlite3.connect(path)
    try:
        return conn.execute(sql).fetchall()
    finally:
        conn.close()
