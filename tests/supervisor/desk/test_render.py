"""Text for people: aligned, in local time, and harmless to a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.desk.render import age, clean, local_time, paragraph, relative, table, there, width
from supervisor.desk.texts import Texts


@pytest.fixture
def madrid(monkeypatch: pytest.MonkeyPatch) -> Iterator[datetime]:
    monkeypatch.setenv("TZ", "Europe/Madrid")
    time.tzset()
    yield datetime.fromisoformat("2026-04-10T12:00:00+02:00")
    monkeypatch.undo()
    time.tzset()


@given(st.text())
def test_clean_text_is_printable(text: str) -> None:
    assert all(char.isprintable() for char in clean(text))
    assert clean(text) == text or not text.isprintable()


@given(st.text(), st.text())
def test_a_paragraph_can_not_pose_as_two(who: str, text: str) -> None:
    first, *rest = paragraph(who, text).split("\n")
    assert first.startswith(clean(who))
    assert all(line.startswith("  ") for line in rest)


def test_columns_are_aligned_also_with_wide_signs() -> None:
    shown = table(["a", "b"], [["⏰⏰", 1], ["ññ", None], ["e\u0301", "x\x1b"]]).splitlines()
    assert shown == ["a     b", "⏰⏰  1", "ññ    -", "e\u0301     x\\x1b"]
    assert {width(line.rstrip()) for line in shown[:3]} == {7}


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "0 s"),
        (0.4, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (7500, "2 h 5 min"),
        (90_000, "1 d 1 h"),
    ],
)
def test_ages_take_one_or_two_units(seconds: float, shown: str) -> None:
    assert age(seconds) == shown


def test_instants_are_local_with_the_offset_of_their_own_day(madrid: datetime) -> None:
    assert local_time("2026-04-10T09:30:00+00:00", madrid) == "11:30:00"
    assert local_time("2026-01-10T09:30:00+00:00", madrid) == "2026-01-10 10:30"
    assert local_time(madrid.timestamp(), madrid) == "12:00:00"
    assert local_time(None, madrid) is None


def test_a_time_of_the_calendar_is_that_of_its_own_zone_and_so_is_today(madrid: datetime) -> None:
    texts = Texts("es")
    assert there("2026-04-10T19:05:00+09:00", madrid) == "19:05:00"
    assert there("2026-04-11T00:30:00+09:00", madrid) == "2026-04-11 00:30"
    assert there(None, madrid) is None
    assert relative("2026-04-10T19:05:00+09:00", madrid, texts) == "19:05:00 (en 5 min)"


def test_what_is_to_come_and_what_was_say_how_far(madrid: datetime) -> None:
    texts = Texts("es")
    assert relative("2026-04-10T12:05:00+02:00", madrid, texts) == "12:05:00 (en 5 min)"
    assert relative("2026-04-10T11:59:30+02:00", madrid, texts) == "11:59:30 (hace 30 s)"
    assert relative(None, madrid, texts) is None
