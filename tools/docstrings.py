"""Pure: split a docstring into what a tool does and what each of its arguments means."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection

import attrs

__all__ = ["Described", "describe"]

_ARGS = re.compile(r"^(args|arguments|parameters|params|argumentos|parámetros):\s*$", re.IGNORECASE)
_OTHER = re.compile(
    r"^(returns?|raises?|yields?|examples?|notes?|devuelve|lanza|ejemplos?):", re.IGNORECASE
)
_ARG = re.compile(
    r"^(?::param\s+|[-*]\s+)?[`*]{0,2}(?P<name>\w+)[`*]{0,2}\s*(?:\([^)]*\))?\s*:\s*(?P<text>.*)$"
)


@attrs.frozen
class Described:
    """What a docstring says: `text` about the whole, `arguments` by name."""

    text: str
    arguments: dict[str, str]


def describe(docstring: str | None, names: Collection[str]) -> Described:
    """Read a Google-style docstring (`Args:`) or a plain one (lines `name: what it is`).

    Only `names` count as arguments, so prose with a colon stays prose. Sections about returns,
    errors and examples are for programmers and are dropped. Never raises.
    """
    prose: list[str] = []
    arguments: dict[str, list[str]] = {}
    current: list[str] | None = prose
    in_args = False
    for line in inspect.cleandoc(docstring or "").splitlines():
        stripped = line.strip()
        found = _ARG.match(stripped)
        if _ARGS.match(stripped):
            in_args, current = True, None
        elif found and found["name"] in names:
            current = arguments.setdefault(found["name"], [])
            current.append(found["text"])
        elif _OTHER.match(stripped):
            in_args, current = False, None
        elif not stripped:
            current = None if in_args else prose
            prose.append("")
        elif current is not None and (current is prose or line[:1].isspace() or in_args):
            current.append(stripped)
        elif not in_args and current is not None:
            current = prose
            prose.append(stripped)
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(prose)).strip()
    return Described(text, {name: " ".join(parts).strip() for name, parts in arguments.items()})
