"""A reminder reads as the requirement document says, in both languages, late or not."""

from __future__ import annotations

import re

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cronactor.jobs import iso, occurrence_stamp, occurrence_txn
from cronactor.reminder import Reminder, checked_message, short_id, spoken_reminder
from cronactor.spoken import duration
from cronactor.texts import Explained

REMINDER = Reminder(
    id="r7f3k2",
    agent="asistente",
    room="#taller",
    user="@ana",
    message="riegue las plantas",
    timezone="Europe/Madrid",
    locale="es",
    created_at=0.0,
    next_due=60.0,
)


def test_it_addresses_the_user_in_the_locale() -> None:
    assert spoken_reminder(REMINDER, 0) == "⏰ @ana Recordatorio: riegue las plantas"
    english = attrs.evolve(REMINDER, locale="en", user="ana")
    assert spoken_reminder(english, 0) == "⏰ @ana Reminder: riegue las plantas"
    matrix = attrs.evolve(REMINDER, user="@ana:example.org")
    assert spoken_reminder(matrix, 0).startswith("⏰ @ana:example.org Recordatorio")


def test_it_says_how_late_it_is_only_when_it_is() -> None:
    assert "retraso" not in spoken_reminder(REMINDER, 60)
    assert spoken_reminder(REMINDER, 3700).endswith("(con 1 hora y 1 minuto de retraso)")
    english = attrs.evolve(REMINDER, locale="en")
    assert spoken_reminder(english, 61).endswith("(late by 1 minute and 1 second)")


def test_braces_in_a_message_are_only_text() -> None:
    assert "{x}" in spoken_reminder(attrs.evolve(REMINDER, message="{x} {0}"), 100)


@pytest.mark.parametrize(
    ("seconds", "es", "en"),
    [
        (0, "0 segundos", "0 seconds"),
        (1, "1 segundo", "1 second"),
        (7200, "2 horas", "2 hours"),
        (90061, "1 día y 1 hora", "1 day and 1 hour"),
    ],
)
def test_durations_are_said_with_their_two_largest_units(seconds: float, es: str, en: str) -> None:
    assert (duration(seconds, "es"), duration(seconds, "en")) == (es, en)


@given(st.text(max_size=30), st.integers(0, 50))
def test_ids_are_short_and_stable(key: str, attempt: int) -> None:
    assert re.fullmatch(r"r[0-9a-z]{5}", short_id(key, attempt))
    assert short_id(key, attempt) == short_id(key, attempt)


@given(st.text(max_size=60))
def test_a_message_is_kept_or_explained(text: str) -> None:
    try:
        assert checked_message(text, "es").encode()
    except Explained as error:
        assert error.say("en")


def test_names_of_an_occurrence_never_change() -> None:
    assert iso(1_775_000_000.25) == "2026-03-31T23:33:20.250000+00:00"
    assert occurrence_txn("r7f3k2", 1_775_000_000.25) == "occ-97a5dc9fb297e97df057d109"
    stamp = occurrence_stamp("asistente", "r7f3k2", 0.0)
    assert stamp.origin == stamp.chain == "occurrence:r7f3k2@1970-01-01T00:00:00+00:00"
