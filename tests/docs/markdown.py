"""Pure: the fenced blocks of a Markdown page, with the attributes that readers see as titles."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

import attrs

__all__ = ["Block", "blocks_of"]

FENCE = re.compile(r"^(?P<indent>\s*)(?P<fence>`{3,}|~{3,})(?P<info>.*)$")
ATTRIBUTE = re.compile(r"(?P<key>\w+)=\"(?P<value>[^\"]*)\"")


@attrs.frozen
class Block:
    """One fenced block: its language ("" when none), its title, its text and its first line."""

    kind: str
    title: str
    text: str
    line: int


def blocks_of(markdown: str) -> tuple[Block, ...]:
    """Return all fenced blocks in order, dedented. Raises ValueError when one is never closed."""
    return tuple(_blocks(markdown.splitlines()))


def _blocks(lines: list[str]) -> Iterator[Block]:
    opened: tuple[int, re.Match[str]] | None = None
    for number, line in enumerate(lines, start=1):
        found = FENCE.match(line)
        if opened is None:
            opened = (number, found) if found else None
        elif found and found["fence"] == opened[1]["fence"] and not found["info"].strip():
            yield _block(opened[0], opened[1]["info"], lines[opened[0] : number - 1])
            opened = None
    if opened is not None:
        raise ValueError(f"line {opened[0]}: this block is never closed")


def _block(line: int, info: str, inside: list[str]) -> Block:
    kind = info.split()[0] if info.split() else ""
    attributes = dict(ATTRIBUTE.findall(info))
    text = textwrap.dedent("\n".join(inside))
    return Block(kind, attributes.get("title", ""), text + "\n" if text else "", line)
