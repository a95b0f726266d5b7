"""A turn's record: what was written before a crash is read after it, and ends with the turn."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.journal import MIGRATIONS, CallRecord, Journal, TurnRecord, idempotency_key
from actors.llm.protocol import Finished, ModelOutput, ToolCall
from channels.database import Database
from supervisor.testkit.clock import VirtualClock
from tools.tool import ToolResult

pytestmark = pytest.mark.promise("P9")

CALL = ToolCall("c1", "effect", '{"a": "ñ"}')
ROUND = ModelOutput("thinking…", (CALL,), Finished("tool_calls"))


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    async with Database.open(tmp_path / "state.db", MIGRATIONS, threaded=False) as db:
        yield Journal(db, VirtualClock())


async def reopened(journal: Journal, key: str) -> TurnRecord:
    return await Journal(journal._db, journal._clock).open(key)


async def test_a_new_turn_has_an_empty_record(journal: Journal) -> None:
    assert await journal.open("slot:1") == TurnRecord("slot:1")


async def test_what_was_recorded_is_there_for_the_next_run(journal: Journal) -> None:
    record = await journal.open("slot:1")
    await journal.answered(record, ROUND)
    await journal.calling(record, 0, CALL)
    assert (await reopened(journal, "slot:1")).calls == {0: CallRecord(0, CALL)}
    await journal.called(record, 0, ToolResult(False, "no"))
    again = await reopened(journal, "slot:1")
    assert again == record
    assert again.outputs == [ROUND]
    assert again.calls[0].result == ToolResult(False, "no")


async def test_records_of_two_turns_do_not_mix(journal: Journal) -> None:
    await journal.answered(await journal.open("slot:1"), ROUND)
    assert (await journal.open("slot:2")).outputs == []


async def test_starting_a_call_twice_keeps_the_first(journal: Journal) -> None:
    record = await journal.open("slot:1")
    await journal.calling(record, 0, CALL)
    await journal.calling(record, 0, ToolCall("c2", "other", "{}"))
    assert (await reopened(journal, "slot:1")).calls[0].call == CALL


async def test_the_end_drops_the_steps_and_keeps_the_answer(journal: Journal) -> None:
    record = await journal.open("task:1")
    await journal.answered(record, ROUND)
    await journal.calling(record, 0, CALL)
    await journal.end("task:1", "done")
    assert await journal.open("task:1") == TurnRecord("task:1", answer="done")


async def test_a_turn_may_end_without_ever_having_been_opened(journal: Journal) -> None:
    await journal.end("slot:9", "")
    assert (await journal.open("slot:9")).answer == ""


async def test_purge_forgets_what_is_old_and_nothing_else(journal: Journal) -> None:
    clock = journal._clock
    assert isinstance(clock, VirtualClock)
    old = await journal.open("slot:1")
    await journal.answered(old, ROUND)
    await journal.end("slot:2", "old")
    clock.step(100)
    await journal.end("slot:3", "new")
    assert await journal.purge(clock.now() - 50) == 2
    assert (await journal.open("slot:1")).outputs == []
    assert (await journal.open("slot:3")).answer == "new"


@given(st.text(min_size=1), st.integers(0, 99), st.text(min_size=1), st.integers(0, 99))
def test_two_calls_share_an_idempotency_key_only_if_they_are_the_same(
    key: str, number: int, other: str, another: int
) -> None:
    same = idempotency_key(key, number) == idempotency_key(other, another)
    assert same == ((key, number) == (other, another))
