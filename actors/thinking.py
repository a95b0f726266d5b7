"""Thinking: model rounds and tool calls until there is an answer, resumed from the journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs
import structlog
import trio

from actors.journal import Journal, TurnRecord, idempotency_key
from actors.llm.protocol import (
    ChatMessage,
    ModelOutput,
    ModelRequest,
    Provider,
    ToolCall,
    TurnContext,
    complete,
)
from channels.bus import Bus
from channels.chain import Stamp
from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.inbox import EventInbox
from config.schema import AgentConfig
from tools.tool import ToolContext, ToolResult
from tools.toolbox import Toolbox

__all__ = ["AgentServices", "TurnFailed", "Work", "think"]

declare_crash_points(
    "turn.before_model",
    "turn.after_model",
    "turn.after_model_record",
    "tool.before_record",
    "tool.after_start_record",
    "tool.before_result_record",
    "tool.after_record",
)

RECORD_SECONDS: Final = 5.0

_log = structlog.get_logger("actors.turn")

_UNKNOWN_OUTCOME: Final[Mapping[str, str]] = {
    "es": (
        "Esta llamada a {name} quedó interrumpida y no se sabe si tuvo efecto. No se ha repetido: "
        "compruébalo antes de volver a hacerla, o dilo abiertamente."
    ),
    "en": (
        "This call of {name} was interrupted and it is unknown whether it took effect. It was not "
        "repeated: check before you make it again, or say so openly."
    ),
}


class TurnFailed(Exception):
    """A turn could not come to an answer; the text is one sentence for people."""


@attrs.define
class AgentServices:
    """What an agent's turns stand on.

    `agents` gives every agent's id and description as of now. `zones` maps a room to its IANA zone,
    `timezone` is that of all others.
    """

    bus: Bus
    inbox: EventInbox
    journal: Journal
    clock: WallClock
    toolbox: Toolbox
    provider: Provider
    locale: str = "es"
    timezone: str = "UTC"
    agents: Callable[[], Mapping[str, str]] = dict
    zones: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen
class Work:
    """What a turn is about. `key` names its journal, `lane` is where it runs on the bus."""

    key: str
    lane: str
    attempt: int
    room: str | None
    user: str | None
    event_id: str | None
    received_at: float
    messages: tuple[ChatMessage, ...]
    timezone: str
    stamp: Stamp | None
    sender_is_bot: bool = False
    addressed: bool = False
    reply_to: str | None = None


async def think(agent: AgentConfig, services: AgentServices, work: Work) -> str:
    """Run model rounds and tool calls until there is an answer; return its text (may be NO_REPLY).

    Resumes from the journal: what an earlier attempt got from the model or a tool is not asked
    again. Raises ModelError, TurnFailed, and what the database raises. After a cancel nothing
    begins; what has ended is still recorded (at most `RECORD_SECONDS`).
    """
    record = await services.journal.open(work.key)
    if record.answer is not None:
        return record.answer
    return await _Thinking(agent, services, work, record).run()


@attrs.define
class _Thinking:
    agent: AgentConfig
    services: AgentServices
    work: Work
    record: TurnRecord
    calls: int = 0

    async def run(self) -> str:
        messages = list(self.work.messages)
        for number in range(self.agent.max_tool_rounds + 1):
            output = await self._round(number, tuple(messages))
            if not output.calls:
                return output.text
            messages.append(ChatMessage("assistant", output.text, tool_calls=output.calls))
            for call in output.calls:
                result = await self._call(call)
                messages.append(
                    ChatMessage("tool", result.text, name=call.name, tool_call_id=call.id)
                )
        raise TurnFailed(f"no answer after {self.agent.max_tool_rounds} rounds of tool calls")

    async def _round(self, number: int, messages: tuple[ChatMessage, ...]) -> ModelOutput:
        if number < len(self.record.outputs):
            return self.record.outputs[number]
        crash_point("turn.before_model")
        await trio.lowlevel.checkpoint_if_cancelled()
        last = number == self.agent.max_tool_rounds
        output = await complete(self.services.provider, self._request(messages, offer=not last))
        crash_point("turn.after_model")
        if output.calls and last:
            raise TurnFailed(f"no answer after {number} rounds of tool calls")
        if not output.calls and not output.text.strip():
            raise TurnFailed("the model gave an empty answer")
        await _recorded(self.services.journal.answered, self.record, output)
        crash_point("turn.after_model_record")
        return output

    def _request(self, messages: tuple[ChatMessage, ...], *, offer: bool) -> ModelRequest:
        work, services = self.work, self.services
        context = TurnContext(
            agent=self.agent.id,
            agents=services.agents(),
            room=work.room,
            user=work.user,
            locale=services.locale,
            timezone=work.timezone,
            now=services.clock.now(),
            received_at=work.received_at,
            sender_is_bot=work.sender_is_bot,
            addressed=work.addressed,
            display_name=self.agent.display_name,
            reply_to=work.reply_to,
        )
        return ModelRequest(
            model=self.agent.llm.model or "",
            messages=messages,
            tools=services.toolbox.specs() if offer else (),
            context=context,
            attempt=work.attempt,
        )

    async def _call(self, call: ToolCall) -> ToolResult:
        """Give the call's recorded result, or make the call, or say that its outcome is unknown."""
        number, self.calls = self.calls, self.calls + 1
        known = self.record.calls.get(number)
        if known is not None and known.result is not None:
            return known.result
        journal = self.services.journal
        if known is not None and not self._may_repeat(call):
            _log.warning("tool_outcome_unknown", tool=call.name, turn=self.work.key, call=number)
            text = _UNKNOWN_OUTCOME.get(self.services.locale, _UNKNOWN_OUTCOME["es"])
            result = ToolResult(False, text.format(name=call.name))
        else:
            crash_point("tool.before_record")
            await journal.calling(self.record, number, call)
            crash_point("tool.after_start_record")
            await trio.lowlevel.checkpoint_if_cancelled()
            result = await self._make(number, call)
            crash_point("tool.before_result_record")
        await _recorded(journal.called, self.record, number, result)
        crash_point("tool.after_record")
        return result

    def _may_repeat(self, call: ToolCall) -> bool:
        tool = self.services.toolbox.get(call.name)
        return tool is not None and tool.idempotent

    async def _make(self, number: int, call: ToolCall) -> ToolResult:
        work, services = self.work, self.services
        context = ToolContext(
            agent=self.agent.id,
            room=work.room,
            user=work.user,
            event_id=work.event_id,
            received_at=work.received_at,
            timezone=work.timezone,
            locale=services.locale,
            idempotency_key=idempotency_key(work.key, number),
            bus=services.bus,
            clock=services.clock,
            lane=work.lane,
            stamp=work.stamp,
            agents=services.agents(),
            reply_to=work.reply_to,
        )
        return await services.toolbox.call(context, call.name, call.arguments)


async def _recorded(write: Callable[..., Any], *args: Any) -> None:
    """Write down what has already happened, whatever is being cancelled around it."""
    with trio.CancelScope(shield=True, deadline=trio.current_time() + RECORD_SECONDS):
        await write(*args)
        return
    raise TurnFailed(f"the turn's journal could not be written within {RECORD_SECONDS:g} s")
