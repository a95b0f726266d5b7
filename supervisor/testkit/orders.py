"""Run a Trio program under a seeded task order, so that one bad interleaving can be had again."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import trio
import trio.testing

__all__ = ["OrderFailure", "run_in_order", "seeded_order", "sweep_orders"]

T = TypeVar("T")


class OrderFailure(AssertionError):
    """A run failed under one task order; `seed` brings it back."""

    def __init__(self, seed: int, cause: BaseException) -> None:
        super().__init__(f"task order {seed} fails: {cause!r} (run_in_order with seed={seed})")
        self.seed = seed


@contextmanager
def seeded_order(seed: int) -> Iterator[None]:
    """Make Trio's choice among runnable tasks a function of `seed` within the block.

    Trio keeps both switches private for just this use (Hypothesis sets them the same way).
    """
    runner: Any = trio._core._run
    state, deterministic = runner._r.getstate(), runner._ALLOW_DETERMINISTIC_SCHEDULING
    runner._ALLOW_DETERMINISTIC_SCHEDULING = True
    runner._r.seed(seed)
    try:
        yield
    finally:
        runner._r.setstate(state)
        runner._ALLOW_DETERMINISTIC_SCHEDULING = deterministic


def run_in_order(program: Callable[[random.Random], Awaitable[T]], *, seed: int) -> T:
    """Run `program` in virtual time under the task order of `seed`.

    `program` receives a Random of the same seed for its own choices. Virtual time jumps as soon as
    all tasks wait, so no real socket, file or thread may be waited for.
    """
    with seeded_order(seed):
        return trio.run(
            program, random.Random(seed), clock=trio.testing.MockClock(autojump_threshold=0)
        )


def sweep_orders(
    program: Callable[[random.Random], Awaitable[object]], *, seed: int, count: int
) -> int:
    """Run `program` under `count` task orders, `seed` the first; return how many ran.

    Raises OrderFailure, naming the seed, at the first that fails.
    """
    for current in range(seed, seed + count):
        try:
            run_in_order(program, seed=current)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            raise OrderFailure(current, error) from error
    return count
