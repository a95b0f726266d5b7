"""Inbox: an event is admitted once, its slot ends once, a chain's turns are counted exactly."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import attrs
import pytest

from channels.chain import STAMP_KEY, Stamp, room_chain, stamped
from channels.inbox import (
    Admitted,
    Decided,
    Decline,
    Dispatch,
    EventInbox,
    Expire,
    Hold,
    Slot,
    SlotFacts,
)
from channels.outbox import OutgoingMessage
from channels.rooms import RoomEvent, text_content
from tests.channels.wires import ROOM, Wires, answer_parts, open_wires

pytestmark = pytest.mark.promise("P1")

FIRST = Dispatch(("asistente",), "first")


@pytest.fixture
async def wires(tmp_path: Path):
    async with open_wires(tmp_path / "state.db") as opened:
        yield opened


@pytest.fixture
def inbox(wires: Wires) -> EventInbox:
    return wires.inbox


@attrs.define
class Room:
    """Says things in the room, one cursor step each."""

    wires: Wires
    said: int = 0

    async def hear(self, *events: RoomEvent, key: str = "asistente", **how: Any) -> Admitted:
        self.said += 1
        return await self.wires.inbox.admit(
            events, cursor_key=key, cursor=f"s{self.said}", own=key, **how
        )

    async def say(self, sender: str, text: str = "hola", **how: Any) -> int:
        """Admit one message; return its slot."""
        admitted = await self.hear(self.message(sender, text, **how))
        (slot_id,) = admitted.slot_ids
        return slot_id

    def message(self, sender: str, text: str = "hola", **changes: Any) -> RoomEvent:
        event = RoomEvent(
            f"${self.said}-{sender}", ROOM, sender, self.wires.clock.now(), text_content(text)
        )
        return attrs.evolve(event, **changes)

    async def reply(self, slot_id: int, agent: str = "asistente") -> RoomEvent:
        """Let an agent answer a slot and hear what it said."""
        decided = await self.wires.inbox.decide(slot_id, lambda facts: Dispatch((agent,), "reply"))
        (slot,) = decided.slots
        parts = answer_parts(slot, parts=1)
        assert await self.wires.inbox.answer(slot.id, slot.attempt, parts)
        return RoomEvent(f"$r{slot.id}", ROOM, agent, self.wires.clock.now(), parts[0].content)


@pytest.fixture
def room(wires: Wires) -> Room:
    return Room(wires)


async def dispatched(inbox: EventInbox, slot_id: int, decision: Dispatch = FIRST) -> Slot:
    decided = await inbox.decide(slot_id, lambda facts: decision)
    assert decided.decision == decision
    return decided.slots[0]


async def facts_of(inbox: EventInbox, slot_id: int) -> SlotFacts:
    seen: list[SlotFacts] = []

    def look(facts: SlotFacts) -> Hold:
        seen.append(facts)
        return Hold("looking")

    await inbox.decide(slot_id, look)
    assert seen[0] == attrs.evolve(
        await inbox.facts(slot_id), slot=seen[0].slot, siblings=seen[0].siblings
    )
    return seen[0]


# Admission


async def test_an_event_opens_one_slot_whichever_connection_brings_it(
    inbox: EventInbox, room: Room
) -> None:
    event = room.message("@ana")
    first = await room.hear(event, key="asistente")
    second = await room.hear(event, key="devops")
    third = await room.hear(event, event, key="asistente")
    assert len(first.slot_ids) == 1
    assert second == third == Admitted()
    (slot,) = await inbox.slots_of(event.event_id)
    assert (slot.state, slot.attempt, slot.agent, slot.room) == ("open", 0, None, ROOM)
    assert await inbox.event(event.event_id) == event


async def test_the_cursor_moves_with_the_admission_or_not_at_all(
    inbox: EventInbox, room: Room
) -> None:
    assert await inbox.cursor("asistente") is None
    await room.hear(room.message("@ana"))
    await room.hear()
    assert await inbox.cursor("asistente") == "s2"
    with pytest.raises(TypeError):
        await room.hear(room.message("@eva"), room.message("@eva", content={"body": object()}))
    assert await inbox.cursor("asistente") == "s2"
    assert len(await inbox.open_slots()) == 1


async def test_only_messages_open_slots(inbox: EventInbox, room: Room) -> None:
    kinds = ["notice", "edit", "reaction", "join", "leave", "topic"]
    admitted = await room.hear(
        *(room.message("@ana", kind=kind, event_id=f"${kind}") for kind in kinds)
    )
    assert admitted.slot_ids == ()
    assert [event.kind for event in admitted.memberships] == ["join", "leave"]
    assert [event.kind for event in admitted.reactions] == ["reaction"]
    assert await inbox.open_slots() == ()


async def test_control_messages_of_people_are_handed_out_and_open_nothing(room: Room) -> None:
    texts = ["!stop", "!yes a1", "!no a1"]
    admitted = await room.hear(*(room.message("@ana", text, event_id=f"${text}") for text in texts))
    assert admitted.slot_ids == ()
    assert [event.control for event in admitted.controls] == [
        ("stop", ""),
        ("yes", "a1"),
        ("no", "a1"),
    ]
    again = await room.hear(room.message("@ana", "!stop", event_id="$!stop"))
    assert again.controls == ()


async def test_a_bot_cannot_give_control_messages(room: Room) -> None:
    bot = room.message("@helper", "!yes a1", sender_is_bot=True)
    assert await room.hear(bot) == Admitted()


async def test_an_agents_message_opens_a_slot_for_the_others(room: Room, inbox: EventInbox) -> None:
    slot_id = await room.say("devops", "¿alguien más?")
    facts = await facts_of(inbox, slot_id)
    assert facts.event.sender_is_bot
    assert facts.sender_agent == "devops"


async def test_of_an_answer_in_parts_only_the_last_opens_a_slot(wires: Wires, room: Room) -> None:
    slot = await dispatched(wires.inbox, await room.say("@ana"))
    await wires.inbox.answer(slot.id, 1, answer_parts(slot, parts=3))
    rows = await wires.outbox.rows_of(slot.id)
    heard = [RoomEvent(f"$p{row.id}", ROOM, "asistente", 1.0, row.content) for row in rows]
    admitted = await room.hear(*heard)
    (opened,) = admitted.slot_ids
    assert (await wires.inbox.slot(opened)).event_id == heard[-1].event_id  # type: ignore[union-attr]


async def test_a_stranger_cannot_hide_behind_the_mark_of_parts(room: Room) -> None:
    event = room.message("@ana", content={"body": "hola", STAMP_KEY: {"more": True}})
    assert len((await room.hear(event)).slot_ids) == 1


async def test_after_downtime_what_is_too_old_expires_and_the_rest_is_answered(
    inbox: EventInbox, wires: Wires, room: Room
) -> None:
    now = wires.clock.now()
    old = room.message("@ana", event_id="$old", ts=now - inbox.max_event_age - 1)
    stop = attrs.evolve(old, event_id="$stop", content=text_content("!stop"))
    fresh = room.message("@ana", event_id="$fresh", ts=now - inbox.max_event_age + 1)
    admitted = await room.hear(old, stop, fresh, catching_up=True)
    assert (len(admitted.expired), len(admitted.slot_ids), admitted.controls) == (1, 1, ())
    slot = await inbox.slot(admitted.expired[0])
    assert slot is not None
    assert (slot.state, slot.rule, slot.event_id) == ("expired", "too_old", "$old")
    assert slot.closed_at == now


async def test_a_live_event_never_expires_by_the_clock(wires: Wires, room: Room) -> None:
    wires.clock.time += 10 * 365 * 86_400
    admitted = await room.hear(room.message("@ana", ts=1.0))
    assert (len(admitted.slot_ids), admitted.expired) == (1, ())


async def test_a_strangers_impossible_values_are_stored_not_raised(
    inbox: EventInbox, room: Room, wires: Wires
) -> None:
    event = RoomEvent("$\ud800", "#\udc00", "@\ud800", math.nan, {"body": "\ud800", "n": math.inf})
    admitted = await room.hear(
        event, attrs.evolve(event, event_id="$j", kind="join", content={"member": "@\udfff"})
    )
    slot = await inbox.slot(admitted.slot_ids[0])
    assert slot is not None
    stored = await inbox.event(slot.event_id)
    assert stored is not None
    assert (stored.event_id, stored.sender, stored.text) == ("$?", "@?", "?")
    assert stored.ts == wires.clock.now()


@pytest.mark.parametrize(
    ("sender", "changes", "is_bot"),
    [
        ("@ana", {}, False),
        ("asistente", {}, True),
        ("@github-bot", {}, True),
        ("@git:bots.example", {}, True),
        ("@git:bots.example.org", {}, False),
        ("@ana", {"kind": "notice"}, True),
        ("@ghost", {"sender_is_bot": True}, True),
        ("@ana", {"content": {"body": "x", STAMP_KEY: "anything"}}, True),
    ],
)
async def test_who_is_a_bot(
    inbox: EventInbox, room: Room, sender: str, changes: dict[str, Any], is_bot: bool
) -> None:
    inbox.set_known_bots(["@*-bot", "@*:bots.example"])
    event = room.message(sender, **changes)
    await room.hear(event)
    stored = await inbox.event(event.event_id)
    assert stored is not None and stored.sender_is_bot is is_bot


async def test_agents_and_known_bots_can_be_replaced(inbox: EventInbox, room: Room) -> None:
    inbox.set_agents({"@asis:example.org": "asistente"})
    slot_id = await room.say("@asis:example.org")
    assert (await facts_of(inbox, slot_id)).sender_agent == "asistente"
    slot_id = await room.say("devops")
    assert not (await facts_of(inbox, slot_id)).event.sender_is_bot


async def test_the_receiving_agent_is_known_even_when_nobody_said_so(
    inbox: EventInbox, room: Room
) -> None:
    inbox.set_agents(())
    await room.hear(room.message("nueva", event_id="$n"), key="nueva")
    stored = await inbox.event("$n")
    assert stored is not None and stored.sender_is_bot


# The life of a slot


async def test_a_decision_dispatches_and_counts_the_turn(inbox: EventInbox, room: Room) -> None:
    slot = await dispatched(inbox, await room.say("@ana"))
    assert (slot.state, slot.agent, slot.attempt, slot.hop) == ("dispatched", "asistente", 1, 1)
    assert slot.rule == "first"
    assert await inbox.chain_turns(ROOM, slot.chain) == 1


async def test_a_slot_that_is_not_open_is_not_decided(inbox: EventInbox, room: Room) -> None:
    slot = await dispatched(inbox, await room.say("@ana"))

    def never(facts: SlotFacts) -> Decline:
        raise AssertionError("the rule must not run")

    assert await inbox.decide(slot.id, never) == Decided((slot,), None)


async def test_an_unknown_slot_is_an_error(inbox: EventInbox) -> None:
    assert await inbox.slot(99) is None
    with pytest.raises(KeyError, match="no answer slot 99"):
        await inbox.decide(99, lambda facts: FIRST)
    with pytest.raises(KeyError, match="no answer slot 99"):
        await inbox.facts(99)


async def test_a_rule_that_raises_decides_nothing(inbox: EventInbox, room: Room) -> None:
    slot_id = await room.say("@ana")

    def broken(facts: SlotFacts) -> Decline:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await inbox.decide(slot_id, broken)
    assert [slot.state for slot in await inbox.open_slots()] == ["open"]


async def test_answering_closes_the_slot_and_freezes_its_parts_together(
    wires: Wires, room: Room
) -> None:
    slot = await dispatched(wires.inbox, await room.say("@ana"))
    wires.clock.time += 5
    assert await wires.inbox.answer(slot.id, 1, answer_parts(slot, parts=2))
    closed = await wires.inbox.slot(slot.id)
    assert closed is not None
    assert (closed.state, closed.closed_at, closed.ended) == ("answered", wires.clock.now(), True)
    rows = await wires.outbox.rows_of(slot.id)
    assert [row.txn_id for row in rows] == [f"slot-{slot.id}-0", f"slot-{slot.id}-1"]
    assert await wires.inbox.open_slots() == ()


async def test_an_answer_needs_something_to_say(inbox: EventInbox, room: Room) -> None:
    slot = await dispatched(inbox, await room.say("@ana"))
    with pytest.raises(ValueError, match="at least one message"):
        await inbox.answer(slot.id, 1, [])


async def test_a_slot_ends_once_whatever_comes_later(wires: Wires, room: Room) -> None:
    inbox = wires.inbox
    slot = await dispatched(inbox, await room.say("@ana"))
    assert await inbox.answer(slot.id, 1, answer_parts(slot))
    ended = await inbox.slot(slot.id)
    assert not await inbox.answer(slot.id, 1, answer_parts(slot))
    for attempt in (1, None):
        assert not await inbox.decline(slot.id, attempt, "late")
        assert not await inbox.dead_letter(slot.id, attempt, "late", answer_parts(slot)[0])
    assert not await inbox.expire(slot.id, "late")
    assert await inbox.fail_attempt(slot.id, 1, "late") is None
    assert not await inbox.release(slot.id, 1, "late")
    assert (await inbox.decide(slot.id, lambda facts: FIRST)).decision is None
    assert await inbox.slot(slot.id) == ended
    assert len(await wires.outbox.rows_of(slot.id)) == 2


async def test_the_table_itself_refuses_to_change_an_ended_slot(wires: Wires, room: Room) -> None:
    slot_id = await room.say("@ana")
    assert await wires.inbox.expire(slot_id, "too late")
    with pytest.raises(Exception, match="ended slot cannot change"):
        await wires.db.write(lambda db: db.conn.execute("UPDATE slots SET state = 'open'"))


async def test_a_stale_attempt_cannot_answer(wires: Wires, room: Room) -> None:
    inbox = wires.inbox
    slot = await dispatched(inbox, await room.say("@ana"))
    assert await inbox.release(slot.id, 1, "reload")
    assert not await inbox.answer(slot.id, 1, answer_parts(slot))
    again = await dispatched(inbox, slot.id, Dispatch(("devops",), "next"))
    assert (again.attempt, again.agent, again.hop) == (2, "devops", 1)
    assert not await inbox.answer(slot.id, 1, answer_parts(slot))
    assert not await inbox.decline(slot.id, 1, "late")
    assert await wires.outbox.rows_of(slot.id) == ()
    assert await inbox.answer(slot.id, 2, answer_parts(again))


async def test_failures_and_crashes_are_counted_apart(inbox: EventInbox, room: Room) -> None:
    slot_id = await room.say("@ana")
    await dispatched(inbox, slot_id)
    failed = await inbox.fail_attempt(slot_id, 1, "ValueError: no")
    assert failed is not None
    assert (failed.state, failed.failures, failed.interruptions) == ("open", 1, 0)
    assert (failed.agent, failed.reason) == ("asistente", "ValueError: no")
    await dispatched(inbox, slot_id)
    assert await inbox.release(slot_id, 2, "reload")
    await dispatched(inbox, slot_id)
    assert await inbox.release(slot_id, 3, "crash", crashed=True)
    slot = await inbox.slot(slot_id)
    assert slot is not None
    assert (slot.attempt, slot.failures, slot.interruptions, slot.hop) == (3, 1, 1, 1)


async def test_an_open_slot_is_closed_without_an_attempt_and_a_held_one_is_not(
    inbox: EventInbox, room: Room
) -> None:
    held = await dispatched(inbox, await room.say("@ana"))
    assert not await inbox.decline(held.id, None, "quiet")
    assert not await inbox.expire(held.id, "late")
    assert not await inbox.dead_letter(held.id, None, "gone")
    waiting = [await room.say("@ana") for _ in range(3)]
    assert await inbox.decline(waiting[0], None, "quiet")
    assert await inbox.expire(waiting[1], "late")
    assert await inbox.dead_letter(waiting[2], None, "nobody is left")
    ended = [await inbox.slot(slot_id) for slot_id in waiting]
    assert [(slot.state, slot.rule, slot.reason) for slot in ended if slot] == [
        ("declined", "quiet", None),
        ("expired", None, "late"),
        ("dead_letter", None, "nobody is left"),
    ]


async def test_a_dead_letter_freezes_its_notice_with_it(wires: Wires, room: Room) -> None:
    slot = await dispatched(wires.inbox, await room.say("@ana"))
    notice = OutgoingMessage("asistente", ROOM, "notice-1", text_content("no pude", notice=True))
    assert await wires.inbox.dead_letter(slot.id, 1, "ValueError twice", notice)
    (row,) = await wires.outbox.pending("asistente")
    assert (row.txn_id, row.slot_id) == ("notice-1", slot.id)
    assert not await wires.inbox.dead_letter(slot.id, 1, "again", notice)


async def test_holding_notes_why_and_leaves_the_slot_open(inbox: EventInbox, room: Room) -> None:
    slot_id = await room.say("@ana")
    decided = await inbox.decide(slot_id, lambda facts: Hold("asistente is reloading"))
    assert decided.decision == Hold("asistente is reloading")
    (slot,) = decided.slots
    assert (slot.state, slot.reason, slot.attempt) == ("open", "asistente is reloading", 0)


async def test_declining_and_expiring_by_rule(inbox: EventInbox, room: Room) -> None:
    declined = await inbox.decide(await room.say("@ana"), lambda facts: Decline("cooldown"))
    expired = await inbox.decide(await room.say("@ana"), lambda facts: Expire("room is gone"))
    assert (declined.slots[0].state, declined.slots[0].rule) == ("declined", "cooldown")
    assert (expired.slots[0].state, expired.slots[0].reason) == ("expired", "room is gone")


async def test_what_comes_along_shares_the_fate_of_the_change(wires: Wires, room: Room) -> None:
    inbox = wires.inbox
    slot = await dispatched(inbox, await room.say("@ana"))
    await wires.db.write(lambda db: db.executescript("CREATE TABLE journal(n)"))

    def note(db: Any) -> None:
        db.conn.execute("INSERT INTO journal VALUES (1)")

    def fail(db: Any) -> None:
        note(db)
        raise LookupError

    async def notes() -> int:
        return await wires.db.read(lambda db: db.table("journal").count)

    with pytest.raises(LookupError):
        await inbox.answer(slot.id, 1, answer_parts(slot), also=fail)
    assert (await notes(), (await inbox.slot(slot.id)).state) == (0, "dispatched")  # type: ignore[union-attr]
    assert not await inbox.answer(slot.id, 7, answer_parts(slot), also=note)
    assert await notes() == 0
    assert await inbox.fail_attempt(slot.id, 1, "x", also=note)
    assert await inbox.decline(slot.id, None, "x", also=note)
    assert not await inbox.decline(slot.id, None, "x", also=note)
    assert await notes() == 2


async def test_slot_ids_are_never_used_twice(wires: Wires, room: Room) -> None:
    first = await room.say("@ana")
    await wires.db.write(lambda db: db.conn.execute("DELETE FROM slots"))
    assert await room.say("@ana") > first


async def test_unended_slots_are_listed_by_agent_and_room(inbox: EventInbox, room: Room) -> None:
    one = await dispatched(inbox, await room.say("@ana"))
    two = await room.say("@eva", room="#otra")
    done = await room.say("@ana")
    await inbox.expire(done, "x")
    assert [slot.id for slot in await inbox.open_slots()] == [one.id, two]
    assert [slot.id for slot in await inbox.open_slots(agent="asistente")] == [one.id]
    assert [slot.id for slot in await inbox.open_slots(room="#otra")] == [two]
    assert await inbox.open_slots(agent="asistente", room="#otra") == ()


# Several agents for one event


async def test_each_chosen_agent_gets_its_own_slot_and_turn(inbox: EventInbox, room: Room) -> None:
    slot_id = await room.say("@ana")
    everyone = Dispatch(("asistente", "devops", "asistente"), "all")
    decided = await inbox.decide(slot_id, lambda facts: everyone)
    assert [(slot.agent, slot.hop, slot.attempt) for slot in decided.slots] == [
        ("asistente", 1, 1),
        ("devops", 2, 1),
    ]
    assert decided.slots[0].id == slot_id
    assert await inbox.slots_of(decided.slots[0].event_id) == decided.slots


async def test_no_agent_gets_two_slots_of_one_event(inbox: EventInbox, room: Room) -> None:
    everyone = Dispatch(("asistente", "devops"), "all")
    decided = await inbox.decide(await room.say("@ana"), lambda facts: everyone)
    first, second = decided.slots
    await inbox.release(second.id, 1, "reload")
    again = await inbox.decide(second.id, lambda facts: everyone)
    assert [(slot.id, slot.agent) for slot in again.slots] == [(second.id, "devops")]
    await inbox.release(second.id, 2, "reload")
    refused = await inbox.decide(second.id, lambda facts: Dispatch(("asistente",), "next"))
    assert refused.decision == Decline("already_answering")
    assert await inbox.chain_turns(ROOM, first.chain) == 1


def test_a_dispatch_names_somebody() -> None:
    with pytest.raises(ValueError):
        Dispatch((), "nobody")


# Chains


@pytest.mark.promise("P3")
async def test_bots_answers_stay_in_the_chain_of_the_human_message(
    inbox: EventInbox, room: Room
) -> None:
    first = await room.say("@ana")
    reply = await room.reply(first)
    (second,) = (await room.hear(reply)).slot_ids
    facts = await facts_of(inbox, second)
    assert facts.chain == (await inbox.slot(first)).chain  # type: ignore[union-attr]
    assert facts.chain_turns == 1
    (third,) = (await room.hear(await room.reply(second, "devops"))).slot_ids
    assert (await facts_of(inbox, third)).chain_turns == 2


@pytest.mark.promise("P3")
async def test_only_a_new_human_message_starts_a_count_anew(inbox: EventInbox, room: Room) -> None:
    first = await room.say("@ana")
    await room.hear(await room.reply(first))
    for foreign in (
        room.message("@ci", event_id="$1", sender_is_bot=True),
        room.message("@ana", event_id="$2", content={"body": "x", STAMP_KEY: {"hop": 0}}),
        room.message("@ana", event_id="$3", kind="edit"),
    ):
        await room.hear(foreign)
    await room.hear(room.message("@ana", event_id="$0-@ana"))  # the same event again
    (slot_id,) = (await room.hear(room.message("@ci", event_id="$4", sender_is_bot=True))).slot_ids
    facts = await facts_of(inbox, slot_id)
    assert (facts.chain, facts.chain_turns) == ("$0-@ana", 1)
    fresh = await facts_of(inbox, await room.say("@ana"))
    assert (fresh.chain, fresh.chain_turns) == (fresh.event.event_id, 0)


@pytest.mark.promise("P3")
async def test_a_room_where_no_person_wrote_has_one_count_that_persists(
    inbox: EventInbox, room: Room
) -> None:
    for turn in range(3):
        slot_id = await room.say("@ci", sender_is_bot=True)
        facts = await facts_of(inbox, slot_id)
        assert (facts.chain, facts.chain_turns) == (room_chain(ROOM), turn)
        await room.reply(slot_id)


@pytest.mark.promise("P3")
async def test_a_strangers_stamp_neither_lowers_a_count_nor_names_a_chain(
    inbox: EventInbox, room: Room
) -> None:
    first = await room.say("@ana")
    await room.reply(first)
    forged = stamped(text_content("hola"), Stamp("asistente", "$new", "$new", 0))
    facts = await facts_of(inbox, await room.say("@otro", content=forged))
    assert (facts.chain, facts.chain_turns) == ("$0-@ana", 1)


@pytest.mark.promise("P3")
async def test_our_message_is_known_by_its_row_when_its_stamp_was_lost(
    wires: Wires, room: Room
) -> None:
    first = await room.say("@ana")
    await room.reply(first)
    await room.say("@eva")
    (row,) = await wires.outbox.rows_of(first)
    await wires.outbox.mark_sent(row.id, "$sent", "DEV")
    lost = room.message("@bridge", event_id="$sent", sender_is_bot=True)
    (slot_id,) = (await room.hear(lost)).slot_ids
    assert (await facts_of(wires.inbox, slot_id)).chain == "$0-@ana"


@pytest.mark.promise("P3")
async def test_an_occurrences_message_starts_a_chain_that_other_bots_join(
    inbox: EventInbox, room: Room
) -> None:
    await room.say("@ana")
    origin = "occurrence:asistente/diario@2026-04-10T07:00:00Z"
    content = stamped(text_content("⏰"), Stamp("asistente", origin, origin, 0))
    facts = await facts_of(inbox, await room.say("asistente", content=content))
    assert (facts.chain, facts.chain_turns) == (origin, 0)
    bot = await facts_of(inbox, await room.say("@ci", sender_is_bot=True))
    assert bot.chain == origin


@pytest.mark.promise("P3")
async def test_a_hop_of_ours_that_the_file_does_not_know_raises_the_count(
    inbox: EventInbox, room: Room
) -> None:
    content = stamped(text_content("x"), Stamp("devops", "$h", "$h", 4))
    facts = await facts_of(inbox, await room.say("devops", content=content))
    assert (facts.chain, facts.chain_turns) == ("$h", 4)


@pytest.mark.promise("P3")
async def test_a_turn_that_says_nothing_gives_its_hop_back(inbox: EventInbox, room: Room) -> None:
    slot = await dispatched(inbox, await room.say("@ana"))
    assert await inbox.decline(slot.id, 1, "no_reply")
    assert await inbox.chain_turns(ROOM, slot.chain) == 0
    other = await dispatched(inbox, await room.say("@ana"))
    await inbox.release(other.id, 1, "reload")
    await inbox.decide(other.id, lambda facts: Decline("quiet"))
    assert await inbox.chain_turns(ROOM, other.chain) == 0


@pytest.mark.promise("P3")
async def test_a_turn_that_said_something_keeps_its_hop(wires: Wires, room: Room) -> None:
    slot = await dispatched(wires.inbox, await room.say("@ana"))
    await wires.outbox.put([OutgoingMessage("asistente", ROOM, "p", {"body": "…"})], slot.id)
    assert await wires.inbox.decline(slot.id, 1, "stopped")
    assert await wires.inbox.chain_turns(ROOM, slot.chain) == 1


@pytest.mark.promise("P3")
async def test_a_hop_given_back_is_not_counted_again_by_a_later_stamp(
    inbox: EventInbox, room: Room
) -> None:
    everyone = Dispatch(("asistente", "devops"), "all")
    decided = await inbox.decide(await room.say("@ana"), lambda facts: everyone)
    first, second = decided.slots
    parts = answer_parts(second, parts=1)
    await inbox.answer(second.id, 1, parts)
    await inbox.decline(first.id, 1, "no_reply")
    await room.say("devops", content=parts[0].content)
    assert await inbox.chain_turns(ROOM, first.chain) == 1


@pytest.mark.promise("P3")
async def test_a_slot_that_holds_its_turn_is_not_refused_by_it(
    inbox: EventInbox, room: Room
) -> None:
    slot = await dispatched(inbox, await room.say("@ana"))
    await inbox.fail_attempt(slot.id, 1, "x")
    assert (await facts_of(inbox, slot.id)).chain_turns == 0


@pytest.mark.promise("P3")
async def test_delegated_turns_are_reserved_once_per_key_up_to_the_limit(
    inbox: EventInbox,
) -> None:
    assert await inbox.reserve_hop(ROOM, "$c", "task-1", 2) == 1
    assert await inbox.reserve_hop(ROOM, "$c", "task-1", 2) == 1
    assert await inbox.reserve_hop(ROOM, "$c", "task-2", 2) == 2
    assert await inbox.reserve_hop(ROOM, "$c", "task-3", 2) is None
    assert await inbox.reserve_hop(ROOM, "$c", "task-2", 2) == 2
    assert await inbox.give_back_hop(ROOM, "$c", "task-1")
    assert not await inbox.give_back_hop(ROOM, "$c", "task-1")
    assert not await inbox.give_back_hop(ROOM, "$c", "task-3")
    assert await inbox.reserve_hop(ROOM, "$c", "task-3", 2) == 2
    assert await inbox.chain_turns(ROOM, "$c") == 2
    assert await inbox.chain_turns("#otra", "$c") == 0


# Facts


async def test_a_rule_sees_who_answered_when_and_how_much(wires: Wires, room: Room) -> None:
    slot = await dispatched(wires.inbox, await room.say("@ana"))
    wires.clock.time += 10
    await wires.inbox.answer(slot.id, 1, answer_parts(slot, parts=3))
    answered = wires.clock.now()
    held = await dispatched(wires.inbox, await room.say("@ana"), Dispatch(("devops",), "x"))
    wires.clock.time += 20
    await wires.outbox.put([OutgoingMessage("devops", ROOM, "reminder", {"body": "⏰"})])
    facts = await facts_of(wires.inbox, await room.say("@ana"))
    assert facts.last_answer == {"asistente": answered}
    assert facts.answers_last_hour == {"asistente": 3}  # the reminder is no answer
    assert facts.pending == {"devops": 1}
    assert facts.now == wires.clock.now()
    wires.clock.time += 3600
    assert (await facts_of(wires.inbox, await room.say("@ana"))).answers_last_hour == {}
    elsewhere = await facts_of(wires.inbox, await room.say("@ana", room="#otra"))
    assert (elsewhere.last_answer, elsewhere.pending) == ({}, {})
    assert held.state == "dispatched"


async def test_a_rule_sees_whom_the_event_replies_to(wires: Wires, room: Room) -> None:
    first = await room.say("@ana")
    event = await room.reply(first)
    await room.hear(event)

    def reply_to(event_id: str) -> dict[str, Any]:
        return {"body": "y", "m.relates_to": {"m.in_reply_to": {"event_id": event_id}}}

    direct = await room.say("@eva", content=reply_to(event.event_id))
    assert (await facts_of(wires.inbox, direct)).replies_to == "asistente"
    (row,) = await wires.outbox.rows_of(first)
    await wires.outbox.mark_sent(row.id, "$unheard")
    unheard = await room.say("@eva", content=reply_to("$unheard"))
    assert (await facts_of(wires.inbox, unheard)).replies_to == "asistente"
    unknown = await room.say("@eva", content=reply_to("$nothing"))
    assert (await facts_of(wires.inbox, unknown)).replies_to is None


async def test_a_rule_sees_the_members_as_they_come_and_go(inbox: EventInbox, room: Room) -> None:
    await inbox.set_members(ROOM, ["asistente", "@ana", "@ana"])
    await room.hear(room.message("devops", kind="join", event_id="$j"))
    await room.hear(room.message("@admin", kind="leave", event_id="$l", content={"member": "@ana"}))
    assert (await facts_of(inbox, await room.say("@eva"))).members == {"asistente", "devops"}
    await inbox.set_members(ROOM, [])
    assert (await facts_of(inbox, await room.say("@eva"))).members == frozenset()


async def test_a_rule_sees_the_other_slots_of_the_event(inbox: EventInbox, room: Room) -> None:
    decided = await inbox.decide(
        await room.say("@ana"), lambda facts: Dispatch(("asistente", "devops"), "all")
    )
    first, second = decided.slots
    await inbox.release(first.id, 1, "reload")
    assert (await facts_of(inbox, first.id)).siblings == (second,)


@pytest.mark.promise("P3")
async def test_alternations_count_who_speaks_right_after_our_agents(
    wires: Wires, room: Room
) -> None:
    async def turns(*senders: str) -> int:
        slot_id = 0
        for sender in senders:
            slot_id = await room.say(sender)
        return (await facts_of(wires.inbox, slot_id)).alternations

    assert await turns("@x") == 0
    assert await turns("asistente", "@x") == 1
    assert await turns("@x", "@x") == 1
    assert await turns("devops", "@ana", "@x") == 2
    assert await turns("@ana", "asistente", "devops", "@x") == 3
    assert await turns("asistente") == 0
    wires.clock.time += 601
    assert await turns("@x") == 0


@pytest.mark.promise("P3")
async def test_a_suspect_is_treated_as_a_bot_in_that_room_until_cleared(
    inbox: EventInbox, room: Room
) -> None:
    waiting = await room.say("@x")
    decided = await inbox.decide(
        await room.say("@x"), lambda facts: Decline("pair_guard", suspect=True)
    )
    assert decided.slots[0].rule == "pair_guard"
    facts = await facts_of(inbox, waiting)
    assert facts.event.sender_is_bot
    later = await facts_of(inbox, await room.say("@x"))
    assert later.event.sender_is_bot
    assert later.chain != later.event.event_id
    assert not (await facts_of(inbox, await room.say("@x", room="#otra"))).event.sender_is_bot
    assert not await inbox.set_suspect(ROOM, "@x", True)
    assert await inbox.set_suspect(ROOM, "@x", False)
    assert not (await facts_of(inbox, await room.say("@x"))).event.sender_is_bot


@pytest.mark.promise("P3")
async def test_suspicion_lapses_when_the_suspect_was_silent_for_ten_minutes(
    wires: Wires, inbox: EventInbox, room: Room
) -> None:
    assert await inbox.set_suspect(ROOM, "@x", True)
    for _ in range(5):  # it lasts while the sender keeps talking
        wires.clock.time += 599
        await room.say("asistente")
        facts = await facts_of(inbox, await room.say("@x"))
        assert facts.event.sender_is_bot
    again = attrs.evolve(facts.event, sender_is_bot=False)
    wires.clock.time += 600
    await room.hear(again, key="devops")  # heard before: no new message
    free = await facts_of(inbox, await room.say("@x"))
    assert (free.event.sender_is_bot, free.alternations) == (False, 0)
    wires.clock.time += 1
    assert not (await facts_of(inbox, await room.say("@x"))).event.sender_is_bot
    assert await inbox.set_suspect(ROOM, "@x", True)


async def test_a_suspicion_that_lapsed_unnoticed_can_begin_anew(
    wires: Wires, inbox: EventInbox, room: Room
) -> None:
    await inbox.set_suspect(ROOM, "@x", True)
    wires.clock.time += 600
    assert await inbox.set_suspect(ROOM, "@x", True)
    wires.clock.time += 599
    assert (await facts_of(inbox, await room.say("@x"))).event.sender_is_bot
    wires.clock.time += 600
    assert not await inbox.set_suspect(ROOM, "@x", False)


@pytest.mark.promise("P7")
async def test_a_declines_notice_is_frozen_once_in_a_room_and_is_no_answer(
    wires: Wires, inbox: EventInbox, room: Room
) -> None:
    for agent in ("asistente", "devops"):
        notice = OutgoingMessage(agent, ROOM, "hour-1", text_content("basta", notice=True))
        slot_id = await room.say("@ana")
        await inbox.decide(slot_id, lambda facts, told=notice: Decline("hour", notice=told))
    assert [row.agent for row in await wires.outbox.pending("asistente")] == ["asistente"]
    assert await wires.outbox.pending("devops") == ()
    slot = await dispatched(inbox, await room.say("@ana"))
    given_up = OutgoingMessage("asistente", ROOM, "dead-1", text_content("no", notice=True))
    assert await inbox.dead_letter(slot.id, 1, "crashed", given_up)
    assert (await facts_of(inbox, await room.say("@ana"))).answers_last_hour == {}


# History


async def test_history_ends_before_the_event_and_is_in_order(inbox: EventInbox, room: Room) -> None:
    for number in range(5):
        await room.hear(room.message("@ana", str(number), event_id=f"${number}"))
    await room.hear(room.message("@ana", event_id="$j", kind="join"))
    await room.hear(room.message("@ana", "elsewhere", room="#otra"))
    texts = [event.text for event in await inbox.history(ROOM, "$3", 2)]
    assert texts == ["1", "2"]
    assert [event.text for event in await inbox.history(ROOM)] == ["0", "1", "2", "3", "4"]
    joins = await inbox.history(ROOM, kinds=("join",))
    assert [event.event_id for event in joins] == ["$j"]
    assert await inbox.event("$nothing") is None
