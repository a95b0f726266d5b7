"""Who may answer: each rule by its name, and what no combination of facts may bring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actors.decision import (
    PAIR_GUARD_ALTERNATIONS,
    AgentCard,
    Company,
    addressed_agents,
    decide,
    decide_again,
    no_pending_reply,
    not_own_message,
    not_replied_recently,
    sender_is_bot,
    sender_is_human,
    topic_matches,
)
from actors.turns import DeadLetter, WhoNext
from channels.chain import Stamp, stamped
from channels.rooms import RoomEvent, text_content
from channels.slots import Decline, Dispatch, Expire, Hold, Slot, SlotFacts
from config.schema import RoomConfig

pytestmark = pytest.mark.promise("P1", "P3")

NOW = 10_000.0
CARDS = {
    "ada": AgentCard("ada", topics=("plantas", "riego automático")),
    "bob": AgentCard("bob", topics=("servidores",)),
    "cid": AgentCard("cid", user_id="@cid:example.org"),
}
EVERYONE = frozenset(CARDS)
ROOM = RoomConfig("#taller", participants=("ada", "bob", "cid"), respond_to_bots=True)
COMPANY = Company(CARDS, EVERYONE, EVERYONE, known_bots=("@bridge*",))


def event(text: str = "hola", sender: str = "@ana", **more: Any) -> RoomEvent:
    content = text_content(text)
    mentions = more.pop("mentions", None)
    if mentions:
        content["m.mentions"] = {"user_ids": list(mentions)}
    return RoomEvent("$1", ROOM.id, sender, NOW, content, **more)


def facts(of: RoomEvent | None = None, **more: Any) -> SlotFacts:
    slot = more.pop("slot", None) or Slot(
        1, "$1", ROOM.id, None, "open", 0, 0, "$1", 0, 0, None, None, NOW, None, None
    )
    return SlotFacts(slot, of or event(), "$1", more.pop("chain_turns", 0), NOW, **more)


def room(**more: Any) -> RoomConfig:
    return attrs.evolve(ROOM, **more)


# -- matchers ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bot",
    [
        event(sender="ada"),
        event(sender="@cid:example.org"),
        event(sender="@bridge_irc"),
        event(kind="notice"),
        event(sender_is_bot=True),
        attrs.evolve(event(), content=stamped(text_content("x"), Stamp("far", "$0", "$0", 1))),
        attrs.evolve(event(), content={**text_content("x"), "vivero": "nonsense"}),
    ],
)
def test_whatever_shows_a_bot_counts_as_one(bot: RoomEvent) -> None:
    assert sender_is_bot(facts(bot), COMPANY)
    assert not sender_is_human(facts(bot), COMPANY)


def test_who_shows_no_sign_of_a_bot_is_a_person() -> None:
    assert sender_is_human(facts(), COMPANY)


@given(st.floats(-1e6, 1e6), st.floats(0, 1e5))
def test_not_replied_recently_is_about_the_last_seconds_only(ago: float, cooldown: float) -> None:
    told = not_replied_recently("ada", facts(last_answer={"ada": NOW - ago}), cooldown)
    assert told is not (0 <= NOW - (NOW - ago) < cooldown)


def test_an_answer_dated_in_the_future_by_a_clock_that_stepped_back_does_not_silence() -> None:
    assert not_replied_recently("ada", facts(last_answer={"ada": NOW + 500}), 60)


def test_no_pending_reply_and_own_message() -> None:
    assert no_pending_reply("ada", facts()) and not no_pending_reply(
        "ada", facts(pending={"ada": 1})
    )
    assert not not_own_message(CARDS["ada"], facts(event(sender="ada")))
    assert not not_own_message(CARDS["cid"], facts(event(sender="@cid:example.org")))
    assert not not_own_message(CARDS["ada"], facts(event(sender="x"), sender_agent="ada"))


def test_topics_match_whole_words_without_accents_or_case() -> None:
    topics = ("plantas", "riego automático", "")
    assert topic_matches("¿Riego AUTOMATICO para mis plantas?", topics) == 2
    assert topic_matches("implantaste", topics) == 0


# -- the rules -----------------------------------------------------------------------------------


def test_the_first_participant_answers_a_person() -> None:
    assert decide(ROOM, facts(), COMPANY) == Dispatch(("ada",), "first")


def test_a_mention_picks_that_agent() -> None:
    said = facts(event(mentions=["@cid:example.org"]))
    assert decide(ROOM, said, COMPANY) == Dispatch(("cid",), "mention")


@pytest.mark.parametrize("author", ["cid", "@cid:example.org"])
def test_a_reply_picks_the_agent_replied_to(author: str) -> None:
    assert addressed_agents(facts(replies_to=author), ROOM, COMPANY) == ("cid",)
    assert decide(ROOM, facts(replies_to=author), COMPANY) == Dispatch(("cid",), "mention")


def test_a_person_who_mentions_an_agent_is_answered_despite_cooldown_and_pending_work() -> None:
    said = facts(event(mentions=["ada"]), last_answer={"ada": NOW - 1}, pending={"ada": 1})
    assert decide(ROOM, said, COMPANY) == Dispatch(("ada",), "mention")


def test_a_bot_that_mentions_an_agent_does_not_get_past_the_cooldown() -> None:
    said = facts(event(sender="bob", mentions=["ada"]), last_answer={"ada": NOW - 1})
    assert decide(ROOM, said, COMPANY) == Decline("response_cooldown")


def test_an_agent_that_has_just_answered_leaves_the_word_to_the_next() -> None:
    assert decide(ROOM, facts(last_answer={"ada": NOW - 1}), COMPANY) == Dispatch(("bob",), "first")


def test_when_all_have_just_answered_nobody_does() -> None:
    said = facts(last_answer=dict.fromkeys(CARDS, NOW - 1))
    assert decide(ROOM, said, COMPANY) == Decline("response_cooldown")


def test_a_cooldown_for_bots_leaves_people_alone() -> None:
    calm = room(cooldown_applies_to="bots")
    said = facts(last_answer={"ada": NOW - 1})
    assert decide(calm, said, COMPANY) == Dispatch(("ada",), "first")
    assert decide(calm, attrs.evolve(said, event=event(sender="bob")), COMPANY) == Dispatch(
        ("cid",), "first"
    )


def test_a_room_that_does_not_respond_to_bots_does_not() -> None:
    assert decide(room(respond_to_bots=False), facts(event(sender="ada")), COMPANY) == Decline(
        "sender_is_bot"
    )


def test_nobody_answers_itself() -> None:
    assert decide(ROOM, facts(event(sender="ada")), COMPANY) == Dispatch(("bob",), "first")
    alone = room(participants=("ada",))
    assert decide(alone, facts(event(sender="ada")), COMPANY) == Decline("own_message")


def test_an_agent_at_work_in_the_room_is_not_given_a_bots_message_too() -> None:
    said = facts(event(sender="bob"), pending={"ada": 1, "cid": 1})
    assert decide(ROOM, said, COMPANY) == Decline("pending_reply")


def test_a_chain_that_has_had_its_turns_is_over() -> None:
    assert decide(ROOM, facts(chain_turns=6), COMPANY) == Decline("max_bot_turns")
    assert decide(room(max_bot_turns=0), facts(), COMPANY) == Decline("max_bot_turns")


def test_an_hour_holds_so_many_messages() -> None:
    said = facts(answers_last_hour={"ada": 70, "bob": 50})
    assert decide(ROOM, said, COMPANY) == Decline("max_agent_messages_per_hour")
    at_work = facts(answers_last_hour={"ada": 70}, pending={"ada": 20, "bob": 30})
    assert decide(ROOM, at_work, COMPANY) == Decline("max_agent_messages_per_hour")
    assert decide(ROOM, attrs.evolve(at_work, pending={"ada": 49}), COMPANY) == Dispatch(
        ("ada",), "first"
    )


def test_a_stranger_that_alternates_like_a_machine_is_taken_for_a_bot_from_now_on() -> None:
    said = facts(alternations=PAIR_GUARD_ALTERNATIONS)
    for respond in (True, False):
        decision = decide(room(respond_to_bots=respond), said, COMPANY)
        assert decision == Decline("pair_guard", suspect=True)
    suspected = attrs.evolve(said, event=event(sender_is_bot=True))
    assert decide(room(respond_to_bots=False), suspected, COMPANY) == Decline("sender_is_bot")
    assert decide(ROOM, suspected, COMPANY) == Dispatch(("ada",), "first")


def test_who_is_not_there_is_not_chosen_even_if_mentioned() -> None:
    company = attrs.evolve(COMPANY, present=frozenset({"bob"}))
    said = facts(event(mentions=["ada"]))
    assert decide(ROOM, said, company) == Dispatch(("bob",), "absent: ada")


def test_with_nobody_there_the_slot_waits_and_after_its_time_expires() -> None:
    empty = attrs.evolve(COMPANY, present=frozenset())
    assert decide(ROOM, facts(), empty) == Hold("nobody_available")
    late = attrs.evolve(empty, waited=empty.max_wait + 1)
    assert decide(ROOM, facts(), late) == Expire("waited_too_long")


def test_a_chosen_agent_that_is_starting_is_waited_for_not_replaced() -> None:
    company = attrs.evolve(COMPANY, reachable=frozenset({"bob"}))
    assert decide(ROOM, facts(), company) == Hold("starting: ada")


def test_a_room_without_agents_says_so() -> None:
    assert decide(room(participants=()), facts(), COMPANY) == Decline("no_participants")


# -- policies ------------------------------------------------------------------------------------


def test_round_robin_goes_round() -> None:
    turning = room(policy="round_robin", response_cooldown_seconds=0)
    last: dict[str, float] = {}
    chosen: list[str] = []
    for number in range(6):
        decision = decide(turning, facts(last_answer=last), COMPANY)
        assert isinstance(decision, Dispatch) and decision.rule == "round_robin"
        chosen += decision.agents
        last = {**last, decision.agents[0]: NOW - 6 + number}
    assert chosen == ["ada", "bob", "cid"] * 2


def test_round_robin_counts_who_is_at_work_as_having_spoken() -> None:
    turning = room(policy="round_robin")
    assert decide(turning, facts(pending={"ada": 1}), COMPANY) == Dispatch(("bob",), "round_robin")


def test_all_answer_under_all_as_far_as_turns_are_left() -> None:
    everyone = room(policy="all")
    assert decide(everyone, facts(), COMPANY) == Dispatch(("ada", "bob", "cid"), "all")
    assert decide(everyone, facts(chain_turns=4), COMPANY) == Dispatch(("ada", "bob"), "all")
    assert decide(everyone, facts(answers_last_hour={"ada": 119}), COMPANY) == Dispatch(
        ("ada",), "all"
    )
    busy = facts(answers_last_hour={"ada": 100}, pending={"cid": 18})
    assert decide(everyone, busy, COMPANY) == Dispatch(("ada", "bob"), "all")
    named = facts(event(mentions=["ada", "bob"]))
    assert decide(everyone, named, COMPANY) == Dispatch(("ada", "bob"), "all")


def test_route_goes_by_topic_and_without_one_to_the_first() -> None:
    routed = room(policy="route")
    assert decide(routed, facts(event("se han caído los servidores")), COMPANY) == Dispatch(
        ("bob",), "topic"
    )
    assert decide(routed, facts(event("hola")), COMPANY) == Dispatch(("ada",), "first")


def test_turn_based_rooms_give_the_word_to_who_was_silent_longest_whatever_the_policy() -> None:
    turns = room(turn_based=True, policy="all", response_cooldown_seconds=0)
    last = {"ada": NOW - 1, "bob": NOW - 3, "cid": NOW - 2}
    assert decide(turns, facts(last_answer=last), COMPANY) == Dispatch(("bob",), "turn_based")


# -- another attempt -----------------------------------------------------------------------------


def tried(agent: str = "ada", **more: Any) -> SlotFacts:
    slot = attrs.evolve(facts().slot, agent=agent, attempt=1, hop=1)
    return facts(slot=slot, **more)


def test_a_retry_goes_to_the_same_agent_whatever_the_cooldown() -> None:
    said = tried(last_answer={"ada": NOW}, chain_turns=99)
    assert decide_again(ROOM, said, COMPANY, WhoNext.SAME) == Dispatch(("ada",), "retry")


def test_a_retry_of_an_agent_that_is_gone_goes_to_the_next() -> None:
    company = attrs.evolve(COMPANY, present=frozenset({"bob", "cid"}))
    assert decide_again(ROOM, tried(), company, WhoNext.SAME) == Dispatch(
        ("bob",), "next_participant"
    )


def test_the_next_participant_follows_in_the_rooms_order_and_is_not_the_author() -> None:
    assert decide_again(ROOM, tried("bob"), COMPANY, WhoNext.OTHER) == Dispatch(
        ("cid",), "next_participant"
    )
    said = tried(of=event(sender="bob"))
    assert decide_again(ROOM, said, COMPANY, WhoNext.OTHER) == Dispatch(
        ("cid",), "next_participant"
    )


def test_without_a_next_participant_there_is_no_next_attempt() -> None:
    alone = room(participants=("ada",))
    assert decide_again(alone, tried(), COMPANY, WhoNext.OTHER) == DeadLetter("crashed")


def test_a_slot_that_is_one_of_several_stays_with_its_agent() -> None:
    sibling = attrs.evolve(facts().slot, id=2, agent="bob")
    gone = attrs.evolve(COMPANY, present=frozenset({"bob", "cid"}))
    said = tried(siblings=(sibling,))
    assert decide_again(ROOM, said, gone, WhoNext.SAME) == Hold("nobody_available")
    assert decide_again(ROOM, said, COMPANY, WhoNext.OTHER) == DeadLetter("crashed")


def test_a_retry_too_waits_no_longer_than_allowed() -> None:
    late = attrs.evolve(COMPANY, waited=1e9)
    assert decide_again(ROOM, tried(), late, WhoNext.SAME) == Expire("waited_too_long")


# -- whatever comes ------------------------------------------------------------------------------

NAMES = st.sampled_from(("ada", "bob", "cid"))
SENDERS = st.sampled_from(("@ana", "@luis", "ada", "bob", "@cid:example.org", "@bridge1"))
ROOMS = st.builds(
    RoomConfig,
    id=st.just("#taller"),
    participants=st.lists(NAMES, unique=True).map(tuple),
    policy=st.sampled_from(("first", "round_robin", "all", "route")),
    turn_based=st.booleans(),
    respond_to_bots=st.booleans(),
    response_cooldown_seconds=st.sampled_from((0.0, 60.0)),
    cooldown_applies_to=st.sampled_from(("all", "bots")),
    max_bot_turns=st.integers(0, 6),
)
FACTS = st.builds(
    lambda sender, mentions, **more: facts(event(sender=sender, mentions=mentions), **more),
    SENDERS,
    st.lists(SENDERS, max_size=3),
    chain_turns=st.integers(0, 8),
    last_answer=st.dictionaries(NAMES, st.floats(NOW - 100, NOW)),
    answers_last_hour=st.dictionaries(NAMES, st.integers(0, 130)),
    pending=st.dictionaries(NAMES, st.integers(0, 2)),
    alternations=st.integers(0, 25),
)
COMPANIES = st.builds(
    lambda present, up: Company(CARDS, present, present & up, ("@bridge*",)),
    st.frozensets(NAMES),
    st.frozensets(NAMES),
)


@given(ROOMS, FACTS, COMPANIES)
def test_no_facts_make_the_rules_choose_wrongly(
    configured: RoomConfig, given_facts: SlotFacts, company: Company
) -> None:
    decision = decide(configured, given_facts, company)
    assert decision == decide(configured, given_facts, company)  # the same facts, the same answer
    assert getattr(decision, "rule", None) or getattr(decision, "reason", None)
    if not isinstance(decision, Dispatch):
        return
    chosen = decision.agents
    assert set(chosen) <= set(configured.participants) & company.present & company.reachable
    assert len(set(chosen)) == len(chosen)
    assert len(chosen) == 1 or configured.policy == "all"
    assert given_facts.chain_turns + len(chosen) <= configured.max_bot_turns
    under_way = sum(given_facts.pending.values()) + sum(given_facts.answers_last_hour.values())
    assert under_way + len(chosen) <= configured.max_agent_messages_per_hour
    assert given_facts.event.sender not in {company.agents[agent].user for agent in chosen}
    if sender_is_bot(given_facts, company):
        assert configured.respond_to_bots
        assert all(not_cooling(agent, configured, given_facts) for agent in chosen)


def not_cooling(agent: str, configured: RoomConfig, given_facts: SlotFacts) -> bool:
    seconds = configured.response_cooldown_seconds
    return not_replied_recently(agent, given_facts, seconds) and no_pending_reply(
        agent, given_facts
    )


@given(ROOMS, FACTS)
def test_a_chain_of_bot_messages_always_runs_dry(
    configured: RoomConfig, given_facts: SlotFacts
) -> None:
    """Play the loudest room possible: every answer is the next message, no time passes."""
    turns, said = 0, attrs.evolve(given_facts, chain_turns=0, answers_last_hour={})
    hours: Mapping[str, int] = {}
    while isinstance(decision := decide(configured, said, COMPANY), Dispatch):
        turns += len(decision.agents)
        for agent in decision.agents:
            hours = {**hours, agent: hours.get(agent, 0) + 1}
        speaker = COMPANY.agents[decision.agents[-1]].user
        said = facts(event(sender=speaker), chain_turns=turns, answers_last_hour=hours)
        assert turns <= configured.max_bot_turns
