"""Wires: mailboxes, the bus, rooms, and the records of what was heard and what is to be said."""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "channels.bus": ("Bus", "BusStatistics"),
    "channels.chain": ("Stamp", "read_stamp", "stamped"),
    "channels.clock": ("SystemClock", "WallClock"),
    "channels.deadletters": ("DeadLetter", "DeadLetters"),
    "channels.errors": (
        "ActorDied",
        "AskCycle",
        "AskTimeout",
        "BusError",
        "Drained",
        "MailboxFull",
        "RemoteError",
        "Stopped",
        "UnknownAddress",
    ),
    "channels.lanes": ("current_lane", "lane"),
    "channels.mailbox": (
        "ControlInbox",
        "Inbox",
        "Mailbox",
        "MailboxSpec",
        "MailboxStatistics",
        "Message",
        "Overflow",
    ),
    "channels.messages": ("StopReason",),
    "channels.topics": ("Subscription",),
    "channels.database": ("Database", "DatabaseError", "Migration"),
    "channels.inbox": ("EventInbox",),
    "channels.local": ("LocalRooms", "LocalTransport"),
    "channels.outbox": ("Outbox", "OutgoingMessage"),
    "channels.rooms": ("RoomEvent", "Transport", "TransportError"),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import what is asked for when it is asked for: a start-up pays only for what it uses."""
    try:
        module = _HOME_OF[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    return getattr(importlib.import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
