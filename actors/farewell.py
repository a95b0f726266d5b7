"""Pure: what a room is told, once, about a message that nobody could answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from channels.chain import Stamp, stamped
from channels.outbox import OutgoingMessage
from channels.rooms import text_content
from channels.slots import Slot

__all__ = ["given_up"]

_TEXTS: Final[Mapping[str, Mapping[str, str]]] = {
    "es": {
        "": "⚠️ No he podido responder a este mensaje y no lo volveré a intentar ({why}).",
        "raised_twice": "el intento falló dos veces",
        "crashed": "el agente se cayó al intentarlo",
        "too_many_attempts": "demasiados intentos",
    },
    "en": {
        "": "⚠️ I could not answer this message and will not try again ({why}).",
        "raised_twice": "the attempt failed twice",
        "crashed": "the agent crashed on it",
        "too_many_attempts": "too many attempts",
    },
}


def given_up(slot: Slot, agent: str, reason: str, locale: str) -> OutgoingMessage:
    """Return the notice of a dead letter; its transaction id derives from the slot.

    It names no internals: those are in the log and in `agentctl why`.
    """
    texts = _TEXTS.get(locale, _TEXTS["es"])
    content = text_content(texts[""].format(why=texts.get(reason, reason)), notice=True)
    content["m.relates_to"] = {"m.in_reply_to": {"event_id": slot.event_id}}
    stamp = Stamp(agent, slot.chain, slot.chain, slot.hop)
    return OutgoingMessage(agent, slot.room, f"dead-{slot.id}", stamped(content, stamp))
