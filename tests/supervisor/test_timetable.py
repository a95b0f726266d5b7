"""The ledger as people read it: what ended how and why, what was missed how often, until when."""

from __future__ import annotations

from pathlib import Path

import pytest
import trio.testing

from config.schema import ActionConfig, ScheduleConfig
from cronactor.jobs import Occurrence, Schedule
from cronactor.messages import ScheduleView
from supervisor.desk.office import NamedError
from supervisor.testkit.house import make_workspace, open_house
from supervisor.timetable import cron_info, run_info

AT = 1_775_743_200.0  # 2026-04-09 16:00 in Madrid
MADRID = "Europe/Madrid"


@pytest.fixture
def autojump_clock() -> trio.testing.MockClock:
    return trio.testing.MockClock(autojump_threshold=0)


def run(**given: object) -> Occurrence:
    values = {"outcome": "missed", "finished": AT + 7200, "reason": "nothing was running", **given}
    return Occurrence("a/b", AT, "a", "#taller", "occ-1", 1, AT + 7200, **values)  # type: ignore[arg-type]


def test_a_run_of_missed_times_says_how_many_and_until_when() -> None:
    shown = run_info(run(last_at=AT + 3600, count=61), MADRID)
    assert shown.reason == "nothing was running; 61 times, the last 2026-04-09 17:00"
    assert run_info(run(last_at=AT, count=1), MADRID).reason == "nothing was running"


def test_what_was_usual_has_no_reason_and_what_was_late_says_so() -> None:
    assert run_info(run(outcome="fired", reason=""), MADRID).reason is None
    late = "caught up: late by 2 hours; overlap: waited for the previous run"
    assert run_info(run(outcome="fired", reason=late), MADRID).reason == late


def test_an_interval_is_shown_as_it_was_written() -> None:
    action = ActionConfig(kind="send_message", message="hola")
    config = ScheduleConfig("b", "#taller", action, every="1h30m")
    view = ScheduleView(Schedule("a", config, MADRID), AT, None)
    assert cron_info(view).cron == "every 1h30m"


async def test_what_is_overdue_makes_the_house_unready_and_problems_are_in_its_status(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    files = {"supervisor.yaml": "timezone: Europe/Madrid\n"}
    async with open_house(make_workspace(tmp_path / "w", files)) as house:
        desk, health = house.household.house, house.household.services.health
        assert desk.ready().ready
        health.overdue = ("r7f3k2",)
        health.failed("a/b", "the model is down", AT)
        assert (desk.ready().ready, desk.ready().waiting) == (False, ("overdue: r7f3k2",))
        problems = (await desk.status()).problems
        assert problems[:2] == ("overdue: r7f3k2", "a/b failed: the model is down")
        health.overdue = ()
        assert desk.ready().ready


async def test_runs_of_a_reminder_are_found_by_its_id(
    tmp_path: Path, autojump_clock: trio.testing.MockClock
) -> None:
    files = {"supervisor.yaml": "timezone: Europe/Madrid\n"}
    async with open_house(make_workspace(tmp_path / "w", files)) as house:
        desk = house.household.house
        assert list(await desk.cron_runs("r7f3k2")) == []
        with pytest.raises(NamedError):
            await desk.cron_runs("nothing-of-the-kind")
