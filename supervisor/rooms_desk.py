"""The rooms as the desk sees them: who is in, what was said, and saying something as a person."""

from __future__ import annotations

from collections.abc import AsyncIterable, Container, Mapping, Sequence

import attrs
import trio

from actors.connection import ADMITTED
from channels.local import LocalRoom, RoomError
from channels.slots import Slot
from supervisor.causes import cause_of, line_of
from supervisor.desk.office import Cause, Line, NamedError, OfficeError, RoomInfo, SlotInfo, Why
from supervisor.services import Services
from supervisor.zoned import local_time

__all__ = ["RoomsDesk"]

ADMISSION_SECONDS = 5.0


@attrs.define(eq=False)
class RoomsDesk:
    """Reads and posts for people. `zone` is the workspace's; `agents`: user id -> agent id."""

    services: Services
    zone: str
    agents: Mapping[str, str]
    order: Mapping[str, Sequence[str]]  # room -> participants, as configured

    async def rooms(self) -> Sequence[RoomInfo]:
        """Return every room."""
        return [
            RoomInfo(room.id, room.alias, self._participants(room), tuple(room.members))
            for room in await self.services.rooms.rooms()
        ]

    def _participants(self, room: LocalRoom) -> tuple[str, ...]:
        """Our agents in a room, in the order in which its rules take them."""
        here = [member for member in room.members if member in self.agents]
        first = [agent for agent in self.order.get(room.id, ()) if agent in here]
        return tuple(dict.fromkeys([*first, *here]))

    async def history(self, room: str, limit: int) -> Sequence[Line]:
        """Return the newest lines of a room, oldest first. Raises OfficeError 404."""
        try:
            events = await self.services.rooms.history(room, limit)
        except RoomError:
            raise NamedError("no_room", 404, room=room) from None
        return [line_of(event, self.agents) for event in events]

    async def say(
        self, room: str, text: str, sender: str, as_bot: bool, txn_id: str | None = None
    ) -> Line:
        """Post as a person, once for a `txn_id`, and wait until an agent's inbox has admitted it.

        With no connection up nobody admits it yet: after `ADMISSION_SECONDS` it is returned all the
        same; it is stored, and read when a connection comes up.
        """
        rooms = self.services.rooms
        try:
            found = await rooms.room(room)
        except RoomError:
            raise NamedError("no_room", 404, room=room) from None
        with self.services.bus.subscribe(ADMITTED) as admitted:
            try:
                event_id = await rooms.post(found.id, sender, text, txn_id=txn_id, as_bot=as_bot)
            except RoomError as error:
                raise OfficeError(str(error), 400) from None
            event = await self.services.inbox.event(event_id) if txn_id else None
            if event is None:
                await _until_in(admitted, event_id)
                event = await self.services.inbox.event(event_id)
        if event is None:
            return Line(found.id, rooms.person(sender), text, event_id, self.services.clock.now())
        return line_of(event, self.agents)

    async def why(self, event_id: str) -> Why:
        """Return an event and what became of it. Raises OfficeError 404."""
        event = await self.services.inbox.event(event_id)
        if event is None:
            raise NamedError("no_event", 404, id=event_id)
        slots = [await self._slot(slot) for slot in await self.services.inbox.slots_of(event_id)]
        return Why(line_of(event, self.agents), tuple(slots), await self._cause(event_id))

    async def _cause(self, event_id: str) -> Cause | None:
        inbox = self.services.inbox
        row = await self.services.outbox.row_said(event_id)
        if row is None:
            return None
        slot = await inbox.slot(row.slot_id) if row.slot_id is not None else None
        about = await inbox.event(slot.event_id) if slot is not None else None
        return cause_of(row, slot, line_of(about, self.agents) if about is not None else None)

    async def _slot(self, slot: Slot) -> SlotInfo:
        rows = await self.services.outbox.rows_of(slot.id)
        opened = local_time(slot.opened_at, self.zone)
        closed = local_time(slot.closed_at, self.zone) if slot.closed_at is not None else None
        said = tuple(row.event_id for row in rows if row.event_id)
        return SlotInfo(
            slot.agent,
            slot.state,
            slot.rule,
            slot.reason,
            slot.attempt,
            slot.hop,
            opened,
            closed,
            said,
        )


async def _until_in(admitted: AsyncIterable[Container[str]], event_id: str) -> None:
    with trio.move_on_after(ADMISSION_SECONDS):
        async for ids in admitted:
            if event_id in ids:
                return
