"""The order sweeps: one seed is one order, many seeds are many orders, a failure names its seed."""

from __future__ import annotations

import random

import pytest
import trio

from supervisor.testkit.orders import OrderFailure, run_in_order, sweep_orders


async def race(_: random.Random) -> list[int]:
    order: list[int] = []

    async def step(number: int) -> None:
        for _ in range(3):
            await trio.lowlevel.checkpoint()
            order.append(number)

    async with trio.open_nursery() as nursery:
        for number in range(4):
            nursery.start_soon(step, number)
    return order


def test_one_seed_is_one_order() -> None:
    assert run_in_order(race, seed=7) == run_in_order(race, seed=7)


def test_many_seeds_are_many_orders() -> None:
    assert len({tuple(run_in_order(race, seed=n)) for n in range(40)}) > 10


def test_a_failing_order_is_reported_with_its_seed() -> None:
    async def first_wins(choose: random.Random) -> None:
        order = await race(choose)
        assert order[0] == 0

    with pytest.raises(OrderFailure) as caught:
        sweep_orders(first_wins, seed=0, count=200)
    with pytest.raises(AssertionError):
        run_in_order(first_wins, seed=caught.value.seed)


def test_a_sweep_leaves_trios_own_randomness_as_it_was() -> None:
    runner = trio._core._run  # type: ignore[attr-defined]
    before = runner._r.getstate(), runner._ALLOW_DETERMINISTIC_SCHEDULING
    sweep_orders(race, seed=1, count=3)
    assert (runner._r.getstate(), runner._ALLOW_DETERMINISTIC_SCHEDULING) == before
