"""Pure: what a room is told, once, when a limit keeps its agents from answering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from actors.decision import HOUR_FULL, PAIR_GUARD, PAIR_GUARD_ALTERNATIONS
from channels.chain import Stamp, stamped
from channels.outbox import OutgoingMessage
from channels.rooms import text_content
from channels.slots import SlotFacts
from config.schema import RoomConfig

__all__ = ["restrained"]

_HOUR_SECONDS: Final = 3600.0

_TEXTS: Final[Mapping[str, Mapping[str, str]]] = {
    "es": {
        PAIR_GUARD: (
            "⚠️ {who} y los agentes llevan {turns} respuestas seguidas en 10 minutos: trato a {who}"
            " como un bot. Se pasa tras 10 minutos sin mensajes suyos."
        ),
        HOUR_FULL: (
            "⚠️ Los agentes han dicho aquí {limit} mensajes en una hora, el límite de esta sala:"
            " hasta que pase no responden a más."
        ),
    },
    "en": {
        PAIR_GUARD: (
            "⚠️ {who} and the agents have answered each other {turns} times in 10 minutes: I treat"
            " {who} as a bot. It passes after 10 minutes without messages from there."
        ),
        HOUR_FULL: (
            "⚠️ The agents have said {limit} messages here within an hour, this room's limit: until"
            " that passes they answer no more."
        ),
    },
}


def restrained(
    rule: str, facts: SlotFacts, room: RoomConfig, agent: str, locale: str
) -> OutgoingMessage | None:
    """Return the notice by `agent` of a limit that struck; None for a rule that is kept silent.

    Its transaction id makes it one notice a strike of the pair guard, and one a clock hour.
    """
    text = _TEXTS.get(locale, _TEXTS["es"]).get(rule)
    if text is None:
        return None
    slot = facts.slot
    said = text.format(
        who=facts.event.sender,
        turns=PAIR_GUARD_ALTERNATIONS,
        limit=room.max_agent_messages_per_hour,
    )
    once = f"pair-{slot.id}" if rule == PAIR_GUARD else f"hour-{int(facts.now // _HOUR_SECONDS)}"
    stamp = Stamp(agent, slot.chain, slot.chain, slot.hop)
    return OutgoingMessage(agent, slot.room, once, stamped(text_content(said, notice=True), stamp))
