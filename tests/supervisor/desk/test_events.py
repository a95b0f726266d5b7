"""Event streams in virtual time: at once after quiet, bundled while more comes, dropped if slow."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import attrs
import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from supervisor.desk.boundary import Limits, Message, TooSlow
from supervisor.desk.events import BURST, CHUNK_EVENTS, WRITE_BYTES, WRITES_A_SECOND, EventStream
from supervisor.desk.feed import KEPT, Feed, matches

GAP = 1 / WRITES_A_SECOND
QUIET = Limits(heartbeat_seconds=math.inf)


@attrs.define
class Peer:
    """What a client of one stream received: (seconds, bytes) of each write."""

    writes: list[tuple[float, bytes]] = attrs.field(factory=list)
    takes: Callable[[], Awaitable[None]] = trio.lowlevel.checkpoint
    gone: trio.Event = attrs.field(factory=trio.Event)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            self.writes.append((trio.current_time(), message["body"]))
            await self.takes()

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    def moments(self) -> list[float]:
        """When it was written to, after the opening."""
        return [at for at, _ in self.writes[1:]]

    def data(self) -> list[str]:
        """The data of every event, after the opening."""
        text = b"".join(body for _, body in self.writes[1:]).decode()
        return [line[6:] for line in text.split("\n") if line.startswith("data: ")]

    async def listen(
        self, feed: Feed, *topics: str, limits: Limits = QUIET, since: str | None = None
    ) -> None:
        stream = EventStream(feed, limits, topics, since)
        await stream({}, self.receive, self.send)


async def test_the_opening_says_where_one_is_and_when_to_come_back(
    autojump_clock: MockClock,
) -> None:
    feed, peer = Feed(), Peer()
    feed.add("t", 1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(peer.listen, feed, "t")
        await trio.testing.wait_all_tasks_blocked()
        assert feed.readers == 1
        peer.gone.set()
    assert feed.readers == 0
    opening = f"retry: 1000\nevent: hello\nid: {feed.id(1)}\ndata: {{}}\n\n"
    assert [body.decode() for _, body in peer.writes] == [opening]


async def test_a_reader_of_long_ago_hears_of_the_gap_and_gets_only_the_latest(
    autojump_clock: MockClock,
) -> None:
    feed, peer = Feed(), Peer()
    for number in range(3 * KEPT):
        feed.add("t", number)
    with trio.move_on_after(5):
        await peer.listen(feed, "t", since="0badc0de.7")
    assert b"event: gap\n" in peer.writes[0][1]
    assert peer.data() == [str(number) for number in range(2 * KEPT, 3 * KEPT)]


async def test_what_follows_quiet_is_written_at_once_and_a_flood_is_bundled(
    autojump_clock: MockClock,
) -> None:
    feed, peer = Feed(), Peer()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(peer.listen, feed, "t")
        await trio.testing.wait_all_tasks_blocked()
        begun = trio.current_time()
        for number in range(5_000):
            feed.add("t", number)
            await trio.sleep(1 / 5_000)
        await trio.sleep(1)
        feed.add("t", 5_000)
        late = trio.current_time()
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()
    assert peer.data() == [str(number) for number in range(5_001)]
    assert peer.moments()[0] == begun
    assert peer.moments()[-1] == late
    assert len(peer.moments()) <= WRITES_A_SECOND + BURST + 2


async def test_a_question_and_its_answer_are_both_written_at_once(
    autojump_clock: MockClock,
) -> None:
    feed, peer, said = Feed(), Peer(), []
    async with trio.open_nursery() as nursery:
        nursery.start_soon(peer.listen, feed, "t")
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(5):
            for _ in range(BURST):
                feed.add("t", 0)
                said.append(trio.current_time())
                await trio.sleep(0.001)
            await trio.sleep(BURST * GAP)
        nursery.cancel_scope.cancel()
    assert peer.moments() == said


async def test_a_quiet_stream_carries_a_heartbeat_and_others_traffic_is_quiet(
    autojump_clock: MockClock,
) -> None:
    feed, peer = Feed(), Peer()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(partial(peer.listen, feed, "mine", limits=Limits()))
        for number in range(400):
            feed.add("theirs", number)
            await trio.sleep(0.1)
        nursery.cancel_scope.cancel()
    assert [body for _, body in peer.writes[1:]] == [b": \n\n"] * 2


async def test_a_long_batch_lets_others_run_and_goes_out_in_bounded_writes() -> None:
    feed, peer, done, turns = Feed(), Peer(), trio.Event(), 0
    for number in range(8_000):
        feed.add("t", f"{number:0100}")

    async def take() -> None:
        if len(peer.data()) == 8_000:
            done.set()

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    peer.takes = take
    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        nursery.start_soon(partial(peer.listen, feed, "t", since=feed.id(0)))
        await done.wait()
        nursery.cancel_scope.cancel()
    assert turns >= 8_000 / CHUNK_EVENTS
    assert max(len(body) for _, body in peer.writes) < 1.2 * WRITE_BYTES
    assert peer.data() == [f'"{number:0100}"' for number in range(8_000)]


@pytest.mark.parametrize("how", ["falls behind", "takes nothing"])
async def test_a_slow_reader_is_dropped_and_the_others_feel_nothing(
    autojump_clock: MockClock, how: str
) -> None:
    """`takes nothing`: the boundary gives a write up after `send_seconds` and raises TooSlow."""

    async def stall() -> None:
        await trio.sleep(5.0)
        if how == "takes nothing":
            raise TooSlow

    feed, slow, lively = Feed(capacity=256), Peer(takes=stall), Peer()
    dropped = trio.Event()

    async def listen_slowly() -> None:
        with pytest.raises(TooSlow):
            await slow.listen(feed, "t")
        dropped.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(listen_slowly)
        nursery.start_soon(lively.listen, feed, "t")
        await trio.testing.wait_all_tasks_blocked()
        for number in range(6_000):
            feed.add("t", number)
            await trio.sleep(0.001)
        assert dropped.is_set()
        assert feed.readers == 1
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert lively.data() == [str(number) for number in range(6_000)]
    pauses = [b - a for a, b in zip(lively.moments(), lively.moments()[1:], strict=False)]
    assert max(pauses) < GAP + 0.01


TOPICS = st.sampled_from(["rooms/#a", "rooms/#b", "supervision"])
STEPS = st.lists(st.tuples(st.sampled_from([0.0, 0.001, 0.01, 0.1, 1.0]), TOPICS), max_size=80)
PATTERNS = st.lists(st.sampled_from(["rooms/*", "rooms/#b", "supervision"]), min_size=1, max_size=2)


@given(STEPS, st.lists(st.tuples(PATTERNS, st.integers(0, 40)), min_size=1, max_size=3))
def test_each_reader_gets_all_of_its_own_in_order_soon_and_not_too_often(
    steps: Sequence[tuple[float, str]], readers: Sequence[tuple[list[str], int]]
) -> None:
    trio.run(_some_readers, steps, readers, clock=MockClock(autojump_threshold=0))


async def _some_readers(
    steps: Sequence[tuple[float, str]], readers: Sequence[tuple[list[str], int]]
) -> None:
    feed, peers = Feed(), [Peer() for _ in readers]
    said: list[tuple[str, float]] = []
    async with trio.open_nursery() as nursery:
        for number, (pause, topic) in enumerate(steps):
            for peer, (topics, joins) in zip(peers, readers, strict=True):
                if joins == number:
                    nursery.start_soon(peer.listen, feed, *topics)
            await trio.sleep(pause)
            await trio.testing.wait_all_tasks_blocked()
            feed.add(topic, number)
            said.append((topic, trio.current_time()))
        await trio.sleep(2)
        nursery.cancel_scope.cancel()
    for peer, (topics, joins) in zip(peers, readers, strict=True):
        mine = [number for number in range(joins, len(said)) if matches(said[number][0], topics)]
        assert peer.data() == [str(number) for number in mine]
        _check_pace(peer, [said[number][1] for number in mine])


def _check_pace(peer: Peer, said: Sequence[float]) -> None:
    """Each write comes at most a gap after what it brings; no window holds too many writes."""
    brought = 0
    for at, body in peer.writes[1:]:
        first, brought = brought, brought + body.count(b"\ndata: ")
        assert at - said[first] <= GAP + 1e-9
    moments = peer.moments()
    for first, begun in enumerate(moments):
        within = sum(begun <= at < begun + 1 for at in moments[first:])
        assert within <= WRITES_A_SECOND + BURST + 1
