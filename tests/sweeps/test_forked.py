"""SIGKILL at any instant: sampled steps and crash points of the whole tree, in forked children."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
AGAIN = "python -m tests.sweeps.forker --seed {seed} --only {number}"


PARTS = 2


@pytest.mark.sweep
@pytest.mark.promise("P1", "P2", "P9")
@pytest.mark.parametrize("part", range(PARTS))
def test_a_kill_at_any_instant_loses_nothing_and_doubles_nothing(
    part: int, seed: int, size: Callable[[int, int], int], figures: Callable[..., None]
) -> None:
    instants = size(200, 2000)
    count, seed = instants // PARTS, seed + part
    command = [sys.executable, "-m", "tests.sweeps.forker", "--seed", str(seed)]
    done = subprocess.run(
        [*command, "--count", str(count)], cwd=ROOT, capture_output=True, text=True
    )
    samples = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [
        f"{AGAIN.format(seed=seed, number=sample['number'])} ({sample['deaths']}):\n"
        + "\n".join(sample["wrong"])
        for sample in samples
        if sample["wrong"]
    ]
    assert not wrong, "\n\n".join([*wrong, done.stderr[-4000:]])
    assert done.returncode == 0, f"seed {seed}: {done.stderr[-4000:]}"
    kills = sum(sample["killed"] for sample in samples)
    assert kills >= count
    twice = sum(sample["killed"] == 2 for sample in samples)
    figures(instants=kills, of=instants, samples=len(samples), recoveries_killed=twice)
