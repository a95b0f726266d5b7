"""What was due while nothing ran fires late, or is counted as missed; each instant exactly once."""

from __future__ import annotations

from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronactor.catchup import CRON_WINDOW, Missed, Plan, plan_cron, plan_once
from cronactor.schedule import fires, next_fire

pytestmark = pytest.mark.promise("P2")

NOW = 1_775_000_000.0
DAY = 86400.0


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
    assert (plan_once(due, NOW, "deliver").fire == due) is delivered
    assert (missed is None) is discarded


def test_a_missed_one_shot_says_how_late_it_was() -> None:
    plan = plan_once(NOW - 2 * DAY, NOW, "deliver")
    assert plan == Plan(None, Missed(NOW - 2 * DAY, NOW - 2 * DAY, 1, "late by 2 days"), None)


@given(
    expr=st.sampled_from(["* * * * *", "*/7 * * * *", "30 2 * * *", "0 */3 * * *"]),
    start=st.floats(NOW - 300 * DAY, NOW),
    down=st.floats(0, 2 * DAY),
)
def test_every_instant_of_a_downtime_is_accounted_for_once(
    expr: str, start: float, down: float
) -> None:
    zone = "Europe/Madrid"
    due = next_fire(expr, zone, start)
    now = due + down
    owed = [due, *takewhile(lambda at: at <= now, fires(expr, zone, due))]
    plan = plan_cron(expr, zone, due, now)
    count = 0 if plan.missed is None else plan.missed.count
    assert count + (plan.fire is not None) == len(owed)
    assert plan.next_due == next_fire(expr, zone, now)
    assert (plan.fire == owed[-1]) is (now - owed[-1] <= CRON_WINDOW)
    if plan.missed is not None:
        lost = owed[:-1] if plan.fire is not None else owed
        assert (plan.missed.first, plan.missed.last) == (lost[0], lost[-1])


def test_a_very_long_downtime_is_counted_as_at_least() -> None:
    due = next_fire("* * * * *", "UTC", NOW)
    plan = plan_cron("* * * * *", "UTC", due, due + 365 * DAY)
    assert plan.missed is not None
    assert (plan.missed.counted, plan.missed.count) == (False, 5000)
    assert plan.fire == due + 365 * DAY
    assert plan.missed.last == plan.fire - 60
