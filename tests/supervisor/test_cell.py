"""One child across its generations: what is a crash, what passes on, what becomes of its mail."""

from __future__ import annotations

import asyncio

import pytest
import trio
import trio.testing
from pytest import RaisesGroup
from trio.testing import MockClock

from channels.bus import Bus
from channels.errors import ActorDied, Stopped
from channels.lanes import current_lane
from channels.mailbox import Inbox, MailboxSpec
from channels.messages import CellState, StopReason
from supervisor.cell import current_path
from supervisor.errors import StartFailed
from supervisor.policy import Exhausted, Intensity, Restart
from supervisor.supervisor import Supervisor
from tests.supervisor.kit import (
    Status,
    broken,
    changes,
    child,
    deaf,
    echo,
    seen,
    states,
    supervising,
    until,
)


class Raising:
    """Becomes ready and raises the next of its errors; with none left, it echoes."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)

    async def __call__(self, inbox: Inbox, status: Status) -> None:
        if not self.errors:
            await echo(inbox, status)
            return
        status.started()
        await trio.lowlevel.checkpoint()
        raise self.errors.pop(0)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("boom"), "ValueError: boom"),
        (asyncio.CancelledError(), "CancelledError"),
        (BaseException("odd"), "BaseException: odd"),
        (
            BaseExceptionGroup("", [KeyError("a"), ExceptionGroup("", [ValueError("b")])]),
            "KeyError: 'a'; ValueError: b",
        ),
    ],
    ids=["exception", "asyncio cancel", "base exception", "group"],
)
async def test_any_error_of_an_actor_is_a_crash_kept_as_text(
    autojump_clock: MockClock, error: BaseException, text: str
) -> None:
    async with supervising(child("a", Raising(error))) as root:
        await until(root, "a", CellState.RUNNING)
        await trio.sleep(1)
        info = root.cell("a")
        assert [crash.text for crash in info.crashes] == [text]
        assert info.generation == 2
        assert info.restarts == 1
        assert "test_cell.py" in info.crashes[0].traceback


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
async def test_interrupts_and_exits_pass_through_the_tree(error: BaseException) -> None:
    root = Supervisor("root", [child("a", Raising(error)), child("b")], bus=Bus())
    with RaisesGroup(type(error)):
        await root.run()
    assert root.bus.names() == ()


async def test_an_exit_passes_although_a_crash_comes_with_it() -> None:
    mixed = BaseExceptionGroup("", [SystemExit(3), ValueError("too")])
    root = Supervisor("root", [child("a", Raising(mixed))], bus=Bus())
    with RaisesGroup(RaisesGroup(SystemExit)):
        await root.run()


async def test_a_cancelled_that_nobody_asked_for_is_a_crash(autojump_clock: MockClock) -> None:
    smuggled: list[BaseException] = []
    with trio.CancelScope() as scope:
        scope.cancel()
        try:
            await trio.lowlevel.checkpoint()
        except trio.Cancelled as cancelled:
            smuggled.append(cancelled)
            raise
    async with supervising(child("a", Raising(*smuggled)), child("b")) as root:
        await trio.sleep(1)
        assert root.cell("a").crashes[0].text.startswith("Cancelled")
        assert root.cell("a").state is CellState.RUNNING
        assert root.cell("b").generation == 1


@pytest.mark.promise("P7")
async def test_a_crash_in_cleanup_is_recorded_and_the_stop_goes_on(
    autojump_clock: MockClock,
) -> None:
    async def run(inbox: Inbox, status: Status) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await deaf(inbox, status)
            finally:
                raise KeyError("cleanup")

    async with supervising(child("a", run, grace=0.5)) as root:
        assert await root.restart_child("a") == 2
        assert root.cell("a").crashes[0].text == "crashed while stopping: KeyError: 'cleanup'"
        assert root.cell("a").restarts == 0


async def test_a_crash_in_cleanup_under_a_foreign_cancel_is_recorded_and_passes_the_cancel() -> (
    None
):
    async def run(inbox: Inbox, status: Status) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await deaf(inbox, status)
            finally:
                raise KeyError("cleanup")

    root = Supervisor("root", [child("a", run)], bus=Bus())
    with trio.CancelScope() as scope:
        async with trio.open_nursery() as nursery:
            await nursery.start(root.run)
            scope.cancel()
    assert scope.cancelled_caught
    texts = [crash.text for crash in root.cell("a").crashes]
    assert texts == ["crashed while stopping: KeyError: 'cleanup'"]
    assert root.bus.names() == ()


async def test_a_permanent_child_that_returns_has_crashed(autojump_clock: MockClock) -> None:
    lives = 0

    async def run(inbox: Inbox, status: Status) -> None:
        nonlocal lives
        lives += 1
        if lives > 1:
            await echo(inbox, status)
        status.started()

    async with supervising(child("a", run)) as root:
        await trio.sleep(1)
        assert [crash.text for crash in root.cell("a").crashes] == ["returned"]
        assert root.cell("a").generation == 2


async def test_returning_before_ready_is_a_failed_start(autojump_clock: MockClock) -> None:
    async def run(inbox: Inbox, status: Status) -> None:
        pass

    spec = child("a", run, intensity=Intensity(0, 60.0), exhausted=Exhausted.QUARANTINE)
    async with supervising(spec) as root:
        assert states(root) == {"a": "quarantined"}
        assert root.cell("a").crashes[0].text == "returned before it was ready"


async def test_a_start_has_a_deadline_that_being_ready_lifts(autojump_clock: MockClock) -> None:
    tries: list[float] = []

    async def run(inbox: Inbox, status: Status) -> None:
        tries.append(trio.current_time())
        await trio.sleep(99 if len(tries) == 1 else 1.5)
        await echo(inbox, status)

    async with supervising(child("a", run, start_timeout=2.0)) as root:
        begun = trio.current_time()
        await trio.sleep(100)
        info = root.cell("a")
        assert [crash.text for crash in info.crashes] == ["not ready within 2 s (start_timeout)"]
        assert info.state is CellState.RUNNING
        assert tries[1] - tries[0] == pytest.approx(2.0)
        assert begun - tries[1] == pytest.approx(1.5)


async def test_started_too_late_does_not_count(autojump_clock: MockClock) -> None:
    async def run(inbox: Inbox, status: Status) -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(3)
        status.started()
        await trio.sleep_forever()

    spec = child("a", run, start_timeout=2.0, exhausted=Exhausted.QUARANTINE)
    async with supervising(spec, child("b")) as root:
        await until(root, "a", CellState.QUARANTINED)
        texts = {crash.text for crash in root.cell("a").crashes}
        assert texts == {"not ready within 2 s (start_timeout)"}
        assert root.cell("a").generation == 6


async def test_started_twice_is_an_error(autojump_clock: MockClock) -> None:
    async def run(inbox: Inbox, status: Status) -> None:
        status.started()
        status.started()

    spec = child("a", run, exhausted=Exhausted.QUARANTINE)
    async with supervising(spec) as root:
        await until(root, "a", CellState.QUARANTINED)
        assert root.cell("a").crashes[0].text.startswith("RuntimeError: task_status.started()")


async def test_a_transient_child_may_finish(autojump_clock: MockClock) -> None:
    async def run(inbox: Inbox, status: Status) -> None:
        status.started()

    async with supervising(child("a", run, restart=Restart.TRANSIENT)) as root:
        await until(root, "a", CellState.STOPPED)
        assert root.cell("a").crashes == ()
        assert root.bus.names() == ()
        with pytest.raises(Stopped):
            await root.bus.tell("a", "anyone?")


async def test_a_temporary_child_is_forgotten_however_it_ends(autojump_clock: MockClock) -> None:
    async with supervising() as root:
        with changes(root.bus) as told:
            await root.start_child(child("a", restart=Restart.TEMPORARY))
            await root.bus.tell("a", "crash")
            await trio.sleep(1)
            assert seen(told) == ["root/a starting", "root/a running", "root/a stopped"]
        assert states(root) == {}
        assert await root.start_child(child("a", restart=Restart.TEMPORARY)) == 1


@pytest.mark.promise("P4", "P5")
async def test_queued_mail_waits_for_the_next_generation(autojump_clock: MockClock) -> None:
    got: list[object] = []

    async def run(inbox: Inbox, status: Status) -> None:
        status.started()
        async for message in inbox:
            got.append(message.body)
            if message.body == "crash":
                raise ValueError("boom")

    async with supervising(child("a", run)) as root:
        for body in ("one", "crash", "two", "three"):
            await root.bus.tell("a", body)
        await trio.sleep(1)
        assert got == ["one", "crash", "two", "three"]
        assert root.bus.dead_letters().by_reason == {"interrupted": 1}


@pytest.mark.promise("P5")
async def test_asks_in_flight_fail_at_once_and_queued_ones_are_answered(
    autojump_clock: MockClock,
) -> None:
    ended: dict[str, object] = {}

    async def ask(body: str) -> None:
        try:
            ended[body] = await root.bus.ask("a", body, timeout=60)
        except ActorDied as error:
            ended[body] = error.why

    async with supervising(child("a")) as root, trio.open_nursery() as nursery:
        for body in ("crash", "later"):
            nursery.start_soon(ask, body)
            await trio.testing.wait_all_tasks_blocked()
        await trio.sleep(1)
        assert ended == {"crash": "ValueError: boom", "later": "later"}


async def test_mail_that_arrives_during_a_start_is_kept(autojump_clock: MockClock) -> None:
    async def slow(inbox: Inbox, status: Status) -> None:
        await trio.sleep(2)
        await echo(inbox, status)

    async with trio.open_nursery() as nursery:
        root = Supervisor("root", [child("a", slow)], bus=Bus())
        nursery.start_soon(root.run)
        await trio.sleep(1)
        assert await root.bus.ask("a", "hello", timeout=5) == "hello"
        root.shutdown()


async def test_a_generation_knows_its_lane_and_its_path(autojump_clock: MockClock) -> None:
    known: list[tuple[str, str]] = []

    async def run(inbox: Inbox, status: Status) -> None:
        known.append((current_lane.get(), current_path.get()))
        await echo(inbox, status)

    current_lane.set("somebody else")
    async with supervising(child("a", run)) as root:
        await root.start_child(child("b", run, address=None))
        await root.start_child(child("c", run, address="elsewhere"))
    assert known == [("a", "root/a"), ("", "root/b"), ("elsewhere", "root/c")]


async def test_an_address_that_is_taken_is_a_failed_start(autojump_clock: MockClock) -> None:
    async with supervising(child("a")) as root:
        with pytest.raises(StartFailed, match="taken"):
            await root.start_child(
                child("b", address="a", intensity=Intensity(0, 1.0), exhausted=Exhausted.QUARANTINE)
            )
        assert await root.bus.ask("a", 1, timeout=1) == 1
        assert states(root) == {"a": "running", "b": "quarantined"}


async def test_the_history_is_bounded(autojump_clock: MockClock) -> None:
    spec = child("a", broken, intensity=Intensity(40, 60.0), exhausted=Exhausted.QUARANTINE)
    async with supervising(spec) as root:
        await until(root, "a", CellState.QUARANTINED)
        crashes = root.cell("a").crashes
        assert [crash.generation for crash in crashes] == list(range(32, 42))


async def test_a_child_without_an_address_still_drains(autojump_clock: MockClock) -> None:
    drained: list[bool] = []

    async def run(inbox: Inbox, status: Status) -> None:
        status.started()
        await inbox.wait_draining()
        drained.append(inbox.draining)

    async with supervising(child("a", run, address=None, mailbox=MailboxSpec(1))) as root:
        await root.stop_child("a", StopReason.STOPPED)
    assert drained == [True]
