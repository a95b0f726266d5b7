"""Thousands of paraphrases with right answers, made without seeing the parser: none goes wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import islice

import pytest

from cronactor.phrases import At, Cron, Every, PhraseError, parse
from cronactor.schedule import fires
from tests.cronactor.paraphrases import Case, bad_cases, cases, families

UNDERSTOOD = 0.98

Size = Callable[[int, int], int]
Figures = Callable[..., None]


def answer(case: Case) -> str:
    """Return `right`, `refused` or `wrong`. What is not a PhraseError is a failure by itself."""
    try:
        when = parse(case.text, case.now, case.zone, case.locale)
    except PhraseError:
        return "refused"
    match when:
        case At(instant=instant):
            right = case.kind == "at" and instant == pytest.approx(case.instant, rel=0, abs=1e-3)
        case Cron(expr=expr):
            expected = case.fires or ()
            found = tuple(islice(fires(expr, case.zone, case.now), len(expected)))
            right = case.kind == "cron" and found == expected
        case Every(seconds=seconds):
            right = case.kind == "every" and seconds == case.seconds
    return "right" if right else "wrong"


parts = pytest.mark.parametrize("part", range(5))
"""So that no single test of the soak runs for minutes."""


@pytest.mark.sweep
@parts
def test_no_paraphrase_is_silently_wrong_and_nearly_all_are_understood(
    part: int, seed: int, size: Size, figures: Figures
) -> None:
    answers: Counter[str] = Counter()
    for case in cases(seed + part, size(400, 10_000)):
        said = answer(case)
        answers[said] += 1
        assert said != "wrong", case
    figures(phrases=answers.total(), understood=answers["right"])
    assert answers["right"] >= UNDERSTOOD * answers.total()


@pytest.mark.sweep
@parts
def test_every_bad_paraphrase_is_refused(
    part: int, seed: int, size: Size, figures: Figures
) -> None:
    refused = 0
    for case in bad_cases(seed + part, size(400, 10_000)):
        assert answer(case) == "refused", case
        refused += 1
    figures(refused=refused)


def test_the_generator_has_both_kinds_and_repeats_itself_for_a_seed() -> None:
    assert len(families(good=True)) > 50 and len(families(good=False)) > 30
    assert list(cases(7, 50)) == list(cases(7, 50)) != list(cases(8, 50))
