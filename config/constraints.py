"""What a field of the schema may hold beyond its type, written as `Annotated[type, constraint]`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import attrs

__all__ = ["Between", "Constraint", "ExistingFile", "FilledByLoader", "Matches", "Unique"]


class Constraint(Protocol):
    """One rule about a value that already has the right type."""

    def faults(self, value: Any) -> Sequence[tuple[tuple[str | int, ...], str]]:
        """Return (path below the value, what is wrong and what to write) for each fault."""
        ...


@attrs.frozen
class Between:
    """A number from `low` to `high`, both included."""

    low: float
    high: float

    def faults(self, value: Any) -> Sequence[tuple[tuple[str | int, ...], str]]:
        if self.low <= value <= self.high:
            return ()
        return [((), f"is out of range: write a number from {self.low:.12g} to {self.high:.12g}")]


@attrs.frozen
class Matches:
    """A text of a form that `what` describes for people, with an example."""

    pattern: str
    what: str

    def faults(self, value: Any) -> Sequence[tuple[tuple[str | int, ...], str]]:
        return () if re.fullmatch(self.pattern, value) else [((), f"write {self.what}")]


@attrs.frozen
class Unique:
    """A list without repetition: of its items, or of the named attribute of its items."""

    attribute: str | None = None

    def faults(self, value: Any) -> Sequence[tuple[tuple[str | int, ...], str]]:
        seen: set[Any] = set()
        found: list[tuple[tuple[str | int, ...], str]] = []
        for index, item in enumerate(value):
            mark = getattr(item, self.attribute) if self.attribute else item
            if mark is not None and mark in seen:
                path = (index, self.attribute) if self.attribute else (index,)
                found.append((path, "is already in this list: use each once"))
            seen.add(mark)
        return found


@attrs.frozen
class ExistingFile:
    """A path to a readable text file, relative to the config's own folder or to the workspace."""

    base: Literal["folder", "workspace"]


@attrs.frozen
class FilledByLoader:
    """A field that no YAML key sets."""
