"""The virtual wall clock follows Trio's time and steps on demand."""

from __future__ import annotations

import trio
import trio.testing

from supervisor.testkit.clock import VirtualClock


def test_it_follows_virtual_time_and_steps_apart_from_it() -> None:
    async def main() -> None:
        clock = VirtualClock(base=1000.0)
        assert clock.now() == 1000.0
        await trio.sleep(30)
        assert clock.now() == 1030.0
        clock.step(-3600)
        assert clock.now() == -2570.0
        await trio.sleep(1)
        assert clock.now() == -2569.0

    trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))
