"""Pure: what is wrong with time: failing schedules, a clock set back, what is overdue, lost files.

One is shared by all generations of the scheduler and read by the status and the readiness check.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping

import attrs

__all__ = ["OVERDUE", "REFUSED", "Health", "Streak"]

REFUSED = "the room refused it"

OVERDUE = 60.0
"""Seconds after which something active and due should have been taken up."""


@attrs.frozen
class Streak:
    """A schedule that fails again and again: how often, why the last time, and when that was."""

    times: int
    reason: str
    at: float

    @property
    def refused(self) -> bool:
        """True when it was the room that would not have the message: only the room can end it."""
        return self.reason.startswith(REFUSED)


@attrs.define
class Health:
    """Everything is well when `problems` is empty; `overdue` names what breaks the invariant."""

    failing: dict[str, Streak] = attrs.field(factory=dict)
    cannot_write: dict[str, str] = attrs.field(factory=dict)
    overdue: tuple[str, ...] = ()
    lost: list[str] = attrs.field(factory=list)
    stepped_back: str = ""
    speaks_next: Mapping[str, str] = attrs.field(factory=dict)

    def failed(self, id: str, reason: str, at: float) -> int:
        """Note a failure of a schedule; return how many there were in a row."""
        known = self.failing.get(id)
        times = 1 if known is None else known.times + 1
        self.failing[id] = Streak(times, reason, at)
        return times

    def worked(self, id: str, heard: bool = False) -> int:
        """Note that a schedule works (again); return how many failures came before.

        What a room refused works again once one of its messages is `heard` there.
        """
        streak = self.failing.get(id)
        if streak is None or (streak.refused and not heard):
            return 0
        del self.failing[id]
        return streak.times

    def forget(self, known: Container[str], before: float) -> None:
        """Forget what failed before an instant and is gone now."""
        for id, streak in list(self.failing.items()):
            if id not in known and streak.at < before:
                del self.failing[id]

    def problems(self) -> Iterator[str]:
        """Yield one sentence for each thing that is wrong."""
        yield from self.lost
        for what, why in sorted(self.cannot_write.items()):
            yield f"the scheduler cannot write ({what}): {why}"
        if self.overdue:
            yield f"overdue: {', '.join(self.overdue)}"
        for id, streak in sorted(self.failing.items()):
            often = "failed" if streak.times == 1 else f"failed {streak.times} times in a row"
            yield f"{id} {often}: {streak.reason}"
        if self.stepped_back:
            yield self.stepped_back
            for id, when in self.speaks_next.items():
                yield f"{id} speaks next {when}"
