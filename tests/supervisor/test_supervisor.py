"""A supervisor as a whole: order of start and stop, limits, strategies, quarantine, nesting."""

from __future__ import annotations

import math
from contextvars import ContextVar
from itertools import pairwise

import pytest
import trio
import trio.testing
from pytest import RaisesGroup
from structlog.testing import capture_logs
from trio.testing import MockClock

from channels.bus import Bus
from channels.errors import Stopped
from channels.mailbox import Inbox
from channels.messages import CellState, StopReason
from supervisor.cell import CellInfo
from supervisor.errors import (
    ChildExists,
    IntensityExceeded,
    NotSupervising,
    StartFailed,
    UnknownChild,
)
from supervisor.policy import Backoff, Exhausted, Intensity, Restart, Strategy
from supervisor.spec import ChildSpec
from supervisor.supervisor import Supervisor
from tests.supervisor.kit import (
    STEADY,
    Diary,
    Run,
    Status,
    broken,
    changes,
    child,
    deaf,
    echo,
    made_of,
    seen,
    states,
    stuck,
    supervising,
    until,
)

QUARANTINE = Exhausted.QUARANTINE


def slow(seconds: float) -> Run:
    async def run(inbox: Inbox, status: Status) -> None:
        await trio.sleep(seconds)
        await echo(inbox, status)

    return run


async def test_children_start_in_order_each_ready_before_the_next(
    autojump_clock: MockClock,
) -> None:
    ready: list[tuple[str, float]] = []

    def ready_after(name: str, seconds: float) -> ChildSpec:
        async def run(inbox: Inbox, status: Status) -> None:
            await trio.sleep(seconds)
            ready.append((name, trio.current_time() - begun))
            await echo(inbox, status)

        return child(name, run)

    begun = trio.current_time()
    async with supervising(*(ready_after(name, 2.0) for name in "abc")):
        assert ready == [("a", 2.0), ("b", 4.0), ("c", 6.0)]


async def test_infrastructure_is_waited_for_over_several_attempts(
    autojump_clock: MockClock,
) -> None:
    attempts = 0

    async def third_time(inbox: Inbox, status: Status) -> None:
        nonlocal attempts
        attempts += 1
        if attempts < 3:
            raise OSError("not yet")
        await echo(inbox, status)

    async with supervising(child("a", third_time, backoff=STEADY), child("b")) as root:
        assert states(root) == {"a": "running", "b": "running"}
        assert root.cell("a").generation == 3
        assert trio.current_time() == pytest.approx(2.0)


@pytest.mark.promise("P4")
async def test_a_child_that_cannot_start_and_may_be_quarantined_holds_nobody_up(
    autojump_clock: MockClock,
) -> None:
    bad = child("a", stuck, start_timeout=3.0, backoff=STEADY, exhausted=QUARANTINE)
    async with supervising(bad, child("b")) as root:
        assert trio.current_time() == pytest.approx(3.0)
        assert states(root) == {"a": "backoff", "b": "running"}
        await until(root, "a", CellState.QUARANTINED)
        assert root.cell("b").generation == 1


async def test_infrastructure_that_cannot_start_ends_the_supervisor(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    root = Supervisor("root", [diary.child("a"), child("b", broken), diary.child("c")], bus=Bus())
    with pytest.raises(IntensityExceeded, match=r"root/b .* RuntimeError: cannot start"):
        await root.run()
    assert diary.lines == ["a starts", "a ends"]
    assert root.bus.names() == ()


async def test_a_supervisor_is_ready_when_its_children_are(autojump_clock: MockClock) -> None:
    async with trio.open_nursery() as nursery:
        root = Supervisor("root", [child("a", slow(3.0))], bus=Bus())
        assert root.tree().state is CellState.STARTING
        await nursery.start(root.run)
        assert trio.current_time() == 3.0
        assert root.tree().state is CellState.RUNNING
        root.shutdown()
    assert root.tree().state is CellState.STOPPED


async def test_a_stop_during_the_start_ends_it(autojump_clock: MockClock) -> None:
    root = Supervisor("root", [child("a"), child("b", stuck), child("c")], bus=Bus())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(root.run)
        await trio.sleep(1)
        root.shutdown()
    assert trio.current_time() == 1.0
    assert states(root) == {"a": "stopped", "b": "stopped"}


async def test_children_stop_in_reverse_order_each_gone_before_the_next(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with supervising(*(diary.child(name, leave=1.0) for name in "abc")):
        diary.lines.clear()
    assert diary.lines == ["c ends", "b ends", "a ends"]
    assert trio.current_time() == pytest.approx(3.0)


async def test_grace_passes_between_drain_and_cancel_and_the_reason_arrives(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    async with supervising(diary.child("a", leave=3.0, grace=2.0)) as root:
        await root.stop_child("a", StopReason.STOPPED)
        assert trio.current_time() == pytest.approx(2.0)
    assert diary.lines == ["a starts", "a cancelled: stopped"]


async def test_the_total_deadline_cancels_all_that_is_left_at_once(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    specs = [diary.child(name, leave=60.0, grace=60.0) for name in "abc"]
    async with supervising(*specs, stop_timeout=1.5):
        diary.lines.clear()
    assert trio.current_time() == pytest.approx(1.5)
    assert sorted(diary.lines) == [f"{name} cancelled: shutdown" for name in "abc"]


@pytest.mark.promise("P7")
@pytest.mark.parametrize(("grace", "total"), [(1.5, 9.0), (60.0, 1.5), (1.5, 2.0)])
async def test_a_child_that_resists_cancel_is_waited_for_and_named_with_its_stack(
    autojump_clock: MockClock, grace: float, total: float
) -> None:
    async def stubborn_cleanup() -> None:
        with trio.CancelScope(shield=True):
            await trio.sleep(10)

    async def run(inbox: Inbox, status: Status) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stubborn_cleanup)
            await echo(inbox, status)

    with capture_logs() as logs:
        async with supervising(child("a", run, grace=grace), stop_timeout=total):
            pass
    assert trio.current_time() == pytest.approx(10.0)
    told = [entry for entry in logs if entry["event"] == "child_resists_cancel"]
    assert {entry["child"] for entry in told} == {"root/a"}
    assert [entry["waited"] for entry in told] == pytest.approx([1.0, 2.0, 4.0, 8.0])
    assert "stubborn_cleanup" in told[0]["stack"]


async def test_nothing_starts_any_more_once_the_stop_has_begun(autojump_clock: MockClock) -> None:
    diary = Diary()
    specs = [diary.child(name, backoff=STEADY) for name in "abc"]
    async with supervising(*specs, child("z", deaf, grace=3.0)) as root:
        await root.bus.tell("a", "crash")
        await trio.testing.wait_all_tasks_blocked()
        root.shutdown()
        await trio.sleep(0.5)
        await root.bus.tell("b", "crash")
        diary.lines.clear()
    assert diary.lines == ["c ends"]
    assert set(states(root).values()) == {"stopped"}


async def test_a_cancel_from_outside_takes_everything_down_without_grace(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    root = Supervisor("root", [diary.child(name, leave=60.0) for name in "ab"], bus=Bus())
    async with trio.open_nursery() as nursery:
        await nursery.start(root.run)
        nursery.cancel_scope.cancel(reason="the test")
    assert trio.current_time() == 0.0
    assert sorted(diary.lines[2:]) == ["a cancelled: the test", "b cancelled: the test"]
    assert root.bus.names() == ()


async def test_a_stopped_child_is_unreachable_until_revived(autojump_clock: MockClock) -> None:
    async with supervising(child("a"), child("b")) as root:
        await root.stop_child("a")
        assert states(root) == {"a": "stopped", "b": "running"}
        with pytest.raises(Stopped):
            await root.bus.ask("a", 1, timeout=1)
        await root.stop_child("a")
        assert await root.revive("a") == 2
        assert await root.bus.ask("a", 1, timeout=1) == 1


async def test_queued_asks_fail_on_the_final_stop(autojump_clock: MockClock) -> None:
    async def ask() -> None:
        with pytest.raises(Stopped):
            await root.bus.ask("a", 1, timeout=math.inf)

    async with supervising(child("a", deaf, grace=0.0)) as root, trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        await root.remove_child("a")
        assert states(root) == {}
        with pytest.raises(UnknownChild):
            root.cell("a")


async def test_restarts_wait_longer_and_longer(autojump_clock: MockClock) -> None:
    starts: list[float] = []

    async def run(inbox: Inbox, status: Status) -> None:
        starts.append(trio.current_time())
        if len(starts) == 6:
            await echo(inbox, status)
        raise OSError("down")

    async with supervising(child("a", run, backoff=Backoff(0.5, 2.0, 3.0, 0.0))):
        pass
    pauses = [later - earlier for earlier, later in pairwise(starts)]
    assert pauses == pytest.approx([0.5, 1.0, 2.0, 3.0, 3.0])


async def test_a_child_out_of_restarts_escalates_after_an_orderly_stop(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    root = Supervisor(
        "root",
        [diary.child("a", leave=1.0), child("b", intensity=Intensity(1, 60.0)), diary.child("c")],
        bus=Bus(),
    )

    with RaisesGroup(pytest.RaisesExc(IntensityExceeded, match=r"root/b .*ValueError: boom")):
        async with trio.open_nursery() as nursery:
            await nursery.start(root.run)
            await root.bus.tell("b", "crash")
            await root.bus.tell("b", "crash")
    assert diary.lines == ["a starts", "c starts", "c ends", "a ends"]
    assert states(root) == {"a": "stopped", "b": "failed", "c": "stopped"}
    assert root.bus.names() == ()


@pytest.mark.promise("P4", "P7")
async def test_a_quarantined_child_stays_down_the_others_live_and_it_can_be_revived(
    autojump_clock: MockClock,
) -> None:
    healthy = False

    async def run(inbox: Inbox, status: Status) -> None:
        await (echo if healthy else broken)(inbox, status)

    with capture_logs() as logs:
        async with supervising(child("a", run, exhausted=QUARANTINE), child("b")) as root:
            with changes(root.bus) as told:
                await until(root, "a", CellState.QUARANTINED)
                assert seen(told)[-1] == "root/a quarantined"
            assert root.cell("a").generation == 6
            assert len(root.cell("a").crashes) == 6
            assert root.cell("b").generation == 1
            with pytest.raises(Stopped, match="cannot start"):
                root.bus.tell_nowait("a", 1)
            healthy = True
            assert await root.revive("a") == 7
            assert root.cell("a").crashes == ()
            assert await root.bus.ask("a", 1, timeout=1) == 1
    assert "child_quarantined" in [entry["event"] for entry in logs]


async def test_a_revival_that_fails_says_so_and_the_policy_starts_afresh(
    autojump_clock: MockClock,
) -> None:
    spec = child("a", broken, exhausted=QUARANTINE, intensity=Intensity(1, 60.0), backoff=STEADY)
    async with supervising(spec) as root:
        await until(root, "a", CellState.QUARANTINED)
        with pytest.raises(StartFailed, match="cannot start"):
            await root.revive("a")
        assert states(root) == {"a": "backoff"}
        await until(root, "a", CellState.QUARANTINED)
        assert root.cell("a").generation == 4


async def test_reviving_a_running_child_changes_nothing() -> None:
    async with supervising(child("a")) as root:
        assert await root.revive("a") == 1


async def test_a_crash_loop_without_waiting_does_not_starve_others(
    autojump_clock: MockClock,
) -> None:
    async def run(inbox: Inbox, status: Status) -> None:
        status.started()
        raise ValueError("at once")

    forever = Intensity(10**9, 1e-6)
    async with supervising(child("a"), child("b", run, intensity=forever)) as root:
        assert await root.bus.ask("a", 1, timeout=1) == 1
        assert root.cell("b").restarts > 0


@pytest.mark.parametrize(
    ("strategy", "lines"),
    [
        (Strategy.ONE_FOR_ONE, ["b starts"]),
        (Strategy.ONE_FOR_ALL, ["c ends", "a ends", "a starts", "b starts", "c starts"]),
        (Strategy.REST_FOR_ONE, ["c ends", "b starts", "c starts"]),
    ],
)
async def test_a_strategy_restarts_its_group_in_order(
    autojump_clock: MockClock, strategy: Strategy, lines: list[str]
) -> None:
    diary = Diary()
    specs = [diary.child(name, backoff=STEADY) for name in "abc"]
    async with supervising(*specs, strategy=strategy) as root:
        diary.lines.clear()
        await root.bus.tell("b", "crash")
        await trio.sleep(10)
        assert diary.lines == lines
        assert set(states(root).values()) == {"running"}
        assert [root.cell(name).restarts for name in "abc"] == [0, 1, 0]


async def test_failures_during_a_group_restart_are_counted_and_join_it(
    autojump_clock: MockClock,
) -> None:
    lives = 0

    async def run(inbox: Inbox, status: Status) -> None:
        nonlocal lives
        lives += 1
        await (broken if lives in (2, 3) else echo)(inbox, status)

    diary = Diary()
    specs = [diary.child("a", backoff=STEADY), child("b", run, backoff=STEADY), diary.child("c")]
    async with supervising(*specs, strategy=Strategy.ONE_FOR_ALL) as root:
        await root.bus.tell("a", "crash")
        await trio.sleep(20)
        assert set(states(root).values()) == {"running"}
        assert [root.cell(name).restarts for name in "abc"] == [1, 2, 0]
        assert diary.lines.count("c starts") == 2
        assert diary.lines.count("a starts") == 4


async def test_an_earlier_sibling_that_fails_during_the_pause_widens_the_group(
    autojump_clock: MockClock,
) -> None:
    diary = Diary()
    specs = [diary.child(name, backoff=STEADY) for name in "abc"]
    async with supervising(*specs, strategy=Strategy.REST_FOR_ONE) as root:
        diary.lines.clear()
        await root.bus.tell("c", "crash")
        await trio.sleep(0.5)
        await root.bus.tell("a", "crash")
        await trio.sleep(10)
        assert diary.lines == ["b ends", "a starts", "b starts", "c starts"]


async def test_a_group_whose_member_cannot_start_escalates(autojump_clock: MockClock) -> None:
    lives = 0

    async def run(inbox: Inbox, status: Status) -> None:
        nonlocal lives
        lives += 1
        await (echo if lives == 1 else broken)(inbox, status)

    root = Supervisor(
        "root", [child("a"), child("b", run)], bus=Bus(), strategy=Strategy.ONE_FOR_ALL
    )
    with RaisesGroup(IntensityExceeded):
        async with trio.open_nursery() as nursery:
            await nursery.start(root.run)
            await root.bus.tell("a", "crash")
    assert root.bus.names() == ()


async def test_a_person_overrules_a_group_restart(autojump_clock: MockClock) -> None:
    specs = [child(name, backoff=STEADY) for name in "abc"]
    async with supervising(*specs, strategy=Strategy.ONE_FOR_ALL) as root:
        await root.bus.tell("a", "crash")
        await trio.sleep(0.5)
        assert set(states(root).values()) == {"backoff"}
        await root.stop_child("b")
        assert await root.restart_child("c") == 2
        await trio.sleep(10)
        assert states(root) == {"a": "running", "b": "stopped", "c": "running"}
        assert root.cell("c").generation == 2


async def test_a_supervisor_stops_in_the_middle_of_a_group_restart(
    autojump_clock: MockClock,
) -> None:
    specs = [child(name, backoff=STEADY) for name in "abc"]
    async with supervising(*specs, strategy=Strategy.ONE_FOR_ALL) as root:
        await root.bus.tell("a", "crash")
        await trio.sleep(0.5)
    assert trio.current_time() == 0.5
    assert set(states(root).values()) == {"stopped"}


async def test_children_come_and_go(autojump_clock: MockClock) -> None:
    diary = Diary()
    async with supervising(diary.child("a")) as root:
        assert await root.start_child(diary.child("b")) == 1
        with pytest.raises(ChildExists):
            await root.start_child(diary.child("b"))
        await root.remove_child("a")
        assert list(states(root)) == ["b"]
        await root.start_child(diary.child("a"))
        diary.lines.clear()
    assert diary.lines == ["a ends", "b ends"]


async def test_a_new_child_that_cannot_start_stays_under_its_policy(
    autojump_clock: MockClock,
) -> None:
    async with supervising() as root:
        with pytest.raises(StartFailed, match="cannot start"):
            await root.start_child(child("a", broken, exhausted=QUARANTINE, backoff=STEADY))
        assert states(root) == {"a": "backoff"}
        await until(root, "a", CellState.QUARANTINED)


async def test_nothing_can_be_asked_of_a_supervisor_that_does_not_run() -> None:
    root = Supervisor("root", [child("a")], bus=Bus())
    with pytest.raises(NotSupervising):
        await root.start_child(child("b"))
    with pytest.raises(NotSupervising):
        await root.restart_child("a")
    root.shutdown()
    await root.run()
    for call in (root.revive, root.stop_child, root.remove_child):
        with pytest.raises(NotSupervising):
            await call("a")
    with pytest.raises(RuntimeError, match="runs once"):
        await root.run()


async def test_supervisors_nest_and_one_tree_shows_them_all(autojump_clock: MockClock) -> None:
    bus = Bus()

    def agent(name: str) -> ChildSpec:
        inner = [child("connection", address=f"{name}/connection"), child("loop", address=name)]
        return ChildSpec(name, lambda: Supervisor(name, inner, bus=bus))

    agents = ChildSpec("agents", lambda: Supervisor("agents", [agent("x"), agent("y")], bus=bus))
    async with supervising(agents, bus=bus) as root:
        with changes(bus) as told:
            middle = root.actor("agents")
            assert isinstance(middle, Supervisor)
            inner = middle.actor("x")
            assert isinstance(inner, Supervisor)
            assert await inner.restart_child("loop") == 2
            assert seen(told)[-1] == "root/agents/x/loop running"
        assert _paths(root.tree()) == {
            "root": "running",
            "root/agents": "running",
            "root/agents/x": "running",
            "root/agents/x/connection": "running",
            "root/agents/x/loop": "running",
            "root/agents/y": "running",
            "root/agents/y/connection": "running",
            "root/agents/y/loop": "running",
        }
        assert bus.names() == ("x/connection", "x", "y/connection", "y")


async def test_an_inner_supervisor_that_gives_up_is_a_crash_of_the_outer_one(
    autojump_clock: MockClock,
) -> None:
    bus = Bus()
    inner = [child("loop", broken), child("other")]
    agent = ChildSpec(
        "x",
        lambda: Supervisor("x", inner, bus=bus),
        intensity=Intensity(1, 60.0),
        exhausted=QUARANTINE,
    )
    async with supervising(agent, child("b"), bus=bus) as root:
        await until(root, "x", CellState.QUARANTINED)
        assert len(root.cell("x").crashes) == 2
        assert "root/x/loop has spent its restarts" in root.cell("x").crashes[0].text
        assert root.cell("b").generation == 1


async def test_a_nested_stop_is_orderly_too(autojump_clock: MockClock) -> None:
    bus, diary = Bus(), Diary()
    inner = [diary.child("x1", leave=0.2), diary.child("x2", leave=0.2)]
    nested = ChildSpec("x", lambda: Supervisor("x", inner, bus=bus))
    async with supervising(diary.child("a"), nested, diary.child("z"), bus=bus):
        diary.lines.clear()
    assert diary.lines == ["z ends", "x2 ends", "x1 ends", "a ends"]


async def test_a_child_does_not_inherit_the_context_of_who_asked(
    autojump_clock: MockClock,
) -> None:
    mark: ContextVar[str] = ContextVar("mark", default="none")
    found: list[str] = []

    async def run(inbox: Inbox, status: Status) -> None:
        found.append(mark.get())
        await echo(inbox, status)

    async with supervising() as root:
        mark.set("a turn of somebody")
        await root.start_child(child("a", run))
    assert found == ["none"]


def test_specs_that_cannot_work_are_refused() -> None:
    with pytest.raises(ValueError, match="two children"):
        Supervisor("root", [child("a"), child("a")], bus=Bus())
    for strategy in (Strategy.ONE_FOR_ALL, Strategy.REST_FOR_ONE):
        with pytest.raises(ValueError, match="quarantine"):
            Supervisor("root", [child("a", exhausted=QUARANTINE)], bus=Bus(), strategy=strategy)
    with pytest.raises(ValueError, match="stop_timeout"):
        Supervisor("root", bus=Bus(), stop_timeout=-1)


@pytest.mark.parametrize(
    "options",
    [
        {"name": ""},
        {"name": "a/b"},
        {"start_timeout": 0.0},
        {"start_timeout": math.inf},
        {"start_timeout": math.nan},
        {"grace": -1.0},
        {"grace": math.inf},
        {"intensity": Intensity(20, 60.0)},
    ],
)
def test_a_child_spec_checks_its_figures(options: dict[str, object]) -> None:
    chosen: dict[str, object] = {"name": "a", "factory": made_of(echo)} | options
    with pytest.raises(ValueError, match=r"name|start_timeout|grace|backoff"):
        ChildSpec(**chosen)  # type: ignore[arg-type]


def test_a_temporary_child_may_be_of_any_strategy() -> None:
    Supervisor(
        "root",
        [child("a", restart=Restart.TEMPORARY)],
        bus=Bus(),
        strategy=Strategy.ONE_FOR_ALL,
    )


def _paths(info: CellInfo) -> dict[str, str]:
    found = {info.path: info.state.value}
    for inner in info.children:
        found |= _paths(inner)
    return found
