"""`@tool`: schema and checks from the signature, typed failures, deadlines."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from channels import crashpoints
from tests.tools.callers import context
from tools.tool import Tool, ToolContext, ToolError, ToolFailure, tool


@tool(timeout=5.0)
async def water(
    ctx: ToolContext,
    where: str,
    litres: float = 1.0,
    when: str | None = None,
    mode: Literal["soft", "hard"] = "soft",
    twice: bool = False,
    plants: list[str] | None = None,
) -> str:
    """Water the plants.

    Args:
        where: the room.
        litres: how much.
    """
    return f"{ctx.user} {where} {litres} {when} {mode} {twice} {plants}"


def test_the_schema_is_what_a_model_needs() -> None:
    spec = water.spec
    assert (spec.name, spec.description) == ("water", "Water the plants.")
    assert spec.parameters == {
        "type": "object",
        "properties": {
            "where": {"type": "string", "description": "the room."},
            "litres": {"type": "number", "description": "how much.", "default": 1.0},
            "when": {"type": "string"},
            "mode": {"type": "string", "enum": ["soft", "hard"], "default": "soft"},
            "twice": {"type": "boolean", "default": False},
            "plants": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["where"],
        "additionalProperties": False,
    }


async def test_a_good_call_gives_its_text() -> None:
    result = await water.call(context(), '{"where": "patio", "litres": 2}')
    assert result.ok
    assert result.text == "@ana patio 2.0 None soft False None"
    assert result.failure is None


async def test_null_for_an_optional_argument_is_leaving_it_out() -> None:
    result = await water.call(context(), '{"where": "patio", "when": null, "plants": null}')
    assert result.ok


async def test_all_that_is_wrong_is_said_at_once() -> None:
    bad = {"litres": "lots", "twice": "perhaps", "wehre": "patio", "mode": "wild"}
    result = await water.call(context(), json.dumps(bad))
    assert (result.ok, result.failure) == (False, ToolFailure.ARGUMENTS)
    assert result.text.splitlines() == [
        "water was not called. Mend these arguments:",
        "- where: is required but was not given",
        '- litres: must be a number, got "lots"',
        "- mode: Input should be 'soft' or 'hard', got \"wild\"",
        '- twice: must be true or false, got "perhaps"',
        "- wehre: there is no such argument (did you mean where?)",
    ]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"where": ', "not valid JSON"),
        ("[1]", "must be one JSON object"),
        ("null", "must be one JSON object"),
        ("", "where: is required"),
        ('{"where": 3}', "must be text"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
async def test_what_is_no_call_is_told_to_the_model(arguments: str, told: str) -> None:
    result = await water.call(context(), arguments)
    assert result.failure is ToolFailure.ARGUMENTS
    assert told in result.text


async def test_a_tool_without_arguments_takes_an_empty_text() -> None:
    @tool()
    async def ping(ctx: ToolContext) -> None:
        """Ping."""

    assert (await ping.call(context(), "")).ok
    refused = await ping.call(context(), '{"host": "a"}')
    assert "there is no such argument (it takes none)" in refused.text
    assert ping.spec.parameters["properties"] == {}


async def test_a_tool_error_reaches_the_model_word_for_word() -> None:
    @tool()
    async def refuse(ctx: ToolContext) -> str:
        """Refuse."""
        raise ToolError("the tap is closed")

    result = await refuse.call(context(), "{}")
    assert (result.ok, result.text) == (False, "the tap is closed")
    assert result.failure is ToolFailure.REFUSED


async def test_tool_errors_out_of_a_nursery_reach_the_model_too() -> None:
    @tool()
    async def refuse(ctx: ToolContext) -> str:
        """Refuse from inside a nursery."""
        async with trio.open_nursery():
            raise ToolError("the tap is closed")

    result = await refuse.call(context(), "{}")
    assert (result.text, result.failure) == ("the tap is closed", ToolFailure.REFUSED)


async def test_a_bug_says_nothing_of_the_inside() -> None:
    @tool()
    async def broken(ctx: ToolContext) -> str:
        """Break."""
        raise RuntimeError("password=hunter2")

    result = await broken.call(context(), "{}")
    assert result.failure is ToolFailure.INTERNAL
    assert "hunter2" not in result.text
    assert result.text == "La herramienta broken falló por dentro; el detalle está en el registro."


async def test_a_mixed_group_is_a_bug_and_not_a_refusal() -> None:
    @tool()
    async def both(ctx: ToolContext) -> str:
        """Break twice."""
        raise ExceptionGroup("two", [ToolError("x"), ValueError("y")])

    assert (await both.call(context(), "{}")).failure is ToolFailure.INTERNAL


@pytest.mark.parametrize("idempotent", [True, False])
async def test_a_deadline_becomes_a_result(autojump_clock: object, idempotent: bool) -> None:
    @tool(timeout=3.0, idempotent=idempotent)
    async def slow(ctx: ToolContext) -> str:
        """Sleep."""
        await trio.sleep_forever()
        return ""

    start = trio.current_time()
    result = await slow.call(context(locale="en"), "{}")
    assert trio.current_time() - start == 3.0
    assert result.failure is ToolFailure.TIMEOUT
    assert result.text.startswith("The tool slow did not answer within 3 s.")
    assert ("unknown whether it took effect" in result.text) is not idempotent


async def test_a_deadline_whose_cleanup_breaks_is_still_a_deadline(autojump_clock: object) -> None:
    @tool(timeout=3.0)
    async def slow(ctx: ToolContext) -> str:
        """Sleep, and break on the way out."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep_forever()
            finally:
                raise ValueError("in cleanup")

    assert (await slow.call(context(), "{}")).failure in (
        ToolFailure.TIMEOUT,
        ToolFailure.INTERNAL,
    )


async def test_a_cancel_goes_through(autojump_clock: object) -> None:
    @tool()
    async def slow(ctx: ToolContext) -> str:
        """Sleep."""
        await trio.sleep_forever()
        return ""

    with trio.move_on_after(1) as scope:
        await slow.call(context(), "{}")
    assert scope.cancelled_caught


async def test_a_cancel_goes_through_a_cleanup_that_breaks(autojump_clock: object) -> None:
    async def breaking() -> None:
        try:
            await trio.sleep_forever()
        finally:
            raise ValueError("in cleanup")

    @tool()
    async def slow(ctx: ToolContext) -> str:
        """Sleep, and break on the way out."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(breaking)
            await trio.sleep_forever()
        return ""

    with trio.move_on_after(1) as scope:
        await slow.call(context(), "{}")
    assert scope.cancelled_caught


async def test_other_values_are_told_as_json() -> None:
    @tool()
    async def facts(ctx: ToolContext) -> dict[str, Any]:
        """Tell facts."""
        return {"año": 1}

    assert (await facts.call(context(), "")).text == '{"año": 1}'


async def test_crash_points_stand_around_the_call() -> None:
    passed: list[str] = []

    @tool()
    async def mark(ctx: ToolContext) -> None:
        """Mark."""
        passed.append("call")

    previous = crashpoints.set_crash_hook(passed.append)
    try:
        await mark.call(context(), "")
    finally:
        crashpoints.set_crash_hook(previous)
    assert passed == ["tool.before_call", "call", "tool.after_call"]


def test_what_cannot_be_a_tool_is_refused_early() -> None:
    with pytest.raises(TypeError, match="async def"):

        @tool()  # type: ignore[arg-type]
        def plain(ctx: ToolContext) -> str:
            """Do."""
            return ""

    with pytest.raises(TypeError, match="ToolContext"):

        @tool()
        async def nothing() -> str:
            """Do."""
            return ""


def test_a_signature_that_no_model_can_fill_is_refused_with_its_reason() -> None:
    @tool()
    async def untyped(ctx: ToolContext, x) -> str:  # type: ignore[no-untyped-def]
        """Do."""
        return ""

    @tool()
    async def variadic(ctx: ToolContext, *xs: str) -> str:
        """Do."""
        return ""

    @tool()
    async def undescribed(ctx: ToolContext, x: str) -> str:
        return ""

    for bad, why in ((untyped, "needs a type"), (variadic, "by name"), (undescribed, "docstring")):
        assert isinstance(bad, Tool)
        with pytest.raises(TypeError, match=why):
            bad.spec


def test_a_name_may_be_given() -> None:
    @tool("regar", idempotent=True, timeout=1.5)
    async def water_it(ctx: ToolContext) -> str:
        """Water."""
        return ""

    assert (water_it.name, water_it.idempotent, water_it.timeout) == ("regar", True, 1.5)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(["where", "litres", "when", "mode", "twice", "plants", "x"])


@given(st.dictionaries(names, json_values, max_size=4).map(json.dumps) | st.text())
def test_whatever_a_model_sends_is_a_result(arguments: str) -> None:
    async def call() -> None:
        result = await water.call(context(), arguments)
        assert result.ok is (result.failure is None)
        assert result.failure in (None, ToolFailure.ARGUMENTS)

    trio.run(call)
