"""The ring of happenings: ids, readers at their own pace, and what a slow one gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from supervisor.desk import feed as feeds
from supervisor.desk.encoding import encode
from supervisor.desk.feed import KEPT, KEPT_SECONDS, Feed, Lagged, Reader, matches

ALL = 1 << 30


def taken(reader: Reader) -> list[str]:
    """Return the topics and data of all that a reader can take now."""
    frames = reader.take(ALL, ALL).decode().split("\n\n")[:-1]
    return [" ".join(line.partition(": ")[2] for line in f.split("\n")[::2]) for f in frames]


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What has been encoded, in order."""
    done: list[Any] = []

    def spy(event: Any) -> bytes:
        done.append(event)
        return encode(event)

    monkeypatch.setattr(feeds, "encode", spy)
    return done


def test_a_reader_gets_all_that_is_newer_in_order() -> None:
    feed = Feed()
    for number in range(5):
        feed.add("t", number)
    assert taken(feed.reader(["t"], 2)) == ["t 2", "t 3", "t 4"]
    reader = feed.reader(["*"], feed.last)
    assert taken(reader) == []
    feed.add("u", 5)
    assert taken(reader) == ["u 5"]
    assert taken(reader) == []


def test_an_event_carries_its_topic_its_id_and_its_data() -> None:
    feed = Feed()
    feed.add("rooms/#a\nevent: x", {"text": "uno\ndos"})
    assert feed.reader(["*"], 0).take(1, ALL) == (
        f'event: rooms/#a event: x\nid: {feed.id(1)}\ndata: {{"text":"uno\\ndos"}}\n\n'.encode()
    )


def test_nothing_is_encoded_that_nobody_wants_and_nothing_twice(encoded: list[Any]) -> None:
    feed = Feed()
    readers = [feed.reader(["rooms/#a"], 0), feed.reader(["rooms/*"], 0)]
    for number, topic in enumerate(("supervision", "rooms/#a", "rooms/#b", "supervision")):
        feed.add(topic, number)
    assert encoded == []
    assert taken(readers[0]) == ["rooms/#a 1"]
    assert encoded == [1]
    assert taken(readers[1]) == ["rooms/#a 1", "rooms/#b 2"]
    assert encoded == [1, 2]


def test_a_piece_ends_after_so_many_events_or_bytes() -> None:
    feed = Feed()
    for _ in range(10):
        feed.add("t", "x" * 100)
    reader = feed.reader(["t"], 0)
    assert reader.take(3, ALL).count(b"event:") == 3
    assert reader.take(ALL, 150).count(b"event:") == 2
    assert reader.take(ALL, 1).count(b"event:") == 1
    assert reader.take(ALL, ALL).count(b"event:") == 4


async def test_a_reader_waits_for_the_next_and_a_cancel_loses_nothing() -> None:
    feed = Feed()
    reader = feed.reader(["t"], 0)
    with trio.move_on_after(0):
        await reader.wait()
    found: list[str] = []

    async def read() -> None:
        await reader.wait()
        found.extend(taken(reader))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        await trio.testing.wait_all_tasks_blocked()
        feed.add("t", 1)
        feed.add("t", 2)
    assert found == ["t 1", "t 2"]


async def test_a_sleeper_is_not_woken_for_others_and_does_not_fall_out_meanwhile() -> None:
    feed = Feed(capacity=4)
    reader = feed.reader(["mine"], 0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(reader.wait)
        await trio.testing.wait_all_tasks_blocked()
        for number in range(100):
            feed.add("theirs", number)
        await trio.testing.wait_all_tasks_blocked()
        assert nursery.child_tasks  # still asleep
        feed.add("mine", 100)
        feed.add("theirs", 101)
    assert taken(reader) == ["mine 100"]


async def test_long_stretches_of_others_are_passed_without_holding_the_loop() -> None:
    feed = Feed()
    for number in range(8_000):
        feed.add("theirs", number)
    feed.add("mine", 0)
    reader = feed.reader(["mine"], 0)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        await reader.wait()
        nursery.cancel_scope.cancel()
    assert turns >= 8
    assert taken(reader) == ["mine 0"]


async def test_a_reader_that_falls_out_of_the_ring_is_told() -> None:
    feed = Feed(capacity=3)
    for _ in range(5):
        feed.add("t", {})
    assert feed.oldest() == 2
    assert len(taken(feed.reader(["t"], 2))) == 3
    late = feed.reader(["t"], 1)
    with pytest.raises(Lagged):
        await late.wait()
    with pytest.raises(Lagged):
        late.take(1, 1)


def test_what_is_let_go_is_old_and_the_last_stay() -> None:
    feed = Feed()
    for number in range(3 * KEPT):
        feed.add("t", number)
    while feed.forget(KEPT):
        pass
    assert feed.oldest() == KEPT
    assert taken(feed.reader(["t"], KEPT))[0] == f"t {KEPT}"
    with pytest.raises(Lagged):
        feed.reader(["t"], KEPT - 1).take(1, 1)
    while feed.forget(ALL):
        pass
    assert feed.last - feed.oldest() == KEPT
    assert not feed.forget(ALL)


async def test_a_running_feed_lets_go_of_a_flood_after_a_while(
    autojump_clock: MockClock, office: Any
) -> None:
    feed = Feed()
    async with trio.open_nursery() as nursery:
        await nursery.start(feed.run, office)
        for _ in range(8 * KEPT):
            office.publish("supervision", {})
        await trio.sleep(KEPT_SECONDS / 2)
        assert feed.last - feed.oldest() == 8 * KEPT
        await trio.sleep(2 * KEPT_SECONDS)
        assert feed.last - feed.oldest() == KEPT
        nursery.cancel_scope.cancel()


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


TOPIC = st.sampled_from(["rooms/#a", "rooms/#b", "supervision"])
PATTERNS = st.lists(st.sampled_from(["rooms/*", "rooms/#b", "supervision", "*"]), max_size=2)


@given(st.lists(st.one_of(TOPIC, st.integers(1, 5)), max_size=60), PATTERNS, st.integers(4, 40))
def test_a_reader_gets_exactly_what_it_wants_or_is_told_that_it_lost_some(
    doings: Sequence[str | int], patterns: list[str], capacity: int
) -> None:
    feed = Feed(capacity)
    reader = feed.reader(patterns, 0)
    wanted: list[str] = []
    got: list[str] = []
    try:
        for number, doing in enumerate([*doings, ALL]):
            if isinstance(doing, str):
                feed.add(doing, number)
                wanted += [f"{doing} {number}"] if matches(doing, patterns) else []
                continue
            frames = reader.take(doing, ALL).decode().split("\n\n")[:-1]
            got += [
                " ".join(line.partition(": ")[2] for line in frame.split("\n")[::2])
                for frame in frames
            ]
            assert got == wanted[: len(got)]
    except Lagged:
        assert reader.position < feed.oldest()
    else:
        assert got == wanted
