"""Clock: the host's time as a value that is handed in."""

from __future__ import annotations

import time

from channels.clock import SystemClock, WallClock


def test_the_system_clock_tells_seconds_since_the_epoch() -> None:
    clock: WallClock = SystemClock()
    before = time.time()
    assert before <= clock.now() <= time.time()
