"""What is wrong with a configuration, where, and what to write instead."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

__all__ = ["ConfigError", "KeyPath", "Problem", "did_you_mean", "dotted", "printable"]

KeyPath = tuple[str | int, ...]


@attrs.frozen(order=True)
class Problem:
    """One fault. `line` and `col` count from 1; `key` is a path such as `rooms[0].id`, or ""."""

    file: str
    line: int
    col: int
    key: str
    message: str

    def __str__(self) -> str:
        key = f"{self.key}: " if self.key else ""
        return f"{self.file}:{self.line}:{self.col}: {key}{self.message}"


class ConfigError(Exception):
    """A configuration that cannot be used; `problems` holds everything that is wrong with it."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))


def did_you_mean(word: str, options: Iterable[str]) -> str:
    """Return ` (did you mean 'x'?)` for the nearest option, or "" when none is near."""
    from difflib import get_close_matches  # only needed once something is wrong

    known = {option.casefold(): option for option in options}
    near = get_close_matches(word.casefold()[:100], known, n=1)
    return f" (did you mean {known[near[0]]!r}?)" if near else ""


def printable(text: str, limit: int = 60) -> str:
    """Return text fit for one line of a terminal: controls escaped, cut at `limit` characters."""
    short = text if len(text) <= limit else text[: limit - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in short)


def dotted(path: KeyPath) -> str:
    """`("rooms", 0, "id")` -> `rooms[0].id`, safe to print."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += ("." if text else "") + printable(step)
    return text
