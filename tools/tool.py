"""A tool is an async function that a model may call: checked arguments in, text out."""

from __future__ import annotations

import enum
import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs
import structlog
import trio

from channels.crashpoints import crash_point, declare_crash_points
from tools.schema import Signature, read_signature

if TYPE_CHECKING:
    from channels.bus import Bus
    from channels.chain import Stamp
    from channels.clock import WallClock

__all__ = ["Tool", "ToolContext", "ToolError", "ToolFailure", "ToolResult", "ToolSpec", "tool"]

declare_crash_points("tool.before_call", "tool.after_call")

_log = structlog.get_logger("tools")

_TEXTS: Final = {
    "es": {
        "timeout": "La herramienta {name} no respondió en {seconds:g} s.",
        "unknown_effect": "No se sabe si llegó a hacer su efecto: no la repitas sin comprobarlo.",
        "internal": "La herramienta {name} falló por dentro; el detalle está en el registro.",
    },
    "en": {
        "timeout": "The tool {name} did not answer within {seconds:g} s.",
        "unknown_effect": "It is unknown whether it took effect: do not repeat it unchecked.",
        "internal": "The tool {name} failed inside; the details are in the log.",
    },
}


class ToolError(Exception):
    """Raised by a tool for what its caller should read: the text goes to the model as it is."""


class ToolFailure(enum.Enum):
    """Why a result is not ok."""

    ARGUMENTS = "arguments"  # not called: the arguments did not fit
    REFUSED = "refused"  # the tool raised ToolError
    TIMEOUT = "timeout"
    INTERNAL = "internal"  # the tool has a bug, or what it stands on has failed


@attrs.frozen
class ToolSpec:
    """What a model is told about a tool; `parameters` is a JSON schema of type object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@attrs.frozen
class ToolResult:
    """What a call gave: text for the model, and, where it is not ok, why."""

    ok: bool
    text: str
    failure: ToolFailure | None = None


@attrs.frozen
class ToolContext:
    """Who calls, where and when: facts of the turn that a model can neither see nor forge.

    `received_at`: when the message of this turn arrived, seconds since the epoch. `timezone`: IANA
    name. `locale`: "es" or "en". `idempotency_key`: the same for each repetition of this call, and
    for no other. `agents`: the agents that may be asked, id to description. `lane`: the bus lane of
    the turn. `room` is None outside rooms (a delegated task), `user` is whom the answer is for.
    `reply_to` is the event that the message replies to.
    """

    agent: str
    room: str | None
    user: str | None
    event_id: str | None
    received_at: float
    timezone: str
    locale: str
    idempotency_key: str
    bus: Bus
    clock: WallClock
    lane: str
    stamp: Stamp | None = None
    agents: Mapping[str, str] = attrs.field(factory=dict)
    reply_to: str | None = None


@attrs.frozen(eq=False, slots=False)
class Tool:
    """A named function with its schema (built at first use), its deadline and its repeatability.

    `idempotent`: a repetition with the same idempotency key has the effect once; only such a tool
    is called again when a crash left its outcome unknown. `timeout` is in seconds.
    """

    name: str
    function: Callable[..., Awaitable[Any]]
    idempotent: bool = False
    timeout: float = 30.0

    @functools.cached_property
    def _signature(self) -> Signature:
        return read_signature(self.name, self.function)

    @functools.cached_property
    def spec(self) -> ToolSpec:
        """What the model is told. Raises TypeError when the signature cannot be a tool's."""
        return ToolSpec(self.name, self._signature.description, self._signature.parameters)

    async def call(self, ctx: ToolContext, arguments: str) -> ToolResult:
        """Call the function with `arguments`, a JSON object as text.

        Whatever goes wrong comes back as a result that is not ok; a bug's details go to the log and
        not to the model. A cancel cancels the function and goes through.
        """
        checked = self._signature.check(arguments)
        if checked.errors:
            return ToolResult(False, checked.errors, ToolFailure.ARGUMENTS)
        with trio.move_on_after(self.timeout) as scope:
            crash_point("tool.before_call")
            try:
                result = ToolResult(True, _text(await self.function(ctx, **checked.values)))
            except Exception as error:
                result = self._failed(ctx, error)
            except BaseExceptionGroup as group:
                raise self._only_cancel(ctx, group) from None
            crash_point("tool.after_call")
            return result
        if scope.cancelled_caught:
            _log.warning("tool_timeout", tool=self.name, agent=ctx.agent, seconds=self.timeout)
        return ToolResult(False, self._timeout_text(ctx), ToolFailure.TIMEOUT)

    def _failed(self, ctx: ToolContext, error: Exception) -> ToolResult:
        told = _tool_errors(error)
        if told:
            return ToolResult(False, "\n".join(told), ToolFailure.REFUSED)
        _log.error("tool_failed", tool=self.name, agent=ctx.agent, exc_info=error)
        text = _texts(ctx)["internal"].format(name=self.name)
        return ToolResult(False, text, ToolFailure.INTERNAL)

    def _only_cancel(
        self, ctx: ToolContext, group: BaseExceptionGroup[BaseException]
    ) -> BaseExceptionGroup[BaseException]:
        """Log an error that a cleanup raised during a cancel; what is left is the cancel itself."""
        cancelled, rest = group.split(trio.Cancelled)
        if cancelled is None:
            return group
        if rest is not None:
            _log.error("tool_failed_in_cleanup", tool=self.name, agent=ctx.agent, exc_info=rest)
        return cancelled

    def _timeout_text(self, ctx: ToolContext) -> str:
        texts = _texts(ctx)
        text = texts["timeout"].format(name=self.name, seconds=self.timeout)
        return text if self.idempotent else f"{text} {texts['unknown_effect']}"


def tool(
    name: str | None = None, *, idempotent: bool = False, timeout: float = 30.0
) -> Callable[[Callable[..., Awaitable[Any]]], Tool]:
    """Make a `Tool` of `async def function(ctx: ToolContext, argument: type = default, ...)`.

    The docstring is what the model reads; its `Args:` describe the arguments. The name defaults to
    the function's. Raises TypeError when the function is not async or takes no context.
    """

    def decorate(function: Callable[..., Awaitable[Any]]) -> Tool:
        label = name or function.__name__
        if not inspect.iscoroutinefunction(function):
            raise TypeError(f"tool {label}: write it as `async def`")
        if not inspect.signature(function).parameters:
            raise TypeError(f"tool {label}: the first parameter is the ToolContext")
        return Tool(label, function, idempotent, timeout)

    return decorate


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


def _texts(ctx: ToolContext) -> Mapping[str, str]:
    return _TEXTS.get(ctx.locale, _TEXTS["es"])


def _tool_errors(error: BaseException) -> list[str]:
    """The texts of a ToolError, or of a group (a tool's own nursery) that holds nothing else."""
    if isinstance(error, ToolError):
        return [str(error)]
    if isinstance(error, BaseExceptionGroup):
        parts = [_tool_errors(part) for part in error.exceptions]
        return [text for part in parts for text in part] if all(parts) else []
    return []
