"""The store keeps reminders and schedules, creates nothing twice, and forgets only what is over."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest

from channels.database import Database
from config.schema import ScheduleConfig
from cronactor.finding import Find
from cronactor.jobs import Schedule
from cronactor.reminder import Reminder, short_id
from cronactor.store import ReminderStore, RoomFull
from cronactor.tables import MIGRATIONS

pytestmark = pytest.mark.promise("P2")

MakeSchedule = Callable[..., ScheduleConfig]
NOW = 1_775_000_000.0


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[ReminderStore]:
    opened = await ReminderStore.open(tmp_path / "reminders.db", threaded=False)
    yield opened
    await opened.close()


def reminder(key: str = "k1", **given: Any) -> Reminder:
    values: dict[str, Any] = {
        "id": short_id(key),
        "agent": "asistente",
        "room": "#taller",
        "user": "@ana",
        "message": "regar",
        "timezone": "Europe/Madrid",
        "locale": "es",
        "created_at": NOW,
        "next_due": NOW + 60.25,
        "idempotency_key": key,
    }
    return Reminder(**{**values, **given})


# -- the requirement document's own list (1.3) ----------------------------------------------------


async def test_1_3_create_list_mark_fired_delete(store: ReminderStore) -> None:
    one, _ = await store.create(reminder("a"))
    two, _ = await store.create(reminder("b", next_due=NOW + 30))
    assert await store.listed("#taller") == (two, one)
    assert await store.mark_fired(one.id, NOW + 61)
    assert await store.listed("#taller") == (two,)
    deleted = await store.delete(two.id, at=NOW + 62)
    assert deleted is not None and deleted.state == "deleted"
    assert await store.listed("#taller") == ()
    states = {kept.id: (kept.state, kept.fired_at) for kept in await store.listed(all=True)}
    assert states == {one.id: ("fired", NOW + 61), two.id: ("deleted", None)}


async def test_1_3_load_active_returns_neither_fired_nor_deleted(store: ReminderStore) -> None:
    active, _ = await store.create(reminder("a"))
    fired, _ = await store.create(reminder("b"))
    gone, _ = await store.create(reminder("c"))
    await store.mark_fired(fired.id, NOW)
    await store.delete(gone.id, at=NOW)
    assert await store.load_active() == (active,)


async def test_1_3_list_returns_only_the_room_asked_for(store: ReminderStore) -> None:
    here, _ = await store.create(reminder("a"))
    there, _ = await store.create(reminder("b", room="#otra"))
    assert await store.listed("#taller") == (here,)
    assert set(await store.listed()) == {here, there}


# -- created once -------------------------------------------------------------------------------


async def test_a_key_seen_before_creates_nothing_even_when_the_room_is_full(
    store: ReminderStore,
) -> None:
    first, new = await store.create(reminder("a"), max_per_room=1)
    again, renewed = await store.create(reminder("a", message="otra cosa"), max_per_room=1)
    assert (new, renewed) == (True, False)
    assert again == first == await store.by_key("a")


async def test_an_id_that_is_taken_is_replaced(store: ReminderStore) -> None:
    first, _ = await store.create(reminder("a"))
    second, new = await store.create(reminder("b", id=first.id))
    assert new and second.id != first.id
    assert second.id == short_id("b", 1)


async def test_a_full_room_refuses_and_counts_only_active_ones(store: ReminderStore) -> None:
    kept, _ = await store.create(reminder("a"), max_per_room=2)
    await store.create(reminder("b"), max_per_room=2)
    with pytest.raises(RoomFull) as caught:
        await store.create(reminder("c"), max_per_room=2)
    assert (caught.value.active, caught.value.limit) == (2, 2)
    await store.create(reminder("d", room="#otra"), max_per_room=2)
    await store.delete(kept.id, at=NOW)
    assert (await store.create(reminder("c"), max_per_room=2))[1]


# -- removed ------------------------------------------------------------------------------------


async def test_a_reminder_of_another_room_is_not_deleted(store: ReminderStore) -> None:
    kept, _ = await store.create(reminder("a"))
    assert await store.delete(kept.id, at=NOW, room="#otra") is None
    assert await store.listed() == (kept,)


async def test_deleting_twice_is_deleting_and_a_fired_one_cannot_be_deleted(
    store: ReminderStore,
) -> None:
    kept, _ = await store.create(reminder("a"))
    first = await store.delete(kept.id, at=NOW)
    assert await store.delete(kept.id, at=NOW + 9) == first
    fired, _ = await store.create(reminder("b"))
    await store.mark_fired(fired.id, NOW)
    assert await store.delete(fired.id, at=NOW) is None
    assert await store.delete("r00000", at=NOW) is None


async def test_many_are_created_at_once_each_once_for_its_key_and_under_its_own_id(
    store: ReminderStore,
) -> None:
    first, _ = await store.create(reminder("a"))
    again, other, third = await store.create_many(
        [reminder("a", message="otra"), reminder("b", id=first.id), reminder("c", next_due=NOW)]
    )
    assert again == first
    assert other.id not in (first.id, third.id) and other.message == "regar"
    assert await store.load_active() == (third, first, other)


async def test_a_recurring_reminder_stays_active_when_it_fires(store: ReminderStore) -> None:
    kept, _ = await store.create(reminder("a", cron="0 9 * * *"))
    await store.mark_fired(kept.id, NOW + 61)
    assert await store.load_active() == (attrs.evolve(kept, fired_at=NOW + 61),)


async def test_purge_forgets_what_ended_before_and_nothing_else(store: ReminderStore) -> None:
    active, _ = await store.create(reminder("a", created_at=0.0))
    for key, ended in (("b", NOW - 10), ("c", NOW + 10)):
        gone, _ = await store.create(reminder(key, created_at=0.0))
        await store.delete(gone.id, at=ended)
    assert await store.purge(NOW) == 1
    assert {kept.idempotency_key for kept in await store.listed(all=True)} == {"a", "c"}
    assert await store.load_active() == (active,)


async def test_a_paused_one_is_kept_and_old_keys_of_changes_are_not(store: ReminderStore) -> None:
    paused, _ = await store.create(reminder("a", created_at=0.0, state="paused"))
    find = Find("#taller", id=paused.id)
    for key, at in (("old", NOW - 10), ("new", NOW + 10)):
        await store.change(find, lambda known: known, key=key, now=at)
    assert await store.purge(NOW) == 1
    assert await store.listed(paused=True) == (paused,)
    again = attrs.evolve(paused, message="otra")
    changed = await store.change(find, lambda known: again, key="new", now=NOW)
    assert changed == (paused, False)


async def test_a_store_of_the_first_version_keeps_all_it_had(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    first = MIGRATIONS[:1]
    values = ("r7f3k2", "asistente", "#taller", "@ana", "regar", "UTC", "es", 1.0, NOW, "0 9 * * *")
    async with Database.open(path, first, threaded=False) as db:
        sql = (
            "INSERT INTO reminders(id, agent, room, user, message, timezone, locale, created_at,"
            " next_due, cron, state, idempotency_key) VALUES (?,?,?,?,?,?,?,?,?,?,'active','k')"
        )
        await db.write(lambda raw: raw.conn.execute(sql, values))
    opened = await ReminderStore.open(path, threaded=False)
    (kept,) = await opened.load_active()
    assert (kept.id, kept.kind, kept.next_due, kept.told) == ("r7f3k2", "cron", NOW, ("@ana",))
    assert await opened.heard() is None
    await opened.close()


# -- schedules ----------------------------------------------------------------------------------


async def test_an_unchanged_schedule_keeps_what_it_is_owed_and_a_changed_one_starts_anew(
    store: ReminderStore, schedule: MakeSchedule
) -> None:
    old = Schedule("asistente", schedule(), "UTC", next_due=NOW)
    await store.set_schedules("asistente", [old], epoch="1", now=NOW)
    later = attrs.evolve(old, next_due=NOW + 500)
    (kept,) = await store.set_schedules("asistente", [later], epoch="2", now=NOW)
    assert kept.next_due == NOW
    changed = attrs.evolve(later, timezone="Europe/Madrid")
    (kept,) = await store.set_schedules("asistente", [changed], epoch="2", now=NOW)
    assert kept.next_due == NOW + 500


async def test_schedules_of_others_and_dynamic_ones_are_left_alone(
    store: ReminderStore, schedule: MakeSchedule
) -> None:
    mine = Schedule("asistente", schedule("uno"), "UTC", next_due=NOW)
    other = Schedule("devops", schedule("dos"), "UTC", next_due=NOW)
    added = Schedule("asistente", schedule("tres"), "UTC", dynamic=True, next_due=NOW)
    await store.set_schedules("asistente", [mine], epoch="1", now=NOW)
    await store.set_schedules("devops", [other], epoch="1", now=NOW)
    await store.add_schedule(added, epoch="1")
    assert await store.set_schedules("asistente", [], epoch="1", now=NOW) == ()
    assert {kept.id for kept in await store.schedules(epoch="1")} == {
        "asistente/tres",
        "devops/dos",
    }
    assert {kept.id for kept in await store.schedules(epoch="2")} == {"asistente/tres"}


async def test_a_schedule_survives_the_disk_as_it_was(
    store: ReminderStore, schedule: MakeSchedule
) -> None:
    given = Schedule(
        "asistente",
        schedule(kind="agent_call", target_agent="devops", prompt="¿ñ?", message=None),
        "Europe/Madrid",
        next_due=NOW,
    )
    await store.set_schedules("asistente", [given], epoch="1", now=NOW)
    assert await store.schedules() == (given,)
    assert await store.job("asistente/diario") == given


async def test_a_row_that_cannot_be_read_is_left_out(
    store: ReminderStore, schedule: MakeSchedule
) -> None:
    good, _ = await store.create(reminder("a"))
    await store.create(reminder("b"))
    await store.set_schedules(
        "asistente", [Schedule("asistente", schedule(), "UTC")], epoch="1", now=NOW
    )

    def spoil(db: Any) -> None:
        db.conn.execute("UPDATE reminders SET next_due = 'x' WHERE idempotency_key = 'b'")
        db.conn.execute("UPDATE schedules SET spec = '{}'")

    await store._db.write(spoil)
    assert await store.load_active() == (good,)
    assert await store.schedules() == ()


async def test_the_queries_of_a_fire_use_the_indexes(tmp_path: Path) -> None:
    async with Database.open(tmp_path / "r.db", MIGRATIONS, threaded=False) as db:
        for query in (
            "SELECT * FROM reminders WHERE state = 'active' ORDER BY next_due, rowid",
            "SELECT count(*) FROM reminders WHERE room = '#a' AND state = 'active'",
            "SELECT * FROM occurrences WHERE outcome IS NULL",
            "UPDATE occurrences SET event_id = 'e' WHERE txn_id = 't'",
            "SELECT * FROM occurrences WHERE event_id = 'e'",
            "SELECT * FROM reminders WHERE origin = 'o' AND origin != ''",
            "SELECT * FROM reminders WHERE room = '#a' AND fired_at >= 1 ORDER BY fired_at DESC",
        ):
            plan = await db.read(partial(_plan, query))
            assert "INDEX" in plan and "TEMP B-TREE" not in plan, query


def _plan(query: str, db: Any) -> str:
    return str(db.conn.execute(f"EXPLAIN QUERY PLAN {query}").fetchall())
