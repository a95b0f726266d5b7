"""What a model is shown: a system prompt with the turn's facts, and the room's latest messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

import attrs

from actors.llm.protocol import NO_REPLY, ChatMessage
from channels.rooms import RoomEvent

__all__ = ["Setting", "display_name", "history_messages", "spoken", "system_prompt"]

LATE_SECONDS: Final = 120.0

_TEXTS: Final[Mapping[str, Mapping[str, str]]] = {
    "es": {
        "who": "Eres {name} (agente «{agent}»).",
        "room": "Estás en la sala {room}, en la que escriben varias personas y agentes.",
        "task": "Otro agente o un horario te da esta tarea; tu respuesta vuelve a quien la pide.",
        "language": "Responde en español salvo que te escriben en otro idioma.",
        "now": "Ahora es {now} ({zone}).",
        "late": "El mensaje se escribió a las {then}, cuando no estabas: tenlo en cuenta.",
        "agents": "Otros agentes: {agents}.",
        "tools": "Herramientas: {tools}. Usa una solo si hace falta y no inventes su resultado.",
        "silence": "Si no hay nada que añadir, responde exactamente {no_reply}.",
    },
    "en": {
        "who": "You are {name} (agent “{agent}”).",
        "room": "You are in the room {room}, where several people and agents write.",
        "task": "Another agent or a schedule gives you this task; your answer goes back to it.",
        "language": "Answer in English unless people write in another language.",
        "now": "It is {now} ({zone}).",
        "late": "The message was written at {then}, while you were away: bear it in mind.",
        "agents": "Other agents: {agents}.",
        "tools": "Tools: {tools}. Use one only when needed and never make up its result.",
        "silence": "If there is nothing to add, answer exactly {no_reply}.",
    },
}


@attrs.frozen
class Setting:
    """Who speaks, where and when. Instants are seconds since the epoch; `room` None: a task."""

    agent: str
    name: str
    prompt: str
    room: str | None
    locale: str
    timezone: str
    now: float
    received_at: float
    agents: Mapping[str, str] = attrs.field(factory=dict)
    tools: tuple[str, ...] = ()


def system_prompt(setting: Setting) -> ChatMessage:
    """Return the agent's own prompt followed by the facts that no model can know."""
    texts = _TEXTS.get(setting.locale, _TEXTS["es"])
    facts = [
        texts["who"].format(name=setting.name, agent=setting.agent),
        texts["room"].format(room=setting.room) if setting.room else texts["task"],
        texts["language"],
        texts["now"].format(now=_local(setting.now, setting), zone=setting.timezone),
    ]
    if setting.now - setting.received_at > LATE_SECONDS:
        facts.append(texts["late"].format(then=_local(setting.received_at, setting)))
    others = [_introduced(*item) for item in setting.agents.items() if item[0] != setting.agent]
    if others:
        facts.append(texts["agents"].format(agents="; ".join(others)))
    if setting.tools:
        facts.append(texts["tools"].format(tools=", ".join(setting.tools)))
    facts.append(texts["silence"].format(no_reply=NO_REPLY))
    own = [setting.prompt.strip()] if setting.prompt.strip() else []
    return ChatMessage("system", "\n".join([*own, *facts]))


def _local(instant: float, setting: Setting) -> str:
    return datetime.fromtimestamp(instant, ZoneInfo(setting.timezone)).strftime("%Y-%m-%d %H:%M")


def _introduced(agent: str, description: str) -> str:
    return f"{agent} ({description})" if description else agent


def history_messages(
    events: Iterable[RoomEvent], own_user: str, names: Mapping[str, str] | None = None
) -> tuple[ChatMessage, ...]:
    """Turn room messages, oldest first, into a conversation: the agent's own as assistant.

    What others wrote carries their name beside the text; each provider shows it its own way.
    Notices and membership changes are left out.
    """
    return tuple(
        spoken(event, own_user, names)
        for event in events
        if event.kind == "message" and event.text.strip()
    )


def spoken(event: RoomEvent, own_user: str, names: Mapping[str, str] | None = None) -> ChatMessage:
    """Return one room message as the model sees it."""
    if event.sender == own_user:
        return ChatMessage("assistant", event.text)
    name = display_name(event.sender, names)
    return ChatMessage("user", event.text, name=name)


def display_name(user: str, names: Mapping[str, str] | None = None) -> str:
    """Return what to call a user id: a given name, else its local part without the @."""
    given = (names or {}).get(user)
    return given or user.removeprefix("@").partition(":")[0] or user
