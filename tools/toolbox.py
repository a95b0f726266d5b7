"""The tools one agent's model may call, built from its configuration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tools.tool import Tool, ToolContext, ToolFailure, ToolResult, ToolSpec

if TYPE_CHECKING:
    from config.schema import ToolsConfig

__all__ = ["Toolbox", "build"]


class Toolbox:
    """An ordered set of tools with unique names."""

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        self._tools: dict[str, Tool] = {}
        for tool in tools:
            if tool.name in self._tools:
                raise ValueError(f"two tools are called {tool.name}")
            self._tools[tool.name] = tool

    def specs(self) -> tuple[ToolSpec, ...]:
        """Return what the model is told, in order."""
        return tuple(tool.spec for tool in self._tools.values())

    def names(self) -> tuple[str, ...]:
        """Return the tools' names, in order."""
        return tuple(self._tools)

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, or None: models do invent names."""
        return self._tools.get(name)

    async def call(self, ctx: ToolContext, name: str, arguments: str) -> ToolResult:
        """Call a tool by name; an invented name comes back as a result the model can act on.

        A cancel goes through, as in `Tool.call`.
        """
        tool = self.get(name)
        if tool is None:
            there_are = ", ".join(self._tools) or "none"
            text = f"There is no tool {name!r}. Tools: {there_are}."
            return ToolResult(False, text, ToolFailure.ARGUMENTS)
        return await tool.call(ctx, arguments)


def build(config: ToolsConfig, *, extra: Iterable[Tool] = ()) -> Toolbox:
    """Build the toolbox that `config` enables, followed by `extra` tools of the caller's own."""
    from tools.clock.clock import current_time
    from tools.delegate.delegate import ask_agent
    from tools.reminder.reminder import reminder_tools

    tools: list[Tool] = []
    if config.reminders.enabled:
        tools.extend(reminder_tools(config.reminders.max_per_room))
    if config.clock.enabled:
        tools.append(current_time)
    if config.delegate.enabled:
        tools.append(ask_agent)
    return Toolbox([*tools, *extra])
