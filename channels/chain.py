"""Pure: the stamp that every bot message carries, and how far a chain of bot messages has run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

__all__ = [
    "OCCURRENCE_PREFIX",
    "STAMP_KEY",
    "Place",
    "Stamp",
    "has_more",
    "place",
    "read_stamp",
    "room_chain",
    "stamped",
    "take_turn",
    "with_more",
]

STAMP_KEY = "vivero"
OCCURRENCE_PREFIX = "occurrence:"
_MORE = "more"


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

    @property
    def starts_occurrence(self) -> bool:
        """True for an occurrence's own message, which starts a chain of its own."""
        return self.hop == 0 and self.chain.startswith(OCCURRENCE_PREFIX)


def stamped(content: Mapping[str, Any], stamp: Stamp) -> dict[str, Any]:
    """Return a copy of a content that carries the stamp (on edits: in `m.new_content` too)."""
    return _marked(content, attrs.asdict(stamp))


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


def with_more(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy marked as a part that is not the last: only the last one asks for a reply."""
    mark = content.get(STAMP_KEY)
    return _marked(content, {**(mark if isinstance(mark, Mapping) else {}), _MORE: True})


def has_more(content: Mapping[str, Any]) -> bool:
    """True when the sender said that another part follows. Never raises on foreign shapes."""
    mark = content.get(STAMP_KEY)
    return isinstance(mark, Mapping) and mark.get(_MORE) is True


@attrs.frozen
class Place:
    """Where an event belongs.

    `turns` is the least number of turns its chain must count from now on (0: no claim).
    `current`: the chain is from now on the room's current one.
    """

    chain: str
    turns: int = 0
    current: bool = False


def place(
    event_id: str, room: str, *, is_bot: bool, own_stamp: Stamp | None, current: str | None
) -> Place:
    """Find the chain of a message.

    A person's message starts its own. `own_stamp` is the stamp of a message that one of our agents
    sent (never a stranger's): it names the chain. Every other bot message joins `current`, the
    chain of the room's latest human message or occurrence, or the room's own when there was none.
    """
    if own_stamp is not None and own_stamp.chain:
        return Place(own_stamp.chain, own_stamp.hop, current=own_stamp.starts_occurrence)
    if not is_bot:
        return Place(event_id, current=True)
    return Place(current or room_chain(room))


def room_chain(room: str) -> str:
    """The chain of bot messages in a room where no person has written yet."""
    return f"room:{room}"


def take_turn(turns: int, limit: int | None) -> int | None:
    """The hop of one more turn in a chain that has taken `turns`; None when `limit` is reached."""
    return turns + 1 if limit is None or turns < limit else None


def _marked(content: Mapping[str, Any], mark: Mapping[str, Any]) -> dict[str, Any]:
    marked = {**content, STAMP_KEY: dict(mark)}
    if isinstance(content.get("m.new_content"), Mapping):
        marked["m.new_content"] = {**content["m.new_content"], STAMP_KEY: dict(mark)}
    return marked
