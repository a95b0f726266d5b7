"""Crashes as text: flat, bounded, harmless to make, and holding nothing of the exception."""

from __future__ import annotations

import gc
import weakref

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from channels.mailbox import Inbox
from supervisor.crashes import (
    LINE,
    TEXT,
    crash_record,
    describe,
    sort_out,
    stack_text,
    traceback_text,
)
from tests.supervisor.kit import Status, child, echo, supervising


class Shy(Exception):
    """Its text cannot be had."""

    def __str__(self) -> str:
        raise ValueError("no")


def caught(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as found:
        return found


def passing() -> st.SearchStrategy[BaseException]:
    kinds = st.sampled_from((KeyboardInterrupt, SystemExit, GeneratorExit, asked_cancel))
    return kinds.map(lambda make: make())


def asked_cancel() -> BaseException:
    async def main() -> BaseException:
        found: list[BaseException] = []
        with trio.CancelScope() as scope:
            scope.cancel()
            try:
                await trio.lowlevel.checkpoint()
            except trio.Cancelled as error:
                found.append(error)
                raise
        return found[0]

    return trio.run(main)


def groups(leaves: st.SearchStrategy[BaseException]) -> st.SearchStrategy[BaseException]:
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, min_size=1, max_size=4).map(
            lambda errors: BaseExceptionGroup("group", errors)
        ),
        max_leaves=8,
    )


def leaves(error: BaseException | None) -> list[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in leaves(inner)]
    return [] if error is None else [error]


@given(groups(st.one_of(passing(), st.text().map(ValueError), st.just(BaseException("x")))))
def test_sorting_loses_and_invents_nothing(error: BaseException) -> None:
    kinds = (trio.Cancelled, KeyboardInterrupt, SystemExit, GeneratorExit)
    crash, on = sort_out(error)
    assert not [leaf for leaf in leaves(crash) if isinstance(leaf, kinds)]
    assert all(isinstance(leaf, kinds) for leaf in leaves(on))
    assert sorted(map(id, leaves(crash) + leaves(on))) == sorted(map(id, leaves(error)))


@given(groups(st.text().map(ValueError)))
def test_any_error_is_told_in_one_bounded_line(error: BaseException) -> None:
    told = describe(error)
    assert "ValueError" in told
    assert len(told.splitlines()) <= 1
    assert len(told) <= LINE
    assert len(traceback_text(error)) <= TEXT


def test_nested_groups_are_flat_for_people() -> None:
    error = ExceptionGroup("outer", [ExceptionGroup("inner", [KeyError("a")]), OSError("b")])
    assert describe(error) == "KeyError: 'a'; OSError: b"


def test_many_errors_are_counted() -> None:
    assert describe(ExceptionGroup("", [OSError("b")] * 10)).endswith("OSError: b; and 6 more")


def test_an_error_without_text_is_its_name_and_a_broken_text_is_said() -> None:
    assert describe(TimeoutError()) == "TimeoutError"
    assert describe(Shy()) == "Shy: (its text cannot be shown)"


def test_a_traceback_names_file_line_function_and_causes() -> None:
    def cause() -> None:
        raise KeyError("deep")

    def effect() -> None:
        try:
            cause()
        except KeyError as error:
            raise ValueError("shown") from error

    with pytest.raises(ValueError, match="shown") as found:
        effect()
    told = traceback_text(found.value)
    assert "ValueError: shown" in told
    assert f'File "{__file__}", line ' in told
    assert "caused by KeyError: 'deep'" in told
    assert 'raise KeyError("deep")' in told


def test_a_cancel_is_no_cause() -> None:
    error = KeyError("in cleanup")
    error.__context__ = asked_cancel()
    assert "caused by" not in traceback_text(error)


def test_a_circular_cause_ends() -> None:
    first, second = ValueError("1"), ValueError("2")
    first.__cause__, second.__cause__ = second, first
    assert len(traceback_text(first)) <= TEXT


def test_a_deep_recursion_is_bounded() -> None:
    def down() -> None:
        down()

    with pytest.raises(RecursionError) as found:
        down()
    assert len(traceback_text(found.value)) <= TEXT


def test_a_record_is_only_text() -> None:
    record = crash_record(caught(ValueError("boom")), 1.5, 7, "crashed while stopping: ")
    assert (record.at, record.generation) == (1.5, 7)
    assert record.text == "crashed while stopping: ValueError: boom"


async def test_a_stack_shows_a_task_and_the_tasks_below_it() -> None:
    async def inner() -> None:
        await trio.sleep_forever()

    async def outer(task_status: trio.TaskStatus[trio.lowlevel.Task]) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(inner, name="the inner one")
            task_status.started(trio.lowlevel.current_task())

    async with trio.open_nursery() as nursery:
        task = await nursery.start(outer)
        await trio.testing.wait_all_tasks_blocked()
        told = stack_text(task)
        nursery.cancel_scope.cancel()
    assert "  task the inner one" in told
    assert "sleep_forever()" in told


async def test_a_crash_lets_go_of_everything_the_actor_held(autojump_clock: MockClock) -> None:
    class Held:
        pass

    held: list[weakref.ref[Held]] = []

    async def run(inbox: Inbox, status: Status) -> None:
        if held:
            await echo(inbox, status)
        thing = Held()
        held.append(weakref.ref(thing))
        status.started()
        await trio.sleep(1)
        raise ValueError(thing)

    async with supervising(child("a", run)) as root:
        await trio.sleep(5)
        gc.collect()
        assert root.cell("a").generation == 2
        assert held[0]() is None
