"""A supervisor under a flood of bus events, a process of its own (`python -m benchmarks.flooded`).

It serves a workspace with both its doors, like the real one. Beside it run the flood and people who
ask an agent. Each line on standard input is a number of answers: it asks for so many, one
after the other, and prints one line of JSON about the round. At the end of the input it stops.
"""

from __future__ import annotations

import itertools
import json
import logging
import sys
import time
from pathlib import Path

import attrs
import structlog
import trio

from benchmarks.load import Source
from channels.bus import Bus
from channels.clock import SystemClock
from channels.messages import CellChanged, CellState
from channels.rooms import RoomEvent, text_content
from config.workspace import Workspace
from supervisor.cell import TOPIC
from supervisor.launcher import Household
from supervisor.plan import read_workspace
from supervisor.services import furnish, open_services

ROOM, FLOODED_ROOM, AGENT = "#taller", "#vereda", "devops"
QUESTION = f"{AGENT}, ¿qué hora es?"
EACH_ASKS = 15  # whoever alternates with an agent 20 times in a row is taken for a bot
PAUSE_SECONDS = 0.05  # between an answer and the next question
ANSWER_SECONDS = 30.0
LIVELY = tuple(f"root/agents/{agent}/connection" for agent in ("asistente", AGENT))


@attrs.frozen
class Round:
    """What one round saw: each answer's milliseconds, and meanwhile the flood and our own work."""

    answers_ms: tuple[float, ...]
    seconds: float
    cpu_seconds: float
    published: int


async def serve(folder: Path, rate: float) -> None:
    """Run the workspace under `rate` events a second until the input ends."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    workspace = Workspace(folder)
    plan = read_workspace(workspace)
    config = plan.supervisor.value
    async with open_services(workspace, config, clock=SystemClock()) as services:
        await furnish(services, config.rooms)
        household = Household.build(services, plan)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(household.root.run)
            await household.until_ready()
            source = Source(rate, lambda number: _publish(services.bus, number))
            nursery.start_soon(source.run)
            _tell({"url": workspace.web_url.read_text().strip()})
            async for line in trio.wrap_file(sys.stdin):
                _tell(attrs.asdict(await _round(household, source, int(line))))
            household.root.shutdown()
            nursery.cancel_scope.deadline = trio.current_time() + 5


def _publish(bus: Bus, number: int) -> None:
    """Publish one event of the flood: in turns a message in another room, and a changed cell."""
    if number % 2:
        path = LIVELY[number // 2 % len(LIVELY)]
        bus.publish(TOPIC, CellChanged(path, CellState.RUNNING, number, "bench"))
    else:
        text = text_content(f"aviso {number}: todo sigue su curso en el patio")
        event = RoomEvent(f"$bench-{number}", FLOODED_ROOM, "@bench", SystemClock().now(), text)
        bus.publish(f"rooms/{FLOODED_ROOM}", event)


async def _round(household: Household, source: Source, answers: int) -> Round:
    took: list[float] = []
    begun, worked, before = trio.current_time(), time.process_time(), source.sent
    for _ in range(answers):
        took.append(1000 * await _ask(household))
        await trio.sleep(PAUSE_SECONDS)
    seconds, cpu = trio.current_time() - begun, time.process_time() - worked
    return Round(tuple(took), seconds, cpu, source.sent - before)


_asked = itertools.count()


async def _ask(household: Household) -> float:
    """Return the seconds from a person's question to the agent's answer in the room."""
    services = household.services
    with services.bus.subscribe(f"rooms/{ROOM}") as events, trio.fail_after(ANSWER_SECONDS):
        begun = trio.current_time()
        await services.rooms.post(ROOM, f"vecina{next(_asked) // EACH_ASKS}", QUESTION)
        async for event in events:
            if event.sender == AGENT:
                break
        return trio.current_time() - begun


def _tell(value: object) -> None:
    print(json.dumps(value), flush=True)


if __name__ == "__main__":
    trio.run(serve, Path(sys.argv[1]), float(sys.argv[2]))
