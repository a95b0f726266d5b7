"""What asks share: the graph finds exactly the rings, the timer ends exactly what is due."""

from __future__ import annotations

from itertools import pairwise

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from channels.asking import WaitGraph
from channels.bus import Bus
from channels.errors import AskCycle, AskTimeout
from channels.mailbox import Mailbox

pytestmark = pytest.mark.promise("P5")

NODES = st.sampled_from("abcdef")


@given(st.lists(st.tuples(NODES, NODES, st.booleans()), max_size=40))
def test_an_edge_is_refused_exactly_when_it_would_close_a_ring(
    steps: list[tuple[str, str, bool]],
) -> None:
    graph = WaitGraph()
    edges: list[tuple[str, str]] = []

    def reachable(start: str) -> set[str]:
        seen = {start}
        while more := {b for a, b in edges if a in seen} - seen:
            seen |= more
        return seen

    for lane, node, remove in steps:
        if remove:
            if (lane, node) in edges:
                edges.remove((lane, node))
                graph.remove(lane, node)
        elif lane in reachable(node):
            with pytest.raises(AskCycle) as caught:
                graph.check(lane, node)
            path = caught.value.path
            assert path[0] == path[-1] == lane
            assert path[1] == node
            assert all(step in edges for step in pairwise(path[1:]))
        else:
            graph.check(lane, node)
            graph.add(lane, node)
            edges.append((lane, node))
        assert len(graph) == len(edges)
    for lane, node in edges:
        graph.remove(lane, node)
    assert len(graph) == 0
    assert graph._edges == {}


ASKS = st.lists(
    st.tuples(
        st.integers(0, 20),  # asked at
        st.integers(0, 20),  # timeout
        st.one_of(st.none(), st.integers(0, 40)),  # answered after
    ),
    max_size=80,
)


@given(ASKS, st.booleans())
def test_each_ask_ends_at_its_answer_or_its_deadline_whichever_is_first(
    asks: list[tuple[int, int, int | None]], shared: bool
) -> None:
    async def main() -> None:
        async with Bus.open() as with_timer:
            bus = with_timer if shared else Bus()
            mailbox = Mailbox()
            bus.register("a", mailbox)
            inbox = mailbox.open_inbox()

            async def asker(start: int, timeout: int, answer: int | None) -> None:
                await trio.sleep(start)
                before = trio.current_time()
                due = timeout if answer is None else min(timeout, answer + 0.5)
                try:
                    assert await bus.ask("a", answer, timeout=timeout) == answer
                    assert answer is not None and answer + 0.5 <= timeout
                except AskTimeout:
                    assert answer is None or timeout < answer + 0.5
                assert trio.current_time() - before == pytest.approx(due)

            async def callee() -> None:
                async with trio.open_nursery() as answers:
                    async for message in inbox:
                        if message.body is not None:
                            answers.start_soon(answer_later, message)

            async def answer_later(message: object) -> None:
                await trio.sleep(message.body + 0.5)  # type: ignore[attr-defined]
                message.reply(message.body)  # type: ignore[attr-defined]

            async with trio.open_nursery() as nursery:
                nursery.start_soon(callee)
                async with trio.open_nursery() as askers:
                    for start, timeout, answer in asks:
                        askers.start_soon(asker, start, timeout, answer)
                inbox.drain()
            now = bus.statistics()
            assert (now.asks.open, now.deadlines) == (0, 0)
            assert now.asks.replied + now.asks.timed_out == len(asks)

    trio.run(main, clock=MockClock(autojump_threshold=0))
