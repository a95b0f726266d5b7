"""A tool can be called alone, in the context that a turn would give it."""

from __future__ import annotations

import pytest

from channels.errors import UnknownAddress
from supervisor.testkit import tool_context
from tools.clock.clock import current_time
from tools.tool import ToolContext, tool


@tool()
async def nosy(ctx: ToolContext, whom: str) -> str:
    """Ask somebody.

    Args:
        whom: an address
    """
    return str(await ctx.bus.ask(whom, "?", timeout=1))


async def test_a_real_tool_runs_in_it_and_fields_can_be_chosen() -> None:
    async with tool_context(timezone="Asia/Tokyo", received_at=0.0) as ctx:
        assert (ctx.agent, ctx.room, ctx.user) == ("asistente", "#taller", "@ana")
        result = await current_time.call(ctx, "{}")
    assert result.ok and "Asia/Tokyo" in result.text


async def test_nobody_is_on_its_bus() -> None:
    async with tool_context() as ctx:
        with pytest.raises(UnknownAddress):
            await ctx.bus.ask("devops", "?", timeout=1)
        result = await nosy.call(ctx, '{"whom": "devops"}')
    assert not result.ok


async def test_a_field_that_does_not_exist_is_an_error() -> None:
    with pytest.raises(TypeError):
        async with tool_context(rom="#taller"):
            pass
