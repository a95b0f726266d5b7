"""Whatever is done to a config file: it loads, or every fault has a file, a line and a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from config.loading import Loaded, load_agent, load_supervisor
from config.problems import ConfigError
from config.starter import init_workspace
from config.workspace import Workspace
from tests.config.mutations import Mutation, mutations

SEEDS = range(2026, 2034)
COUNT = 300  # for each seed


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return init_workspace(tmp_path / "w", "UTC")


def load(workspace: Workspace, mutation: Mutation) -> Loaded[Any]:
    (workspace.root / mutation.filename).write_bytes(mutation.data)
    if mutation.filename == "supervisor.yaml":
        return load_supervisor(workspace)
    return load_agent(workspace, mutation.filename.split("/")[1])


def found(value: Any, path: tuple[str | int, ...]) -> Any:
    return reduce(lambda v, key: v[key] if isinstance(key, int) else getattr(v, key), path, value)


def check_problems(error: ConfigError, mutation: Mutation) -> None:
    lines = (
        mutation.data.count(b"\n") + mutation.data.count(b"\r") + 10 * mutation.data.count(b"\xc2")
    )
    assert error.problems
    for problem in error.problems:
        assert problem.file.endswith(mutation.filename)
        assert 1 <= problem.line <= lines + 5
        assert problem.col >= 1
        assert problem.message
        assert str(problem).isprintable()


@pytest.mark.parametrize("seed", SEEDS)
def test_a_mutated_file_loads_or_says_where_it_is_wrong(workspace: Workspace, seed: int) -> None:
    outcomes = {True: 0, False: 0}
    for mutation in mutations(seed, COUNT):
        try:
            loaded = load(workspace, mutation)
        except ConfigError as error:
            assert not mutation.valid, f"seed {seed}: {mutation.kind}: {error}"
            check_problems(error, mutation)
        else:
            outcomes[mutation.valid] += 1
            if mutation.expect:
                path, value = mutation.expect
                assert found(loaded.value, path) == value
    assert outcomes[True] > COUNT / 5


def test_one_seed_gives_one_corpus() -> None:
    def corpus(seed: int) -> Iterator[Mutation]:
        return mutations(seed, 50)

    assert list(corpus(7)) == list(corpus(7))
    assert list(corpus(7)) != list(corpus(8))
