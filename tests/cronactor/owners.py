"""Two scheduler processes on one store: one is paused past its lease, and goes on beside the other.

    python -m tests.cronactor.owners --seed 7 --rounds 50

Nothing keeps them apart but the ledger: the workspace's lock is not taken. Prints one line of JSON
a round: what was said and claimed, and what is wrong with it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import structlog
import trio

from channels.clock import SystemClock
from channels.crashpoints import set_crash_hook
from channels.database_errors import DatabaseLocked
from channels.messages import TaskResult
from config.schema import ActionConfig, ScheduleConfig
from cronactor.ledger import Fenced
from cronactor.messages import AddReminder, AddSchedule
from cronactor.phrases import At
from tests.cronactor.world import ROOM, World, quick_folder

HUNG_SECONDS = 60
REMINDERS = 12
SPREAD = 0.3
ASKED = "asked.log"
UP = "up-"
POINTS = (
    "scheduler.before_claim",
    "scheduler.after_claim",
    "scheduler.before_ask",
    "scheduler.after_ask",
    "scheduler.before_send",
    "scheduler.after_send",
    "scheduler.after_record",
)


def world_of(folder: Path) -> World:
    return World(folder, clock=SystemClock(), epoch="both")  # type: ignore[arg-type]


# -- the processes ------------------------------------------------------------------------------


async def own(folder: Path, name: str, stop: tuple[str, int] | None = None) -> None:
    """Fire what is due until killed; one that was overtaken begins again, as a supervisor has it.

    `stop`: the process stops itself at that pass of that crash point.
    """
    if stop is not None:
        stop_at(*stop)
    async with world_of(folder) as world, world.agent("asistente", answering(folder)):
        while True:
            try:
                async with world.running(wake=0.05):
                    (folder / f"{UP}{name}").touch()
                    await trio.sleep_forever()
            except BaseExceptionGroup as group:
                _, other = group.split((Fenced, DatabaseLocked))
                if other is not None:
                    raise other from None


def stop_at(point: str, nth: int) -> None:
    passes = Counter[str]()

    def note(name: str) -> None:
        passes[name] += 1
        if name == point and passes[name] == nth:
            os.kill(os.getpid(), signal.SIGSTOP)

    set_crash_hook(note)


def answering(folder: Path) -> Callable[[Any], Any]:
    async def answer(message: Any) -> None:
        with (folder / ASKED).open("a") as file:
            file.write(f"{message.body.task_id}\n")
        await trio.sleep(0.05)
        message.reply(TaskResult(f"respuesta {message.body.task_id}", "asistente"))

    return answer


async def settle(folder: Path) -> None:
    """Live on until nothing is owed."""
    world = world_of(folder)
    async with world, world.agent("asistente", answering(folder)), world.running(wake=0.05):
        while await world.store.ledger.unfinished() or await world.store.listed():  # noqa: ASYNC110
            await trio.sleep(0.01)


async def fill(folder: Path) -> None:
    """Reminders that are due one after another, a fixed schedule and one that asks a model."""
    async with world_of(folder) as world, world.running():
        now = world.clock.now()
        for n in range(REMINDERS):
            at = At(now + 0.1 + SPREAD * n / REMINDERS, None, "")
            body = AddReminder("asistente", ROOM, "@ana", f"texto{n}.", at, now)
            await world.ask(body)
        for name, action in (
            ("fija", ActionConfig(kind="send_message", message="fija")),
            ("modelo", ActionConfig(kind="llm_prompt", prompt="?")),
        ):
            config = ScheduleConfig(name=name, output_room=ROOM, action=action, every="1s")
            await world.ask(AddSchedule("asistente", config))


# -- a round ------------------------------------------------------------------------------------


def forked(work: Callable[[], Any]) -> int:
    """Run a coroutine function in a child; return its process id."""
    child = os.fork()
    if child == 0:
        become(work)
    return child


def become(work: Callable[[], Any]) -> NoReturn:
    signal.alarm(HUNG_SECONDS)
    try:
        trio.run(work)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def wait_up(folder: Path, name: str) -> None:
    until = time.monotonic() + HUNG_SECONDS
    while not (folder / f"{UP}{name}").exists() and time.monotonic() < until:
        time.sleep(0.002)


def wait_stopped(child: int, seconds: float) -> None:
    """Wait until a child has stopped itself; stop it when it has not by then."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if os.waitpid(child, os.WNOHANG | os.WUNTRACED)[0]:
            return
        time.sleep(0.002)
    os.kill(child, signal.SIGSTOP)


def play(folder: Path, rng: random.Random) -> dict[str, Any]:
    """Begin with one owner, pause it somewhere, let another take over, wake the first."""
    trio.run(fill, folder)
    (folder / ASKED).touch()
    stop = (rng.choice(POINTS), rng.randint(1, 4)) if rng.random() < 0.7 else None
    first = forked(lambda: own(folder, "a", stop))
    wait_up(folder, "a")
    wait_stopped(first, rng.uniform(0, SPREAD) if stop is None else 2 * SPREAD)
    second = forked(lambda: own(folder, "b"))
    time.sleep(rng.uniform(0.05, 0.3))
    os.kill(first, signal.SIGCONT)
    time.sleep(rng.uniform(0.02, 0.2))
    if rng.random() < 0.3:
        os.kill(second, signal.SIGSTOP)
        time.sleep(rng.uniform(0.05, 0.2))
        os.kill(second, signal.SIGCONT)
        time.sleep(0.1)
    for child in (first, second):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    _, status = os.waitpid(forked(lambda: settle(folder)), 0)
    found = trio.run(judge, folder)
    if status:
        found["wrong"].append(f"settling ended with {os.waitstatus_to_exitcode(status)}")
    return found


async def judge(folder: Path) -> dict[str, Any]:
    """Count what was said: each text once, each occurrence one outcome, nothing off its time."""
    async with world_of(folder) as world:
        rows = await world.rows()
        runs = await world.store.ledger.runs(limit=10_000)
        reminders = await world.store.listed(all=True)
        owners = await world.store.ledger.begin() - 2  # but for who filled it, and this look
    said = "\n".join(str(row.content["body"]) for row in rows)
    wrong = [
        f"texto{n} was said {said.count(f'texto{n}.')} times"
        for n in range(REMINDERS)
        if said.count(f"texto{n}.") != 1
    ]
    fired = Counter(run.schedule_id for run in runs if run.outcome == "fired")
    for name, text in (("asistente/fija", "fija"), ("asistente/modelo", "respuesta")):
        times = sum(str(row.content["body"]).startswith(text) for row in rows)
        if times != fired[name]:
            wrong.append(f"{name} fired {fired[name]} times and spoke {times} times")
    wrong += [f"{one.id} is {one.state}" for one in reminders if one.state != "fired"]
    early = [run.schedule_id for run in runs if run.claimed_at < run.scheduled_at]
    wrong += [f"{id} was early" for id in early]
    asked = Counter((folder / ASKED).read_text().split())
    wrong += [f"{txn} was asked {n} times" for txn, n in asked.items() if n > 2]
    return {"said": len(rows), "outcomes": len(runs), "owners": owners, "wrong": wrong}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    given = parser.parse_args()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    began, bad = time.monotonic(), 0
    for number in range(given.rounds):
        if number and time.monotonic() - began > given.seconds:
            break
        with quick_folder() as folder:
            found = play(folder, random.Random(f"{given.seed}:{number}"))
        bad += bool(found["wrong"])
        print(json.dumps({"round": number, **found}), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
