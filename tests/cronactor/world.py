"""A small world for the scheduler: stores on disk, a bus, a wall clock tied to virtual time."""

from __future__ import annotations

import math
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Self
from zoneinfo import ZoneInfo

import attrs
import trio

from channels.bus import Bus
from channels.database import Database
from channels.mailbox import Mailbox
from channels.outbox import MIGRATIONS as OUTBOX
from channels.outbox import Outbox, OutboxRow
from cronactor.messages import AddReminder, ReminderAdded
from cronactor.scheduler import Scheduler
from cronactor.store import ReminderStore

ZONE = "Europe/Madrid"
ROOM = "#taller"
START = datetime(2026, 4, 9, 16, 0, tzinfo=ZoneInfo(ZONE)).timestamp() + 0.25


@attrs.define
class VirtualClock:
    """Wall time = `base` + Trio's time; assign to `base` to step it."""

    base: float = START

    def now(self) -> float:
        return self.base + trio.current_time()


@attrs.define
class World:
    """What a scheduler lives in. Leaving and entering it again is a new process."""

    folder: Path
    clock: VirtualClock = attrs.Factory(VirtualClock)
    epoch: str = "first"
    options: dict[str, Any] = attrs.Factory(dict)
    bus: Bus = attrs.field(init=False)
    store: ReminderStore = attrs.field(init=False)
    outbox: Outbox = attrs.field(init=False)
    _state: Database = attrs.field(init=False)

    async def __aenter__(self) -> Self:
        self.bus = Bus(self.clock)
        self._state = await Database.open(self.folder / "state.db", OUTBOX, threaded=False)
        self.outbox = Outbox(self._state, self.clock)
        self.store = await ReminderStore.open(self.folder / "reminders.db", threaded=False)
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.store.close()
        await self._state.close()

    def scheduler(self, **options: Any) -> Scheduler:
        given: dict[str, Any] = {
            "store": self.store,
            "outbox": self.outbox,
            "bus": self.bus,
            "clock": self.clock,
            "workspace_root": self.folder,
            "timezone": ZONE,
            "epoch": self.epoch,
        }
        return Scheduler(**{**given, **self.options, **options})

    @asynccontextmanager
    async def running(self, **options: Any) -> AsyncIterator[Scheduler]:
        """Run a scheduler at its address for the block, then drain it."""
        mailbox = Mailbox()
        self.bus.register("scheduler", mailbox)
        inbox = mailbox.open_inbox()
        scheduler = self.scheduler(**options)
        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(scheduler.run, inbox)
                yield scheduler
                inbox.drain()
        finally:
            inbox.close()
            self.bus.unregister("scheduler", "the test ends")

    async def ask(self, body: object) -> Any:
        return await self.bus.ask("scheduler", body, timeout=math.inf)

    async def add(
        self, when: str, message: str = "riegue las plantas", **rest: Any
    ) -> ReminderAdded:
        body = {"agent": "asistente", "room": ROOM, "user": "@ana", "received_at": self.clock.now()}
        added = await self.ask(AddReminder(message=message, when=when, **{**body, **rest}))
        assert isinstance(added, ReminderAdded)
        return added

    async def said(self, agent: str = "asistente") -> list[str]:
        """The bodies in an agent's outbox, in order."""
        return [str(row.content["body"]) for row in await self.rows(agent)]

    async def rows(self, agent: str = "asistente") -> tuple[OutboxRow, ...]:
        return await self.outbox.pending(agent)

    @asynccontextmanager
    async def agent(self, name: str, answer: Callable[[Any], Any]) -> AsyncIterator[list[Any]]:
        """An agent that answers each ask with `await answer(message)`; yields what it was asked."""
        mailbox = Mailbox()
        self.bus.register(name, mailbox)
        inbox = mailbox.open_inbox()
        asked: list[Any] = []

        async def serve() -> None:
            async for message in inbox:
                asked.append(message.body)
                nursery.start_soon(answer, message)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            yield asked
            nursery.cancel_scope.cancel()
        inbox.close()
        self.bus.unregister(name, "the test ends")


MEMORY = Path("/dev/shm")


@contextmanager
def quick_folder() -> Iterator[Path]:
    """A temporary folder, in memory where there is one: for what does not test the disk."""
    where = MEMORY if MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="vivero-", dir=where) as folder:
        yield Path(folder)


def at(text: str, zone: str = ZONE) -> float:
    """The instant of a wall time."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()
