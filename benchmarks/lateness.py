"""How late reminders that are due begin and arrive, beside a bare heap and APScheduler."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import trio

from benchmarks import timers
from benchmarks.base import Row
from benchmarks.timehouse import AGENT, MEMORY, SQLITE, at_most, fresh, house, reminders
from channels.mailbox import Mailbox
from cronactor.actions import Actions

__all__ = ["arrival_row", "burst_row", "single_row"]

LEAD = 2.0  # seconds between adding reminders and the first of them being due
Dues = Callable[[float], list[float]]


def burst_row(folder: Path, passes: int, count: int) -> Row:
    """Many due at one instant, their claims on disk."""

    def dues(lead: float) -> list[float]:
        return [time.time() + lead] * count

    return _late_row(
        f"{count} due at one instant: scheduled to action started, p99", dues, folder, passes, 150
    )


def single_row(folder: Path, count: int) -> Row:
    """One due after another, each alone."""

    def dues(lead: float) -> list[float]:
        start = time.time() + lead
        return [start + 0.03 * number for number in range(count)]

    return _late_row(f"one timer at a time ({count}), p99 lag", dues, folder, 1, 20)


def _late_row(name: str, dues: Dues, folder: Path, passes: int, most: float) -> Row:
    contenders: dict[str, Callable[[], list[float]]] = {
        "ours": lambda: trio.run(_started, dues, fresh(folder)),
        "bare heap": lambda: timers.heap_lags(dues(1.0)),
    }
    if timers.apscheduler_installed():
        contenders[MEMORY] = lambda: timers.apscheduler_lags(None, dues)
        contenders[SQLITE] = lambda: timers.apscheduler_lags(fresh(folder) / "aps.db", dues)
    found: dict[str, list[float]] = {each: [] for each in contenders}
    for turn in range(passes):
        for each, measure in contenders.items():
            if each == SQLITE and turn:
                continue  # once takes longer than all the others together
            gc.collect()
            found[each].append(p99(measure()) * 1e3)
    others: dict[str, float | None] = {MEMORY: None, SQLITE: None}
    others |= {each: median(values) for each, values in found.items() if each != "ours"}
    return at_most(name, median(found["ours"]), "ms", most, others)


async def _started(dues: Dues, folder: Path) -> list[float]:
    """How late each action is begun, its claim being on disk."""
    lags: list[float] = []
    done = trio.Event()
    deliver = Actions.deliver

    async def noted(self: Actions, claims: Sequence[Any]) -> None:
        now = time.time()
        lags.extend(now - claim.occurrence.scheduled_at for claim in claims)
        await deliver(self, claims)
        if len(lags) >= len(instants):
            done.set()

    instants = await _filled(folder, dues)
    with patch.object(Actions, "deliver", noted):
        async with house(folder):
            await done.wait()
    return lags


def arrival_row(folder: Path, passes: int, count: int) -> Row:
    """Many spread over a second, until their messages are with the connection."""

    def dues(lead: float) -> list[float]:
        start = time.time() + lead
        return [start + number / count for number in range(count)]

    lags = [trio.run(_arrived, dues, fresh(folder)) for _ in range(passes)]
    late = [value * 1e3 for run in lags for value in run]
    return Row(
        f"{count} due in one second: scheduled to read by the connection, p99",
        p99(late),
        "ms",
        "all arrive, none early",
        len(late) == passes * count and min(late) >= 0,
        note=f"median {median(late):.1f} ms, from {min(late):.1f} to {max(late):.1f} ms",
    )


async def _arrived(dues: Dues, folder: Path) -> list[float]:
    """How late each message is in the hands of its agent's connection."""
    instants = await _filled(folder, dues)
    lags: dict[int, float] = {}
    async with house(folder) as ours, trio.open_nursery() as nursery:
        mailbox = Mailbox()
        ours.bus.register(f"{AGENT}/connection", mailbox)
        inbox = mailbox.open_inbox()
        with trio.move_on_after(60):
            while len(lags) < len(instants):
                await inbox.receive()
                for row in await ours.outbox.pending(AGENT):
                    number = int(str(row.content["body"]).rsplit(" ", 1)[1])
                    lags.setdefault(number, time.time() - instants[number])
                    nursery.start_soon(ours.outbox.mark_sent, row.id, f"$event{row.id}")
        inbox.close()
    return list(lags.values())


async def _filled(folder: Path, dues: Dues) -> list[float]:
    async with house(folder) as ours:
        instants = dues(LEAD)
        await ours.store.create_many(reminders(instants))
    return instants


def p99(values: Sequence[float]) -> float:
    """The value that 99 % are at or below."""
    return sorted(values)[math.ceil(0.99 * len(values)) - 1]
