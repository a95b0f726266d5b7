"""Restarting on purpose: the old one is gone first, bad specs fall back, calls never collide."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

import pytest
import trio
import trio.testing
from structlog.testing import capture_logs
from trio.testing import MockClock

from channels.errors import ActorDied
from channels.mailbox import Inbox
from channels.messages import CellState, StopReason
from supervisor.errors import NotSupervising, RestartFailed, StartFailed, UnknownChild
from supervisor.policy import Exhausted, Intensity
from tests.supervisor.kit import (
    STEADY,
    Diary,
    Run,
    Status,
    broken,
    child,
    deaf,
    echo,
    states,
    stuck,
    supervising,
    until,
)

QUARANTINE = Exhausted.QUARANTINE


def says(text: str) -> Run:
    """Answer every ask with `text`."""

    async def run(inbox: Inbox, status: Status) -> None:
        status.started()
        async for message in inbox:
            if message.body == "crash":
                raise ValueError("boom")
            message.reply(text)

    return run


def takes(seconds: float, text: str = "") -> Run:
    """Be ready after so many seconds."""

    async def run(inbox: Inbox, status: Status) -> None:
        await trio.sleep(seconds)
        await says(text)(inbox, status)

    return run


async def result(call: Callable[[], Awaitable[object]]) -> object:
    """What a call returns, or the text of what it raises."""
    try:
        return await call()
    except Exception as error:
        return str(error)


class Calls:
    """Runs calls side by side, one begun after the other, and keeps what became of each."""

    def __init__(self, nursery: trio.Nursery) -> None:
        self.nursery = nursery
        self.results: dict[str, object] = {}

    async def begin(self, name: str, call: Callable[[], Awaitable[object]]) -> None:
        async def run() -> None:
            self.results[name] = await result(call)

        self.nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()


async def test_the_old_generation_is_really_gone_before_the_new_one_is_made(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with supervising(diary.child("a", leave=1.0)) as root:
        assert await root.restart_child("a") == 2
        assert diary.lines == ["a starts", "a ends", "a starts"]


async def test_a_busy_child_is_cancelled_after_its_grace_with_the_reason(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with supervising(diary.child("a", leave=60.0, grace=2.0)) as root:
        assert await root.restart_child("a", reason=StopReason.RELOAD) == 2
        assert trio.current_time() == pytest.approx(2.0)
        assert diary.lines == ["a starts", "a cancelled: reload", "a starts"]


@pytest.mark.promise("P4")
async def test_a_new_spec_takes_over_and_the_siblings_notice_nothing(
    autojump_clock: MockClock,
) -> None:
    async with supervising(child("a", says("old")), child("b")) as root:
        await root.restart_child("a", spec=child("a", says("new")))
        assert await root.bus.ask("a", 1, timeout=1) == "new"
        assert root.cell("b").generation == 1
        assert root.cell("a").restarts == 0


@pytest.mark.promise("P5")
async def test_what_was_in_flight_fails_and_what_was_queued_goes_to_the_new_generation(
    autojump_clock: MockClock,
) -> None:
    async def asks(body: str) -> None:
        try:
            ended[body] = await root.bus.ask("a", body, timeout=60)
        except ActorDied as error:
            ended[body] = error.why

    ended: dict[str, object] = {}
    async with supervising(child("a", grace=1.0)) as root, trio.open_nursery() as nursery:
        for body in ("hang", "queued"):
            nursery.start_soon(asks, body)
            await trio.testing.wait_all_tasks_blocked()
        await root.restart_child("a", spec=child("a", says("new")))
        await trio.testing.wait_all_tasks_blocked()
        assert ended == {"hang": "stopped (reload)", "queued": "new"}


@pytest.mark.parametrize(
    ("function", "text"), [(broken, "cannot start"), (stuck, "not ready within 2 s")]
)
@pytest.mark.promise("P7")
async def test_a_new_spec_that_cannot_start_gives_way_to_the_previous_one(
    autojump_clock: MockClock, function: Run, text: str
) -> None:
    async with supervising(child("a", says("old")), child("b")) as root:
        with pytest.raises(RestartFailed, match=text) as caught:
            await root.restart_child("a", spec=child("a", function, start_timeout=2.0))
        assert caught.value.restored
        assert await root.bus.ask("a", 1, timeout=1) == "old"
        info = root.cell("a")
        assert (info.generation, info.restarts, len(info.crashes)) == (3, 0, 1)
        assert await root.restart_child("a") == 4
        assert await root.bus.ask("a", 1, timeout=1) == "old"


async def test_when_the_previous_spec_cannot_start_either_the_policy_goes_on(
    autojump_clock: MockClock,
) -> None:
    lives = 0

    async def old(inbox: Inbox, status: Status) -> None:
        nonlocal lives
        lives += 1
        await (broken if lives == 2 else echo)(inbox, status)

    async with supervising(child("a", old, backoff=STEADY)) as root:
        with pytest.raises(RestartFailed, match="not ready") as caught:
            await root.restart_child("a", spec=child("a", stuck))
        assert not caught.value.restored
        assert states(root) == {"a": "backoff"}
        await until(root, "a", CellState.RUNNING)
        assert (root.cell("a").generation, root.cell("a").restarts) == (4, 1)


async def test_a_restart_of_the_same_spec_that_fails_is_a_failed_start(
    autojump_clock: MockClock,
) -> None:
    lives = 0

    async def run(inbox: Inbox, status: Status) -> None:
        nonlocal lives
        lives += 1
        await (broken if lives == 2 else echo)(inbox, status)

    async with supervising(child("a", run, backoff=STEADY)) as root:
        with pytest.raises(RestartFailed) as caught:
            await root.restart_child("a")
        assert not caught.value.restored
        await until(root, "a", CellState.RUNNING)
        assert root.cell("a").restarts == 1


async def test_a_restart_on_purpose_clears_the_failures(autojump_clock: MockClock) -> None:
    spec = child("a", intensity=Intensity(1, 60.0), exhausted=QUARANTINE)
    async with supervising(spec) as root:
        for _ in range(5):
            await root.bus.tell("a", "crash")
            await trio.sleep(0.1)
            assert states(root) == {"a": "running"}
            await root.restart_child("a")


async def test_a_quarantined_child_starts_on_a_reload(autojump_clock: MockClock) -> None:
    async with supervising(child("a", broken, exhausted=QUARANTINE)) as root:
        await until(root, "a", CellState.QUARANTINED)
        assert await root.restart_child("a", spec=child("a", says("mended"))) == 7
        assert await root.bus.ask("a", 1, timeout=1) == "mended"


@pytest.mark.parametrize("stopped", [False, True])
async def test_a_bad_reload_of_what_is_down_leaves_it_down(
    autojump_clock: MockClock, stopped: bool
) -> None:
    spec = child("a", echo if stopped else broken, exhausted=QUARANTINE)
    async with supervising(spec) as root:
        if stopped:
            await root.stop_child("a")
        else:
            await until(root, "a", CellState.QUARANTINED)
        before = states(root)
        with pytest.raises(RestartFailed) as caught:
            await root.restart_child("a", spec=child("a", broken))
        assert not caught.value.restored
        await trio.sleep(100)
        assert states(root) == before
        assert root.bus.names() == ()


async def test_a_child_in_backoff_starts_at_once_on_a_reload(autojump_clock: MockClock) -> None:
    spec = child("a", broken, exhausted=QUARANTINE, backoff=STEADY)
    async with supervising(spec) as root:
        assert states(root) == {"a": "backoff"}
        assert await root.restart_child("a", spec=child("a", says("mended"))) == 2
        assert trio.current_time() == 0
        await trio.sleep(100)
        assert root.cell("a").generation == 2


async def test_reloads_asked_during_the_drain_become_one_with_the_latest_spec(
    autojump_clock: MockClock,
) -> None:
    async with supervising(child("a", deaf, grace=2.0)) as root, trio.open_nursery() as nursery:
        calls = Calls(nursery)
        for text in ("one", "two", "three"):
            spec = child("a", says(text))
            await calls.begin(text, partial(root.restart_child, "a", spec=spec))
        await trio.sleep(10)
        assert calls.results == {"one": 2, "two": 2, "three": 2}
        assert await root.bus.ask("a", 1, timeout=1) == "three"


async def test_a_reload_asked_during_the_new_start_comes_after_it(
    autojump_clock: MockClock,
) -> None:
    async with supervising(child("a")) as root, trio.open_nursery() as nursery:
        calls = Calls(nursery)
        for text in ("one", "two"):
            spec = child("a", takes(1.0, text))
            await calls.begin(text, partial(root.restart_child, "a", spec=spec))
        await trio.sleep(10)
        assert calls.results == {"one": 2, "two": 3}
        assert await root.bus.ask("a", 1, timeout=1) == "two"


async def test_a_reload_asked_during_a_failing_new_start_comes_after_the_fallback(
    autojump_clock: MockClock,
) -> None:
    async with supervising(child("a", says("old"))) as root, trio.open_nursery() as nursery:
        calls = Calls(nursery)
        bad, good = child("a", stuck, start_timeout=1.0), child("a", says("good"))
        await calls.begin("bad", lambda: root.restart_child("a", spec=bad))
        await calls.begin("good", lambda: root.restart_child("a", spec=good))
        await trio.sleep(10)
        assert "the previous one runs again" in str(calls.results["bad"])
        assert calls.results["good"] == 4
        assert await root.bus.ask("a", 1, timeout=1) == "good"


async def test_a_stop_overrules_a_reload_in_its_drain_and_in_its_start(
    autojump_clock: MockClock,
) -> None:
    for spec in (child("a", deaf, grace=2.0), child("a")):
        async with supervising(spec) as root, trio.open_nursery() as nursery:
            calls = Calls(nursery)
            new = child("a", takes(5.0))
            await calls.begin("reload", partial(root.restart_child, "a", spec=new))
            await root.stop_child("a")
            assert states(root) == {"a": "stopped"}
            await trio.testing.wait_all_tasks_blocked()
            assert "stopped meanwhile" in str(calls.results["reload"])
            await trio.sleep(100)
            assert states(root) == {"a": "stopped"}
            assert await root.revive("a") == (2 if spec.grace == 2.0 else 3)


async def test_a_stop_during_the_start_of_a_new_spec_drops_that_spec(
    autojump_clock: MockClock,
) -> None:
    async with supervising(child("a", says("old"))) as root, trio.open_nursery() as nursery:
        calls = Calls(nursery)
        new = child("a", takes(5.0, "new"))
        await calls.begin("reload", partial(root.restart_child, "a", spec=new))
        await root.stop_child("a")
        await root.revive("a")
        assert await root.bus.ask("a", 1, timeout=1) == "old"


async def test_a_revival_during_a_stop_comes_after_it(autojump_clock: MockClock) -> None:
    async with supervising(child("a", deaf, grace=2.0)) as root, trio.open_nursery() as nursery:
        calls = Calls(nursery)
        await calls.begin("stop", lambda: root.stop_child("a"))
        assert await root.revive("a") == 2
        assert calls.results == {"stop": None}


async def test_a_stop_ends_a_backoff(autojump_clock: MockClock) -> None:
    spec = child("a", broken, exhausted=QUARANTINE, backoff=STEADY)
    async with supervising(spec) as root:
        assert states(root) == {"a": "backoff"}
        await root.stop_child("a")
        await trio.sleep(100)
        assert states(root) == {"a": "stopped"}
        assert root.cell("a").generation == 1


async def test_a_reload_after_a_stop_wins(autojump_clock: MockClock) -> None:
    async with supervising(child("a", deaf, grace=2.0)) as root, trio.open_nursery() as nursery:
        calls = Calls(nursery)
        await calls.begin("stop", lambda: root.stop_child("a"))
        await calls.begin("stop again", lambda: root.stop_child("a"))
        new = child("a", says("new"))
        await calls.begin("reload", lambda: root.restart_child("a", spec=new))
        await trio.sleep(10)
        assert calls.results == {"stop": None, "stop again": None, "reload": 2}
        assert states(root) == {"a": "running"}


async def test_a_crash_during_the_drain_is_recorded_and_the_reload_goes_on(
    autojump_clock: MockClock,
) -> None:
    async def run(inbox: Inbox, status: Status) -> None:
        status.started()
        await inbox.wait_draining()
        raise ValueError("boom")

    async with supervising(child("a", run)) as root:
        assert await root.restart_child("a", spec=child("a", says("new"))) == 2
        assert root.cell("a").crashes[0].text == "crashed while stopping: ValueError: boom"
        assert root.cell("a").restarts == 0


async def test_a_reload_interrupts_a_restart_by_the_policy(autojump_clock: MockClock) -> None:
    lives = 0

    async def run(inbox: Inbox, status: Status) -> None:
        nonlocal lives
        lives += 1
        await (takes(5.0) if lives == 2 else echo)(inbox, status)

    async with supervising(child("a", run)) as root:
        await root.bus.tell("a", "crash")
        await trio.sleep(1)
        assert states(root) == {"a": "starting"}
        assert await root.restart_child("a", spec=child("a", says("new"))) == 3
        assert trio.current_time() == 1


async def test_a_reload_asked_during_the_first_start_comes_after_it(
    autojump_clock: MockClock,
) -> None:
    async with supervising() as root, trio.open_nursery() as nursery:
        calls = Calls(nursery)
        await calls.begin("start", lambda: root.start_child(child("a", takes(1.0))))
        await calls.begin("revive", lambda: root.revive("a"))
        new = child("a", says("new"))
        await calls.begin("reload", lambda: root.restart_child("a", spec=new))
        await trio.sleep(10)
        assert calls.results == {"start": 1, "revive": 1, "reload": 2}


async def test_a_removal_overrules_everything_and_frees_the_name(
    autojump_clock: MockClock,
) -> None:
    async with supervising(child("a", deaf, grace=2.0)) as root, trio.open_nursery() as nursery:
        calls = Calls(nursery)
        await calls.begin("reload", lambda: root.restart_child("a"))
        await calls.begin("stop", lambda: root.stop_child("a"))
        await calls.begin("remove", lambda: root.remove_child("a"))
        with pytest.raises(NotSupervising):
            await root.restart_child("a")
        await trio.sleep(10)
        assert calls.results["remove"] is None
        assert calls.results["stop"] is None
        assert "stopped meanwhile" in str(calls.results["reload"])
        with pytest.raises(UnknownChild):
            await root.restart_child("a")
        assert await root.start_child(child("a")) == 1


async def test_the_supervisors_stop_overrules_a_reload(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        calls = Calls(nursery)
        async with supervising(child("a", deaf, grace=9.0), stop_timeout=1.0) as root:
            await calls.begin("reload", lambda: root.restart_child("a"))
        assert trio.current_time() == 1.0
        await trio.testing.wait_all_tasks_blocked()
        assert "stopped meanwhile" in str(calls.results["reload"])


@pytest.mark.promise("P7")
async def test_the_supervisors_total_deadline_ends_the_grace_of_a_reload(
    autojump_clock: MockClock,
) -> None:
    async def run(inbox: Inbox, status: Status) -> None:
        status.started()
        with trio.CancelScope(shield=True):
            await trio.sleep(6)

    with capture_logs() as logs:
        async with trio.open_nursery() as nursery:
            calls = Calls(nursery)
            async with supervising(child("a", run, grace=60.0), stop_timeout=1.0) as root:
                await calls.begin("reload", lambda: root.restart_child("a"))
    assert trio.current_time() == 6.0
    told = [log["waited"] for log in logs if log["event"] == "child_resists_cancel"]
    assert told == [1.0, 2.0, 4.0]


async def test_a_caller_that_is_cancelled_leaves_the_restart_to_finish(
    autojump_clock: MockClock,
) -> None:
    async with supervising(child("a", deaf, grace=2.0)) as root:
        with trio.move_on_after(1.0) as gave_up:
            await root.restart_child("a", spec=child("a", says("new")))
        assert gave_up.cancelled_caught
        await until(root, "a", CellState.RUNNING)
        assert root.cell("a").generation == 2
        assert await root.bus.ask("a", 1, timeout=1) == "new"


async def test_an_actor_may_ask_for_its_own_restart(autojump_clock: MockClock) -> None:
    async def run(inbox: Inbox, status: Status) -> None:
        status.started()
        async for message in inbox:
            if message.body == "reload":
                await root.restart_child("a")
            message.reply(message.body)

    async with supervising(child("a", run, grace=1.0)) as root:
        await root.bus.tell("a", "reload")
        await trio.sleep(5)
        assert root.cell("a").generation == 2
        assert await root.bus.ask("a", 1, timeout=1) == 1


async def test_a_restart_keeps_name_and_address(autojump_clock: MockClock) -> None:
    async with supervising(child("a")) as root:
        for spec in (child("b"), child("a", address="c")):
            with pytest.raises(ValueError, match="keeps the name and the address"):
                await root.restart_child("a", spec=spec)
        with pytest.raises(UnknownChild):
            await root.restart_child("b")


async def test_a_failed_revival_of_a_stopped_child_counts(autojump_clock: MockClock) -> None:
    lives = 0

    async def run(inbox: Inbox, status: Status) -> None:
        nonlocal lives
        lives += 1
        await (echo if lives == 1 else broken)(inbox, status)

    async with supervising(child("a", run, exhausted=QUARANTINE)) as root:
        await root.stop_child("a")
        with pytest.raises(StartFailed):
            await root.revive("a")
        await until(root, "a", CellState.QUARANTINED)
        assert root.cell("a").generation == 7
