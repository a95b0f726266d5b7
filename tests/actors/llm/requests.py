"""Shared by the model tests: requests as an agent's turn would make them."""

from __future__ import annotations

from typing import Any

import attrs

from actors.llm.protocol import ChatMessage, ModelRequest, ToolCall, TurnContext
from tools.tool import ToolSpec

NOW = 1_796_049_842.0  # 2026-11-30 15:44:02 in Madrid, a Monday
ALL_TOOLS = ("create_reminder", "list_reminders", "delete_reminder", "current_time", "ask_agent")
CONTEXT = TurnContext(
    agent="asistente",
    agents={"asistente": "Lleva los recordatorios.", "devops": "Cuida los servidores."},
    room="#taller",
    user="@ana",
    locale="es",
    timezone="Europe/Madrid",
    now=NOW,
    received_at=NOW,
    addressed=True,
    display_name="Asistente Virtual",
)


def specs(*names: str) -> tuple[ToolSpec, ...]:
    return tuple(ToolSpec(name, name, {"type": "object", "properties": {}}) for name in names)


def request(
    *messages: ChatMessage | str,
    tools: tuple[str, ...] = ALL_TOOLS,
    attempt: int = 1,
    **context: Any,
) -> ModelRequest:
    """A request whose plain texts are the user's."""
    said = [ChatMessage("user", m, name="ana") if isinstance(m, str) else m for m in messages]
    return ModelRequest(
        model="m",
        messages=(ChatMessage("system", "Sé amable."), *said),
        tools=specs(*tools),
        context=attrs.evolve(CONTEXT, **context),
        attempt=attempt,
    )


def called(name: str, result: str, id: str = "call_1_1") -> tuple[ChatMessage, ChatMessage]:
    """One finished round: the call and its result."""
    call = ToolCall(id, name, "{}")
    return (
        ChatMessage("assistant", "", tool_calls=(call,)),
        ChatMessage("tool", result, name=name, tool_call_id=id),
    )
