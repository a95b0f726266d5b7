"""tell and ask through the bus to a supervised actor, beside the same work done by others."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import trio

from benchmarks import rivals
from benchmarks.base import Row, compared, interleaved
from channels.bus import Bus
from channels.mailbox import Inbox
from supervisor.spec import Actor, ChildSpec
from supervisor.supervisor import Supervisor

TELL_BUDGET = {"bare Trio": 0.4, "pykka": 2.0, "triotp cast": 10.0}


def rows(quick: bool) -> list[Row]:
    """Measure: tell awaited and in runs, ask with 1 and with 50 askers."""
    messages, asks, passes = (2_000, 1_000, 3) if quick else (40_000, 20_000, 9)
    return [
        _tell_row(messages, passes, nowait=False),
        _tell_row(messages, passes, nowait=True),
        _ask_row(asks, passes, 1, {"channel + fail_after": 2.0, "pykka": 1.0}),
        _ask_row(asks, passes, 50, {"channel + fail_after": 3.0, "pykka": 2.0}),
    ]


def _tell_row(messages: int, passes: int, *, nowait: bool) -> Row:
    contenders: dict[str, Callable[[], float]] = {
        "bus": partial(trio.run, partial(_tell, messages, nowait=nowait)),
        "bare Trio": partial(rivals.bare_tell, messages, nowait=True),
        "bare Trio awaited": partial(rivals.bare_tell, messages, nowait=False),
        "pykka": partial(rivals.pykka_tell, messages),
    }
    absent = () if rivals.triotp_installed() else ("triotp cast",)
    if not absent:
        contenders["triotp cast"] = partial(rivals.triotp_cast, messages // 8)
    return compared(
        "tell_nowait in runs of 64" if nowait else "await tell",
        "msg/s",
        interleaved(contenders, passes=passes),
        ours="bus",
        required=TELL_BUDGET,
        absent=absent,
    )


def _ask_row(asks: int, passes: int, askers: int, required: dict[str, float]) -> Row:
    contenders: dict[str, Callable[[], float]] = {
        "bus": partial(trio.run, _ask, asks, askers),
        "channel + fail_after": partial(rivals.channel_asks, asks, askers),
        "pykka": partial(rivals.pykka_asks, asks, askers),
    }
    return compared(
        f"ask with timeout, {askers} asker{'s' * (askers > 1)}",
        "asks/s",
        interleaved(contenders, passes=passes),
        ours="bus",
        required=required,
    )


class _Sink:
    """Counts what it is told, a batch at a time."""

    def __init__(self, expected: int, done: trio.Event) -> None:
        self.expected = expected
        self.done = done

    async def run(self, inbox: Inbox, *, task_status: trio.TaskStatus[Any]) -> None:
        task_status.started()
        seen = 0
        while seen < self.expected:
            for _ in await inbox.receive_batch():
                seen += 1
        self.done.set()
        await inbox.wait_draining()


class _Echo:
    """Answers every ask with its body."""

    async def run(self, inbox: Inbox, *, task_status: trio.TaskStatus[Any]) -> None:
        task_status.started()
        async for message in inbox:
            message.reply(message.body)


async def _tell(messages: int, *, nowait: bool) -> float:
    done = trio.Event()
    async with _supervised(lambda: _Sink(messages, done)) as bus:
        start = time.perf_counter()
        if nowait:
            for number in range(messages):
                bus.tell_nowait("actor", number)
                if number % rivals.RUN == rivals.RUN - 1:
                    await trio.lowlevel.checkpoint()
        else:
            for number in range(messages):
                await bus.tell("actor", number)
        await done.wait()
        return messages / (time.perf_counter() - start)


async def _ask(asks: int, askers: int) -> float:
    async def asker() -> None:
        for number in range(asks // askers):
            await bus.ask("actor", number, timeout=5)

    async with _supervised(_Echo) as bus:
        start = time.perf_counter()
        async with trio.open_nursery() as nursery:
            for _ in range(askers):
                nursery.start_soon(asker)
        return asks // askers * askers / (time.perf_counter() - start)


@asynccontextmanager
async def _supervised(factory: Callable[[], Actor]) -> AsyncIterator[Bus]:
    async with Bus.open() as bus, trio.open_nursery() as nursery:
        root = Supervisor("root", (ChildSpec("actor", factory, address="actor"),), bus=bus)
        await nursery.start(root.run)
        yield bus
        root.shutdown()
