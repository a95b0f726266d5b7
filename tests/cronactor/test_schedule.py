"""Cron expressions fire exactly when Debian's cron would fire them, also where clocks change."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice, pairwise, takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cronactor.schedule import MAX_LENGTH, fires, next_fire, parse_cron
from cronactor.texts import CronError, ZoneError
from tests.cronactor import oracle


def at(text: str, zone: str = "Europe/Madrid", fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def said(expr: str, after: str, count: int, zone: str = "Europe/Madrid") -> list[str]:
    instants = islice(fires(expr, zone, at(after, zone)), count)
    return [datetime.fromtimestamp(i, ZoneInfo(zone)).isoformat()[:22] for i in instants]


# -- small expressions, each against the oracle ---------------------------------------------------


def values(low: int, high: int) -> st.SearchStrategy[str]:
    """One field of the forms Debian knows."""
    numbers = st.integers(low, high)
    steps = st.integers(1, 5).map(lambda n: f"/{n}" if n > 1 else "")
    single = numbers.map(str)
    spans = st.tuples(numbers, numbers, steps).map(
        lambda t: f"{min(t[:2])}-{max(t[:2])}{t[2]}",
    )
    several = st.lists(st.one_of(single, spans), min_size=2, max_size=3).map(",".join)
    return st.one_of(st.just("*"), steps.map(lambda s: f"*{s}"), single, spans, several)


jobs = st.tuples(
    values(0, 59),
    st.one_of(values(0, 4), values(0, 23)),
    st.one_of(st.just("*"), st.just("*"), values(1, 31)),
    st.one_of(st.just("*"), st.just("*"), values(1, 12)),
    st.one_of(st.just("*"), st.just("*"), values(0, 7)),
).map(" ".join)

TURNS = [
    ("Europe/Madrid", "2026-03-29T01:00"),
    ("Europe/Madrid", "2026-10-25T01:00"),
    ("America/New_York", "2026-03-08T07:00"),
    ("America/New_York", "2026-11-01T06:00"),
    ("Australia/Lord_Howe", "2026-10-03T15:30"),
    ("Australia/Lord_Howe", "2026-04-04T15:00"),
]


@pytest.mark.promise("P2")
@given(job=jobs, turn=st.sampled_from(TURNS), back=st.integers(1, 1500))
@example("30 2 * * *", TURNS[0], 700)
@settings(max_examples=80)
def test_fires_agree_with_debians_loop_around_clock_changes(
    job: str, turn: tuple[str, str], back: int
) -> None:
    start = datetime.fromisoformat(turn[1]).replace(tzinfo=UTC).timestamp() - back * 60
    end = start + (back + 1500) * 60
    expected = list(oracle.fires_between(oracle.expression(job), turn[0], start, end))
    try:
        parse_cron(job)
    except CronError as error:
        assert error.key == "cron_never"
        assert not expected
        return
    ours = takewhile(lambda instant: instant <= end, fires(job, turn[0], start))
    assert list(ours) == [minute * 60 for minute in expected]


@given(job=jobs, turn=st.sampled_from(TURNS), offset=st.floats(-200_000, 200_000))
@settings(max_examples=100)
def test_fires_strictly_increase_exist_and_do_not_depend_on_where_one_starts(
    job: str, turn: tuple[str, str], offset: float
) -> None:
    start = datetime.fromisoformat(turn[1]).replace(tzinfo=UTC).timestamp() + offset
    try:
        found = list(islice(fires(job, turn[0], start), 5))
    except CronError as error:
        assert error.key == "cron_never"
        return
    assert start < found[0]
    assert all(sooner < later for sooner, later in pairwise(found))
    assert next_fire(job, turn[0], found[0]) == found[1]
    middle = (found[1] + found[2]) / 2
    assert next_fire(job, turn[0], middle) == found[2]
    assert all(instant % 60 == 0 for instant in found)


# -- the rule, said aloud -----------------------------------------------------------------------


def test_a_fixed_job_swallowed_by_the_spring_gap_runs_once_right_after_it() -> None:
    assert said("30 2 * * *", "2026-03-28T12:00", 2) == [
        "2026-03-29T03:00:00+02",
        "2026-03-30T02:30:00+02",
    ]
    assert said("0,15,30 2 * * *", "2026-03-29T00:00", 2)[1] == "2026-03-30T02:00:00+02"


def test_a_fixed_job_in_the_autumn_fold_runs_once() -> None:
    assert said("30 2 * * *", "2026-10-24T12:00", 2) == [
        "2026-10-25T02:30:00+02",
        "2026-10-26T02:30:00+01",
    ]


def test_a_job_with_a_star_in_hour_or_minute_follows_the_new_clock() -> None:
    assert said("30 * * * *", "2026-10-25T02:00", 3) == [
        "2026-10-25T02:30:00+02",
        "2026-10-25T02:30:00+01",
        "2026-10-25T03:30:00+01",
    ]
    assert said("*/30 2 * * *", "2026-03-28T12:00", 1) == ["2026-03-30T02:00:00+02"]


def test_a_repeated_hour_is_not_forgotten_by_a_yearly_job_with_a_star() -> None:
    assert said("*/30 2 25 10 *", "2026-10-25T02:45", 2) == [
        "2026-10-25T02:00:00+01",
        "2026-10-25T02:30:00+01",
    ]


def test_a_half_hour_change_moves_a_fixed_job_to_the_end_of_the_gap() -> None:
    zone = "Australia/Lord_Howe"
    assert said("15 2 * * *", "2026-10-03T12:00", 1, zone) == ["2026-10-04T02:30:00+11"]


def test_a_change_of_a_whole_day_is_a_correction_and_nothing_is_made_up_for() -> None:
    zone = "Pacific/Apia"
    assert said("0 9 * * *", "2011-12-29T10:00", 1, zone) == ["2011-12-31T09:00:00+14"]


def test_day_of_month_and_day_of_week_are_or_unless_one_starts_with_a_star() -> None:
    assert said("0 0 13 * 1", "2026-04-01T00:00", 3, "UTC") == [
        "2026-04-06T00:00:00+00",
        "2026-04-13T00:00:00+00",
        "2026-04-20T00:00:00+00",
    ]
    assert said("0 0 */2 * 1", "2026-04-01T00:00", 2, "UTC") == [
        "2026-04-13T00:00:00+00",
        "2026-04-27T00:00:00+00",
    ]
    assert said("0 0 1-31 * 1", "2026-04-01T00:00", 1, "UTC") == ["2026-04-02T00:00:00+00"]


def test_a_range_of_one_value_is_that_value() -> None:
    assert said("0 0 1-1 * *", "2026-03-01T12:00", 2, "UTC")[1] == "2026-05-01T00:00:00+00"


def test_names_nicknames_and_special_days_are_read() -> None:
    assert said("0 9 * * mon-fri", "2026-04-10T12:00", 1, "UTC") == ["2026-04-13T09:00:00+00"]
    assert said("0 9 1 JAN *", "2026-04-10T12:00", 1, "UTC") == ["2027-01-01T09:00:00+00"]
    assert said("@daily", "2026-04-10T12:00", 1, "UTC") == ["2026-04-11T00:00:00+00"]
    assert said("0 0 L * *", "2026-04-10T12:00", 1, "UTC") == ["2026-04-30T00:00:00+00"]
    assert said("0 0 15W * *", "2026-03-01T12:00", 1, "UTC") == ["2026-03-16T00:00:00+00"]
    assert said("0 0 * * 5L", "2026-03-01T12:00", 1, "UTC") == ["2026-03-27T00:00:00+00"]
    assert said("0 0 * * fri#2", "2026-03-01T12:00", 1, "UTC") == ["2026-03-13T00:00:00+00"]
    assert said("0 0 * * 7", "2026-04-10T12:00", 1, "UTC") == ["2026-04-12T00:00:00+00"]


def test_special_days_are_joined_by_or_as_plain_ones_are() -> None:
    assert said("0 9 13 * fri#2", "2026-03-01T12:00", 3, "UTC") == [
        "2026-03-13T09:00:00+00",
        "2026-04-10T09:00:00+00",
        "2026-04-13T09:00:00+00",
    ]
    assert said("0 9 l * mon", "2026-04-27T12:00", 2, "UTC") == [
        "2026-04-30T09:00:00+00",
        "2026-05-04T09:00:00+00",
    ]


def test_the_working_day_nearest_the_31st_is_none_in_a_month_without_it() -> None:
    assert said("0 9 31w * *", "2026-04-01T12:00", 2, "UTC") == [
        "2026-05-29T09:00:00+00",
        "2026-07-31T09:00:00+00",
    ]


def test_an_instant_just_before_a_fire_is_not_rounded_up_over_it() -> None:
    nine = at("2026-04-10T09:00")
    assert next_fire("0 9 * * *", "Europe/Madrid", nine - 1e-6) == nine
    assert next_fire("0 9 * * *", "Europe/Madrid", nine) == at("2026-04-11T09:00")


# -- what is refused, and what it says instead ---------------------------------------------------


@pytest.mark.parametrize(
    ("expr", "key", "advice"),
    [
        ("", "cron_empty", "0 9 * * 1"),
        ("0 0 0 * * *", "cron_fields", "no seconds"),
        ("0 0 1 1 * 2026 x", "cron_fields", "five"),
        ("0 9 * *", "cron_fields", "five"),
        ("R 0 * * *", "cron_random", "exact"),
        ("H(0-3) 0 * * *", "cron_random", "exact"),
        ("0 22-3 * * *", "cron_wrapped", "`22-23,0-3`"),
        ("0 0 * * fri-sun", "cron_wrapped", "`5-6,0`"),
        ("0 0 * * 7-1", "cron_wrapped", "`0-1`"),
        ("0 0 * * 7-0", "cron_wrapped", "`0`"),
        ("0 0 * nov-feb *", "cron_wrapped", "`11-12,1-2`"),
        ("r(0-5) 0 * * *", "cron_random", "exact"),
        ("* * * * r/2", "cron_random", "exact"),
        ("0 0 ? * ?", "cron_question", "`*`"),
        ("0 0 0 1 1 * 2026", "cron_fields", "no year"),
        ("* * * * * *", "cron_fields", "no seconds"),
        ("0 0 31 4,6,9,11 *", "cron_never", "does not exist"),
        ("0 0 30 feb *", "cron_never", "does not exist"),
        ("0 0 32 * *", "cron_value", "from 1 to 31"),
        ("0 0 0 * *", "cron_value", "from 1 to 31"),
        ("0 0 * 13 *", "cron_value", "from 1 to 12"),
        ("0 0 * * 8", "cron_value", "from 0 to 7"),
        ("-5 * * * *", "cron_syntax", "1-5"),
        ("+5 * * * *", "cron_syntax", "1-5"),
        ("5.5 * * * *", "cron_syntax", "1-5"),
        ("** * * * *", "cron_syntax", "1-5"),
        ("1_0 * * * *", "cron_value", "from 0 to 59"),
        ("*/ * * * *", "cron_syntax", "*/5"),
        ("1-5/0 * * * *", "cron_step", "`*/5`"),
        ("0 l * * *", "cron_value", "from 0 to 23"),
        ("0 0 lw * *", "cron_value", "from 1 to 31"),
        ("0 0 0w * *", "cron_value", "from 1 to 31"),
        ("0 0 * * l", "cron_value", "sun…sat"),
        ("0 0 * * 1#0", "cron_value", "from 1 to 5"),
        ("@daily @weekly", "cron_nickname", "@daily"),
        ("@every 5m", "cron_nickname", "@daily"),
        ("* * * * *" + " " * 120, "cron_long", "128"),
        ("5/15 * * * *", "cron_single_step", "`5-59/15`"),
        ("*/0 * * * *", "cron_step", "`*/5`"),
        ("*/x * * * *", "cron_step", "`*/5`"),
        ("0 0 31 2 *", "cron_never", "does not exist"),
        ("0 0 30,31 2 *", "cron_never", "does not exist"),
        ("0 0 31W 4 *", "cron_never", "does not exist"),
        ("0 0 ? * *", "cron_question", "`*`"),
        ("60 * * * *", "cron_value", "from 0 to 59"),
        ("0 24 * * *", "cron_value", "from 0 to 23"),
        ("0 0 * foo *", "cron_value", "jan…dec"),
        ("0 0 * * 1#6", "cron_value", "from 1 to 5"),
        ("0 0 * * 1#1,3", "cron_mixed", "only one kind"),
        ("0 0 1,15W * *", "cron_mixed", "only one kind"),
        ("1--2 * * * *", "cron_syntax", "1-5"),
        (", * * * *", "cron_syntax", "1-5"),
        ("*-5 * * * *", "cron_syntax", "1-5"),
        ("@reboot", "cron_nickname", "@daily"),
        ("0 9 * * 1\x00", "cron_char", "U+0000"),
        ("0 9 \u202e * 1", "cron_char", "U+202E"),
        ("0 9 * * ١", "cron_char", "U+0661"),
        ("1," * 8000 + "1 * * * *", "cron_long", str(MAX_LENGTH)),
    ],
)
def test_a_bad_expression_is_refused_with_what_to_write(expr: str, key: str, advice: str) -> None:
    with pytest.raises(CronError) as caught:
        parse_cron(expr)
    assert caught.value.key == key
    assert advice in str(caught.value)
    assert caught.value.say("es") != str(caught.value)


@given(st.one_of(st.text(max_size=160), st.text("0123456789*/,-LW#?jan @R", max_size=40)))
@settings(max_examples=300)
def test_whatever_is_written_either_fires_or_is_explained(expr: str) -> None:
    try:
        assert next_fire(expr, "Europe/Madrid", 1_775_000_000.0) > 1_775_000_000.0
    except CronError as error:
        assert error.say("es") and error.say("en")


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "", "../etc/passwd", "Europe", "a\x00b", "localtime"]
)
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(ZoneError):
        next_fire("0 9 * * *", zone, 0.0)


def test_an_unknown_zone_is_answered_with_the_nearest() -> None:
    with pytest.raises(ZoneError, match="Europe/Madrid"):
        next_fire("0 9 * * *", "Europe/Madird", 0.0)
