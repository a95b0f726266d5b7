"""A wall clock that follows Trio's time, and that a test can step, as NTP and suspends do."""

from __future__ import annotations

import attrs
import trio

__all__ = ["VirtualClock"]


@attrs.define
class VirtualClock:
    """Civil time tied to `trio.current_time()`; pair it with `trio.testing.MockClock`.

    `base`: seconds since the epoch (UTC) at the moment the clock is first read.
    """

    base: float = 1_775_000_000.0
    offset: float = 0.0
    _started: float | None = attrs.field(default=None, init=False)

    def now(self) -> float:
        """Return seconds since the epoch; only inside a Trio run."""
        current = trio.current_time()
        if self._started is None:
            self._started = current
        return self.base + self.offset + (current - self._started)

    def step(self, seconds: float) -> None:
        """Jump the civil time by this many seconds (negative: backwards), not Trio's own time."""
        self.offset += seconds
