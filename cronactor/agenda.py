"""Pure: what is due when; a heap whose removed entries are skipped when they surface."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

import attrs

__all__ = ["Agenda", "Due"]

T = TypeVar("T")
_COMPACT = 1024


@attrs.frozen
class Due(Generic[T]):
    """An entry that was due and was taken; `at` is the instant it was scheduled at.

    `ticket` tells this entry from a later one of its id.
    """

    id: str
    at: float
    item: T
    ticket: int


@attrs.define(eq=False)
class Agenda(Generic[T]):
    """Entries by id, the soonest first. Adding is O(log n), removing O(1).

    `changed` is called whenever something may have become due sooner. `wake(item, at)` tells when
    an item that is scheduled at `at` is due: not sooner.
    """

    changed: Callable[[], None] = lambda: None
    wake: Callable[[T, float], float] | None = None
    _heap: list[tuple[float, int, str]] = attrs.field(init=False, factory=list)
    _entries: dict[str, tuple[int, T, float | None]] = attrs.field(init=False, factory=dict)
    _ticket: int = attrs.field(init=False, default=0)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, id: object) -> bool:
        return id in self._entries

    def items(self) -> Iterator[T]:
        """Iterate over what is kept, in no order."""
        return (item for _, item, _ in list(self._entries.values()))

    def scheduled(self) -> Iterator[tuple[str, float]]:
        """Iterate over the ids that have a next instant, with that instant, in no order."""
        entries = list(self._entries.items())
        return ((id, at) for id, (_, _, at) in entries if at is not None)

    def get(self, id: str) -> T | None:
        """Return what is kept under an id."""
        entry = self._entries.get(id)
        return None if entry is None else entry[1]

    def put(self, id: str, at: float | None, item: T) -> None:
        """Keep `item`, scheduled at `at` (None: never), instead of what had its id."""
        self._ticket += 1
        self._entries[id] = (self._ticket, item, at)
        if at is not None:
            due = at if self.wake is None else self.wake(item, at)
            heapq.heappush(self._heap, (due, self._ticket, id))
            self.changed()

    def remove(self, id: str) -> T | None:
        """Forget an id; return what it had."""
        entry = self._entries.pop(id, None)
        if len(self._heap) > 2 * len(self._entries) + _COMPACT:
            self._heap = [item for item in self._heap if self._live(item)]
            heapq.heapify(self._heap)
        return None if entry is None else entry[1]

    def next_due(self) -> float | None:
        """Return the soonest instant, or None."""
        while self._heap and not self._live(self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def take_due(self, now: float, limit: int) -> list[Due[T]]:
        """Take up to `limit` entries due at or before `now`. They stay known until rearmed."""
        taken: list[Due[T]] = []
        while len(taken) < limit:
            due = self.next_due()
            if due is None or due > now:
                break
            _, ticket, id = heapq.heappop(self._heap)
            _, item, at = self._entries[id]
            taken.append(Due(id, due if at is None else at, item, ticket))
        return taken

    def rearm(self, due: Due[T], at: float | None) -> bool:
        """Set the next instant of a taken entry, or forget it (None).

        Does nothing and returns False when its id was removed or put anew in the meantime.
        """
        entry = self._entries.get(due.id)
        if entry is None or entry[0] != due.ticket:
            return False
        if at is None:
            self.remove(due.id)
        else:
            self.put(due.id, at, due.item)
        return True

    def _live(self, item: tuple[float, int, str]) -> bool:
        entry = self._entries.get(item[2])
        return entry is not None and entry[0] == item[1]
