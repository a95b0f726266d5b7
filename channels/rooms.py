"""What a chat transport offers, and the one shape in which its events travel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

import attrs

from channels.chain import Stamp, read_stamp

__all__ = ["RoomEvent", "Transport", "TransportError", "TransportState", "text_content"]

TransportState = Literal["running", "reconnecting"]

_CONTROL = re.compile(r"\s*!(stop|yes|no)(?:\s(.*))?", re.IGNORECASE | re.DOTALL)


@attrs.frozen
class RoomEvent:
    """Something that happened in a room.

    `ts` is the transport's own time, in seconds since the epoch. `kind` is `message`, `notice`,
    `edit`, `reaction`, `join`, `leave`, or another word of the transport. `sender_is_bot` is what
    the transport (later: the inbox) knows; text, mentions and stamp are read from `content`, which
    may have any shape that a stranger chose.
    """

    event_id: str
    room: str
    sender: str
    ts: float
    content: Mapping[str, Any]
    kind: str = "message"
    sender_is_bot: bool = False

    @property
    def text(self) -> str:
        """The body, "" when there is none."""
        body = self.content.get("body")
        return body if isinstance(body, str) else ""

    @property
    def mentions(self) -> frozenset[str]:
        """User ids that the sender marked as mentioned."""
        marked = self.content.get("m.mentions")
        ids = marked.get("user_ids") if isinstance(marked, Mapping) else None
        if not isinstance(ids, Sequence) or isinstance(ids, str):
            return frozenset()
        return frozenset(user for user in ids if isinstance(user, str))

    @property
    def reply_to(self) -> str | None:
        """The event id this one replies to."""
        relation = self.content.get("m.relates_to")
        reply = relation.get("m.in_reply_to") if isinstance(relation, Mapping) else None
        target = reply.get("event_id") if isinstance(reply, Mapping) else None
        return target if isinstance(target, str) else None

    @property
    def stamp(self) -> Stamp | None:
        """The bot stamp in the content, if any. Anyone can write one."""
        return read_stamp(self.content)

    @property
    def control(self) -> tuple[str, str] | None:
        """(verb, argument) of `!stop`, `!yes ID`, `!no ID`; None for everything else."""
        found = _CONTROL.fullmatch(self.text) if self.kind == "message" else None
        return (found[1].casefold(), (found[2] or "").strip()) if found else None

    @property
    def member(self) -> str:
        """Whom a `join` or `leave` is about: `content["member"]`, else the sender."""
        member = self.content.get("member")
        return member if isinstance(member, str) else self.sender


def text_content(text: str, *, notice: bool = False) -> dict[str, Any]:
    """The content of a plain message (or of a notice, which never opens a turn)."""
    return {"msgtype": "m.notice" if notice else "m.text", "body": text}


class TransportError(Exception):
    """It could not be done. `retry_after`: seconds, the server's wish. `permanent`: never will."""

    def __init__(
        self, message: str, *, retry_after: float | None = None, permanent: bool = False
    ) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.permanent = permanent


class Transport(Protocol):
    """One agent's link to the rooms. Used by one task for `events` and one for `send`."""

    @property
    def agent(self) -> str:
        """The agent's id."""
        ...

    @property
    def user_id(self) -> str:
        """The name under which the agent's events appear in the rooms."""
        ...

    @property
    def state(self) -> TransportState:
        """`running`, or `reconnecting` while the server cannot be reached."""
        ...

    async def start(self) -> None:
        """Connect. Raises TransportError."""
        ...

    async def events(self, cursor: str | None) -> tuple[Sequence[RoomEvent], str]:
        """Wait for what happened after `cursor`; return it with the cursor to store beside it.

        With `cursor=None` (a first connection) returns at once with where to begin. Raises
        TransportError. A cancel loses nothing: the same cursor gives the same events.
        """
        ...

    async def send(self, room: str, content: Mapping[str, Any], txn_id: str) -> str:
        """Send; return the event id (of the first, for a known `txn_id`). Raises TransportError."""
        ...

    async def joined_rooms(self) -> Sequence[str]:
        """The rooms this agent is in."""
        ...

    async def members(self, room: str) -> frozenset[str]:
        """The user ids in a room."""
        ...

    async def aclose(self) -> None:
        """Disconnect; idempotent, bounded."""
        ...
