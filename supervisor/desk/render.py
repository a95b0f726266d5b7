"""Answers as compact text for people. Nothing here can move a cursor or colour a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from unicodedata import combining, east_asian_width

from supervisor.desk.texts import Texts

__all__ = [
    "age",
    "clean",
    "local_time",
    "paragraph",
    "relative",
    "table",
    "there",
    "tree_lines",
    "width",
]

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))


def clean(text: object) -> str:
    """Return text with every control, escape and direction character shown instead of sent."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape", "replace").decode()
        for char in str(text)
    )


def paragraph(who: str, text: str) -> str:
    """Return `who: text`; further lines are set in, so that none can pose as another's."""
    first, *rest = text.splitlines() or [""]
    return "\n".join([f"{clean(who)}: {clean(first)}", *(f"  {clean(line)}" for line in rest)])


def width(text: str) -> int:
    """Return how many columns a text takes: wide signs two, combining ones none."""
    return sum(
        0 if combining(char) else 2 if east_asian_width(char) in "WF" else 1 for char in text
    )


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return an aligned table; None is shown as `-`, and the last column is not padded."""
    cells = [[clean("-" if cell is None else cell) for cell in row] for row in (head, *rows)]
    sizes = [max(width(row[column]) for row in cells) for column in range(len(head))]
    return "\n".join(_row(row, sizes) for row in cells)


def _row(row: Sequence[str], sizes: Sequence[int]) -> str:
    padded = [cell + " " * (size - width(cell)) for cell, size in zip(row, sizes, strict=True)]
    return "  ".join(padded).rstrip()


def age(seconds: float) -> str:
    """Return a length of time in one or two units: `12 s`, `3 min`, `2 h 5 min`, `4 d 1 h`."""
    left = max(0, round(seconds))
    if left < 60:
        return f"{left} s"
    for index, (size, name) in enumerate(_UNITS):
        if left >= size:
            whole, rest = divmod(left, size)
            smaller = _UNITS[index + 1] if index + 1 < len(_UNITS) else None
            part = rest // smaller[0] if smaller else 0
            return f"{whole} {name}" + (f" {part} {smaller[1]}" if smaller and part else "")
    return f"{left} s"


def local_time(instant: float | str | None, now: datetime) -> str | None:
    """Return an instant (epoch or ISO) in the host's zone: the hour, and the date if not today."""
    return None if instant is None else _shown(_moment(instant), now)


def there(instant: str | None, now: datetime) -> str | None:
    """Return an ISO instant as clocks show it in its own zone, as a calendar means it."""
    if instant is None:
        return None
    moment = datetime.fromisoformat(instant)
    return _shown(moment, now.astimezone(moment.tzinfo))


def relative(instant: str | None, now: datetime, texts: Texts) -> str | None:
    """Return an ISO instant in its own zone with how far it is from now: `09:00:00 (en 5 min)`."""
    if instant is None:
        return None
    ahead = (_moment(instant) - now).total_seconds()
    away = texts("in" if ahead >= 0 else "ago", age=age(abs(ahead)))
    return f"{there(instant, now)} ({away})"


def _shown(moment: datetime, now: datetime) -> str:
    today = moment.date() == now.date()
    return f"{moment:%H:%M:%S}" if today else f"{moment:%Y-%m-%d %H:%M}"


def _moment(instant: float | str) -> datetime:
    if isinstance(instant, str):
        return datetime.fromisoformat(instant).astimezone()
    return datetime.fromtimestamp(instant).astimezone()


def tree_lines(node: Mapping[str, Any]) -> Iterator[str]:
    """Yield the supervision tree drawn with lines, states aligned."""
    drawn = list(_branches(node, "", ""))
    size = max(width(name) for name, _ in drawn)
    for name, cell in drawn:
        pad = " " * (size - width(name))
        yield f"{name}{pad}  {clean(cell['state'])}  gen {cell['generation']}"


def _branches(
    node: Mapping[str, Any], lead: str, below: str
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    yield lead + clean(node["name"]), node
    children = node["children"]
    for index, child in enumerate(children):
        last = index == len(children) - 1
        yield from _branches(
            child, below + ("└── " if last else "├── "), below + ("    " if last else "│   ")
        )
