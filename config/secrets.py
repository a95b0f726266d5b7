"""A text that must not be seen: it prints as `***` everywhere but through `reveal()`."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["Secret"]


class Secret:
    """Wrap a secret so that logs, tracebacks and reprs cannot show it. Equal by value."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        """Return the real text; call it only where the text leaves for its server."""
        return self._text

    def __repr__(self) -> str:
        return "***"

    def __format__(self, spec: str) -> str:
        return format("***", spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return self._text == other._text

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be pickled")
