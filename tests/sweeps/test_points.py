"""The whole tree dies, is cancelled, or one actor raises, at every crash point."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from channels.crashpoints import all_crash_points
from config.workspace import Workspace
from tests.promises import load_everything
from tests.sweeps.judge import judge
from tests.sweeps.scenario import BEGINNING, Life, leanly, live, prepare
from tests.sweeps.strikes import Cancelling, Counting, Dying, Raising, only_crash, passes

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


@attrs.frozen
class Ground:
    """A folder, in memory where there is one: what is swept are instants, not disks."""

    folder: Path

    def fresh(self) -> Workspace:
        """A workspace as it was in the beginning, in the place of the one before."""
        shutil.rmtree(self.folder / "w", ignore_errors=True)
        shutil.copytree(self.folder / "template", self.folder / "w")
        return Workspace(self.folder / "w")


@pytest.fixture(scope="module")
def ground(lean: None) -> Iterator[Ground]:
    memory = Path("/dev/shm")
    path = Path(tempfile.mkdtemp(prefix="vivero-sweep-", dir=memory if memory.is_dir() else None))
    prepare(path / "template")
    yield Ground(path)
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


@pytest.fixture(scope="module")
def counts(ground: Ground) -> tuple[Counter[str], Counter[str]]:
    """How often each point is passed in a quiet life, and in one that follows a death."""
    quiet, recovery = Counting(), Counting()
    lived(ground.fresh(), quiet)
    workspace = ground.fresh()
    lived(workspace, recovery, begins=lived(workspace, Dying(*FIRST_DEATH)))
    return quiet.seen, recovery.seen


def survived(workspace: Workspace, begins: float, where: str, strike: Strike | None = None) -> None:
    life = Life(workspace, begins, strike)
    live(life)
    wrong = judge(workspace)
    if not life.settled:
        wrong.insert(0, "it never settled")
    assert not wrong, f"{where}:\n" + "\n".join(wrong)


@pytest.mark.promise("P1", "P2", "P9")
def test_the_scenario_passes_every_crash_point_and_is_judged_well(
    counts: tuple[Counter[str], Counter[str]], ground: Ground, figures: Callable[..., None]
) -> None:
    quiet, recovery = counts
    assert [name for name in POINTS if not quiet[name] and not recovery[name]] == []
    figures(points=len(POINTS), passes=quiet.total())
    survived(ground.fresh(), BEGINNING, "a quiet life")


@pytest.mark.sweep
@pytest.mark.promise("P1", "P2", "P9")
@pytest.mark.parametrize("kind", [Dying, Cancelling])
@pytest.mark.parametrize("point", POINTS)
def test_what_ends_at_a_crash_point_is_taken_up_once_by_the_next_start(
    point: str,
    kind: type[Dying | Cancelling],
    counts: tuple[Counter[str], Counter[str]],
    ground: Ground,
    size: Size,
    figures: Callable[..., None],
) -> None:
    quiet, recovery = counts
    chosen = passes(quiet[point] or recovery[point], size(2, 40))
    for nth in chosen:
        workspace, begins = ground.fresh(), BEGINNING
        if not quiet[point]:
            begins = lived(workspace, Dying(*FIRST_DEATH))
        strike = kind(point, nth)
        begins = lived(workspace, strike, begins=begins)
        where = f"{kind.__name__} at pass {nth} of {point}"
        assert strike.struck, f"{where}: it was never passed"
        survived(workspace, begins, where)
    figures(passes=len(chosen))


TOLD = (
    "local.",  # a person's own call: it raises where the person is
    "database.",  # the first ones belong to the start, which fails and says so
    "reload.",  # the person who asked for it is told that it failed
    "task.",  # the model that asked is told that the other agent failed
    "reminder.",  # the model that asked is told that the scheduler failed
    "orchestrator.before_release",  # passed only after a crash
    "orchestrator.after_release",
)
"""Where an error is no actor's crash that heals by itself."""


@pytest.mark.sweep
@pytest.mark.promise("P1", "P2", "P4", "P9")
@pytest.mark.parametrize("point", [name for name in POINTS if not name.startswith(TOLD)])
def test_an_actor_that_raises_at_a_crash_point_heals_while_all_others_live_on(
    point: str,
    counts: tuple[Counter[str], Counter[str]],
    ground: Ground,
    size: Size,
    figures: Callable[..., None],
) -> None:
    chosen = passes(counts[0][point], size(2, 40))[size(-1, 0) :]
    for nth in chosen:
        strike = Raising(point, nth)
        where = f"{point} raises at pass {nth}"
        survived(ground.fresh(), BEGINNING, where, strike)
        assert strike.struck, f"{where}: it was never passed"
    figures(passes=len(chosen))
