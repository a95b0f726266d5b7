"""The time, told for people, here and elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.callers import StandingClock, context
from tools.clock.clock import current_time
from tools.clock.places import PlaceUnknown, zone_of


async def told(zone: str | None = None, **changes: Any) -> str:
    arguments = "{}" if zone is None else json.dumps({"zone": zone})
    return (await current_time.call(context(**changes), arguments)).text


async def test_it_tells_the_time_of_the_users_zone() -> None:
    assert await told() == "Son las 15:44:02 del lunes 30 de noviembre de 2026 (Europe/Madrid)."


async def test_it_speaks_the_users_language() -> None:
    text = await told(locale="en")
    assert text == "It is 15:44:02 on Monday 30 November 2026 (Europe/Madrid)."


async def test_one_o_clock_is_singular() -> None:
    text = await told(clock=StandingClock(1_796_049_842.0 - 14 * 3600 - 40 * 60))
    assert text.startswith("Es la 01:04:02 del lunes")


async def test_another_place_has_its_own_time() -> None:
    assert await told("Tokio") == "Son las 23:44:02 del lunes 30 de noviembre de 2026 (Asia/Tokyo)."


async def test_an_empty_place_is_here() -> None:
    assert "(Europe/Madrid)" in await told(" ")


async def test_an_unknown_place_is_refused_and_never_guessed() -> None:
    result = await current_time.call(context(), '{"zone": "Macondo"}')
    assert not result.ok
    assert result.text == (
        "No conozco la zona horaria de «Macondo»: di una zona IANA, por ejemplo Asia/Tokyo."
    )


async def test_a_near_place_is_offered_and_not_taken() -> None:
    result = await current_time.call(context(locale="en"), '{"zone": "Pariss"}')
    assert not result.ok
    assert "Europe/Paris" in result.text


@pytest.mark.parametrize(
    ("place", "zone"),
    [
        ("Europe/Madrid", "Europe/Madrid"),
        ("europe/madrid", "Europe/Madrid"),
        ("madrid", "Europe/Madrid"),
        ("TOKIO", "Asia/Tokyo"),
        ("Nueva York", "America/New_York"),
        ("new york", "America/New_York"),
        ("New_York?", "America/New_York"),
        ("Los Angeles", "America/Los_Angeles"),
        ("Bogotá", "America/Bogota"),
        ("São Paulo", "America/Sao_Paulo"),
        ("Ciudad de México", "America/Mexico_City"),
        ("Buenos Aires", "America/Argentina/Buenos_Aires"),
        ("Indianapolis", "America/Indiana/Indianapolis"),
        ("japón", "Asia/Tokyo"),
        ("UTC", "UTC"),
        ("Etc/GMT+3", "Etc/GMT+3"),
    ],
)
def test_a_place_has_a_zone(place: str, zone: str) -> None:
    assert zone_of(place) == zone


@given(st.text())
def test_any_text_is_a_place_or_unknown(text: str) -> None:
    try:
        assert zone_of(text)
    except PlaceUnknown as error:
        assert len(error.place) <= 80


async def test_it_may_be_repeated() -> None:
    assert current_time.idempotent
