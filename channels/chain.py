"""Pure: the stamp that every bot message carries, and how far a chain of bot messages has run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

__all__ = ["STAMP_KEY", "Stamp", "read_stamp", "stamped"]

STAMP_KEY = "vivero"


@attrs.frozen
class Stamp:
    """Who sent a bot message and which human message or occurrence it descends from.

    `origin`: the event id of the human message, or `occurrence:SCHEDULE@INSTANT`.
    `chain`: the id all its descendants share (today the same as `origin`).
    `hop`: 0 for an occurrence's own message, else the count of turns taken, this one included.
    """

    agent: str
    origin: str
    chain: str
    hop: int


def stamped(content: Mapping[str, Any], stamp: Stamp) -> dict[str, Any]:
    """Return a copy of an event content that carries the stamp (on edits: in `m.new_content` too)."""
    mark = attrs.asdict(stamp)
    marked = {**content, STAMP_KEY: mark}
    if isinstance(content.get("m.new_content"), Mapping):
        marked["m.new_content"] = {**content["m.new_content"], STAMP_KEY: mark}
    return marked


def read_stamp(content: Mapping[str, Any]) -> Stamp | None:
    """Read a stamp from event content; None when there is none. Never raises on foreign shapes.

    A mark whose fields are malformed still proves a bot: it reads as a stamp with hop 0 and empty
    names, and the count kept by the room decides (a foreign stamp never lowers a count).
    """
    mark = content.get(STAMP_KEY)
    if mark is None:
        return None
    if not isinstance(mark, Mapping):
        return Stamp(agent="", origin="", chain="", hop=0)
    text = {key: mark.get(key) for key in ("agent", "origin", "chain")}
    hop = mark.get("hop")
    return Stamp(
        **{key: value if isinstance(value, str) else "" for key, value in text.items()},
        hop=hop if isinstance(hop, int) and not isinstance(hop, bool) and hop >= 0 else 0,
    )
