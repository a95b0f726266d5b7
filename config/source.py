"""Where in a file the value of a path stands, so that later checks can point at it too."""

from __future__ import annotations

from typing import Any

import attrs

from config.document import Mapping, Node, Sequence
from config.problems import KeyPath, Problem, dotted

__all__ = ["Source"]


@attrs.frozen
class Source:
    """The file behind a loaded config and its tree of positions."""

    file: str
    root: Node | None = attrs.field(default=None, repr=False, eq=False)

    def problem(self, *path: str | int, message: str, key: bool = False) -> Problem:
        """Return a Problem at the value (or, with `key`, at the key) that `path` leads to.

        `source.problem("schedules", 0, "cron", message="...")`. When the path is not in the file,
        the position is that of its nearest ancestor; the path is kept as the problem's key.
        """
        line, col = self._position(path, key)
        return Problem(self.file, line, col, dotted(path), message)

    def _position(self, path: KeyPath, key: bool) -> tuple[int, int]:
        node: Any = self.root
        at: Node | None = self.root
        for step in path:
            if isinstance(node, Mapping) and step in node.values:
                at = node.keys[str(step)] if key else node.values[str(step)]
                node = node.values[str(step)]
            elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
                at = node = node.items[step]
            else:
                break
        return (at.line, at.col) if at is not None else (1, 1)
