"""An occurrence is claimed by one scheduler and ends in exactly one outcome."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from cronactor.catchup import Missed, Plan
from cronactor.jobs import occurrence_txn
from cronactor.ledger import Entry, Fenced, Verdict
from cronactor.reminder import Reminder, short_id
from cronactor.store import ReminderStore

NOW = 1_775_000_000.0
DUE = NOW - 1


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[tuple[ReminderStore, ReminderStore]]:
    """The same file, opened twice, as two processes would."""
    path = tmp_path / "reminders.db"
    first = await ReminderStore.open(path, threaded=False)
    second = await ReminderStore.open(path, threaded=False)
    yield first, second
    await first.close()
    await second.close()


async def kept(store: ReminderStore, key: str = "a", **given: Any) -> Reminder:
    reminder = Reminder(
        id=short_id(key),
        agent="asistente",
        room="#taller",
        user="@ana",
        message="regar",
        timezone="UTC",
        locale="es",
        created_at=NOW - 60,
        next_due=DUE,
        idempotency_key=key,
    )
    return (await store.create(attrs.evolve(reminder, **given)))[0]


def once(reminder: Reminder) -> Entry:
    return Entry(reminder, DUE, Plan((DUE,), None, None))


@pytest.mark.promise("P2")
async def test_a_claim_is_made_once(stores: tuple[ReminderStore, ReminderStore]) -> None:
    store, _ = stores
    entry = once(await kept(store))
    token = await store.ledger.begin()
    (claimed,) = await store.ledger.claim(token, [entry], NOW)
    assert claimed.txn_id == occurrence_txn(entry.job.id, DUE)
    assert await store.ledger.claim(token, [entry], NOW) == ()
    assert await store.ledger.unfinished() == (claimed,)


@pytest.mark.promise("P2", "P8")
async def test_a_scheduler_that_was_overtaken_claims_nothing_and_records_nothing(
    stores: tuple[ReminderStore, ReminderStore],
) -> None:
    old, new = stores
    entry = once(await kept(old))
    stale = await old.ledger.begin()
    (claimed,) = await old.ledger.claim(stale, [entry], NOW)
    token = await new.ledger.begin()
    with pytest.raises(Fenced):
        await old.ledger.claim(stale, [once(await kept(old, "b"))], NOW)
    verdict = Verdict(claimed.schedule_id, claimed.scheduled_at, "fired")
    assert await old.ledger.finish(stale, [verdict], NOW) == ()
    assert not await old.ledger.begun(stale, claimed, NOW)
    assert await new.ledger.finish(token, [verdict], NOW) == (verdict,)
    assert await new.ledger.finish(token, [verdict], NOW) == ()


async def test_an_outcome_is_recorded_once_and_ends_the_one_shot(
    stores: tuple[ReminderStore, ReminderStore],
) -> None:
    store, _ = stores
    reminder = await kept(store)
    token = await store.ledger.begin()
    await store.ledger.claim(token, [once(reminder)], NOW)
    fired = Verdict(reminder.id, DUE, "fired")
    failed = Verdict(reminder.id, DUE, "failed", "late")
    assert await store.ledger.finish(token, [fired, failed], NOW + 1) == (fired,)
    (run,) = await store.ledger.runs(reminder.id)
    assert (run.outcome, run.finished, run.reason) == ("fired", NOW + 1, "")
    ended = await store.get(reminder.id)
    assert ended is not None
    assert (ended.state, ended.fired_at, ended.ended_at) == ("fired", NOW + 1, NOW + 1)


async def test_what_is_no_longer_due_is_not_claimed(
    stores: tuple[ReminderStore, ReminderStore],
) -> None:
    store, _ = stores
    reminder = await kept(store)
    token = await store.ledger.begin()
    await store.delete(reminder.id, at=NOW)
    assert await store.ledger.claim(token, [once(reminder)], NOW) == ()
    assert await store.ledger.runs() == ()


async def test_a_reminder_deleted_between_claim_and_record_stays_deleted(
    stores: tuple[ReminderStore, ReminderStore],
) -> None:
    store, _ = stores
    reminder = await kept(store)
    token = await store.ledger.begin()
    await store.ledger.claim(token, [once(reminder)], NOW)
    await store.delete(reminder.id, at=NOW)
    await store.ledger.finish(token, [Verdict(reminder.id, DUE, "fired")], NOW)
    ended = await store.get(reminder.id)
    assert ended is not None and ended.state == "deleted"


async def test_missed_ones_are_one_row_beside_the_one_that_fires(
    stores: tuple[ReminderStore, ReminderStore],
) -> None:
    store, _ = stores
    reminder = await kept(store, cron="* * * * *")
    token = await store.ledger.begin()
    plan = Plan((DUE + 180,), Missed(DUE, DUE + 120, 3, "down"), DUE + 240)
    (claimed,) = await store.ledger.claim(token, [Entry(reminder, DUE, plan)], NOW + 180)
    assert claimed.scheduled_at == DUE + 180
    newest, row = await store.ledger.runs(reminder.id)
    assert newest == claimed
    assert (row.outcome, row.scheduled_at, row.last_at, row.count) == ("missed", DUE, DUE + 120, 3)
    moved = await store.get(reminder.id)
    assert moved is not None
    assert (moved.next_due, moved.state) == (DUE + 240, "active")


async def test_a_skipped_one_is_recorded_and_not_run(
    stores: tuple[ReminderStore, ReminderStore],
) -> None:
    store, _ = stores
    reminder = await kept(store, cron="* * * * *")
    token = await store.ledger.begin()
    entry = Entry(reminder, DUE, Plan((DUE,), None, DUE + 60), skip="overlap")
    assert await store.ledger.claim(token, [entry], NOW) == ()
    (run,) = await store.ledger.runs()
    assert (run.outcome, run.reason, run.finished) == ("skipped", "overlap", NOW)


async def test_event_ids_are_kept_by_transaction_id_and_the_first_stays(
    stores: tuple[ReminderStore, ReminderStore],
) -> None:
    store, _ = stores
    reminder = await kept(store)
    token = await store.ledger.begin()
    (claimed,) = await store.ledger.claim(token, [once(reminder)], NOW)
    await store.ledger.finish(token, [Verdict(reminder.id, DUE, "fired")], NOW)
    assert [run.txn_id for run in await store.ledger.without_event()] == [claimed.txn_id]
    await store.ledger.set_events([(claimed.txn_id, "$1"), (claimed.txn_id, "$2")])
    assert await store.ledger.without_event() == ()
    assert (await store.ledger.latest([reminder.id, "x"]))[reminder.id].event_id == "$1"


async def test_an_occurrence_still_open_is_never_purged(
    stores: tuple[ReminderStore, ReminderStore],
) -> None:
    store, _ = stores
    reminder = await kept(store)
    token = await store.ledger.begin()
    await store.ledger.claim(token, [once(reminder)], NOW)
    assert await store.purge(NOW + 1e9) == 0
    await store.ledger.finish(token, [Verdict(reminder.id, DUE, "fired")], NOW)
    assert await store.purge(NOW + 1e9) == 2
