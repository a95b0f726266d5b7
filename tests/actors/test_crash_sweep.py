"""Everything dies at any crash point; after a new start each message has its one end (P1, P9)."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import attrs
import pytest
import trio
from trio.testing import MockClock

from actors.llm.protocol import ModelError, ModelRequest, ToolCall
from channels.crashpoints import all_crash_points, set_crash_hook
from channels.messages import Task
from supervisor.testkit.crashes import Crash
from tests.actors.house import ROOM, Answer, Effects, House, a_house, results, said

OWN = ("turn.", "tool.", "agent.", "task.", "connection.", "orchestrator.")
SHARED = ("inbox.", "slot.", "outbox.", "local.", "database.")

# What each person's message must come to: how many answers, and how many tool calls with an effect.
MESSAGES = {"haz una cosa": 1, "@bob haz otra": 1, "rompe": 0, "hola": 1}


async def script(request: ModelRequest) -> Answer:
    text, done = said(request), results(request)
    await trio.sleep(0.5)
    if "rompe" in text:
        return ModelError("protocol", "broken")
    if "haz" in text and len(done) < 2:
        return ToolCall(f"c{len(done)}", ("once", "again")[len(done)], "{}")
    return f"hecho: {text}"


@attrs.define
class World:
    """What outlives a process: the file, and the effects on the outside."""

    path: Path
    once: Effects = attrs.field(factory=Effects)
    again: Effects = attrs.field(factory=Effects)

    def live(self, strike: Callable[[str], None] | None, seconds: float = 60.0) -> bool:
        """One process: start on the file, say what was not said yet, run on; `strike` may end it.

        Returns whether it lived to the end.
        """
        with striking(strike):
            trio.run(self._process, seconds, clock=MockClock(autojump_threshold=0))
            return True
        return False

    async def _process(self, seconds: float) -> None:
        tools = [self.once.tool("once"), self.again.tool("again", idempotent=True)]
        scripts = {"ada": script, "bob": script}
        async with a_house(self.path, scripts=scripts, tools=tools) as house:
            house.nursery.start_soon(self._ask, house)
            for number, text in enumerate(MESSAGES):
                await house.say(text, txn_id=f"m{number}")
                await trio.sleep(0.3)
            await house.settled(seconds)

    async def _ask(self, house: House) -> None:
        task = Task("t1", "haz un encargo", "test", room=ROOM)
        await house.bus.ask("bob", task, timeout=50.0, lane="t1")

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        with sqlite3.connect(self.path / "state.db") as db:
            return db.execute(sql).fetchall()


@contextmanager
def striking(strike: Callable[[str], None] | None) -> Iterator[None]:
    previous = set_crash_hook(strike)
    try:
        yield
    except BaseException as error:
        if strike is None or not only_crash(error):
            raise
    finally:
        set_crash_hook(previous)


def only_crash(error: BaseException) -> bool:
    """Whether the process died of our strike (cancels beside it are how Trio unwinds)."""
    if isinstance(error, BaseExceptionGroup):
        return any(only_crash(part) for part in error.exceptions)
    return isinstance(error, Crash)


def death_at(point: str, nth: int) -> Callable[[str], None]:
    """Die at the nth pass; every later step dies too, so that no cleanup helps, as in SIGKILL."""
    passes: Counter[str] = Counter()
    dead = False

    def strike(name: str) -> None:
        nonlocal dead
        passes[name] += 1
        dead = dead or (name == point and passes[name] == nth)
        if dead:
            raise Crash(name)

    return strike


def passes_of_a_quiet_life(path: Path) -> Counter[str]:
    passes: Counter[str] = Counter()
    path.mkdir()

    def count(name: str) -> None:
        passes[name] += 1

    World(path).live(count)
    return passes


def check(world: World) -> None:
    unended = "SELECT id, event_id, state FROM slots WHERE state IN ('open', 'dispatched')"
    assert world.rows(unended) == []
    said_by_people = (
        "SELECT content ->> 'body' FROM room_events WHERE sender = '@ana' AND kind = 'message'"
    )
    assert sorted(str(row[0]) for row in world.rows(said_by_people)) == sorted(MESSAGES)
    answers = Counter(
        str(row[0])
        for row in world.rows(
            "SELECT content ->> 'body' FROM room_events WHERE sender IN ('ada', 'bob')"
            " AND kind = 'message'"
        )
    )
    for text, expected in MESSAGES.items():
        assert answers[f"hecho: {text}"] == expected, answers
    assert sum(answers.values()) == sum(MESSAGES.values()), answers
    notices = "SELECT count(*) FROM room_events WHERE kind = 'notice'"
    assert world.rows(notices) == [(1,)]  # the room is told of `rompe` once
    assert world.rows("SELECT count(*) FROM outbox WHERE state != 'sent'") == [(0,)]
    check_effects(world)


def check_effects(world: World) -> None:
    """What is not repeatable ran at most once per call; what is ran, under one key per call."""
    assert max(Counter(world.once.calls).values(), default=0) <= 1
    keys = set(world.again.calls)
    assert len(keys) <= 3 and all(key.endswith(":1") for key in keys)
    turns = {key.rpartition(":")[0] for key in keys}
    assert len(turns) >= 2  # both messages' turns went on to the second call


Size = Callable[[int, int], int]


def chosen_passes(total: int, most: int) -> list[int]:
    """The first pass and the last, and evenly between, at most so many."""
    if total <= most:
        return list(range(1, total + 1))
    return sorted({1 + round(step * (total - 1) / (most - 1)) for step in range(most)})


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Counter[str]:
    return passes_of_a_quiet_life(tmp_path_factory.mktemp("quiet") / "life")


def test_the_scenario_passes_every_crash_point_of_a_turn(quiet: Counter[str]) -> None:
    missed = [name for name in all_crash_points() if name.startswith(OWN) and not quiet[name]]
    # Releases are the business of a start after a crash: see the test of two crashes.
    assert missed == ["orchestrator.before_release", "orchestrator.after_release"]


POINTS = [name for name in all_crash_points() if name.startswith(OWN + SHARED)]


@pytest.mark.promise("P1", "P9")
@pytest.mark.parametrize("point", POINTS)
def test_a_crash_there_loses_nothing_and_doubles_nothing(
    point: str, quiet: Counter[str], tmp_path: Path, size: Size
) -> None:
    for nth in chosen_passes(quiet[point], size(2, 50)):
        path = tmp_path / str(nth)
        path.mkdir()
        world = World(path)
        assert not world.live(death_at(point, nth))
        assert world.live(None)
        check(world)


@pytest.mark.promise("P1", "P9")
@pytest.mark.parametrize("point", [name for name in POINTS if name.startswith(OWN)])
def test_a_second_crash_during_recovery_changes_nothing(point: str, tmp_path: Path) -> None:
    world = World(tmp_path)
    world.live(death_at("turn.before_model", 3))
    world.live(death_at(point, 1))
    world.live(None)
    check(world)
