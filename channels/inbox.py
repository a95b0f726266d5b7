"""What was heard: each event admitted once, and its answer slot from opening to its one end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs
import sqlite_utils

from channels import admission, facts, hops, slots
from channels.admission import Admitted, Batch, Known
from channels.chain import with_more
from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.database import Database, Migration
from channels.outbox import Outbox, OutgoingMessage
from channels.rooms import RoomEvent
from channels.slots import (
    Decided,
    Decision,
    Decline,
    Dispatch,
    Expire,
    Hold,
    Slot,
    SlotFacts,
    SlotState,
)

__all__ = [
    "MIGRATIONS",
    "Admitted",
    "Decided",
    "Decision",
    "Decline",
    "Dispatch",
    "EventInbox",
    "Expire",
    "Hold",
    "Slot",
    "SlotFacts",
    "SlotState",
]

declare_crash_points(
    "inbox.before_admit",
    "inbox.in_admit",
    "inbox.after_admit",
    "inbox.in_decide",
    "inbox.after_decide",
    "slot.before_answer",
    "slot.in_answer",
    "slot.after_answer",
)

MIGRATIONS = (
    Migration("inbox.001", admission.create_events),
    Migration("inbox.002", slots.create_slots),
    Migration("inbox.003", hops.create_hops),
    Migration("inbox.004", admission.index_reactions),
)

Also = Callable[[sqlite_utils.Database], None]

MAX_EVENT_AGE = 86_400.0
ALREADY_ANSWERING = "already_answering"


class EventInbox:
    """The durable memory of a workspace's rooms. Lives in one file with the outbox.

    `max_event_age` in seconds. Every method that changes a slot is a compare-and-set: it returns
    False (or None) and changes nothing when the slot is not, or no longer, in the state it expects.
    `also`, where offered, runs in the same transaction, only if the change was made.
    """

    def __init__(
        self,
        db: Database,
        clock: WallClock,
        *,
        agents: Mapping[str, str] | Iterable[str] = (),
        known_bots: Iterable[str] = (),
        max_event_age: float = MAX_EVENT_AGE,
    ) -> None:
        self._db = db
        self._clock = clock
        self._known = Known()
        self.max_event_age = max_event_age
        self.set_agents(agents)
        self.set_known_bots(known_bots)

    def set_agents(self, agents: Mapping[str, str] | Iterable[str]) -> None:
        """Say who our agents are: user id -> agent id, or just ids where the two are the same."""
        ids = dict(agents) if isinstance(agents, Mapping) else {agent: agent for agent in agents}
        self._known = attrs.evolve(self._known, agents=ids)

    def set_known_bots(self, globs: Iterable[str]) -> None:
        """Say which foreign user ids are bots, as shell patterns."""
        self._known = attrs.evolve(self._known, bots=tuple(globs))

    async def admit(
        self,
        events: Iterable[RoomEvent],
        *,
        cursor_key: str,
        cursor: str,
        own: str,
        catching_up: bool = False,
    ) -> Admitted:
        """Store new events, open their slots and move the cursor, in one transaction.

        `own`: the receiving agent's user id. Only while `catching_up` after downtime can an event
        be too old to answer; a live one never is. One seen before, by any connection, is passed
        over.
        """
        batch, given = self._batch(own, catching_up), tuple(events)

        def work(db: sqlite_utils.Database) -> Admitted:
            admission.move_cursor(db, cursor_key, cursor, batch.now)
            admitted = admission.admit(db, given, batch)
            crash_point("inbox.in_admit")
            return admitted

        crash_point("inbox.before_admit")
        admitted = await self._db.write(work)
        crash_point("inbox.after_admit")
        return admitted

    async def decide(self, slot_id: int, choose: Callable[[SlotFacts], Decision]) -> Decided:
        """Run a pure rule on an open slot's facts and make its decision true, in one transaction.

        A slot that is not open is left as it is. A dispatch counts the slot's turn in its chain,
        once however often the slot is dispatched again. No agent gets two slots of one event: a
        dispatch that only names such agents becomes `Decline("already_answering")`. Raises KeyError
        for an unknown slot.
        """
        now, known = self._clock.now(), self._known

        def work(db: sqlite_utils.Database) -> Decided:
            slot = _known_slot(db, slot_id)
            if slot.state != "open":
                return Decided((slot,), None)
            gathered = facts.gather(db, slot, known, now)
            done = _carry_out(db, gathered, choose(gathered), now)
            crash_point("inbox.in_decide")
            return done

        decided = await self._db.write(work)
        crash_point("inbox.after_decide")
        return decided

    async def answer(
        self,
        slot_id: int,
        attempt: int,
        messages: Sequence[OutgoingMessage],
        *,
        also: Also | None = None,
    ) -> bool:
        """Close the slot as answered and freeze the answer's parts, in one transaction.

        All parts but the last are marked so that other agents reply to the whole. Raises ValueError
        when there is nothing to say (decline instead).
        """
        if not messages:
            raise ValueError(f"slot {slot_id}: an answer needs at least one message")
        now = self._clock.now()
        parts = [attrs.evolve(part, content=with_more(part.content)) for part in messages[:-1]]

        def work(db: sqlite_utils.Database) -> bool:
            if not slots.end(db, slot_id, attempt, "answered", now=now):
                return False
            Outbox.put_in(db, [*parts, messages[-1]], now=now, slot_id=slot_id)
            _also(db, also)
            crash_point("slot.in_answer")
            return True

        crash_point("slot.before_answer")
        answered = await self._db.write(work)
        crash_point("slot.after_answer")
        return answered

    async def decline(
        self, slot_id: int, attempt: int | None, rule: str, *, also: Also | None = None
    ) -> bool:
        """Close the slot unanswered, by a rule. `attempt` None: a slot that is open.

        A turn that said nothing is given back to its chain.
        """
        return await self._end(slot_id, attempt, "declined", rule=rule, also=also)

    async def expire(self, slot_id: int, reason: str, *, also: Also | None = None) -> bool:
        """Close an open slot as too late."""
        return await self._end(slot_id, None, "expired", reason=reason, also=also)

    async def dead_letter(
        self,
        slot_id: int,
        attempt: int | None,
        reason: str,
        notice: OutgoingMessage | None = None,
        *,
        also: Also | None = None,
    ) -> bool:
        """Give the slot up and freeze what the room is told. Its turn stays counted."""
        return await self._end(
            slot_id, attempt, "dead_letter", reason=reason, notice=notice, also=also
        )

    async def fail_attempt(
        self, slot_id: int, attempt: int, error: str, *, also: Also | None = None
    ) -> Slot | None:
        """An attempt raised: count it, open the slot again, return it; None if it was stale."""
        return await self._reopen(slot_id, attempt, error, failed=True, also=also)

    async def release(
        self,
        slot_id: int,
        attempt: int,
        reason: str,
        *,
        crashed: bool = False,
        also: Also | None = None,
    ) -> bool:
        """An attempt was cut off (reload, stop; `crashed`: counted): open the slot again."""
        slot = await self._reopen(slot_id, attempt, reason, crashed=crashed, also=also)
        return slot is not None

    async def open_slots(
        self, *, agent: str | None = None, room: str | None = None
    ) -> tuple[Slot, ...]:
        """Every slot that has not ended (state open or dispatched), oldest first."""
        return await self._db.read(lambda db: slots.unended_slots(db, agent, room))

    async def slot(self, slot_id: int) -> Slot | None:
        """One slot."""
        return await self._db.read(lambda db: slots.get_slot(db, slot_id))

    async def slots_of(self, event_id: str) -> tuple[Slot, ...]:
        """An event's slots, oldest first."""
        return await self._db.read(lambda db: slots.select_slots(db, "event_id = ?", event_id))

    async def event(self, event_id: str) -> RoomEvent | None:
        """One admitted event."""
        return await self._db.read(lambda db: facts.get_event(db, event_id))

    async def facts(self, slot_id: int) -> SlotFacts:
        """The facts a decision about this slot would see now. Raises KeyError: unknown slot."""
        now, known = self._clock.now(), self._known
        return await self._db.read(
            lambda db: facts.gather(db, _known_slot(db, slot_id), known, now)
        )

    async def history(
        self,
        room: str,
        before: str | None = None,
        limit: int = 20,
        *,
        kinds: tuple[str, ...] = ("message", "notice"),
    ) -> tuple[RoomEvent, ...]:
        """The last `limit` events of a room, before the event `before` if given, oldest first."""
        return await self._db.read(lambda db: facts.room_history(db, room, before, limit, kinds))

    async def reactions(self, after: int, limit: int) -> tuple[tuple[int, RoomEvent], ...]:
        """Reactions admitted after the position `after`, oldest first, each with its own."""
        return await self._db.read(lambda db: facts.reactions(db, after, limit))

    async def newest(self) -> int:
        """The position of the latest event admitted; 0 before the first."""
        return await self._db.read(
            lambda db: int(
                db.conn.execute("SELECT coalesce(max(seq), 0) FROM events").fetchone()[0]
            )
        )

    async def cursor(self, key: str) -> str | None:
        """Up to where a connection has heard; None before its first admission."""

        def work(db: sqlite_utils.Database) -> str | None:
            row = db.conn.execute("SELECT cursor FROM cursors WHERE key = ?", (key,)).fetchone()
            return row[0] if row else None

        return await self._db.read(work)

    async def chain_turns(self, room: str, chain: str) -> int:
        """Turns our agents have taken in a chain in a room."""
        return await self._db.read(lambda db: hops.turns(db, room, chain))

    async def reserve_hop(self, room: str, chain: str, key: str, limit: int | None) -> int | None:
        """Take one more turn in a chain, once per `key`; None when `limit` turns are taken."""
        return await self._db.write(lambda db: hops.reserve(db, room, chain, key, limit))

    async def give_back_hop(self, room: str, chain: str, key: str) -> bool:
        """Undo `reserve_hop`; False when nothing is reserved under that key."""
        return await self._db.write(lambda db: hops.give_back(db, room, chain, key))

    async def set_members(self, room: str, members: Iterable[str]) -> None:
        """Replace what is known of who is in a room (joins and leaves admitted later change it)."""
        given = tuple(members)
        await self._db.write(lambda db: admission.set_present(db, room, given))

    async def set_suspect(self, room: str, sender: str, suspected: bool) -> bool:
        """Begin or end to treat a sender as a bot in a room; True when that changed something.

        It ends by itself when the sender has said nothing there for ten minutes.
        """
        now = self._clock.now()
        return await self._db.write(
            lambda db: admission.set_suspect(db, room, sender, suspected, now)
        )

    def _batch(self, own: str, catching_up: bool) -> Batch:
        now = self._clock.now()
        known = self._known
        if own not in known.agents:
            known = attrs.evolve(known, agents={**known.agents, own: own})
        return Batch(known, now, now - self.max_event_age if catching_up else None)

    async def _end(
        self,
        slot_id: int,
        attempt: int | None,
        state: SlotState,
        *,
        rule: str | None = None,
        reason: str | None = None,
        notice: OutgoingMessage | None = None,
        also: Also | None = None,
    ) -> bool:
        now = self._clock.now()

        def work(db: sqlite_utils.Database) -> bool:
            if not slots.end(db, slot_id, attempt, state, now=now, rule=rule, reason=reason):
                return False
            if state != "dead_letter":
                slots.give_back_if_silent(db, _known_slot(db, slot_id))
            if notice is not None:
                Outbox.put_in(db, [notice], now=now, slot_id=slot_id)
            _also(db, also)
            return True

        return await self._db.write(work)

    async def _reopen(
        self,
        slot_id: int,
        attempt: int,
        reason: str,
        *,
        failed: bool = False,
        crashed: bool = False,
        also: Also | None = None,
    ) -> Slot | None:
        def work(db: sqlite_utils.Database) -> Slot | None:
            if not slots.reopen(db, slot_id, attempt, reason, failed=failed, crashed=crashed):
                return None
            _also(db, also)
            return slots.get_slot(db, slot_id)

        return await self._db.write(work)


def _known_slot(db: sqlite_utils.Database, slot_id: int) -> Slot:
    slot = slots.get_slot(db, slot_id)
    if slot is None:
        raise KeyError(f"no answer slot {slot_id}")
    return slot


def _also(db: sqlite_utils.Database, also: Also | None) -> None:
    if also is not None:
        also(db)


def _carry_out(
    db: sqlite_utils.Database, gathered: SlotFacts, decision: Decision, now: float
) -> Decided:
    slot = gathered.slot
    match decision:
        case Dispatch():
            return _dispatch(db, gathered, decision, now)
        case Decline(rule, suspect, notice):
            slots.end(db, slot.id, None, "declined", now=now, rule=rule)
            slots.give_back_if_silent(db, slot)
            if suspect:
                admission.set_suspect(db, slot.room, gathered.event.sender, True, now)
            if notice is not None and not _is_told(db, notice, now):
                Outbox.put_in(db, [notice], now=now, slot_id=slot.id)
        case Expire(reason):
            slots.end(db, slot.id, None, "expired", now=now, reason=reason)
            slots.give_back_if_silent(db, slot)
        case Hold(reason):
            slots.hold(db, slot.id, reason, now)
    return Decided((_known_slot(db, slot.id),), decision)


def _is_told(db: sqlite_utils.Database, notice: OutgoingMessage, now: float) -> bool:
    """Whether an agent, be it another one, said this in the room within the last hour."""
    row = db.conn.execute(
        "SELECT 1 FROM outbox WHERE room = ? AND created_at >= ? AND txn_id = ? LIMIT 1",
        (notice.room, now - facts.HOUR, notice.txn_id),
    ).fetchone()
    return row is not None


def _dispatch(
    db: sqlite_utils.Database, gathered: SlotFacts, decision: Dispatch, now: float
) -> Decided:
    """Dispatch to the first agent without another slot of this event; the rest get their own."""
    slot = gathered.slot
    busy = {sibling.agent for sibling in gathered.siblings}
    free = [agent for agent in dict.fromkeys(decision.agents) if agent not in busy]
    if not free:
        return _carry_out(db, gathered, Decline(ALREADY_ANSWERING), now)
    done = [slots.dispatch(db, slot, free[0], decision.rule, now)]
    for agent in free[1:]:
        extra = slots.open_slot(
            db, event_id=slot.event_id, room=slot.room, chain=slot.chain, now=now
        )
        done.append(slots.dispatch(db, _known_slot(db, extra), agent, decision.rule, now))
    return Decided(tuple(done), decision)
