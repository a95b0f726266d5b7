"""Outbox: the first body of a name wins, order is kept, and what was sent stays sent."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from channels.database import Database
from channels.outbox import MIGRATIONS, Outbox, OutgoingMessage
from supervisor.testkit.crashes import Crash, armed
from tests.channels.wires import SetClock

pytestmark = pytest.mark.promise("P1")


@pytest.fixture
async def db(tmp_path: Path):
    async with Database.open(tmp_path / "state.db", MIGRATIONS, threaded=False) as opened:
        yield opened


@pytest.fixture
def clock() -> SetClock:
    return SetClock(100.0)


@pytest.fixture
def outbox(db: Database, clock: SetClock) -> Outbox:
    return Outbox(db, clock)


def message(txn_id: str, text: str = "hola", *, agent: str = "asistente", room: str = "#taller"):
    return OutgoingMessage(agent, room, txn_id, {"msgtype": "m.text", "body": text})


async def test_a_put_message_waits_as_it_was_frozen(outbox: Outbox) -> None:
    (row_id,) = await outbox.put([message("t1", "¡hola! ⏰")], slot_id=7)
    (row,) = await outbox.pending("asistente")
    assert (row.id, row.state, row.slot_id, row.created_at) == (row_id, "pending", 7, 100.0)
    assert row.content == {"msgtype": "m.text", "body": "¡hola! ⏰"}
    assert (row.event_id, row.sent_at, row.tries, row.last_error) == (None, None, 0, None)
    assert await outbox.row(row_id) == await outbox.find("asistente", "#taller", "t1") == row
    assert await outbox.rows_of(7) == (row,)


async def test_an_event_leads_back_to_the_row_that_was_sent_as_it(outbox: Outbox) -> None:
    (row_id,) = await outbox.put([message("t1")], slot_id=7)
    assert await outbox.row_said("$e") is None
    await outbox.mark_sent(row_id, "$e")
    assert await outbox.row_said("$e") == await outbox.row(row_id)


async def test_the_first_body_of_a_name_wins_for_ever(outbox: Outbox) -> None:
    (first,) = await outbox.put([message("t1", "first")])
    await outbox.mark_sent(first, "$e", "DEV")
    assert await outbox.put([message("t1", "second"), message("t2")]) == (first, first + 1)
    row = await outbox.row(first)
    assert row is not None
    assert (row.content["body"], row.state) == ("first", "sent")


async def test_a_name_is_one_agents_in_one_room(outbox: Outbox) -> None:
    ids = await outbox.put(
        [message("t"), message("t", agent="devops"), message("t", room="#otra"), message("t")]
    )
    assert ids == (ids[0], ids[0] + 1, ids[0] + 2, ids[0])


async def test_waiting_messages_come_in_the_order_they_were_put(outbox: Outbox) -> None:
    rooms = ["#b", "#a", "#b", "#a"]
    ids = await outbox.put([message(f"t{n}", room=room) for n, room in enumerate(rooms)])
    await outbox.put([message("other", agent="devops")])
    assert [row.id for row in await outbox.pending("asistente")] == list(ids)
    await outbox.mark_sent(ids[1], "$1")
    await outbox.mark_failed(ids[2], "forbidden")
    assert [row.id for row in await outbox.pending("asistente")] == [ids[0], ids[3]]
    assert [row.id for row in await outbox.pending("asistente", limit=1)] == [ids[0]]


async def test_marking_sent_twice_keeps_the_first_event(outbox: Outbox, clock: SetClock) -> None:
    (row_id,) = await outbox.put([message("t1")])
    assert await outbox.mark_sent(row_id, "$first", "DEV1")
    clock.time = 200.0
    assert not await outbox.mark_sent(row_id, "$second", "DEV2")
    row = await outbox.row(row_id)
    assert row is not None
    assert (row.state, row.event_id, row.device, row.sent_at) == ("sent", "$first", "DEV1", 100.0)


async def test_a_failed_try_is_counted_and_the_row_keeps_waiting(outbox: Outbox) -> None:
    (row_id,) = await outbox.put([message("t1")])
    assert await outbox.mark_tried(row_id, "timeout", "DEV1")
    assert await outbox.mark_tried(row_id, "reset")
    (row,) = await outbox.pending("asistente")
    assert (row.tries, row.last_error, row.device) == (2, "reset", "DEV1")
    await outbox.mark_sent(row_id, "$e", "DEV1")
    assert not await outbox.mark_tried(row_id, "late")
    assert not await outbox.mark_failed(row_id, "late")


async def test_a_refused_row_may_still_turn_out_to_be_sent(outbox: Outbox) -> None:
    (row_id,) = await outbox.put([message("t1")])
    assert await outbox.mark_failed(row_id, "forbidden")
    assert not await outbox.mark_failed(row_id, "again")
    assert await outbox.mark_sent(row_id, "$e")
    row = await outbox.row(row_id)
    assert row is not None and row.state == "sent" and row.last_error is None


async def test_all_messages_of_a_put_are_frozen_or_none(outbox: Outbox) -> None:
    unstorable = OutgoingMessage("asistente", "#taller", "bad", {"body": object()})
    with pytest.raises(TypeError):
        await outbox.put([message("t1"), unstorable])
    assert await outbox.pending("asistente") == ()


async def test_a_message_can_be_put_inside_another_transaction(
    db: Database, outbox: Outbox
) -> None:
    def work(raw) -> None:
        Outbox.put_in(raw, [message("t1")], now=1.0, slot_id=3)
        raise LookupError

    with pytest.raises(LookupError):
        await db.write(work)
    assert await outbox.rows_of(3) == ()
    await db.write(lambda raw: Outbox.put_in(raw, [message("t1")], now=1.0, slot_id=3))
    assert len(await outbox.rows_of(3)) == 1


async def test_statistics_count_what_waits_and_since_when(outbox: Outbox, clock: SetClock) -> None:
    empty = await outbox.statistics()
    assert (empty.pending, empty.sent, empty.failed, empty.oldest_pending_at) == (0, 0, 0, None)
    ids = await outbox.put([message("1"), message("2"), message("3"), message("4")])
    clock.time = 150.0
    await outbox.put([message("1", agent="devops")])
    await outbox.mark_sent(ids[0], "$e")
    await outbox.mark_failed(ids[1], "forbidden")
    now = await outbox.statistics()
    assert (now.pending, now.sent, now.failed, now.oldest_pending_at) == (3, 1, 1, 100.0)
    assert now.pending_by_agent == {"asistente": 2, "devops": 1}


async def test_a_crash_around_the_mark_leaves_it_waiting_or_sent(outbox: Outbox) -> None:
    (row_id,) = await outbox.put([message("t1")])
    with armed("outbox.before_mark"), pytest.raises(Crash):
        await outbox.mark_sent(row_id, "$e")
    assert len(await outbox.pending("asistente")) == 1
    with armed("outbox.after_mark"), pytest.raises(Crash):
        await outbox.mark_sent(row_id, "$e")
    assert await outbox.pending("asistente") == ()
    assert not await outbox.mark_sent(row_id, "$e")


@given(st.text(st.characters(codec=None), max_size=20))
def test_any_text_can_be_frozen_even_half_a_character(text: str) -> None:
    async def main() -> None:
        async with Database.open(":memory:", MIGRATIONS, threaded=False) as db:
            await Outbox(db, SetClock()).put([message("t1", text)])
            (row,) = await Outbox(db, SetClock()).pending("asistente")
            assert row.content["body"] == text.encode("utf-8", "replace").decode()

    trio.run(main)
