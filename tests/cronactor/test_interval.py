"""Intervals: the next one counts from the anchor, is strictly later, and leaves none out."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronactor.interval import next_interval

INSTANTS = st.floats(0, 4e9)
STEPS = st.one_of(st.integers(1, 90 * 86400).map(float), st.floats(0.001, 1e7))


def test_every_two_hours_counts_from_the_anchor() -> None:
    assert next_interval(1000.0, 7200.0, 1000.0) == 8200.0
    assert next_interval(1000.0, 7200.0, 8199.9) == 8200.0
    assert next_interval(1000.0, 7200.0, 8200.0) == 15400.0


def test_a_clock_that_stepped_back_before_the_anchor_does_not_make_it_early() -> None:
    assert next_interval(1_000_000.0, 60.0, 0.0) == 1_000_060.0


@given(INSTANTS, STEPS, INSTANTS)
def test_the_next_one_is_the_first_that_is_strictly_later(
    anchor: float, every: float, after: float
) -> None:
    found = next_interval(anchor, every, after)
    assert found > after and found > anchor
    one_earlier = found - every
    slack = 2 * math.ulp(max(found, anchor, after))
    assert one_earlier <= max(after, anchor) + slack


@given(st.integers(0, 2_000_000_000), st.integers(1, 10_000_000), st.integers(1, 3_000_000))
def test_a_million_steps_add_up_to_no_drift(anchor: int, every: int, count: int) -> None:
    at = float(anchor + every * count)
    if at < 2e11:
        assert next_interval(anchor, every, at) == at + every
        assert next_interval(anchor, every, math.nextafter(at, 0)) == at


@given(INSTANTS, STEPS)
def test_walking_gives_the_multiples_of_the_anchor_each_once(anchor: float, every: float) -> None:
    at = anchor
    for count in range(1, 30):
        at = next_interval(anchor, every, at)
        assert at == pytest.approx(anchor + count * every, abs=4 * math.ulp(at))


@pytest.mark.parametrize("every", [0.0, -5.0, 0.0001, math.inf, math.nan])
def test_an_interval_that_could_never_be_kept_is_refused(every: float) -> None:
    with pytest.raises(ValueError):
        next_interval(0.0, every, 0.0)


def test_past_the_last_year_is_an_overflow_not_a_wrong_instant() -> None:
    with pytest.raises(OverflowError):
        next_interval(0.0, 1e300, 0.0)
