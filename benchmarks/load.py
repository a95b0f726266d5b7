"""A steady source of events: so many a second, in small bursts, never more than it owes."""

from __future__ import annotations

from collections.abc import Callable

import attrs
import trio

__all__ = ["Source"]

TICK_SECONDS = 0.002
BURST = 200  # a loop that was held up is not flooded with all it missed


@attrs.define
class Source:
    """Calls `publish(number)` at `rate` a second; `sent` is how often it did."""

    rate: float
    publish: Callable[[int], None]
    sent: int = 0

    async def run(self) -> None:
        """Publish until cancelled. What a late tick cannot catch up with is given up."""
        due = trio.current_time()
        while True:
            now = trio.current_time()
            owed = int((now - due) * self.rate)
            due += owed / self.rate
            for _ in range(min(owed, BURST)):
                self.publish(self.sent)
                self.sent += 1
            await trio.sleep(TICK_SECONDS)
