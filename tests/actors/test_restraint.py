"""A limit that strikes is told to the room by a notice, in the room's language, under one name."""

from __future__ import annotations

import attrs
import pytest

from actors.decision import HOUR_FULL, PAIR_GUARD
from actors.restraint import restrained
from channels.outbox import OutgoingMessage
from channels.slots import SlotFacts
from tests.actors.test_decision import ROOM, facts

pytestmark = pytest.mark.promise("P3", "P7")


def notice(rule: str, given: SlotFacts | None = None, locale: str = "en") -> OutgoingMessage:
    told = restrained(rule, given or facts(), ROOM, "ada", locale)
    assert told is not None
    return told


def test_only_limits_that_would_go_unnoticed_are_told() -> None:
    assert restrained("response_cooldown", facts(), ROOM, "ada", "es") is None


@pytest.mark.parametrize("locale", ["es", "en"])
@pytest.mark.parametrize("rule", [PAIR_GUARD, HOUR_FULL])
def test_it_is_a_stamped_notice_so_nobody_answers_it(rule: str, locale: str) -> None:
    content = notice(rule, locale=locale).content
    assert content["msgtype"] == "m.notice" and content["vivero"]["agent"] == "ada"


def test_the_texts_name_who_and_how_much() -> None:
    assert notice(PAIR_GUARD).content["body"].count("@ana") == 2
    assert "120" in notice(HOUR_FULL).content["body"]
    assert notice(HOUR_FULL, locale="fr") == notice(HOUR_FULL, locale="es")


def test_an_hour_has_one_name_and_every_strike_its_own() -> None:
    one = facts()
    later, next_hour = attrs.evolve(one, now=one.now + 700), attrs.evolve(one, now=one.now + 900)
    assert one.now // 3600 == later.now // 3600 != next_hour.now // 3600
    names = [notice(HOUR_FULL, of).txn_id for of in (one, later, next_hour)]
    assert names[0] == names[1] != names[2]
    other = attrs.evolve(one, slot=attrs.evolve(one.slot, id=2))
    assert notice(PAIR_GUARD, one).txn_id != notice(PAIR_GUARD, other).txn_id
