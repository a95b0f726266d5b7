"""Rows of the table, and fair ways to measure: contenders in turns, medians, paired ratios."""

from __future__ import annotations

import gc
from collections.abc import Callable, Mapping, Sequence
from statistics import median

import attrs

__all__ = ["Baseline", "Row", "Samples", "compared", "interleaved", "judged"]

Samples = Mapping[str, Sequence[float]]


@attrs.frozen
class Baseline:
    """What a row is measured against. `value` None: not installed here.

    `ratio` is how many times the baseline our figure is; `required` the least that the budget asks.
    """

    name: str
    value: float | None
    ratio: float | None = None
    required: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the budget against this one holds; None when nothing is asked or it is absent."""
        if self.required is None or self.ratio is None:
            return None
        return self.ratio >= self.required


@attrs.frozen
class Row:
    """One figure; `value` None: not measured, the note says why.

    `met` is None when the row has no budget or could not be judged.
    """

    name: str
    value: float | None
    unit: str
    budget: str = ""
    met: bool | None = None
    baselines: tuple[Baseline, ...] = ()
    note: str = ""


def interleaved(
    contenders: Mapping[str, Callable[[], float]], *, passes: int
) -> dict[str, list[float]]:
    """Call each contender `passes` times, in turns, each pass beginning with another one.

    A contender does its work once and returns its figure. One call of each before the first pass
    warms it up and does not count.
    """
    names = list(contenders)
    samples: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(-1, passes):
        first = max(turn, 0) % len(names)
        for name in names[first:] + names[:first]:
            gc.collect()
            figure = contenders[name]()
            if turn >= 0:
                samples[name].append(figure)
    return samples


def compared(
    name: str,
    unit: str,
    samples: Samples,
    *,
    ours: str,
    required: Mapping[str, float],
    absent: Sequence[str] = (),
    note: str = "",
) -> Row:
    """Make the row of contender `ours` beside all others of `samples` (more is better).

    `required` maps baselines to the least ratio; `absent` names those that are not installed.
    Ratios are medians of the ratios within each pass.
    """
    mine = samples[ours]
    baselines = [
        Baseline(
            other,
            median(theirs),
            median(a / b for a, b in zip(mine, theirs, strict=True)),
            required.get(other),
        )
        for other, theirs in samples.items()
        if other != ours
    ]
    baselines += [Baseline(other, None, None, required.get(other)) for other in absent]
    return Row(
        name,
        median(mine),
        unit,
        ", ".join(f"≥ {least:g} × {other}" for other, least in required.items()),
        judged(baselines),
        tuple(baselines),
        note,
    )


def judged(baselines: Sequence[Baseline]) -> bool | None:
    """False when a budget is missed; None when none is asked or one cannot be judged; else True."""
    asked = [baseline.met for baseline in baselines if baseline.required is not None]
    if False in asked:
        return False
    return None if not asked or None in asked else True
