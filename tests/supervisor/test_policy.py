"""The restart policy as arithmetic: limits are reached exactly, pauses grow and stay in bounds."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.policy import (
    Backoff,
    Ended,
    Escalate,
    Exhausted,
    Finish,
    How,
    Intensity,
    PolicyState,
    Quarantine,
    Restart,
    RestartAfter,
    Rules,
    Strategy,
    affected,
    decide,
    delay_before,
)

seconds = st.floats(0.001, 1000.0)
draws = st.floats(0.0, 1.0)


@st.composite
def rules(draw: st.DrawFn) -> Rules:
    """Any valid rules of a permanent child."""
    limit, window = draw(st.integers(0, 12)), draw(st.floats(0.1, 1000.0))
    maximum = draw(st.floats(0.0, 1.0)) * window / (limit + 1)
    initial = draw(st.floats(0.0, 1.0)) * maximum
    backoff = Backoff(initial, draw(st.floats(1.0, 1e9)), maximum, draw(st.floats(0.0, 1.0)))
    return Rules(intensity=Intensity(limit, window), backoff=backoff)


def crash(at: float, ready: float | None = None, draw: float = 0.5) -> Ended:
    how = How.START_FAILED if ready is None else How.CRASHED
    return Ended(how, began=at if ready is None else ready, ready=ready, draw=draw)


@pytest.mark.promise("P7")
@given(rules(), st.lists(st.tuples(seconds, draws), min_size=20, max_size=20))
def test_any_run_of_failing_starts_spends_the_limit_exactly(
    chosen: Rules, starts: list[tuple[float, float]]
) -> None:
    now, state = 0.0, PolicyState()
    for count, (length, draw) in enumerate(starts):
        event = Ended(How.START_FAILED, began=now, draw=draw)
        now += length
        decision = decide(chosen, state, event, now)
        state = decision.state
        if count == chosen.intensity.max_restarts:
            assert decision.action == Escalate()
            return
        assert isinstance(decision.action, RestartAfter)
        now += decision.action.delay


@given(rules(), draws)
def test_any_run_of_crashes_right_after_ready_spends_the_limit_exactly(
    chosen: Rules, draw: float
) -> None:
    now, state = 0.0, PolicyState()
    for _ in range(chosen.intensity.max_restarts):
        decision = decide(chosen, state, Ended(How.CRASHED, now, now, draw), now)
        assert isinstance(decision.action, RestartAfter)
        state, now = decision.state, now + decision.action.delay
    last = decide(chosen, state, Ended(How.CRASHED, now, now, draw), now)
    assert last.action == Escalate()


def test_failures_outside_the_window_are_forgotten() -> None:
    chosen = Rules(intensity=Intensity(1, 10.0))
    first = decide(chosen, PolicyState(), crash(0.0, ready=0.0), 0.0)
    later = decide(chosen, first.state, crash(10.0, ready=10.0), 10.0)
    assert isinstance(later.action, RestartAfter)
    assert later.state.failures == (10.0,)


def test_a_failure_just_inside_the_window_counts() -> None:
    chosen = Rules(intensity=Intensity(1, 10.0))
    first = decide(chosen, PolicyState(), crash(0.0, ready=0.0), 0.0)
    assert decide(chosen, first.state, crash(9.99, ready=9.99), 9.99).action == Escalate()


def test_an_exhausted_child_is_quarantined_when_its_rules_say_so() -> None:
    chosen = Rules(intensity=Intensity(0, 60.0), exhausted=Exhausted.QUARANTINE)
    assert decide(chosen, PolicyState(), crash(1.0, ready=1.0), 1.0).action == Quarantine()


@pytest.mark.parametrize("how", How)
@pytest.mark.parametrize("restart", Restart)
def test_restart_types_say_which_ends_are_followed_by_a_restart(how: How, restart: Restart) -> None:
    action = decide(Rules(restart), PolicyState(), Ended(how, 0.0, 0.0), 1.0).action
    stays = restart is Restart.TEMPORARY or (restart is Restart.TRANSIENT and how is How.RETURNED)
    assert (action == Finish()) is stays
    assert isinstance(action, RestartAfter) is not stays


def test_an_end_that_is_not_restarted_counts_nothing() -> None:
    state = PolicyState((1.0,), 1)
    ended = Ended(How.RETURNED, 0.0, 0.0)
    assert decide(Rules(Restart.TRANSIENT), state, ended, 2.0).state == state


def test_the_pause_grows_up_to_the_maximum() -> None:
    backoff = Backoff(0.1, 2.0, 1.0, jitter=0.0)
    pauses = [delay_before(backoff, streak, 0.9) for streak in range(1, 7)]
    assert pauses == pytest.approx([0.1, 0.2, 0.4, 0.8, 1.0, 1.0])


@given(rules(), st.integers(1, 10**6), draws)
def test_the_pause_is_finite_and_never_over_the_maximum(
    chosen: Rules, streak: int, draw: float
) -> None:
    delay = delay_before(chosen.backoff, streak, draw)
    assert 0 <= delay <= chosen.backoff.maximum


@given(st.integers(1, 20), draws)
def test_jitter_moves_the_pause_by_at_most_its_fraction(streak: int, draw: float) -> None:
    plain = delay_before(Backoff(0.1, 2.0, 5.0, jitter=0.0), streak, draw)
    moved = delay_before(Backoff(0.1, 2.0, 5.0, jitter=0.25), streak, draw)
    assert 0.75 * plain - 1e-9 <= moved <= 1.25 * plain + 1e-9


def test_a_whole_window_in_health_clears_the_backoff() -> None:
    chosen = Rules(backoff=Backoff(0.1, 2.0, 5.0, jitter=0.0))
    tired = PolicyState((), streak=6)
    assert decide(chosen, tired, Ended(How.CRASHED, 0.0, 1.0), 61.0).action == RestartAfter(0.1)
    still = decide(chosen, tired, Ended(How.CRASHED, 0.0, 1.0), 60.9)
    assert still.action == RestartAfter(5.0)
    assert still.state.streak == 7


def test_a_failed_start_grows_the_backoff_as_a_crash_does() -> None:
    chosen = Rules(backoff=Backoff(0.1, 2.0, 5.0, jitter=0.0))
    state = decide(chosen, PolicyState(), crash(0.0), 0.0).state
    assert decide(chosen, state, crash(0.2), 0.2).action == RestartAfter(0.2)


def test_a_start_that_hangs_does_not_age_the_window() -> None:
    chosen = Rules(intensity=Intensity(2, 10.0), backoff=Backoff(maximum=3.0))
    state, now = PolicyState(), 0.0
    for _ in range(2):
        hung = Ended(How.START_FAILED, began=now)
        now += 100.0
        state = decide(chosen, state, hung, now).state
    assert decide(chosen, state, Ended(How.START_FAILED, now), now + 100).action == Escalate()


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (Strategy.ONE_FOR_ONE, ("b",)),
        (Strategy.ONE_FOR_ALL, ("a", "b", "c")),
        (Strategy.REST_FOR_ONE, ("b", "c")),
    ],
)
def test_strategies_say_who_is_restarted_along(
    strategy: Strategy, expected: tuple[str, ...]
) -> None:
    assert affected(strategy, ("a", "b", "c"), "b") == expected


def test_a_backoff_that_defeats_the_limit_is_refused() -> None:
    with pytest.raises(ValueError, match="could never be reached"):
        Rules(intensity=Intensity(5, 60.0), backoff=Backoff(maximum=10.1))
    Rules(intensity=Intensity(5, 60.0), backoff=Backoff(maximum=10.0))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Intensity(max_restarts=-1),
        lambda: Intensity(window=0),
        lambda: Intensity(window=math.inf),
        lambda: Intensity(window=math.nan),
        lambda: Backoff(initial=-1),
        lambda: Backoff(initial=6.0, maximum=5.0),
        lambda: Backoff(maximum=math.inf),
        lambda: Backoff(factor=0.5),
        lambda: Backoff(jitter=1.5),
        lambda: Backoff(initial=math.nan),
    ],
)
def test_figures_that_make_no_sense_are_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=r"must|needs"):
        make()
