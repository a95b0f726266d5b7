"""Pure: who may answer what was said in a room, by named rules over facts already gathered."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import attrs

from actors.turns import DeadLetter, WhoNext, by_rest, round_from
from channels.slots import Decision, Decline, Dispatch, Expire, Hold, SlotFacts
from config.schema import RoomConfig

__all__ = [
    "HOUR_FULL",
    "PAIR_GUARD",
    "PAIR_GUARD_ALTERNATIONS",
    "AgentCard",
    "Company",
    "addressed_agents",
    "decide",
    "decide_again",
    "no_pending_reply",
    "not_own_message",
    "not_replied_recently",
    "pair_guard",
    "sender_is_bot",
    "sender_is_human",
    "topic_matches",
]

PAIR_GUARD_ALTERNATIONS = 20

# The rules that silence a whole room or a person in it: the room is told of these.
PAIR_GUARD = "pair_guard"
HOUR_FULL = "max_agent_messages_per_hour"


@attrs.frozen
class AgentCard:
    """What the rules know of an agent: its id, the names it has in rooms, and what it is for."""

    id: str
    user_id: str = ""
    topics: tuple[str, ...] = ()
    description: str = ""
    display_name: str | None = None

    @property
    def user(self) -> str:
        """The agent's user id in rooms (local rooms: its own id)."""
        return self.user_id or self.id


@attrs.frozen
class Company:
    """Who is there: our agents, the bots we know of, and which agents can answer in this room.

    `present`: joined to the room and not down for good; only these are chosen. `reachable`: those
    whose loop is up now; a chosen one that is not is waited for. `waited`: for how many seconds the
    slot has been open; after `max_wait` nobody needs the answer any more.
    """

    agents: Mapping[str, AgentCard]
    present: frozenset[str]
    reachable: frozenset[str]
    known_bots: tuple[str, ...] = ()
    waited: float = 0.0
    max_wait: float = 86400.0

    def agent_of(self, user: str) -> str | None:
        """Return the id of the agent that has this user id, or None."""
        return next((card.id for card in self.agents.values() if card.user == user), None)


# -- matchers --------------------------------------------------------------------------------


def pair_guard(facts: SlotFacts) -> bool:
    """Whether this sender and our agents have answered each other as only machines do."""
    return facts.alternations >= PAIR_GUARD_ALTERNATIONS


def sender_is_bot(facts: SlotFacts, company: Company) -> bool:
    """Whether the sender is a bot: ours, known, suspected, or its message is stamped."""
    event = facts.event
    return (
        event.sender_is_bot
        or event.stamp is not None
        or event.kind == "notice"
        or facts.sender_agent is not None
        or company.agent_of(event.sender) is not None
        or any(fnmatchcase(event.sender, glob) for glob in company.known_bots)
    )


def sender_is_human(facts: SlotFacts, company: Company) -> bool:
    """Whether the sender is taken for a person: nothing says it is a bot."""
    return not sender_is_bot(facts, company)


def not_own_message(agent: AgentCard, facts: SlotFacts) -> bool:
    """Whether somebody else than this agent wrote the message."""
    return agent.id != facts.sender_agent and agent.user != facts.event.sender


def not_replied_recently(agent: str, facts: SlotFacts, cooldown: float) -> bool:
    """Whether the agent has said nothing in this room for `cooldown` seconds."""
    last = facts.last_answer.get(agent)
    return last is None or not 0 <= facts.now - last < cooldown


def no_pending_reply(agent: str, facts: SlotFacts) -> bool:
    """Whether the agent is not already working on an answer in this room."""
    return agent not in facts.pending


def addressed_agents(facts: SlotFacts, room: RoomConfig, company: Company) -> tuple[str, ...]:
    """Return the participants that the message mentions or replies to, in the room's order."""
    event = facts.event
    named = {company.agent_of(user) for user in event.mentions}
    if facts.replies_to is not None:
        named.add(company.agent_of(facts.replies_to) or facts.replies_to)
    return tuple(agent for agent in room.participants if agent in named)


def topic_matches(text: str, topics: Iterable[str]) -> int:
    """Count the topics that the text names as whole words, accents and case aside."""
    words = f" {_plain(text)} "
    return sum(1 for topic in topics if (plain := _plain(topic)) and f" {plain} " in words)


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    letters = "".join(char for char in decomposed if not unicodedata.combining(char))
    return " ".join(re.findall(r"\w+", letters))


# -- the decision ----------------------------------------------------------------------------


def decide(room: RoomConfig, facts: SlotFacts, company: Company) -> Decision:
    """Choose who answers an event that nobody was given yet; the rule's name always comes along.

    Returns Dispatch (several agents only under the policy `all`), Decline with the rule that
    refuses, Hold when who would answer is not up, or Expire.
    """
    refused = _refusal_of_event(room, facts, company)
    if refused is not None:
        return refused
    others = tuple(
        agent
        for agent in room.participants
        if agent in company.agents and not_own_message(company.agents[agent], facts)
    )
    if not others:
        return Decline("own_message" if room.participants else "no_participants")
    present = tuple(agent for agent in others if agent in company.present)
    if not present:
        return Hold("nobody_available")
    return _among(room, facts, company, present)


def _refusal_of_event(
    room: RoomConfig, facts: SlotFacts, company: Company
) -> Decline | Expire | None:
    if company.waited > company.max_wait:
        return Expire("waited_too_long")
    bot = sender_is_bot(facts, company)
    if not bot and pair_guard(facts):
        return Decline(PAIR_GUARD, suspect=True)
    if bot and not room.respond_to_bots:
        return Decline("sender_is_bot")
    if facts.chain_turns >= room.max_bot_turns:
        return Decline("max_bot_turns")
    if _left_this_hour(room, facts) <= 0:
        return Decline(HOUR_FULL)
    return None


def _left_this_hour(room: RoomConfig, facts: SlotFacts) -> int:
    """How many more answers the hour holds; one that is under way counts as said."""
    said = sum(facts.answers_last_hour.values()) + sum(facts.pending.values())
    return room.max_agent_messages_per_hour - said


def _among(
    room: RoomConfig, facts: SlotFacts, company: Company, present: Sequence[str]
) -> Decision:
    """Apply the rules of each agent, then the room's policy, to those who are there."""
    human = sender_is_human(facts, company)
    named = addressed_agents(facts, room, company)
    addressed = tuple(agent for agent in named if agent in present)
    candidates = addressed or tuple(present)
    asked_by_person = bool(addressed) and human
    refusals = {
        agent: rule
        for agent in candidates
        if (rule := _refusal_of_agent(agent, room, facts, human, asked_by_person)) is not None
    }
    willing = tuple(agent for agent in candidates if agent not in refusals)
    if not willing:
        return Decline(refusals[candidates[0]])
    chosen, rule = _by_policy(room, facts, company, willing, addressed)
    if named and not addressed:
        rule = f"absent: {', '.join(named)}"  # somebody else answers than was asked
    return _when_reachable(chosen, rule, company)


def _refusal_of_agent(
    agent: str, room: RoomConfig, facts: SlotFacts, human: bool, asked_by_person: bool
) -> str | None:
    if asked_by_person:
        return None
    if not human and not no_pending_reply(agent, facts):
        return "pending_reply"
    cooled = room.cooldown_applies_to == "all" or not human
    if cooled and not not_replied_recently(agent, facts, room.response_cooldown_seconds):
        return "response_cooldown"
    return None


def _when_reachable(chosen: tuple[str, ...], rule: str, company: Company) -> Decision:
    """Wait for a chosen agent that is starting; among several, those who are up do not wait."""
    up = tuple(agent for agent in chosen if agent in company.reachable)
    if up == chosen:
        return Dispatch(chosen, rule)
    return Hold(f"starting: {', '.join(agent for agent in chosen if agent not in up)}")


Policy = Callable[[RoomConfig, SlotFacts, Company, tuple[str, ...]], tuple[tuple[str, ...], str]]


def _by_policy(
    room: RoomConfig,
    facts: SlotFacts,
    company: Company,
    willing: tuple[str, ...],
    addressed: tuple[str, ...],
) -> tuple[tuple[str, ...], str]:
    if addressed:
        return (
            _policy_all(room, facts, company, willing)
            if room.policy == "all"
            else (
                willing[:1],
                "mention",
            )
        )
    if room.turn_based:
        return _least_recent(facts, willing), "turn_based"
    return _POLICIES[room.policy](room, facts, company, willing)


def _policy_first(
    room: RoomConfig, facts: SlotFacts, company: Company, willing: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    return willing[:1], "first"


def _policy_round_robin(
    room: RoomConfig, facts: SlotFacts, company: Company, willing: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    return _least_recent(facts, willing), "round_robin"


def _least_recent(facts: SlotFacts, willing: tuple[str, ...]) -> tuple[str, ...]:
    """The one who has been silent longest; who is at work on an answer has spoken last."""
    busy = {agent: float(2**60 + count) for agent, count in facts.pending.items() if count}
    return by_rest(willing, {**facts.last_answer, **busy})[:1]


def _policy_all(
    room: RoomConfig, facts: SlotFacts, company: Company, willing: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    """All who may, as long as the chain and the hour have turns left."""
    left = min(room.max_bot_turns - facts.chain_turns, _left_this_hour(room, facts))
    return willing[:left], "all"


def _policy_route(
    room: RoomConfig, facts: SlotFacts, company: Company, willing: tuple[str, ...]
) -> tuple[tuple[str, ...], str]:
    text = facts.event.text
    matches = {agent: topic_matches(text, company.agents[agent].topics) for agent in willing}
    best = max(willing, key=lambda agent: matches[agent])
    return (best,), "topic" if matches[best] else "first"


_POLICIES: Mapping[str, Policy] = {
    "first": _policy_first,
    "round_robin": _policy_round_robin,
    "all": _policy_all,
    "route": _policy_route,
}


def decide_again(
    room: RoomConfig, facts: SlotFacts, company: Company, who: WhoNext
) -> Decision | DeadLetter:
    """Choose who gets the next attempt of a slot that was dispatched before.

    The event passed the room's rules and its hop is reserved, so only presence counts. A slot that
    belongs to one agent (policy `all`) stays with it. Returns DeadLetter when the next participant
    was asked for and there is none.
    """
    last = facts.slot.agent
    others = () if facts.siblings else _others_after(last, room, facts, company)
    if company.waited > company.max_wait:
        return Expire("waited_too_long")
    if who is WhoNext.SAME and last in company.present:
        return _when_reachable((last,), "retry", company)
    if who is WhoNext.OTHER and not others:
        return DeadLetter("crashed")
    present = tuple(agent for agent in others if agent in company.present)
    if not present:
        return Hold("nobody_available")
    return _when_reachable(present[:1], "next_participant", company)


def _others_after(
    last: str | None, room: RoomConfig, facts: SlotFacts, company: Company
) -> tuple[str, ...]:
    return tuple(
        agent
        for agent in round_from(room.participants, last)
        if agent != last
        and agent in company.agents
        and not_own_message(company.agents[agent], facts)
    )
