"""Ways in which a sweep ends a life at a crash point."""

from __future__ import annotations

from collections import Counter

import attrs

from supervisor.testkit.crashes import Crash
from tests.sweeps.scenario import Life

__all__ = ["Cancelling", "Counting", "Dying", "Raising", "only_crash", "passes"]


@attrs.define
class Counting:
    """Lets everything pass, and counts."""

    seen: Counter[str] = attrs.field(factory=Counter)

    def __call__(self, life: Life, point: str) -> None:
        self.seen[point] += 1


@attrs.define
class Dying:
    """Dies at the `nth` pass of a point: nothing is written any more, as nothing is after SIGKILL.

    Supervised children that raise are restarted: the cancel sees to it that none comes back.
    """

    point: str
    nth: int
    struck: bool = False
    seen: int = 0

    def __call__(self, life: Life, point: str) -> None:
        self.seen += point == self.point
        if self.seen == self.nth and not self.struck:
            self.struck = True
            life.scope.cancel(reason="the sweep kills")
        if self.struck:
            raise Crash(point)


@attrs.define
class Cancelling:
    """Cancels the whole house at the `nth` pass of a point: everything may clean up."""

    point: str
    nth: int
    struck: bool = False
    seen: int = 0

    def __call__(self, life: Life, point: str) -> None:
        self.seen += point == self.point
        if self.seen == self.nth and not self.struck:
            self.struck = True
            life.scope.cancel(reason="the sweep strikes")


@attrs.define
class Raising:
    """Raises an ordinary error at the `nth` pass of a point, as a bug would."""

    point: str
    nth: int
    struck: bool = False
    seen: int = 0

    def __call__(self, life: Life, point: str) -> None:
        self.seen += point == self.point
        if self.seen == self.nth and not self.struck:
            self.struck = True
            raise RuntimeError(f"struck at {point}")


def only_crash(error: BaseException) -> bool:
    """Whether a life died of our strike (the cancels beside it are how Trio unwinds)."""
    if isinstance(error, BaseExceptionGroup):
        return any(only_crash(part) for part in error.exceptions)
    return isinstance(error, Crash)


def passes(total: int, most: int) -> list[int]:
    """The first pass and the second, and evenly between the others, at most so many."""
    if total <= most:
        return list(range(1, total + 1))
    rest = most - 2
    return sorted({1, 2, *(3 + step * (total - 3) // max(1, rest - 1) for step in range(rest))})
