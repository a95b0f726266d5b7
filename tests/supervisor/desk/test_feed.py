"""The ring of happenings: ids, readers at their own pace, and what a slow one gets."""

from __future__ import annotations

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from supervisor.desk.feed import Feed, Lagged, matches


async def test_a_reader_gets_all_that_is_newer_in_order() -> None:
    feed = Feed()
    for number in range(5):
        feed.add("t", {"n": number})
    assert [entry.number for entry in await feed.after(2)] == [3, 4, 5]
    assert [entry.data for entry in await feed.after(4)] == [b'{"n":4}']


async def test_a_reader_waits_for_the_next_and_a_cancel_loses_nothing() -> None:
    feed = Feed()
    with trio.move_on_after(0):
        await feed.after(0)
    found: list[int] = []

    async def read() -> None:
        found.extend(entry.number for entry in await feed.after(0))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        feed.add("t", {})
    assert found == [1]


async def test_a_reader_that_falls_out_of_the_ring_is_told() -> None:
    feed = Feed(capacity=3)
    for _ in range(5):
        feed.add("t", {})
    assert feed.oldest() == 2
    assert len(await feed.after(2)) == 3
    with pytest.raises(Lagged):
        await feed.after(1)


def test_ids_of_another_life_or_of_the_future_are_not_known() -> None:
    feed, other = Feed(), Feed()
    feed.add("t", {})
    other.add("t", {})
    assert feed.number(feed.id(1)) == 1
    assert feed.number(feed.id(0)) == 0
    for unknown in (other.id(1), feed.id(2), feed.id(-1), "", "1", feed.id(1) + "x", "a.b.c"):
        assert feed.number(unknown) is None


@given(st.text(max_size=40))
def test_no_id_raises(text: str) -> None:
    feed = Feed()
    assert feed.number(text) in (None, 0)
    assert feed.number(f"{feed.id(0).partition('.')[0]}.{text}") in (None, 0)


def test_patterns_match_exactly_or_by_prefix() -> None:
    assert matches("rooms/#a", ["rooms/*"])
    assert matches("rooms/#a", ["x", "rooms/#a"])
    assert not matches("rooms/#ab", ["rooms/#a"])
    assert not matches("supervision", ["rooms/*"])
    assert not matches("supervision", [""])
