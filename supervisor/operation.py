"""Something asked of a cell: the cell's own task carries it out, whoever asked only waits."""

from __future__ import annotations

import attrs
import trio

from channels.messages import StopReason
from supervisor.spec import ChildSpec

__all__ = ["Operation", "Outcome"]


@attrs.frozen
class Outcome:
    """The generation that runs now, or None and the text of why not.

    `restored`: the spec from before runs again.
    """

    generation: int | None
    text: str = ""
    restored: bool = False


@attrs.define(eq=False)
class Operation:
    """A start, restart or stop under way. A caller that is cancelled leaves it to go on.

    `spec`: the new one, None keeps the old. `fresh`: forget the child's failures first.
    """

    reason: StopReason
    spec: ChildSpec | None = None
    fresh: bool = False
    _outcome: Outcome | None = None
    _done: trio.Event = attrs.Factory(trio.Event)

    def settle(self, outcome: Outcome) -> None:
        """Give every waiter its outcome; only the first one counts."""
        if self._outcome is None:
            self._outcome = outcome
            self._done.set()

    def join(self, later: Operation) -> Operation:
        """Take in what was asked for before this one began: the latest spec and reason hold."""
        self.spec = later.spec or self.spec
        self.reason = later.reason
        self.fresh = self.fresh or later.fresh
        return self

    async def wait(self) -> Outcome:
        """Wait for the outcome. A cancel ends the wait, not the operation."""
        await self._done.wait()
        assert self._outcome is not None
        return self._outcome
