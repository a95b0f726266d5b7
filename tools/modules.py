"""Tools of the user's own: Python files that an agent's configuration names, read as they were."""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Iterable
from types import ModuleType

from config.schema import AgentConfig, ModuleText
from tools.tool import Tool

__all__ = ["ModuleFault", "line_of", "own_tools", "tools_of"]


class ModuleFault(Exception):
    """A file that gives no tools: why, and at which line and column (from 1) of it."""

    def __init__(self, message: str, line: int = 1, col: int = 1) -> None:
        super().__init__(message)
        self.message, self.line, self.col = message, line, col


def own_tools(config: AgentConfig) -> tuple[Tool, ...]:
    """Return the tools of all `tools.modules`, made anew: nothing is shared between two calls.

    The code is the one that was read with the configuration, whatever the files hold by now.
    Raises ModuleFault.
    """
    return tuple(tool for module in config.tool_modules for tool in tools_of(module, config.id))


def tools_of(module: ModuleText, agent: str) -> tuple[Tool, ...]:
    """Run a file and return the tools that stand at its top level, in their order.

    Blocks for as long as the file's own top level does. Raises ModuleFault when it cannot be run,
    holds no tool, or one that a model could not be told of.
    """
    namespace = _run(module, f"vivero_tools_{agent}_{abs(hash(module.path)):x}")
    found = list(dict.fromkeys(_tools_among(namespace.values())))
    if not found:
        raise ModuleFault("there is no tool in it: write `@tool()` above an `async def`")
    for tool in found:
        _check(tool)
    return tuple(found)


def _run(module: ModuleText, name: str) -> dict[str, object]:
    made = ModuleType(name)
    made.__file__ = module.path
    # Dataclasses and pydantic look a class's module up by its name.
    sys.modules[name] = made
    try:
        code = compile(module.text, module.path, "exec", dont_inherit=True)
        exec(code, made.__dict__)
    except SyntaxError as error:
        raise _of_syntax(error, module) from None
    except (Exception, SystemExit) as error:
        raise ModuleFault(_sentence(error), _line(error, module.path)) from None
    return made.__dict__


def _tools_among(values: Iterable[object]) -> Iterable[Tool]:
    return (value for value in values if isinstance(value, Tool))


def _check(tool: Tool) -> None:
    try:
        _ = tool.spec
    except (TypeError, ValueError, NameError) as error:
        raise ModuleFault(f"tool {tool.name}: {error}", line_of(tool)) from None


def line_of(tool: Tool) -> int:
    """Return where a tool's function begins in its file, 1 when that cannot be known."""
    code = getattr(inspect.unwrap(tool.function), "__code__", None)
    return code.co_firstlineno if code is not None else 1


def _of_syntax(error: SyntaxError, module: ModuleText) -> ModuleFault:
    if error.filename != module.path:  # of something it imports
        return ModuleFault(_sentence(error), _line(error, module.path))
    return ModuleFault(f"this is not Python: {error.msg}", error.lineno or 1, error.offset or 1)


def _line(error: BaseException, path: str) -> int:
    """Return the line of the file itself that led to the error, the innermost one."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    return lines[-1] or 1 if lines else 1


def _sentence(error: BaseException) -> str:
    text = " ".join(str(error).split())[:300]
    return f"running it ends in {type(error).__name__}{': ' if text else ''}{text}"
