"""What a model may call: tools with checked arguments, a deadline and typed failures."""

from tools.tool import Tool, ToolContext, ToolError, ToolFailure, ToolResult, ToolSpec, tool
from tools.toolbox import Toolbox, build

__all__ = [
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolFailure",
    "ToolResult",
    "ToolSpec",
    "Toolbox",
    "build",
    "tool",
]
