"""A reload in the middle of a long model call, under many task orders: only that agent notices."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio

from channels.messages import Reload
from config.workspace import Workspace
from supervisor.desk.office import ReloadReport
from supervisor.testkit.house import TestHouse, make_workspace, open_house
from supervisor.testkit.orders import sweep_orders
from supervisor.warden import ADDRESS as WARDEN
from tests.sweeps.scenario import leanly, with_tables

GRACE = 2.0
QUESTIONS = 4
HALVES = 16
"""Things begin at one of so many half seconds: often at the same instant, where order matters."""

FILES = {
    "supervisor.yaml": f"""\
timezone: Europe/Madrid
supervision: {{grace_seconds: {GRACE}}}
rooms:
  - {{id: "#taller", participants: [asistente, devops], cooldown_applies_to: bots}}
  - {{id: "#otra", participants: [devops, asistente], cooldown_applies_to: bots}}
""",
    "agents/asistente/config.yaml": """\
description: ayuda
llm: {provider: replay, script: script.yaml}
prompt: prompt.md
""",
    "agents/asistente/script.yaml": """\
- attempt: 1
  rounds: [[delay: 60, text: "Demasiado tarde."]]
- rounds: [[text: "Ya está."]]
""",
    "agents/devops/config.yaml": """\
description: servidores
llm: {provider: replay, script: script.yaml}
prompt: prompt.md
""",
    "agents/devops/script.yaml": """\
- rounds: [[delay: 0.7, text: "Aquí devops."]]
""",
}


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder, in memory where there is any: what is swept are orders, not disks."""
    memory = Path("/dev/shm")
    path = Path(tempfile.mkdtemp(prefix="vivero-sweep-", dir=memory if memory.is_dir() else None))
    yield path
    shutil.rmtree(path)


async def say(house: TestHouse, at: float, room: str, text: str) -> None:
    await trio.sleep(at)
    await house.room(room).say(text)


async def reload(house: TestHouse, at: float) -> None:
    """Ask for it as a signal does; it must be over within the grace and one second."""
    await trio.sleep(at)
    begun = trio.current_time()
    bus = house.household.services.bus
    report: ReloadReport = await bus.ask(WARDEN, Reload(("asistente",)), timeout=60)
    took = trio.current_time() - begun
    assert [(r.id, r.outcome) for r in report.results] == [("asistente", "reloaded")]
    assert took <= GRACE + 1, f"the reload took {took} s"


def generations(house: TestHouse) -> dict[str, tuple[int, int]]:
    """Agent -> how often its loop and its connection were made."""
    fleet = house.household.fleet
    return {
        member.id: tuple(
            cell.generation for name in ("loop", "connection") if (cell := member.cell(name))
        )  # type: ignore[misc]
        for member in fleet.members.values()
    }


async def one_reload(workspace: Workspace, rng: random.Random) -> None:
    tasks = trio.lowlevel.current_statistics().tasks_living
    async with open_house(workspace) as house:
        assert generations(house) == {"asistente": (1, 1), "devops": (1, 1)}
        async with trio.open_nursery() as nursery:
            nursery.start_soon(say, house, 0, "#taller", "@asistente piensa")
            nursery.start_soon(reload, house, rng.randint(1, HALVES) / 2)
            for _ in range(QUESTIONS):
                at, room = rng.randint(0, HALVES) / 2, rng.choice(("#taller", "#otra"))
                nursery.start_soon(say, house, at, room, "@devops ¿estás?")
            with trio.fail_after(60):
                assert await house.room().wait_for("asistente") == ["Ya está."]
        await answered_by_devops(house)
        assert generations(house) == {"asistente": (2, 1), "devops": (1, 1)}
        services = house.household.services
        assert await services.inbox.open_slots() == ()
        assert services.bus.dead_letters().count == 0, services.bus.dead_letters()
    nothing_left(house)
    assert trio.lowlevel.current_statistics().tasks_living == tasks


async def answered_by_devops(house: TestHouse) -> None:
    """It answers each question, and nobody says anything else from then on."""
    await trio.sleep(HALVES)
    both = ("#taller", "#otra")
    devops = [text for room in both for text in await house.room(room).said_by("devops")]
    assert devops == ["Aquí devops."] * QUESTIONS
    asistente = [text for room in both for text in await house.room(room).said_by("asistente")]
    assert asistente == ["Ya está."]


def nothing_left(house: TestHouse) -> None:
    bus = house.household.services.bus
    left = bus.statistics()
    assert not bus.names(), f"still registered: {bus.names()}"
    assert not left.subscriptions, f"still subscribed: {left.subscriptions}"
    assert not left.asks.open, f"still asked: {left.asks}"


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


PARTS = 5


@pytest.mark.sweep
@pytest.mark.promise("P1", "P4", "P5")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_reload_in_the_middle_of_a_model_call_costs_nobody_anything_in_any_order(
    part: int,
    folder: Path,
    seed: int,
    size: Callable[[int, int], int],
    figures: Callable[..., None],
) -> None:
    prepared = with_tables(make_workspace(folder / "prepared", FILES)).root
    orders, first = size(500, 5_000), seed + part * 1_000_000

    async def program(rng: random.Random) -> None:
        shutil.copytree(prepared, folder / "run")
        try:
            await one_reload(Workspace(folder / "run"), rng)
        finally:
            shutil.rmtree(folder / "run")

    with leanly():
        sweep_orders(program, seed=first, count=1)  # opens what is opened once for all
        before = descriptors()
        ran = sweep_orders(program, seed=first, count=orders // PARTS)
    assert descriptors() == before, f"seed {first}: descriptors are left open"
    figures(orders=ran, of=orders)
