"""What can go wrong on the wires, as one small family of exceptions."""

from __future__ import annotations

__all__ = [
    "ActorDied",
    "AskCycle",
    "AskTimeout",
    "BusError",
    "Drained",
    "MailboxFull",
    "RemoteError",
    "Stopped",
    "UnknownAddress",
]


class BusError(Exception):
    """Base of everything that the bus and the mailboxes raise."""


class UnknownAddress(BusError):
    """Nobody is registered under that name."""

    def __init__(self, address: str, why: str = "nobody is registered under this name") -> None:
        super().__init__(f"{address}: {why}")
        self.address = address
        self.why = why


class Stopped(UnknownAddress):
    """The actor of that name has stopped for good; what waited in its mailbox fails with this."""


class MailboxFull(BusError):
    """The mailbox had no room and its policy does not wait (or dropped this message)."""

    def __init__(self, address: str, capacity: int) -> None:
        super().__init__(f"{address}: mailbox full ({capacity} messages)")
        self.address = address
        self.capacity = capacity


class ActorDied(BusError):
    """The generation that had taken the ask ended before it answered. `why` is text for people."""

    def __init__(self, address: str, why: str) -> None:
        super().__init__(f"{address}: {why}")
        self.address = address
        self.why = why


class AskTimeout(BusError):
    """No answer came in time. The callee may still be working on it. `timeout` is in seconds."""

    def __init__(self, address: str, timeout: float) -> None:
        super().__init__(f"{address}: no answer within {timeout:g} s")
        self.address = address
        self.timeout = timeout


class AskCycle(BusError):
    """The callee already waits, directly or through others, for the lane that asks."""

    def __init__(self, path: tuple[str, ...]) -> None:
        super().__init__("asking would never end: " + " -> ".join(path))
        self.path = path


class RemoteError(BusError):
    """The callee failed while it worked on the ask; carries its text only, never its exception."""


class Drained(BusError):
    """This generation was asked to end: it gets no further messages, the next one will."""
