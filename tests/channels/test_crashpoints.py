"""Crash points: free in production, exact under a hook; those of the durable wires are survived."""

from __future__ import annotations

import os
import random
import select
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import trio

from channels import crashpoints
from channels.crashpoints import all_crash_points, crash_point, declare_crash_points, set_crash_hook
from supervisor.testkit.crashes import Crash, armed, kill_now, recorded
from tests.channels.wires import (
    LIMIT,
    ROOM,
    Story,
    check_said_once,
    every_slot,
    open_wires,
    recover,
    settle,
)

POINTS = (
    "database.before_commit",
    "database.after_commit",
    "inbox.before_admit",
    "inbox.in_admit",
    "inbox.after_admit",
    "inbox.in_decide",
    "inbox.after_decide",
    "slot.before_answer",
    "slot.in_answer",
    "slot.after_answer",
    "outbox.before_mark",
    "outbox.after_mark",
    "local.before_append",
    "local.after_append",
)


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(crashpoints, "_declared", {})
    previous = set_crash_hook(None)
    yield
    set_crash_hook(previous)


def test_without_a_hook_any_name_passes(fresh: None) -> None:
    crash_point("nobody.declared_this")


def test_names_are_kept_once_and_in_order(fresh: None) -> None:
    declare_crash_points("a.one", "a.two")
    declare_crash_points("b.one", "a.one")
    assert all_crash_points() == ("a.one", "a.two", "b.one")


def test_a_hook_sees_each_pass_and_refuses_unknown_names(fresh: None) -> None:
    passed: list[str] = []
    declare_crash_points("a.one")
    assert set_crash_hook(passed.append) is None
    crash_point("a.one")
    with pytest.raises(KeyError, match="never declared"):
        crash_point("a.typo")
    assert set_crash_hook(None) == passed.append
    assert passed == ["a.one"]


def test_the_story_passes_every_point_of_the_durable_wires(counts: Counter[str]) -> None:
    assert [point for point in POINTS if not counts[point]] == []


@pytest.mark.promise("P1")
@pytest.mark.parametrize("point", POINTS)
def test_a_raise_at_a_point_neither_loses_nor_doubles(
    folder: Path, point: str, counts: Counter[str]
) -> None:
    for nth in {1, counts[point]}:
        story = Story(folder / f"{nth}.db")
        with armed(point, nth=nth), pytest.raises(Crash):
            trio.run(story.tell)
        trio.run(story.tell)
        trio.run(story.check)


@pytest.mark.promise("P1")
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_any_pass_of_a_point_neither_loses_nor_doubles(
    folder: Path, point: str, counts: Counter[str]
) -> None:
    for nth in range(1, counts[point] + 1):
        story = Story(folder / f"{nth}.db")
        assert killed(story, point, nth)
        trio.run(story.tell)
        trio.run(story.check)


LIVE = """
import sys, trio
from pathlib import Path
from tests.channels.wires import live
trio.run(live, Path(sys.argv[1]), lambda number: print(number, flush=True))
"""


@pytest.mark.promise("P1", "P3")
@pytest.mark.sweep
def test_real_kills_at_random_instants_neither_lose_nor_double(
    tmp_path: Path,
    seed: int,
    size: Callable[[int, int], int],
    figures: Callable[..., None],
) -> None:
    path, dice, kills = tmp_path / "state.db", random.Random(seed), size(10, 100)
    for _ in range(kills):
        kill_after(path, lines=dice.randint(1, 12), more_seconds=dice.random() * 0.02)
        trio.run(check_said, path)
    messages = trio.run(check_all_answered, path)
    figures(kills=kills, messages=messages)


def kill_after(path: Path, *, lines: int, more_seconds: float) -> None:
    """Let a process live until so many messages were said and a moment more, then kill -9 it."""
    with subprocess.Popen([sys.executable, "-c", LIVE, path], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        try:
            for _ in range(lines):
                assert child.stdout.readline()
            select.select([child.stdout], [], [], more_seconds)
        finally:
            child.kill()


async def check_said(path: Path) -> None:
    async with open_wires(path) as wires:
        await check_said_once(wires)


async def check_all_answered(path: Path) -> int:
    """Let the story end well; count the messages of people, each with exactly its answers."""
    async with open_wires(path) as wires:
        await recover(wires)
        await settle(wires)
        await check_said_once(wires)
        slots = await every_slot(wires)
        assert {slot.state for slot in slots} == {"answered", "declined"}
        said = await wires.rooms.history(ROOM, 100_000)
        people = [event.event_id for event in said if event.sender == "@ana"]
        answers = Counter(slot.chain for slot in slots if slot.state == "answered")
        assert answers == dict.fromkeys(people, LIMIT)
        assert len(said) == len(people) * (1 + 2 * LIMIT)
        return len(people)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: killing a process, unlike the power, needs no disk."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        yield Path(name)


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    """How often an uncut story passes each point."""
    with recorded() as log:
        trio.run(Story(tmp_path_factory.mktemp("count") / "state.db").tell)
    return log.passes


def killed(story: Story, point: str, nth: int) -> bool:
    """Tell the story in a forked child that dies at the point; True if it did."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # idle threads at the fork (3.12)
        pid = os.fork()
    if pid == 0:
        try:
            with armed(point, nth=nth, act=kill_now):
                trio.run(story.tell)
        finally:
            os._exit(0)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])
