"""Two scheduler processes opened on one store never fire twice, although one was paused long."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.promise("P2", "P8")
@pytest.mark.sweep
def test_two_owners_of_one_store_never_fire_twice(
    seed: int, size: Callable[[int, int], int], figures: Callable[..., None]
) -> None:
    """Each round: an owner is stopped, another takes over, the first goes on beside it."""
    rounds, seconds = size(30, 60), size(7, 600)
    command = [sys.executable, "-m", "tests.cronactor.owners", f"--seed={seed}"]
    done = subprocess.run(
        [*command, f"--rounds={rounds}", f"--seconds={seconds}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=700,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [one for one in found if one["wrong"]]
    assert not wrong, wrong
    assert done.returncode == 0, done.stderr
    assert len(found) >= size(2, 50)
    assert sum(one["owners"] for one in found) > 2 * len(found)
    figures(rounds=len(found), said=sum(one["said"] for one in found))
