"""What all open asks share: who waits for whom, one timer for every deadline, and the counts."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from math import inf

import attrs
import trio
from trio.lowlevel import wait_task_rescheduled

from channels.envelopes import Ask, Ended
from channels.errors import AskCycle, AskTimeout

__all__ = ["AskStatistics", "Asks", "Deadlines", "WaitGraph"]

COMPACT_FROM = 64


@attrs.define(eq=False)
class WaitGraph:
    """Which lane waits for which; asks are refused before they could close a ring."""

    _edges: dict[str, list[str]] = attrs.Factory(dict)

    def check(self, lane: str, node: str) -> None:
        """Raise AskCycle when `node` waits, directly or through others, for `lane`."""
        path = self._path(node, lane)
        if path is not None:
            raise AskCycle((lane, *path))

    def add(self, lane: str, node: str) -> None:
        """`lane` now waits for `node` (it may wait for several at once)."""
        self._edges.setdefault(lane, []).append(node)

    def remove(self, lane: str, node: str) -> None:
        """One of the waits of `lane` for `node` is over."""
        nodes = self._edges[lane]
        nodes.remove(node)
        if not nodes:
            del self._edges[lane]

    def __len__(self) -> int:
        return sum(map(len, self._edges.values()))

    def _path(self, start: str, goal: str) -> tuple[str, ...] | None:
        if start == goal:
            return (goal,)
        if start not in self._edges:
            return None
        seen = {start}
        trails: list[tuple[str, ...]] = [(start,)]
        while trails:
            trail = trails.pop()
            for node in self._edges.get(trail[-1], ()):
                if node == goal:
                    return (*trail, node)
                if node not in seen:
                    seen.add(node)
                    trails.append((*trail, node))
        return None


@attrs.define(eq=False)
class Deadlines:
    """One sleeping task times out every ask: cheaper than a cancel scope for each.

    A heap of (deadline, number, ask). Asks that ended stay until they are due or outnumber the
    open ones, so a removal costs nothing and the heap stays within twice what is open.
    """

    running: bool = False
    _heap: list[tuple[float, int, Ask]] = attrs.Factory(list)
    _numbers: count[int] = attrs.Factory(count)
    _stale: int = 0
    _armed: float = inf
    _scope: trio.CancelScope | None = None

    @contextmanager
    def kept_by(self, nursery: trio.Nursery) -> Iterator[None]:
        """Run the timer in `nursery` for the block."""
        self.running = True
        nursery.start_soon(self._run, name="ask deadlines")
        try:
            yield
        finally:
            self._stop()

    def add(self, ask: Ask) -> None:
        """Let the ask end with AskTimeout when its timeout has passed from now."""
        deadline = trio.current_time() + ask.timeout
        ask.timed = True
        heapq.heappush(self._heap, (deadline, next(self._numbers), ask))
        if deadline < self._armed:
            self._arm(deadline)

    def discard(self) -> None:
        """One of the asks in the heap has ended."""
        self._stale += 1
        if self._stale > COMPACT_FROM and self._stale * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].wants_reply]
            heapq.heapify(self._heap)
            self._stale = 0

    def __len__(self) -> int:
        return len(self._heap) - self._stale

    async def _run(self) -> None:
        # Shielded, because cleanup under a cancel may still ask.
        while self.running:
            with trio.CancelScope(deadline=self._armed, shield=True) as self._scope:
                await trio.sleep_forever()
            self._scope = None
            self._expire(trio.current_time())

    def _stop(self) -> None:
        self.running = False
        if self._scope is not None:
            self._scope.cancel()
        self._expire(inf)

    def _arm(self, deadline: float) -> None:
        self._armed = deadline
        if self._scope is not None:
            self._scope.deadline = deadline

    def _expire(self, now: float) -> None:
        heap = self._heap
        while heap and (heap[0][0] <= now or not heap[0][2].wants_reply):
            ask = heapq.heappop(heap)[2]
            if ask.wants_reply:
                ask.timed = False
                ask.end(AskTimeout(ask.to, ask.timeout), "timed_out")
            else:
                self._stale -= 1
        self._arm(heap[0][0] if heap else inf)


@attrs.frozen
class AskStatistics:
    """How many asks are open and how the others ended; `late_replies` came when nobody waited."""

    open: int
    replied: int
    failed: int
    timed_out: int
    cancelled: int
    late_replies: int


@attrs.define(eq=False)
class Asks:
    """The ledger of a bus's asks."""

    graph: WaitGraph = attrs.Factory(WaitGraph)
    deadlines: Deadlines = attrs.Factory(Deadlines)
    ended: dict[Ended, int] = attrs.Factory(
        lambda: {"replied": 0, "failed": 0, "timed_out": 0, "cancelled": 0}
    )
    opened: int = 0
    late_replies: int = 0

    def closed(self, ask: Ask, how: Ended) -> None:
        """An ask has ended: forget who waits for whom, and its deadline."""
        self.ended[how] += 1
        if ask.node:
            self.graph.remove(ask.sender, ask.node)
        if ask.timed:
            self.deadlines.discard()

    async def wait(self, ask: Ask) -> None:
        """Sleep until the ask has ended. A cancel ends it as `cancelled`."""
        if self.deadlines.running and ask.timeout != inf:
            self.deadlines.add(ask)
        elif ask.timeout != inf:
            await self._wait_alone(ask)
            return
        await wait_task_rescheduled(ask.cancelled)

    async def _wait_alone(self, ask: Ask) -> None:
        with trio.move_on_after(ask.timeout) as scope:
            await wait_task_rescheduled(ask.cancelled)
        if scope.cancelled_caught:
            self.ended["cancelled"] -= 1
            self.ended["timed_out"] += 1
            ask.error = AskTimeout(ask.to, ask.timeout)

    def too_late(self) -> None:
        """Somebody answered an ask that had ended."""
        self.late_replies += 1

    def statistics(self) -> AskStatistics:
        """Return a snapshot."""
        open_now = self.opened - sum(self.ended.values())
        return AskStatistics(open_now, **self.ended, late_replies=self.late_replies)
