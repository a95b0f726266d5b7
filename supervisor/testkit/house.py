"""A whole workspace running inside a test: real actors and stores, local rooms, no sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import attrs
import trio
import trio.testing

from channels.clock import WallClock
from channels.messages import StopReason
from channels.outbox import OutboxRow
from channels.rooms import RoomEvent
from channels.slots import Slot
from config.starter import init_workspace
from config.workspace import Workspace
from supervisor.launcher import Household
from supervisor.plan import read_workspace
from supervisor.services import furnish, open_services
from supervisor.testkit.clock import VirtualClock

__all__ = ["FakeRoom", "TestHouse", "make_workspace", "open_house"]

START_SECONDS = 60.0
STOP_SECONDS = 60.0


def make_workspace(folder: Path, files: Mapping[str, str] | None = None) -> Workspace:
    """Write the bundled example into `folder`, then `files` (relative path -> text) over it."""
    workspace = init_workspace(folder, timezone="Europe/Madrid")
    for name, text in (files or {}).items():
        path = workspace.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    workspace.ensure_private_dirs()
    return workspace


@attrs.frozen
class FakeRoom:
    """One local room of a running house, as a person stands in it."""

    house: TestHouse
    name: str

    async def say(self, text: str, *, sender: str = "ana", as_bot: bool = False) -> str:
        """Post as a person (or a foreign bot); return the event id."""
        rooms = self.house.household.services.rooms
        return await rooms.post(self.name, sender, text, as_bot=as_bot)

    async def history(self) -> tuple[RoomEvent, ...]:
        """Return everything that was said, oldest first."""
        return await self.house.household.services.rooms.history(self.name, 10_000)

    async def said_by(self, sender: str) -> list[str]:
        """Return the texts of one member, oldest first."""
        return [event.text for event in await self.history() if event.sender == sender]

    async def wait_for(self, sender: str, count: int = 1) -> list[str]:
        """Wait until a member has said `count` things; return all of them.

        Cancelling ends the wait; put a deadline around it.
        """
        services = self.house.household.services
        room = await services.rooms.room(self.name)
        with services.bus.subscribe(f"rooms/{room.id}") as events:
            said = await self.said_by(sender)
            while len(said) < count:
                await anext(aiter(events))
                said = await self.said_by(sender)
        return said


@attrs.frozen
class TestHouse:
    """A running workspace; `clock` can be stepped when it is the kit's own."""

    __test__ = False  # not a test class, whatever its name begins with

    household: Household
    clock: WallClock

    def room(self, name: str = "#taller") -> FakeRoom:
        """Return a room by its id or alias."""
        return FakeRoom(self, name)

    async def slots(self, event_id: str) -> tuple[Slot, ...]:
        """Return the answer slots of an event."""
        return await self.household.services.inbox.slots_of(event_id)

    async def outbox(self, slot_id: int) -> tuple[OutboxRow, ...]:
        """Return what was frozen as the answer of a slot."""
        return await self.household.services.outbox.rows_of(slot_id)


@asynccontextmanager
async def open_house(
    workspace: Workspace, *, clock: WallClock | None = None, threaded: bool = False
) -> AsyncIterator[TestHouse]:
    """Run the workspace's tree, all but its HTTP API, for the block; then stop it in order.

    Made for `trio.testing.MockClock(autojump_threshold=0)`: `threaded=False` keeps SQLite in the
    Trio thread, else virtual time would run past it. Raises ConfigError for a bad workspace. An
    error of the block, or a `Crash`, ends everything at once, without the orderly stop.
    """
    now = clock or VirtualClock()
    plan = read_workspace(workspace)
    async with open_services(
        workspace, plan.supervisor.value, clock=now, threaded=threaded
    ) as services:
        await furnish(services, plan.supervisor.value.rooms)
        household = Household.build(services, plan, in_thread=threaded, api=False)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(household.root.run)
            with trio.fail_after(START_SECONDS):
                await household.until_ready()
            yield TestHouse(household, now)
            household.root.shutdown(StopReason.SHUTDOWN)
