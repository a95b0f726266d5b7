"""Intervals are read exactly; jitter is the same for ever, never early, never past the next one."""

from __future__ import annotations

from itertools import islice, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronactor.recurrence import Times, cron_times, every_times, parse_every, put_off
from cronactor.texts import Explained

NOW = 1_775_000_000.25


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("30m", 1800),
        ("2h", 7200),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("1.5h", 5400),
        ("1d", 86400),
        ("2w", 1209600),
        ("1s", 1),
    ],
)
def test_an_interval_is_read_exactly(text: str, seconds: float) -> None:
    assert parse_every(text) == seconds


@pytest.mark.parametrize(
    "text",
    ["", "2", "h", "2x", "-1h", "0s", "0.5s", "1e3s", "2h now", "400d", "²h", "1h\x00", "9" * 500],
)
def test_what_is_no_interval_is_an_error_that_says_what_to_write(text: str) -> None:
    with pytest.raises(Explained, match=r"write .*2h"):
        parse_every(text)


def test_an_interval_counts_from_its_anchor_and_never_drifts() -> None:
    found = list(islice(every_times(NOW, 7200.0)(NOW + 3), 1000))
    assert found == [NOW + 7200 * n for n in range(1, 1001)]


@settings(max_examples=40)
@given(
    start=st.floats(NOW, NOW + 1e8),
    jitter=st.floats(0.001, 86400),
    times=st.sampled_from(
        [cron_times("*/5 * * * *", "UTC"), every_times(NOW, 1.0), every_times(NOW, 5400.5)]
    ),
    key=st.text(max_size=8),
)
def test_jitter_is_the_same_for_ever_never_early_and_never_past_the_next(
    start: float, jitter: float, times: Times, key: str
) -> None:
    for at, upcoming in pairwise(islice(times(start), 4)):
        later = put_off(key, at, jitter, times)
        assert at <= later < upcoming
        assert later - at <= jitter
        assert later == put_off(key, at, jitter, times)


def test_jitter_spreads() -> None:
    times = cron_times("0 * * * *", "UTC")
    at = next(times(NOW))
    delays = sorted(put_off(f"agente/{n}", at, 600.0, times) - at for n in range(1000))
    assert 170 < delays[333] - delays[0] < 230
    assert max(later - sooner for sooner, later in pairwise(delays)) < 10
