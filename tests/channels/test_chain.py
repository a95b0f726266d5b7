"""Chain: stamps survive any shape of a stranger, a message has one place, turns have a limit."""

from __future__ import annotations

import json

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.chain import (
    STAMP_KEY,
    Place,
    Stamp,
    has_more,
    place,
    read_stamp,
    room_chain,
    stamped,
    take_turn,
    with_more,
)

pytestmark = pytest.mark.promise("P3")

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
CONTENTS = st.dictionaries(st.text(), JSON)
STAMPS = st.builds(
    Stamp, agent=st.text(), origin=st.text(), chain=st.text(), hop=st.integers(0, 10**6)
)
STAMP = Stamp("asistente", "$event", "$event", 3)


@given(CONTENTS, STAMPS)
def test_a_stamp_is_read_back_also_after_travelling_as_json(
    content: dict[str, object], stamp: Stamp
) -> None:
    marked = stamped(content, stamp)
    assert read_stamp(json.loads(json.dumps(marked))) == stamp
    assert {**marked, STAMP_KEY: None} == {**content, STAMP_KEY: None}


@given(JSON)
def test_any_mark_of_a_stranger_reads_as_a_stamp_without_raising(mark: object) -> None:
    stamp = read_stamp({STAMP_KEY: mark})
    assert (stamp is None) == (mark is None)
    assert has_more({STAMP_KEY: mark}) in (True, False)
    if stamp is not None:
        assert stamp.hop >= 0
        assert all(isinstance(text, str) for text in (stamp.agent, stamp.origin, stamp.chain))


def test_what_a_stranger_wrote_wrongly_counts_as_nothing() -> None:
    for hop in (True, -1, "3", None, 2.5):
        assert read_stamp({STAMP_KEY: {**attrs.asdict(STAMP), "hop": hop}}) == attrs.evolve(
            STAMP, hop=0
        )
    assert read_stamp({STAMP_KEY: "bot"}) == Stamp("", "", "", 0)
    assert read_stamp({"body": "hola"}) is None


def test_an_edit_carries_the_stamp_in_both_places() -> None:
    marked = stamped({"body": "* b", "m.new_content": {"body": "b"}}, STAMP)
    assert read_stamp(marked) == read_stamp(marked["m.new_content"]) == STAMP


def test_a_part_that_is_not_the_last_says_so_and_keeps_its_stamp() -> None:
    part = with_more(stamped({"body": "one of two"}, STAMP))
    assert has_more(part)
    assert read_stamp(part) == STAMP
    assert not has_more(stamped({"body": "two of two"}, STAMP))
    assert not has_more({STAMP_KEY: {"more": "yes"}})


def test_a_persons_message_starts_its_own_chain() -> None:
    for current in (None, "$older"):
        assert place("$new", "#a", is_bot=False, own_stamp=None, current=current) == Place(
            "$new", current=True
        )


def test_our_own_message_belongs_to_its_stamp() -> None:
    found = place("$reply", "#a", is_bot=True, own_stamp=STAMP, current="$other")
    assert found == Place("$event", turns=3)


def test_an_occurrences_own_message_starts_the_rooms_current_chain() -> None:
    origin = "occurrence:asistente/buenos-dias@2026-04-10T07:00:00Z"
    stamp = Stamp("asistente", origin, origin, 0)
    found = place("$m", "#a", is_bot=True, own_stamp=stamp, current="$other")
    assert found == Place(origin, turns=0, current=True)
    later = place("$r", "#a", is_bot=True, own_stamp=attrs.evolve(stamp, hop=1), current="$human")
    assert later == Place(origin, turns=1, current=False)


def test_any_other_bot_joins_the_rooms_current_chain_or_the_rooms_own() -> None:
    unusable = Stamp("", "", "", 0)
    for own in (None, unusable):
        assert place("$b", "#a", is_bot=True, own_stamp=own, current="$human") == Place("$human")
        assert place("$b", "#a", is_bot=True, own_stamp=own, current=None) == Place(
            room_chain("#a")
        )


@given(st.integers(0, 50), st.integers(0, 50))
def test_a_turn_is_taken_only_below_the_limit(turns: int, limit: int) -> None:
    hop = take_turn(turns, limit)
    assert hop == (turns + 1 if turns < limit else None)
    assert take_turn(turns, None) == turns + 1
