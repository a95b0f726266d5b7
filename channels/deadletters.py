"""Messages that reached nobody: counted by reason, the last ones kept as text, never the bodies."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping
from types import MappingProxyType

import attrs

__all__ = ["DeadLetter", "DeadLetterLog", "DeadLetters"]


@attrs.frozen
class DeadLetter:
    """One message that reached nobody. Text only: the body may hold secrets, and keeps memory.

    `at` is in seconds since the epoch; `body` is the name of the body's type; `reason` is one of
    `unknown`, `stopped`, `dropped`, `interrupted`.
    """

    at: float
    reason: str
    to: str
    sender: str
    body: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.body} from {self.sender or 'nobody'} to {self.to}"


@attrs.frozen
class DeadLetters:
    """What the bus knows about its dead letters at one moment."""

    count: int
    by_reason: Mapping[str, int]
    recent: tuple[DeadLetter, ...]


@attrs.define(eq=False)
class DeadLetterLog:
    """Counts for ever, remembers the last hundred."""

    _reasons: Counter[str] = attrs.Factory(Counter)
    _recent: deque[DeadLetter] = attrs.Factory(lambda: deque(maxlen=100))

    def add(self, letter: DeadLetter) -> None:
        """Count and remember one."""
        self._reasons[letter.reason] += 1
        self._recent.append(letter)

    @property
    def count(self) -> int:
        """How many there ever were."""
        return self._reasons.total()

    def snapshot(self) -> DeadLetters:
        """Return the counts and the recent ones, oldest first."""
        return DeadLetters(
            count=self.count,
            by_reason=MappingProxyType(dict(self._reasons)),
            recent=tuple(self._recent),
        )
