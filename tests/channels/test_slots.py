"""Slots: decided, answered, cut off and reopened in whatever order, each ends once."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import attrs
import pytest
import trio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from channels.database import Database
from channels.inbox import Decision, Decline, Dispatch, EventInbox, Expire, Hold, Slot, SlotFacts
from channels.outbox import Outbox, OutgoingMessage
from channels.rooms import RoomEvent, text_content
from tests.channels.wires import AGENTS, MIGRATIONS, ROOM, SetClock, answer_parts

T = TypeVar("T")
LIMIT = 3
PICK = st.integers(0, 10**6)
# Mostly the attempt that holds the slot; also one that held it before, and one that never will.
ATTEMPT = st.sampled_from([0, 0, 0, -1, 1])


class SlotLife(RuleBasedStateMachine):
    """A model of state and attempt alone foretells what each move on the real slots returns."""

    def __init__(self) -> None:
        super().__init__()
        memory = Path("/dev/shm")
        self.folder = tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None)
        self.model: dict[int, tuple[str, int]] = {}
        self.parts: dict[int, int] = {}
        self.ended: dict[int, Slot] = {}
        self.events: list[RoomEvent] = []
        self.open()

    def open(self) -> None:
        path, clock = Path(self.folder.name) / "state.db", SetClock()

        async def opened() -> Database:
            return await Database.open(path, MIGRATIONS, threaded=False)

        self.db = trio.run(opened)
        self.inbox = EventInbox(self.db, clock, agents=AGENTS)
        self.outbox = Outbox(self.db, clock)

    def run(self, work: Callable[..., Awaitable[T]], *args: Any, **kwargs: Any) -> T:
        async def main() -> T:
            return await work(*args, **kwargs)

        return trio.run(main)

    def teardown(self) -> None:
        self.run(self.db.close)
        self.folder.cleanup()

    def pick(self, number: int) -> int:
        return sorted(self.model)[number % len(self.model)]

    def slot(self, slot_id: int) -> Slot:
        slot = self.run(self.inbox.slot, slot_id)
        assert slot is not None
        return slot

    # Rules

    def admit(self, sender: str, content: dict[str, Any]) -> None:
        event = RoomEvent(f"${len(self.events)}", ROOM, sender, 1.0, content)
        self.events.append(event)
        admitted = self.run(self.inbox.admit, [event], cursor_key="k", cursor="c", own="asistente")
        (slot_id,) = admitted.slot_ids
        self.model[slot_id] = ("open", 0)

    @initialize()
    def first(self) -> None:
        self.admit("@ana", text_content("hola"))

    @rule(sender=st.sampled_from(["@ana", "@ana", "@ci-bot", *AGENTS]))
    def say(self, sender: str) -> None:
        self.inbox.set_known_bots(["@*-bot"])
        self.admit(sender, text_content("hola"))

    @rule(number=PICK)
    def answer_is_heard(self, number: int) -> None:
        answered = [slot_id for slot_id, parts in self.parts.items() if parts]
        if answered:
            rows = self.run(self.outbox.rows_of, answered[number % len(answered)])
            self.admit(rows[-1].agent, dict(rows[-1].content))

    @rule(number=PICK)
    def hear_again(self, number: int) -> None:
        event = self.events[number % len(self.events)]
        admitted = self.run(self.inbox.admit, [event], cursor_key="k", cursor="c", own="devops")
        assert admitted.slot_ids == ()

    @rule(
        number=PICK,
        wish=st.sampled_from(
            [
                Dispatch(("asistente",), "first"),
                Dispatch(("devops",), "first"),
                Dispatch(AGENTS, "all"),
                Decline("cooldown"),
                Hold("reloading"),
                Expire("late"),
            ]
        ),
    )
    def decide(self, number: int, wish: Decision) -> None:
        slot_id = self.pick(number)
        state, attempt = self.model[slot_id]

        def choose(facts: SlotFacts) -> Decision:
            if isinstance(wish, Dispatch) and facts.chain_turns + len(wish.agents) > LIMIT:
                return Decline("max_bot_turns")
            return wish

        decided = self.run(self.inbox.decide, slot_id, choose)
        if state != "open":
            assert decided.decision is None
            return
        match decided.decision:
            case Dispatch():
                assert decided.slots[0].id == slot_id
                assert decided.slots[0].attempt == attempt + 1
                for slot in decided.slots:
                    self.model[slot.id] = ("dispatched", slot.attempt)
            case Decline():
                self.model[slot_id] = ("declined", attempt)
            case Expire():
                self.model[slot_id] = ("expired", attempt)
            case Hold():
                pass

    def held(self, slot_id: int, attempt: int) -> bool:
        return self.model[slot_id] == ("dispatched", attempt)

    @rule(number=PICK, offset=ATTEMPT, parts=st.integers(1, 3))
    def answer(self, number: int, offset: int, parts: int) -> None:
        slot_id = self.pick(number)
        attempt = self.model[slot_id][1] + offset
        slot = attrs.evolve(self.slot(slot_id), agent="asistente")
        messages = answer_parts(slot, parts)
        done = self.run(self.inbox.answer, slot_id, attempt, messages)
        assert done == self.held(slot_id, attempt)
        if done:
            self.model[slot_id] = ("answered", attempt)
            self.parts[slot_id] = parts

    @rule(number=PICK, offset=ATTEMPT, unheld=st.booleans(), dead=st.booleans())
    def give_up(self, number: int, offset: int, unheld: bool, dead: bool) -> None:
        slot_id = self.pick(number)
        state, last = self.model[slot_id]
        attempt = None if unheld else last + offset
        if dead:
            notice = OutgoingMessage("asistente", ROOM, f"notice-{slot_id}", {"body": "no pude"})
            done = self.run(self.inbox.dead_letter, slot_id, attempt, "twice", notice)
        else:
            done = self.run(self.inbox.decline, slot_id, attempt, "no_reply")
        assert done == (state == "open" if attempt is None else self.held(slot_id, attempt))
        if done:
            self.model[slot_id] = ("dead_letter" if dead else "declined", last)
            self.parts[slot_id] = int(dead)

    @rule(number=PICK)
    def expire(self, number: int) -> None:
        slot_id = self.pick(number)
        state, last = self.model[slot_id]
        assert self.run(self.inbox.expire, slot_id, "late") == (state == "open")
        if state == "open":
            self.model[slot_id] = ("expired", last)

    @rule(number=PICK, offset=ATTEMPT, failed=st.booleans())
    def cut_off(self, number: int, offset: int, failed: bool) -> None:
        slot_id = self.pick(number)
        attempt = self.model[slot_id][1] + offset
        if failed:
            done = self.run(self.inbox.fail_attempt, slot_id, attempt, "raised") is not None
        else:
            done = self.run(self.inbox.release, slot_id, attempt, "reload", crashed=True)
        assert done == self.held(slot_id, attempt)
        if done:
            self.model[slot_id] = ("open", attempt)

    @rule()
    @precondition(lambda self: self.model)
    def crash(self) -> None:
        """The process dies: nothing is folded in or closed in order."""
        raw, self.db._raw = self.db._raw, None
        assert raw is not None
        raw.conn.close()
        self.open()

    # What always holds

    @invariant()
    def slots_are_as_foretold_and_end_once(self) -> None:
        slots, rows, unended, _ = self.run(self.look)
        for slot in slots:
            assert (slot.state, slot.attempt) == self.model[slot.id]
            if slot.ended:
                assert self.ended.setdefault(slot.id, slot) == slot
                assert rows[slot.id] == self.parts.get(slot.id, 0)
        assert {slot.id for slot in unended} == self.model.keys() - self.ended.keys()

    @invariant()
    def each_chain_counts_the_turns_that_are_held_or_spoken_and_no_more(self) -> None:
        slots, _, _, turns = self.run(self.look)
        given_back = ("declined", "expired")
        held = Counter(slot.chain for slot in slots if slot.hop and slot.state not in given_back)
        assert all(turns[slot.chain] == held[slot.chain] <= LIMIT for slot in slots)

    async def look(self) -> tuple[list[Slot], dict[int, int], tuple[Slot, ...], dict[str, int]]:
        slots = [slot for id in self.model if (slot := await self.inbox.slot(id)) is not None]
        assert len(slots) == len(self.model)
        rows = {slot.id: len(await self.outbox.rows_of(slot.id)) for slot in slots}
        chains = {slot.chain for slot in slots}
        turns = {chain: await self.inbox.chain_turns(ROOM, chain) for chain in chains}
        return slots, rows, await self.inbox.open_slots(), turns


SlotLife.TestCase.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)


@pytest.mark.promise("P1", "P3")
class TestSlotLife(SlotLife.TestCase):
    """Runs the machine."""
