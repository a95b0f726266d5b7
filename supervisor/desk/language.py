"""Pure: which of our languages a browser would rather read, from its Accept-Language header."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = ["preferred"]

_LONGEST = 1_000


def preferred(header: str | None, known: Sequence[str]) -> str | None:
    """Return the first of `known` that the reader asks for, by weight and then by order.

    `es-MX` asks for `es`. A weight of 0 excludes, an unreadable part is skipped; None when nothing
    fits: the caller has a language of its own then, which is also what `*` asks for.
    """
    wanted = [_weighed(part) for part in (header or "")[:_LONGEST].split(",")]
    for weight, language in sorted(wanted, key=lambda pair: -pair[0]):
        if weight > 0 and language in known:
            return language
    return None


def _weighed(part: str) -> tuple[float, str]:
    tag, _, parameter = part.partition(";")
    language = tag.strip().partition("-")[0].lower()
    name, equals, value = parameter.replace(" ", "").partition("=")
    if not equals or name.lower() != "q":
        return (0.0 if parameter.strip() else 1.0), language
    try:
        weight = float(value)
    except ValueError:
        weight = 0.0
    return (weight if math.isfinite(weight) and weight <= 1 else 0.0), language
