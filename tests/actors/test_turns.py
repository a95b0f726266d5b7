"""Who gets the next attempt, and in which order agents take turns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.turns import (
    CRASH_LIMIT,
    MAX_ATTEMPTS,
    RAISE_LIMIT,
    Again,
    DeadLetter,
    WhoNext,
    by_rest,
    next_step,
    round_from,
)

pytestmark = pytest.mark.promise("P1")

AGENTS = st.lists(st.sampled_from("abcdef"), unique=True)
COUNTS = st.integers(0, 10)


def test_a_slot_never_dispatched_is_decided_by_the_rooms_rules() -> None:
    assert next_step(0, 0, 0) == Again(WhoNext.ANYONE)


def test_a_turn_that_raised_once_goes_to_the_same_agent_and_twice_is_given_up() -> None:
    assert next_step(1, 1, 0) == Again(WhoNext.SAME)
    assert next_step(2, 2, 0) == DeadLetter("raised_twice")


def test_a_crash_is_retried_once_then_goes_to_the_next_participant_then_is_given_up() -> None:
    assert next_step(1, 0, 1) == Again(WhoNext.SAME)
    assert next_step(2, 0, 2) == Again(WhoNext.OTHER)
    assert next_step(3, 0, 3) == DeadLetter("crashed")


@given(st.integers(1, MAX_ATTEMPTS - 1))
def test_reloads_alone_never_take_a_message_from_its_agent(attempts: int) -> None:
    assert next_step(attempts, 0, 0) == Again(WhoNext.SAME)


@given(COUNTS, COUNTS)
def test_every_slot_comes_to_an_end_whatever_its_attempts_end_in(fails: int, dies: int) -> None:
    step = next_step(MAX_ATTEMPTS, fails, dies)
    assert isinstance(step, DeadLetter)
    if fails < RAISE_LIMIT and dies < CRASH_LIMIT:
        assert step.reason == "too_many_attempts"


@given(st.integers(1, 20), COUNTS, COUNTS)
def test_one_more_failure_never_makes_a_slot_live_longer(n: int, fails: int, dies: int) -> None:
    if isinstance(next_step(n, fails, dies), DeadLetter):
        assert isinstance(next_step(n + 1, fails + 1, dies), DeadLetter)
        assert isinstance(next_step(n + 1, fails, dies + 1), DeadLetter)


@given(AGENTS, st.sampled_from("abcdefz") | st.none())
def test_a_round_names_everyone_once_and_ends_with_who_spoke_last(
    agents: list[str], last: str | None
) -> None:
    order = round_from(agents, last)
    assert sorted(order) == sorted(agents)
    assert order == tuple(agents) if last not in agents else order[-1] == last


@given(AGENTS.filter(bool), st.integers(1, 40))
def test_by_rest_nobody_speaks_twice_before_all_others_have(agents: list[str], count: int) -> None:
    last_answer: dict[str, float] = {}
    spoken = []
    for instant in range(count):
        speaker = by_rest(agents, last_answer)[0]
        last_answer[speaker] = float(instant)
        spoken.append(speaker)
    for start in range(len(spoken) - len(agents) + 1):
        assert sorted(spoken[start : start + len(agents)]) == sorted(agents)
