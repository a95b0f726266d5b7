"""Small actors and a root for the tests of supervision."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

import attrs
import trio

from channels.bus import Bus
from channels.mailbox import Inbox
from channels.messages import CellChanged, CellState
from channels.topics import Subscription
from supervisor.policy import Backoff, Intensity
from supervisor.spec import Actor, ChildSpec
from supervisor.supervisor import Supervisor

Status = trio.TaskStatus[Any]
Run = Callable[[Inbox, Status], Awaitable[None]]

AT_ONCE = Backoff(0.0, 1.0, 0.0, 0.0)
STEADY = Backoff(1.0, 1.0, 1.0, 0.0)
PATIENT = Intensity(5, 60.0)


@attrs.define
class Running:
    """An actor that is one async function."""

    _function: Run

    async def run(self, inbox: Inbox, *, task_status: Status) -> None:
        await self._function(inbox, task_status)


def made_of(function: Run) -> Callable[[], Actor]:
    """A factory of actors that run `function`."""
    return lambda: Running(function)


async def echo(inbox: Inbox, status: Status) -> None:
    """Answer each ask with its body; "crash" crashes, "hang" never answers."""
    status.started()
    async for message in inbox:
        if message.body == "crash":
            raise ValueError("boom")
        if message.body == "hang":
            await trio.sleep_forever()
        message.reply(message.body)


async def deaf(inbox: Inbox, status: Status) -> None:
    """Be ready, then neither listen nor drain."""
    status.started()
    await trio.sleep_forever()


async def broken(inbox: Inbox, status: Status) -> None:
    """Never become ready."""
    raise RuntimeError("cannot start")


async def stuck(inbox: Inbox, status: Status) -> None:
    """Never become ready, never fail."""
    await trio.sleep_forever()


def child(name: str, function: Run = echo, **options: Any) -> ChildSpec:
    """A child reachable under its own name, restarted at once."""
    chosen: dict[str, Any] = {"address": name, "backoff": AT_ONCE, "intensity": PATIENT} | options
    return ChildSpec(name, made_of(function), **chosen)


@attrs.define
class Diary:
    """Collects what actors do, in order."""

    lines: list[str] = attrs.field(factory=list)

    def actor(self, name: str, *, leave: float = 0.0) -> Run:
        """An echo that writes when it starts, and when it ends `leave` seconds after a drain."""

        async def run(inbox: Inbox, status: Status) -> None:
            self.lines.append(f"{name} starts")
            try:
                await echo(inbox, status)
                await trio.sleep(leave)
                self.lines.append(f"{name} ends")
            except trio.Cancelled as cancelled:
                self.lines.append(f"{name} cancelled: {cancelled.reason}")
                raise

        return run

    def child(self, name: str, *, leave: float = 0.0, **options: Any) -> ChildSpec:
        """A child that runs `actor(name)`."""
        return child(name, self.actor(name, leave=leave), **options)


@asynccontextmanager
async def supervising(
    *specs: ChildSpec, bus: Bus | None = None, **options: Any
) -> AsyncIterator[Supervisor]:
    """Run a root supervisor for the block, then stop it in an orderly way."""
    root = Supervisor("root", specs, bus=bus or Bus(), random=Random(0), **options)
    async with trio.open_nursery() as nursery:
        await nursery.start(root.run)
        yield root
        root.shutdown()
    assert root.bus.names() == ()


def changes(bus: Bus) -> Subscription:
    """Subscribe to the changes of cells; read them with `seen`."""
    return bus.subscribe("supervision", capacity=10_000)


def seen(subscription: Subscription) -> list[str]:
    """Take what has come as lines `path state`."""
    lines: list[str] = []
    while True:
        try:
            change = subscription.receive_nowait()
        except trio.WouldBlock:
            return lines
        assert isinstance(change, CellChanged)
        lines.append(f"{change.path} {change.state.value}")


async def until(root: Supervisor, name: str, state: CellState) -> None:
    """Let virtual time pass until a child is in `state`."""
    with changes(root.bus) as told:
        while root.cell(name).state is not state:
            await told.receive()


def states(root: Supervisor) -> dict[str, str]:
    """The children's states by name."""
    return {info.name: info.state.value for info in root.tree().children}
