"""The whole tree dies, or is cancelled, at every crash point; the next start makes it good."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from channels.crashpoints import all_crash_points
from config.workspace import Workspace
from tests.promises import load_everything
from tests.sweeps.judge import judge
from tests.sweeps.scenario import BEGINNING, Life, leanly, live, prepare
from tests.sweeps.strikes import Cancelling, Counting, Dying, only_crash, passes

load_everything()

TESTS_OWN = ("testkit.", "a.", "b.")
"""Points that the tests of the test kit declare for themselves."""
POINTS = [name for name in all_crash_points() if not name.startswith(TESTS_OWN)]
FIRST_DEATH = ("turn.before_model", 3)
"""Where the first life ends when it is the recovery that is to be struck."""

Size = Callable[[int, int], int]
Strike = Callable[[Life, str], None]


@pytest.fixture(scope="module", autouse=True)
def lean() -> Iterator[None]:
    with leanly():
        yield


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: what is swept are instants, not disks."""
    memory = Path("/dev/shm")
    path = Path(tempfile.mkdtemp(prefix="vivero-sweep-", dir=memory if memory.is_dir() else None))
    yield path
    shutil.rmtree(path)


def lived(workspace: Workspace, strike: Strike, *, begins: float = BEGINNING) -> float:
    """One life that the strike may end; return when the next one can begin."""
    life = Life(workspace, begins, strike)
    try:
        return live(life)
    except BaseException as error:
        if not only_crash(error):
            raise
    return life.next_begins


def fresh(folder: Path, name: str) -> Workspace:
    """A copy of the workspace, made once a folder."""
    template = folder / "template"
    if not template.exists():
        prepare(template)
    shutil.copytree(template, folder / name)
    return Workspace(folder / name)


def counted_lives(folder: Path) -> tuple[Counter[str], Counter[str]]:
    """How often each point is passed in a quiet life, and in one that follows a death."""
    quiet, recovery = Counting(), Counting()
    lived(fresh(folder, "quiet"), quiet)
    workspace = fresh(folder, "dead")
    lived(workspace, recovery, begins=lived(workspace, Dying(*FIRST_DEATH)))
    return quiet.seen, recovery.seen


@pytest.fixture(scope="module")
def counts(lean: None) -> tuple[Counter[str], Counter[str]]:
    with tempfile.TemporaryDirectory() as path:
        return counted_lives(Path(path))


def survived(workspace: Workspace, begins: float, where: str) -> None:
    life = Life(workspace, begins)
    live(life)
    wrong = judge(workspace)
    if not life.settled:
        wrong.insert(0, "it never settled")
    assert not wrong, f"{where}:\n" + "\n".join(wrong)


@pytest.mark.promise("P1", "P2", "P9")
def test_the_scenario_passes_every_crash_point_and_is_judged_well(
    counts: tuple[Counter[str], Counter[str]], folder: Path, figures: Callable[..., None]
) -> None:
    quiet, recovery = counts
    assert [name for name in POINTS if not quiet[name] and not recovery[name]] == []
    figures(points=len(POINTS), passes=quiet.total())
    survived(fresh(folder, "w"), BEGINNING, "a quiet life")


@pytest.mark.sweep
@pytest.mark.promise("P1", "P2", "P9")
@pytest.mark.parametrize("kind", [Dying, Cancelling])
@pytest.mark.parametrize("point", POINTS)
def test_what_ends_at_a_crash_point_is_taken_up_once_by_the_next_start(
    point: str,
    kind: type[Dying | Cancelling],
    counts: tuple[Counter[str], Counter[str]],
    folder: Path,
    size: Size,
    figures: Callable[..., None],
) -> None:
    quiet, recovery = counts
    chosen = passes(quiet[point] or recovery[point], size(2, 40))
    for nth in chosen:
        workspace, begins = fresh(folder, str(nth)), BEGINNING
        if not quiet[point]:
            begins = lived(workspace, Dying(*FIRST_DEATH))
        strike = kind(point, nth)
        begins = lived(workspace, strike, begins=begins)
        where = f"{kind.__name__} at pass {nth} of {point}"
        assert strike.struck, f"{where}: it was never passed"
        survived(workspace, begins, where)
    figures(passes=len(chosen))
