"""Which tools an agent's model has."""

from __future__ import annotations

import json

import pytest

from config.schema import (
    ClockToolConfig,
    DelegateToolConfig,
    ReminderToolConfig,
    ToolsConfig,
)
from tests.tools.callers import context
from tools.tool import ToolContext, ToolFailure, tool
from tools.toolbox import Toolbox, build

EVERYTHING = ToolsConfig(reminders=ReminderToolConfig(enabled=True))


def test_everything_enabled_gives_the_documented_tools() -> None:
    assert build(EVERYTHING).names() == (
        "create_reminder",
        "list_reminders",
        "delete_reminder",
        "update_reminder",
        "snooze_reminder",
        "pause_reminder",
        "resume_reminder",
        "unfollow_reminder",
        "set_timezone",
        "current_time",
        "ask_agent",
    )


def test_what_is_not_enabled_is_not_offered() -> None:
    nothing = ToolsConfig(clock=ClockToolConfig(False), delegate=DelegateToolConfig(False))
    assert build(nothing).names() == ()


def test_all_specs_are_valid_schemas_that_a_provider_can_send() -> None:
    for spec in build(EVERYTHING).specs():
        assert json.loads(json.dumps(dict(spec.parameters))) == spec.parameters
        assert spec.parameters["type"] == "object"
        assert spec.parameters["additionalProperties"] is False
        assert spec.description
        for part in spec.parameters["properties"].values():
            assert part["description"]


def test_the_reminder_parameters_are_those_of_the_requirement_document() -> None:
    spec = build(EVERYTHING).specs()[0]
    kinds = {name: part["type"] for name, part in spec.parameters["properties"].items()}
    assert kinds == {
        "message": "string",
        "time": "string",
        "recurring": "boolean",
        "cron": "string",
    }
    assert spec.parameters["required"] == ["message"]


def test_every_built_in_tool_may_be_repeated_under_its_key() -> None:
    box = build(EVERYTHING)
    for name in box.names():
        found = box.get(name)
        assert found is not None and found.idempotent


async def test_a_name_that_a_model_invents_is_told_what_there_is() -> None:
    result = await build(EVERYTHING).call(context(), "make_coffee", "{}")
    assert result.failure is ToolFailure.ARGUMENTS
    assert "no tool 'make_coffee'" in result.text
    assert "create_reminder" in result.text


async def test_tools_of_the_callers_own_come_last_and_can_be_called() -> None:
    @tool()
    async def mine(ctx: ToolContext) -> str:
        """Mine."""
        return "mine"

    box = build(ToolsConfig(), extra=[mine])
    assert box.names()[-1] == "mine"
    assert (await box.call(context(), "mine", "")).text == "mine"


def test_two_tools_of_one_name_are_refused() -> None:
    @tool("twin")
    async def one(ctx: ToolContext) -> str:
        """One."""
        return ""

    with pytest.raises(ValueError, match="twin"):
        Toolbox([one, one])
