"""What lies in a mailbox: a told body, or an ask, which is also the slot its asker sleeps on."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import attrs
from trio.lowlevel import Abort, Task, reschedule

__all__ = ["Ask", "AskLedger", "Ended", "Message", "Place"]

Ended = Literal["replied", "failed", "timed_out", "cancelled"]


@attrs.define(eq=False, repr=False)
class Message:
    """One body on its way to an actor.

    `sender` is the lane that sent it ("" when nobody in particular did).
    """

    body: Any
    sender: str

    def __repr__(self) -> str:  # without the body: it may hold secrets
        return f"<{type(self).__name__} {type(self.body).__name__} from {self.sender!r}>"

    @property
    def wants_reply(self) -> bool:
        """True while somebody waits for the answer: always False for a tell."""
        return False

    def reply(self, value: Any) -> bool:
        """Answer. Does nothing and returns False when nobody waits (any longer)."""
        return False

    def fail(self, error: Exception) -> bool:
        """Make the asker raise `error`. Returns False when nobody waits (any longer)."""
        return False


class Place(Protocol):
    """Where an open ask is: in a queue, or in the hands of a generation."""

    def forget(self, ask: Ask) -> None:
        """The ask has ended: keep nothing of it."""
        ...


class AskLedger(Protocol):
    """What the bus keeps about open asks."""

    def closed(self, ask: Ask, how: Ended) -> None:
        """Called once, when the ask ends, before the asker runs again."""
        ...

    def too_late(self) -> None:
        """Somebody answered an ask that had ended."""
        ...


@attrs.define(eq=False, repr=False)
class Ask(Message):
    """A message whose sender sleeps until exactly one of reply, error, timeout, cancel ends it."""

    to: str
    node: str  # what the asker waits on in the wait-for graph; "" when it takes no part
    timeout: float
    _ledger: AskLedger
    _task: Task | None
    place: Place | None = None
    timed: bool = False  # its deadline lies with the shared timer
    value: Any = None
    error: Exception | None = None

    @property
    def wants_reply(self) -> bool:
        """True until the ask has ended in any way."""
        return self._task is not None

    def reply(self, value: Any) -> bool:
        """Answer the asker. Ignored, counted and False when the ask has already ended."""
        if self._task is None:
            self._ledger.too_late()
            return False
        self.value = value
        self._wake("replied")
        return True

    def fail(self, error: Exception) -> bool:
        """Make the asker raise `error`. Ignored, counted and False when the ask has ended."""
        if self._task is None:
            self._ledger.too_late()
            return False
        self.end(error, "failed")
        return True

    def end(self, error: Exception, how: Ended) -> None:
        """Like `fail`, for the wires themselves: an ask that has ended is left alone."""
        if self._task is not None:
            self.error = error
            self._wake(how)

    def cancelled(self, _: Any) -> Abort:
        """Trio's abort function of the sleeping asker."""
        self._task = None
        self._leave("cancelled")
        return Abort.SUCCEEDED

    def _wake(self, how: Ended) -> None:
        task = self._task
        assert task is not None
        self._task = None
        self._leave(how)
        reschedule(task)

    def _leave(self, how: Ended) -> None:
        place = self.place
        if place is not None:
            self.place = None
            place.forget(self)
        self._ledger.closed(self, how)
