"""Reloads under hundreds of task orders: none loses or doubles an answer (P1, P4, P9)."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from actors.llm.protocol import ModelRequest, ToolCall
from supervisor.testkit.orders import sweep_orders
from tests.actors.house import Answer, Effects, a_house, results, said

TEXTS = ("uno", "dos", "@bob tres", "cuatro", "@bob cinco")


async def script(request: ModelRequest) -> Answer:
    await trio.sleep(0.01)
    if not results(request):
        return ToolCall("c", "effect", "{}")
    return f"{request.context.agent}: {said(request)}"


async def reload_while_they_talk(rng: random.Random) -> None:
    """Messages, reloads of ada, and a restart of the orchestrator, at instants of `rng`."""
    effects = Effects()
    with tempfile.TemporaryDirectory() as folder:
        async with a_house(
            Path(folder), scripts={"ada": script, "bob": script}, tools=[effects.tool()]
        ) as house:

            async def reloads() -> None:
                for _ in range(3):
                    await trio.sleep(rng.choice((0, 0.005, 0.01, 0.015, 0.02)))
                    await house.reload("ada")

            async def restart() -> None:
                await trio.sleep(rng.choice((0, 0.01, 0.03)))
                await house.running["orchestrator"].stop("sibling")
                await house.start("orchestrator", house.orchestrator())

            async with trio.open_nursery() as nursery:
                nursery.start_soon(reloads)
                if rng.random() < 0.5:
                    nursery.start_soon(restart)
                for text in TEXTS:
                    await house.say(text)
                    await trio.sleep(rng.choice((0, 0.005, 0.01)))
            await house.settled(20)

            answers = Counter(await house.texts())
            expected = Counter(
                f"{'bob' if text.startswith('@bob') else 'ada'}: {text}" for text in TEXTS
            )
            assert answers == expected
            assert max(Counter(effects.calls).values()) == 1
            slots = (await house.slots())[: len(TEXTS)]
            assert all(slot.ended for slot in await house.slots())
            assert all(slot.failures == slot.interruptions == 0 for slot in slots)


@pytest.mark.promise("P1", "P4", "P9")
def test_no_order_of_tasks_loses_or_doubles_an_answer(
    seed: int, size: Callable[[int, int], int]
) -> None:
    count = size(200, 2000)
    assert sweep_orders(reload_while_they_talk, seed=seed, count=count) == count
