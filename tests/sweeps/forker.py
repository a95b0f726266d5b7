"""Forks lives from one warmed process without threads and kills them at sampled instants.

    python -m tests.sweeps.forker --seed 7 --count 200
    python -m tests.sweeps.forker --seed 7 --only 41      # one sample again

Prints one line of JSON a sample. An instant is a step of any task ("step") or a pass of any crash
point, which may lie inside a transaction ("pass"). Every fourth time the recovery is killed too.
"""

from __future__ import annotations

import argparse
import gc
import json
import mmap
import os
import random
import shutil
import signal
import struct
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NoReturn

import attrs
import trio

from config.workspace import Workspace
from supervisor.testkit.crashes import kill_now
from tests.sweeps.judge import judge
from tests.sweeps.scenario import BEGINNING, Life, leanly, live, prepare

__all__ = ["Sample", "main"]

HUNG_SECONDS = 120

Kind = Literal["step", "pass"]


@attrs.frozen
class Sample:
    """One death, or two, to be tried: what is counted, and at which count each life ends."""

    number: int
    order: int
    deaths: tuple[tuple[Kind, int], ...]

    @classmethod
    def drawn(cls, seed: int, number: int, totals: dict[Kind, int]) -> Sample:
        rng = random.Random(f"{seed}:{number}")
        kinds: list[Kind] = [rng.choice(("step", "pass")) for _ in range(1 + (number % 4 == 3))]
        deaths = tuple((kind, rng.randint(1, totals[kind])) for kind in kinds)
        return cls(number, rng.randrange(2**31), deaths)


class Board:
    """Memory that outlives the child that wrote it."""

    def __init__(self, numbers: int = 2) -> None:
        self._form = struct.Struct(f"{numbers}d")
        self._memory = mmap.mmap(-1, self._form.size)

    def write(self, *values: float) -> None:
        self._form.pack_into(self._memory, 0, *values)

    def read(self) -> tuple[float, ...]:
        return self._form.unpack_from(self._memory, 0)


@attrs.define(eq=False)
class Counter(trio.abc.Instrument):
    """Counts steps of tasks and passes of crash points; ends the process at the sampled one."""

    life: Life
    board: Board
    death: tuple[Kind, int] | None = None
    steps: int = 0
    passes: int = 0

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += 1
        self._strike("step", self.steps)

    def passed(self, life: Life, point: str) -> None:
        self.passes += 1
        self._strike("pass", self.passes)

    def _strike(self, kind: Kind, count: int) -> None:
        if (kind, count) == self.death:
            self.board.write(self.life.clock.now(), 0)
            kill_now(kind)


def forked(work: Callable[[], None]) -> int:
    """Run in a child; return how it ended: 0, or minus the signal, or 1 with its traceback said."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        _become(work)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def _become(work: Callable[[], None]) -> NoReturn:
    signal.alarm(HUNG_SECONDS)
    try:
        work()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


@attrs.define
class Forker:
    """Tries samples, each on its own copy of one workspace."""

    folder: Path
    template: Workspace
    board: Board = attrs.field(factory=Board)

    def totals(self) -> dict[Kind, int]:
        """Steps and passes of a quiet life; living it here warms what children inherit."""
        life = Life(self._copy("quiet"))
        counter = Counter(life, self.board)
        life.strike = counter.passed
        live(life, instruments=[counter])
        if wrong := judge(life.workspace):
            raise SystemExit("\n".join(["the quiet life failed", *wrong]))
        return {"step": counter.steps, "pass": counter.passes}

    def attempt(self, sample: Sample) -> tuple[int, list[str]]:
        """Live, die, live again, judge: how many deaths there were, and what is wrong."""
        workspace, begins, killed = self._copy(str(sample.number)), BEGINNING, 0
        for death in sample.deaths:
            code = forked(lambda: self._live(workspace, begins, sample.order, death))  # noqa: B023
            if code not in (0, -signal.SIGKILL):
                return killed, [f"the life to be killed at {death} ended with {code}"]
            killed += code != 0
            begins = self.board.read()[0] + 2
        verdict = self.folder / "verdict.json"
        code = forked(lambda: self._conclude(workspace, begins, sample.order, verdict))
        if code != 0:
            return killed, [f"the last life ended with {code}"]
        wrong: list[str] = json.loads(verdict.read_text())
        shutil.rmtree(workspace.root)
        return killed, wrong

    def _copy(self, name: str) -> Workspace:
        shutil.copytree(self.template.root, self.folder / name)
        return Workspace(self.folder / name)

    def _live(
        self, workspace: Workspace, begins: float, order: int, death: tuple[Kind, int]
    ) -> None:
        life = Life(workspace, begins)
        counter = Counter(life, self.board, death)
        life.strike = counter.passed
        live(life, seed=order, instruments=[counter])
        self.board.write(life.latest, 0)

    def _conclude(self, workspace: Workspace, begins: float, order: int, verdict: Path) -> None:
        life = Life(workspace, begins)
        live(life, seed=order)
        wrong = [] if life.settled else ["it never settled"]
        verdict.write_text(json.dumps(wrong + judge(workspace)))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=200, help="how many lives are to be killed")
    parser.add_argument("--only", type=int, help="try just this sample")
    given = parser.parse_args()
    memory = Path("/dev/shm")
    with (
        leanly(),
        tempfile.TemporaryDirectory(
            prefix="vivero-sweep-", dir=memory if memory.is_dir() else None
        ) as path,
    ):
        return sweep(Path(path), given.seed, given.count, given.only)


def sweep(folder: Path, seed: int, count: int, only: int | None) -> int:
    forker = Forker(folder, prepare(folder / "template"))
    totals = forker.totals()
    gc.collect()
    gc.freeze()
    failed = deaths = 0
    number = only or 0
    while deaths < count:
        sample = Sample.drawn(seed, number, totals)
        killed, wrong = forker.attempt(sample)
        deaths, failed, number = deaths + killed, failed + bool(wrong), number + 1
        print(json.dumps({**attrs.asdict(sample), "killed": killed, "wrong": wrong}), flush=True)
        if only is not None or failed >= 5:
            break
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
