"""Pure: when an interval fires next, counted exactly from its anchor, so that nothing adds up."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["SHORTEST", "next_interval"]

SHORTEST = 0.001
_END = 253402300800.0  # the year 10000


def next_interval(anchor: float, every: float, after: float) -> float:
    """Return the first of `anchor + every`, `anchor + 2 * every`, … strictly after `after`.

    Instants are seconds since the epoch, `every` seconds of elapsed time: clock changes do not
    matter. The anchor itself is not one of them. Raises ValueError when a number is not finite or
    `every` is under a millisecond; OverflowError past year 9999, as `next_fire` does.
    """
    if not (math.isfinite(anchor) and math.isfinite(every) and math.isfinite(after)):
        raise ValueError(f"not a finite number: {anchor!r}, {every!r}, {after!r}")
    if every < SHORTEST:
        raise ValueError(f"an interval of {every!r} s is too short")
    start, step = Fraction(anchor), Fraction(every)
    count = max(1, (Fraction(after) - start) // step + 1)
    found = float(start + count * step)
    if found <= after:  # rounded down onto the one before
        found = float(start + (count + 1) * step)
    if found >= _END:
        raise OverflowError(f"the next one after {after!r} is past year 9999")
    return found
