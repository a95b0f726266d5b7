"""Phrases become exactly the instant a person meant, or an error that says what to send instead."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronactor.phrases import MAX_LENGTH, At, Cron, Every, PhraseError, describe, parse
from cronactor.texts import ZoneError

ZONE = "Europe/Madrid"


def moment(text: str, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(ZONE), fold=fold).timestamp()


NOW = moment("2026-04-09T16:00") + 0.25


def instant(phrase: str, now: float = NOW) -> float:
    when = parse(phrase, now, ZONE)
    assert isinstance(when, At)
    return when.instant


def refusal(phrase: str, now: float = NOW, locale: str = "es") -> PhraseError:
    with pytest.raises(PhraseError) as caught:
        parse(phrase, now, ZONE, locale)
    return caught.value


# -- the requirement document's own list (2.6) ----------------------------------------------------


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("15:00", "2026-04-10T15:00"),
        ("17:30", "2026-04-09T17:30"),
        ("2026-04-10 15:00", "2026-04-10T15:00"),
        ("mañana a las 9", "2026-04-10T09:00"),
        ("manana a las 9", "2026-04-10T09:00"),
    ],
)
def test_2_6_time_formats_are_parsed(phrase: str, expected: str) -> None:
    assert instant(phrase) == moment(expected)


def test_2_6_relative_time_is_parsed() -> None:
    assert instant("en 30 minutos") == NOW + 1800


def test_2_6_an_unrecognised_format_is_an_error_that_says_what_to_send() -> None:
    assert "mañana a las 9" in str(refusal("cuando puedas"))
    assert "tomorrow at 9" in str(refusal("whenever", locale="en"))


# -- both languages ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phrase", "expected"),
    [
        ("hoy a las 20:30", "2026-04-09T20:30"),
        ("a las 15:00", "2026-04-10T15:00"),
        ("at 15:00", "2026-04-10T15:00"),
        ("tomorrow at 9", "2026-04-10T09:00"),
        ("Tomorrow at 9 a.m.", "2026-04-10T09:00"),
        ("today at 8pm", "2026-04-09T20:00"),
        ("8 pm", "2026-04-09T20:00"),
        ("pasado mañana a las 18:30", "2026-04-11T18:30"),
        ("the day after tomorrow at 18:30", "2026-04-11T18:30"),
        ("mañana a las nueve y media de la noche", "2026-04-10T21:30"),
        ("mañana a las 9 menos cuarto", "2026-04-10T08:45"),
        ("mañana a las 9 menos diez", "2026-04-10T08:50"),
        ("mañana a las 9 y treinta y cinco", "2026-04-10T09:35"),
        ("mañana a las 5 de la tarde", "2026-04-10T17:00"),
        ("mañana a las 12 del mediodía", "2026-04-10T12:00"),
        ("mañana al mediodía", "2026-04-10T12:00"),
        ("tomorrow at noon", "2026-04-10T12:00"),
        ("a las 18h30", "2026-04-09T18:30"),
        ("17:00 mañana", "2026-04-10T17:00"),
        ("el 2026-04-12 a las 9:00", "2026-04-12T09:00"),
        ("2026-04-10T15:00", "2026-04-10T15:00"),
        ("2026-04-10T15:00+02:00", "2026-04-10T15:00"),
        ("2026-04-10T13:00Z", "2026-04-10T15:00"),
        ("  ¡MAÑANA  A LAS 9!  ", "2026-04-10T09:00"),
        ("en 2 días", "2026-04-11T16:00:00.25"),
        ("in one week", "2026-04-16T16:00:00.25"),
    ],
)
def test_a_phrase_is_the_instant_it_says(phrase: str, expected: str) -> None:
    assert instant(phrase) == moment(expected)


@pytest.mark.parametrize(
    ("phrase", "seconds"),
    [
        ("en 5 segundos", 5),
        ("in 10 seconds", 10),
        ("in ten seconds", 10),
        ("en media hora", 1800),
        ("in half an hour", 1800),
        ("dentro de una hora y media", 5400),
        ("en 2 horas y cuarto", 8100),
        ("en una hora y cinco minutos", 3900),
        ("in an hour and a half", 5400),
        ("in 2h30m", 9000),
        ("in 1.5 hours", 5400),
        ("en 1,5 horas", 5400),
        ("en treinta y cinco minutos", 2100),
        ("in twenty-five minutes", 1500),
        ("en un minuto", 60),
    ],
)
def test_a_relative_phrase_is_elapsed_time_from_now_with_its_fraction(
    phrase: str, seconds: float
) -> None:
    assert instant(phrase) == NOW + seconds


def test_elapsed_hours_cross_a_clock_change_and_days_keep_the_wall_time() -> None:
    eve = moment("2026-03-28T16:00")
    assert instant("en 24 horas", eve) == moment("2026-03-29T17:00")
    assert instant("en 1 día", eve) == moment("2026-03-29T16:00")


@pytest.mark.parametrize("expr", ["0 9 * * 1", "*/15 8-20 * * mon-fri", "@daily"])
def test_a_cron_expression_is_a_cron(expr: str) -> None:
    assert parse(expr, NOW, ZONE) == Cron(expr)


def test_a_bare_time_is_its_next_occurrence_even_in_a_repeated_hour() -> None:
    between = moment("2026-10-25T02:40")
    assert instant("02:30", between) == moment("2026-10-25T02:30", fold=1)


def test_a_bare_hour_is_taken_only_when_the_nearest_is_the_one_said() -> None:
    assert instant("a las 9", moment("2026-04-09T08:00")) == moment("2026-04-09T09:00")
    error = refusal("a las 9")
    assert "`09:00`" in str(error) and "`21:00`" in str(error)


# -- clock changes ----------------------------------------------------------------------------


def test_a_time_in_the_gap_is_resolved_and_flagged() -> None:
    when = parse("2026-03-29 02:30", NOW - 30 * 86400, ZONE)
    assert when == At(moment("2026-03-29T03:30"), "2026-03-29T02:30:00", "gap")


def test_a_time_in_the_fold_is_the_first_and_flagged() -> None:
    when = parse("2026-10-25 02:30", NOW, ZONE)
    assert when == At(moment("2026-10-25T02:30"), "2026-10-25T02:30:00", "fold")


# -- errors that help -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phrase", "key", "advice"),
    [
        ("", "phrase_empty", "`15:00`"),
        ("?!", "phrase_empty", "`15:00`"),
        ("hoy a las 8", "phrase_past", "`hoy a las 20:00`"),
        ("hoy a las 08:00", "phrase_past", "futuro"),
        ("2026-04-09 15:00", "phrase_past", "futuro"),
        ("2020-01-01T00:00Z", "phrase_past", "futuro"),
        ("en 0 minutos", "phrase_past", "futuro"),
        ("a las 12", "phrase_twelve", "`12:00`"),
        ("mañana a las 12 y media", "phrase_twelve", "`12:00`"),
        ("mañana a las 12 de la noche", "phrase_midnight", "`00:00`"),
        ("mañana a las 5", "phrase_hour", "`17:00`"),
        ("hoy a las 3", "phrase_hour", "`15:00`"),
        ("mañana a la una menos cuarto", "phrase_hour", "`12:45`"),
        ("15h", "phrase_hours", "`en 15 horas`"),
        ("15 horas", "phrase_hours", "`a las 15:00`"),
        ("25:00", "phrase_impossible", "calendario"),
        ("mañana a las 25", "phrase_impossible", "calendario"),
        ("2026-13-01", "phrase_impossible", "calendario"),
        ("2026-04-31 10:00", "phrase_impossible", "calendario"),
        ("2026-02-30T10:00Z", "phrase_impossible", "calendario"),
        ("mañana", "phrase_no_time", "`mañana a las 9:00`"),
        ("2026-05-01", "phrase_no_time", "a las 9:00"),
        ("en 1.5 días", "phrase_fraction", "`en 36 horas`"),
        ("en 999999999 horas", "phrase_far", "50"),
        ("2999-01-01 10:00", "phrase_far", "50"),
        ("mañana a las 3 de la noche", "phrase_part", "`15:00`"),
        ("mañana a las 15 am", "phrase_part", "`15:00`"),
        ("en cinco", "phrase_unknown", "`15:00`"),
        ("9", "phrase_unknown", "`15:00`"),
        ("mañana a las 9 o así", "phrase_unknown", "`15:00`"),
        ("en 5² minutos", "phrase_unknown", "`15:00`"),
        ("0 0 31 2 *", "cron_never", "no existe"),
        ("0 0 0 * * *", "cron_fields", "cinco"),
        ("0 22-3 * * *", "cron_wrapped", "`22-23,0-3`"),
        ("mañana a las 9\x00", "phrase_char", "U+0000"),
        ("\u202emañana a las 9", "phrase_char", "U+202E"),
        ("9" * 15_000, "phrase_long", str(MAX_LENGTH)),
    ],
)
def test_what_is_past_impossible_or_ambiguous_says_what_to_send(
    phrase: str, key: str, advice: str
) -> None:
    error = refusal(phrase)
    assert error.key == key
    assert advice in str(error)
    assert error.say("en") != str(error)


def test_an_unknown_zone_is_an_error() -> None:
    with pytest.raises(ZoneError):
        parse("15:00", NOW, "Europe/Madird")


WORDS = re.findall(
    r"\S+",
    "en in a las at mañana hoy tomorrow today pm am de la tarde noche y media menos cuarto hora "
    "horas minutos half an 9 12 15:00 2026-04-10 25 días two dos , el on h noon 0 * */5",
)


@given(st.one_of(st.text(max_size=60), st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)))
@settings(max_examples=600)
def test_every_phrase_is_a_future_time_or_an_explained_error(phrase: str) -> None:
    try:
        when = parse(phrase, NOW, ZONE)
    except PhraseError as error:
        assert error.say("es") and error.say("en")
    else:
        assert isinstance(when, (Cron, Every)) or when.instant > NOW


@given(
    now=st.floats(1_700_000_000, 1_900_000_000),
    hour=st.integers(0, 23),
    minute=st.integers(0, 59),
    zone=st.sampled_from([ZONE, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"]),
)
@settings(max_examples=300)
def test_a_bare_time_shows_on_the_wall_within_a_day_of_now(
    now: float, hour: int, minute: int, zone: str
) -> None:
    when = parse(f"{hour:02}:{minute:02}", now, zone)
    assert isinstance(when, At)
    assert now < when.instant <= now + 90_000
    if when.shift != "gap":
        local = datetime.fromtimestamp(when.instant, ZoneInfo(zone))
        assert (local.hour, local.minute, local.second) == (hour, minute, 0)


@given(now=st.floats(1_700_000_000, 1_900_000_000), amount=st.integers(1, 500))
def test_elapsed_time_is_exact(now: float, amount: int) -> None:
    assert instant(f"en {amount} segundos", now) == now + amount
    assert instant(f"in {amount} minutes", now) == now + amount * 60


# -- the echo ---------------------------------------------------------------------------------


def test_a_confirmation_says_day_date_time_and_zone() -> None:
    tomorrow = moment("2026-04-10T09:00")
    assert describe(tomorrow, ZONE, "es", NOW) == "mañana 2026-04-10 09:00 (Europe/Madrid)"
    assert describe(tomorrow, ZONE, "en", NOW) == "tomorrow 2026-04-10 09:00 (Europe/Madrid)"
    assert describe(tomorrow, ZONE, "es") == "2026-04-10 09:00 (Europe/Madrid)"
    assert describe(NOW + 5, ZONE, "es", NOW) == "hoy 2026-04-09 16:00:05 (Europe/Madrid)"


def test_a_confirmation_in_a_repeated_hour_says_the_offset() -> None:
    first = moment("2026-10-25T02:30")
    assert describe(first, ZONE, "es") == "2026-10-25 02:30 (Europe/Madrid, UTC+02:00)"
    later = first + timedelta(hours=1).total_seconds()
    assert describe(later, ZONE, "es") == "2026-10-25 02:30 (Europe/Madrid, UTC+01:00)"
