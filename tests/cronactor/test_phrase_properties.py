"""What holds for every phrase: a future or an explained error, whatever it looks like."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cronactor.phrases import At, Cron, Every, PhraseError, When, parse
from cronactor.schedule import parse_cron
from cronactor.zones import resolve
from tests.cronactor.phrasebook import NOW, ZONE
from tests.cronactor.phrasebook import PHRASES as ORIGINAL
from tests.cronactor.phrasebook_more import MORE

PHRASES = (*ORIGINAL, *MORE)
ZONES = (ZONE, "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "America/Sao_Paulo")
WORDS = sorted({word for phrase, _ in PHRASES for word in phrase.split() if word.isprintable()})

words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)
known = st.sampled_from([phrase for phrase, _ in PHRASES if phrase.isprintable()])
mended = st.tuples(known, known, st.integers(0, 12)).map(
    lambda two: " ".join([*two[0].split()[: two[2]], *two[1].split()[two[2] // 2 :]])
)
phrases = st.one_of(words, known, mended)
nows = st.floats(1_700_000_000, 1_900_000_000)
zones = st.sampled_from(ZONES)


def answer(phrase: str, now: float, zone: str) -> When | str:
    """The answer, or the key of the error."""
    try:
        return parse(phrase, now, zone)
    except PhraseError as error:
        assert error.say("es") and error.say("en")
        return error.key


@given(phrase=st.one_of(st.text(max_size=60), phrases), now=nows, zone=zones)
@settings(max_examples=300)
def test_any_text_is_a_time_to_come_or_an_explained_error(
    phrase: str, now: float, zone: str
) -> None:
    match answer(phrase, now, zone):
        case At(instant=instant):
            assert instant > now
        case Cron(expr=expr):
            assert parse_cron(expr).text == expr
        case Every(seconds=seconds):
            assert seconds > 0


@given(phrase=phrases, now=nows, zone=zones)
@settings(max_examples=200)
def test_the_wall_time_of_an_answer_is_its_instant(phrase: str, now: float, zone: str) -> None:
    when = answer(phrase, now, zone)
    if isinstance(when, At) and when.wall is not None:
        found = resolve(datetime.fromisoformat(when.wall), ZoneInfo(zone))
        assert found.shift == when.shift
        # A day counted from now keeps the fraction of the second in which it was said.
        assert when.instant - found.instant in (0.0, pytest.approx(now % 1, abs=1e-6))


@given(phrase=phrases, now=nows, spaces=st.sampled_from(["  ", "\t", " \n ", "\u00a0", "\u2009"]))
@settings(max_examples=120)
def test_case_accents_spaces_and_closing_marks_change_nothing(
    phrase: str, now: float, spaces: str
) -> None:
    expected = answer(phrase, now, ZONE)
    decomposed = unicodedata.normalize("NFD", phrase)
    plain = "".join(char for char in decomposed if not unicodedata.combining(char))
    for other in (
        phrase.upper(),
        phrase.title(),
        decomposed,
        plain,
        phrase.replace(" ", spaces),
        f" ¡{phrase} ! ",
        f"{phrase}, por favor.",
    ):
        assert answer(other, now, ZONE) == expected


@given(phrase=phrases, now=nows, zone=zones)
@settings(max_examples=100)
def test_the_language_of_the_errors_changes_no_answer(phrase: str, now: float, zone: str) -> None:
    try:
        english: When | str = parse(phrase, now, zone, "en")
    except PhraseError as error:
        english = error.key
    assert answer(phrase, now, zone) == english


SUGGESTS = (
    "phrase_either",
    "phrase_every_days",
    "phrase_list",
    "phrase_no_time",
    "phrase_past",
    "phrase_some_days",
    "phrase_times",
    "phrase_which_day",
)


@pytest.mark.parametrize("locale", ["es", "en"])
def test_what_an_error_suggests_is_understood(locale: str) -> None:
    suggested = 0
    for phrase, _ in PHRASES:
        try:
            parse(phrase, NOW, ZONE, locale)
        except PhraseError as error:
            if error.key in SUGGESTS:
                for instead in re.findall(r"`([^`]+)`", str(error)):
                    parse(instead, NOW, ZONE, locale)
                    suggested += 1
    assert suggested > 40


@given(now=nows, zone=zones, hour=st.integers(7, 11), day=st.integers(0, 6))
@settings(max_examples=150)
def test_a_day_of_the_week_is_never_guessed_on_that_very_day(
    now: float, zone: str, hour: int, day: int
) -> None:
    spanish = ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo")[day]
    local = datetime.fromtimestamp(now, ZoneInfo(zone))
    when = answer(f"el {spanish} a las {hour}:00", now, zone)
    today_to_come = local.weekday() == day and local.hour < hour
    assert (when == "phrase_either") == today_to_come
    if isinstance(when, At):
        found = datetime.fromtimestamp(when.instant, ZoneInfo(zone))
        assert found.weekday() == day and 0 < (found.date() - local.date()).days <= 7
