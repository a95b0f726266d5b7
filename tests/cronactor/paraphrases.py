"""Seeded paraphrases of time phrases with their right answers, in Spanish and English.

Nothing here reads text: each phrase is built from numbers, and its answer comes from the same
numbers by wall-clock arithmetic.

    for case in cases(seed=1, count=2000):
        ...  # case.kind is "at", "cron" or "every"; answers must be equal
    for case in bad_cases(seed=1, count=2000):
        ...  # case.kind is "error"
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence

from tests.cronactor.phrase_bad import BAD
from tests.cronactor.phrase_base import Case, Draft, Family, Scene, make_scene, to_case
from tests.cronactor.phrase_good import GOOD

__all__ = ["Case", "bad_cases", "cases", "families"]

REPEATS = 8  # how often one text may come back with another now


def families(*, good: bool) -> tuple[str, ...]:
    """The names of all families, without their language."""
    return tuple(family.name for family in (GOOD if good else BAD))


def build(rng: random.Random, family: Family) -> tuple[Scene, Draft]:
    """One draft of a family, with the first scene that fits it."""
    while True:
        scene = make_scene(rng, family.near)
        draft = family.build(scene)
        if draft is not None:
            return scene, draft


def stream(rng: random.Random, table: Sequence[Family], count: int) -> Iterator[Case]:
    """So many cases, common families commonly, no case twice."""
    weights = [family.weight for family in table]
    texts: Counter[str] = Counter()
    seen: set[tuple[str, float, str, str]] = set()
    while len(seen) < count:
        [family] = rng.choices(table, weights)
        scene, draft = build(rng, family)
        case = to_case(scene, draft, family.name)
        key = (case.text, case.now, case.zone, case.locale)
        if key in seen or texts[case.text] >= REPEATS:
            continue
        seen.add(key)
        texts[case.text] += 1
        yield case


def cases(seed: int, count: int) -> Iterator[Case]:
    """Good phrases: each has one right answer."""
    return stream(random.Random(f"good {seed}"), GOOD, count)


def bad_cases(seed: int, count: int) -> Iterator[Case]:
    """Bad phrases: each must be refused."""
    return stream(random.Random(f"bad {seed}"), BAD, count)
