"""Who counts as being there."""

from __future__ import annotations

from actors.decision import AgentCard
from actors.presence import Presence, Reach, Roster
from config.schema import RoomConfig

CARDS = {agent: AgentCard(agent) for agent in ("ada", "bob")}
ROSTER_ROOM = RoomConfig("!x:example.org", alias="#taller", participants=("ada", "bob"))


def up(*rooms: str) -> Presence:
    known = Presence(Reach.UP)
    for room in rooms:
        known.moved(room, True)
    return known


def test_an_agent_that_is_up_is_where_it_said_it_is() -> None:
    assert up("#a").may_answer_in("#a") and not up("#a").may_answer_in("#b")
    assert not up().may_answer_in("#a")


def test_one_that_is_starting_is_given_time_except_where_it_left() -> None:
    known = Presence()
    assert known.may_answer_in("#a") and not known.reachable
    known.moved("#a", False)
    assert not known.may_answer_in("#a") and known.may_answer_in("#b")
    known.moved("#a", True)
    assert known.may_answer_in("#a")


def test_one_that_is_down_is_nowhere() -> None:
    known = up("#a")
    known.reach = Reach.DOWN
    assert not known.may_answer_in("#a") and not known.reachable


def test_one_whose_mailbox_is_full_is_there_but_takes_nothing() -> None:
    known = up("#a")
    known.full = True
    assert known.may_answer_in("#a") and not known.reachable


def test_a_room_is_known_by_id_and_alias_and_otherwise_by_who_is_in_it() -> None:
    roster = Roster((ROSTER_ROOM,), CARDS)
    assert roster.room("#taller") is roster.room("!x:example.org") is ROSTER_ROOM
    roster.of("bob").moved("#otra", True)
    assert roster.room("#otra").participants == ("bob",)


def test_who_speaks_for_an_agent_that_is_not_there() -> None:
    roster = Roster((ROSTER_ROOM,), CARDS)
    assert roster.speaker(ROSTER_ROOM.id, "ada") == "ada"  # nobody is: it waits in ada's outbox
    roster.of("bob").moved(ROSTER_ROOM.id, True)
    assert roster.speaker(ROSTER_ROOM.id, "ada") == "bob"
    roster.of("ada").moved(ROSTER_ROOM.id, True)
    assert roster.speaker(ROSTER_ROOM.id, "ada") == "ada"
