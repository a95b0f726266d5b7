"""What one call of a tool stands on, without a house around it: for tests of a tool alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import attrs

from channels.bus import Bus
from supervisor.testkit.clock import VirtualClock
from tools.tool import ToolContext

__all__ = ["tool_context"]


@asynccontextmanager
async def tool_context(**changes: Any) -> AsyncIterator[ToolContext]:
    """Give the context of a call that `@ana` caused in `#taller` by writing to `asistente`.

    `changes` replace fields of `ToolContext`. The bus is a real one on which nobody is: whom the
    tool asks, the test registers (`ctx.bus.register`), else the tool sees UnknownAddress. Raises
    TypeError for a field that does not exist.
    """
    clock = VirtualClock()
    async with Bus.open(clock) as bus:
        ctx = ToolContext(
            agent="asistente",
            room="#taller",
            user="@ana",
            event_id="local-1",
            received_at=clock.now(),
            timezone="Europe/Madrid",
            locale="es",
            idempotency_key="slot-1:0",
            bus=bus,
            clock=clock,
            lane="asistente/#taller",
            agents={"devops": "servidores"},
        )
        yield attrs.evolve(ctx, **changes)
