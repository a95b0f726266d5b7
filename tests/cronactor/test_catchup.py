"""What was due while nothing ran fires late, or is counted as missed; each instant exactly once."""

from __future__ import annotations

from functools import partial
from itertools import takewhile
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronactor.catchup import PUNCTUAL, CatchUp, Missed, Plan, plan_once, plan_recurring
from cronactor.recurrence import Times, cron_times, every_times, put_off

pytestmark = pytest.mark.promise("P2")

NOW = 1_775_000_000.0
DAY = 86400.0
MINUTELY = cron_times("* * * * *", "UTC")

RULES = st.builds(
    CatchUp,
    policy=st.sampled_from(["skip", "latest", "all"]),
    window=st.sampled_from([0.0, 300.0, 3600.0]),
    limit=st.integers(1, 20),
)
TIMES: st.SearchStrategy[Times] = st.sampled_from(
    ["* * * * *", "*/7 * * * *", "30 2 * * *", "0 */3 * * *"]
).map(lambda expr: cron_times(expr, "Europe/Madrid")) | st.sampled_from([40.0, 3600.0, 5400.5]).map(
    lambda every: every_times(NOW - 300 * DAY, every)
)


@pytest.mark.parametrize(
    ("late", "delivered", "discarded"),
    [
        (0, True, True),
        (59, True, True),
        (61, True, False),
        (DAY, True, False),
        (DAY + 1, False, False),
    ],
)
def test_a_one_shot_is_delivered_within_a_day_or_discarded_when_late(
    late: float, delivered: bool, discarded: bool
) -> None:
    due = NOW - late
    missed = plan_once(due, NOW, "discard").missed
    assert (plan_once(due, NOW, "deliver").fires == (due,)) is delivered
    assert (missed is None) is discarded


def test_a_missed_one_shot_says_how_late_it_was() -> None:
    plan = plan_once(NOW - 2 * DAY, NOW, "deliver")
    assert plan == Plan((), Missed(NOW - 2 * DAY, NOW - 2 * DAY, 1, "late by 2 days"), None)


@settings(max_examples=50)
@given(
    times=TIMES,
    start=st.floats(NOW - 300 * DAY, NOW),
    down=st.floats(0, 2 * DAY),
    rule=RULES,
    jitter=st.sampled_from([0.0, 20.0, 900.0]),
)
def test_every_instant_of_a_downtime_is_accounted_for_once(
    times: Times, start: float, down: float, rule: CatchUp, jitter: float
) -> None:
    def wake(at: float) -> float:
        return put_off("a/b", at, jitter, times)

    due = next(times(start))
    now = wake(due) + down
    owed = list(takewhile(lambda at: wake(at) <= now, [due, *within(times, due, now)]))
    plan = plan_recurring(times, due, now, rule, wake)
    count = 0 if plan.missed is None else plan.missed.count
    assert count + len(plan.fires) == len(owed)
    assert plan.next_due == next(times(owed[-1]))
    assert list(plan.fires) == [at for at in owed[-rule.most :] if now - wake(at) <= rule.patience]
    if plan.missed is not None:
        lost = owed[: len(owed) - len(plan.fires)]
        assert (plan.missed.first, plan.missed.last) == (lost[0], lost[-1])


def within(times: Times, after: float, until: float) -> Any:
    return takewhile(lambda at: at <= until, times(after))


@pytest.mark.parametrize(
    ("rule", "fires"),
    [
        (CatchUp("skip", 300, 10), []),
        (CatchUp("latest", 300, 10), [0]),
        (CatchUp("latest", 80, 10), []),
        (CatchUp("all", 300, 10), [1, 0]),
        (CatchUp("all", 300, 1), [0]),
        (CatchUp("all", 3600, 99), [10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
    ],
)
def test_skip_makes_up_for_none_latest_for_the_newest_all_for_some(
    rule: CatchUp, fires: list[int]
) -> None:
    """Every two minutes, eleven times passed, the last one 90 seconds ago."""
    times = cron_times("*/2 * * * *", "UTC")
    due = next(times(NOW))
    latest = due + 10 * 120
    plan = plan_recurring(times, due, latest + 90, rule)
    assert plan.fires == tuple(latest - n * 120 for n in fires)
    assert (plan.missed.count if plan.missed else 0) == 11 - len(fires)


def test_what_is_a_minute_late_or_less_is_on_time_whatever_the_rule() -> None:
    due = next(MINUTELY(NOW))
    for rule in (CatchUp("skip", 0), CatchUp("latest", 0), CatchUp("all", 0, 1)):
        assert plan_recurring(MINUTELY, due, due + 59, rule).fires == (due,)
        assert plan_recurring(cron_times("0 9 * * *", "UTC"), due, due + 61, rule).fires == ()
    assert PUNCTUAL == 60


def test_jitter_is_no_lateness() -> None:
    times = cron_times("0 * * * *", "UTC")
    due = next(times(NOW))
    wake = partial(put_off, "a/b", jitter=3000.0, times=times)
    now = wake(due)
    assert now - due > PUNCTUAL
    assert plan_recurring(times, due, now, CatchUp("skip"), wake) == Plan((due,), None, due + 3600)


def test_a_very_long_downtime_is_counted_as_at_least() -> None:
    due = next(MINUTELY(NOW))
    now = due + 365 * DAY
    plan = plan_recurring(MINUTELY, due, now, CatchUp("all", 3600, 3))
    assert plan.missed is not None
    assert plan.missed.counted is False
    assert 4990 < plan.missed.count < 5010
    assert plan.fires == (now - 120, now - 60, now)
    assert (plan.missed.last, plan.next_due) == (now - 180, now + 60)
