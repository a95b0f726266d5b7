"""Why a cancel came, what went wrong in one line, and cleanup that neither hangs nor hides."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from actors.failures import CLEANUP_SECONDS, cancel_reason, cleanup, error_text, has_cancel
from actors.turns import CRASH
from channels.messages import StopReason


async def reason_seen(reason: str | None) -> str | None:
    """What a task sees that is cancelled in a nursery, in the instant an own deadline runs out."""
    seen: list[str | None] = []

    async def work() -> None:
        try:
            with trio.move_on_after(1):
                await trio.sleep_forever()
            await trio.sleep_forever()
        except BaseException as error:
            assert has_cancel(error)
            seen.append(await cancel_reason())
            raise

    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            await trio.sleep(1)
            scope.cancel(reason=reason)
    return seen[0]


@pytest.mark.parametrize("reason", list(StopReason))
async def test_the_typed_reason_of_a_stop_is_found(
    reason: StopReason, autojump_clock: MockClock
) -> None:
    assert await reason_seen(reason.value) == reason.value


async def test_a_cancel_that_names_no_reason_of_ours_is_a_crash(autojump_clock: MockClock) -> None:
    assert await reason_seen(None) == CRASH


async def test_a_sibling_that_raises_is_a_crash() -> None:
    seen: list[str | None] = []

    async def work() -> None:
        try:
            await trio.sleep_forever()
        finally:
            seen.append(await cancel_reason())

    with pytest.raises(ExceptionGroup):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            await trio.testing.wait_all_tasks_blocked()
            raise ValueError("x")
    assert seen == [CRASH]


async def test_who_is_not_cancelled_has_no_reason() -> None:
    assert await cancel_reason() is None
    assert not has_cancel(ExceptionGroup("g", [ValueError("x")]))


def test_errors_are_told_flat_once_each_and_without_the_cancels_beside_them() -> None:
    group = BaseExceptionGroup(
        "g", [ValueError("x"), ExceptionGroup("h", [ValueError("x"), KeyError()])]
    )
    assert error_text(group) == "ValueError: x; KeyError"


async def test_cleanup_runs_under_a_cancel_but_not_for_ever(autojump_clock: MockClock) -> None:
    began = trio.current_time()
    with trio.CancelScope() as scope:
        scope.cancel()
        async with cleanup("ada"):
            await trio.sleep_forever()
        await trio.lowlevel.checkpoint()
    assert scope.cancelled_caught
    assert trio.current_time() - began == pytest.approx(CLEANUP_SECONDS)


async def test_a_failing_cleanup_does_not_hide_the_error_it_cleans_up_after() -> None:
    with pytest.raises(KeyError):
        try:
            raise KeyError("first")
        finally:
            async with cleanup("ada"):
                raise ValueError("second")
