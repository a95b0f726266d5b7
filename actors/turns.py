"""Pure: in which order agents take turns, and who gets the next attempt after one has failed."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence

import attrs

__all__ = [
    "CRASH",
    "CRASH_LIMIT",
    "MAX_ATTEMPTS",
    "RAISE_LIMIT",
    "RESTART",
    "Again",
    "DeadLetter",
    "NextStep",
    "WhoNext",
    "by_rest",
    "next_step",
    "round_from",
]

RAISE_LIMIT = 2
CRASH_LIMIT = 3
MAX_ATTEMPTS = 200

# Why an attempt ended without a result. Only a crash speaks against the message; a stop, whatever
# StopReason it has, and a restart of the loop or of the whole process do not.
CRASH = "crash"
RESTART = "restart"


class WhoNext(enum.Enum):
    """Who gets the next attempt of a slot."""

    ANYONE = "anyone"  # never dispatched: the room's rules choose
    SAME = "same"  # the agent that had it, or another if that one is gone for good
    OTHER = "other"  # the next participant: this agent has crashed on it before


@attrs.frozen
class Again:
    """The slot gets (another) attempt."""

    who: WhoNext


@attrs.frozen
class DeadLetter:
    """The slot is given up and the room is told; `reason` is a rule's name."""

    reason: str


NextStep = Again | DeadLetter


def next_step(attempts: int, failures: int, interruptions: int) -> NextStep:
    """Say what follows for an open slot.

    `attempts`: how many were dispatched; `failures`: how many raised (timeouts among them);
    `interruptions`: how many died with their loop. A message that raised twice is given up whoever
    ran it; one whose loop died gets one retry, then the next participant, then is given up too.
    Stops and reloads count for nothing, but no message is tried more than `MAX_ATTEMPTS` times: it
    may be what kills the process.
    """
    if failures >= RAISE_LIMIT:
        return DeadLetter("raised_twice")
    if interruptions >= CRASH_LIMIT:
        return DeadLetter("crashed")
    if attempts >= MAX_ATTEMPTS:
        return DeadLetter("too_many_attempts")
    if attempts == 0:
        return Again(WhoNext.ANYONE)
    return Again(WhoNext.OTHER if interruptions == CRASH_LIMIT - 1 else WhoNext.SAME)


def round_from(participants: Sequence[str], last: str | None) -> tuple[str, ...]:
    """Return the participants in their order, beginning after `last` (None: as they are)."""
    if last not in participants:
        return tuple(participants)
    start = participants.index(last) + 1
    return (*participants[start:], *participants[:start])


def by_rest(participants: Iterable[str], last_answer: Mapping[str, float]) -> tuple[str, ...]:
    """Order by who has been silent longest: nobody speaks twice before all others have spoken.

    `last_answer` maps an agent to the instant of its last answer; who is missing never spoke. Ties
    keep the given order.
    """
    return tuple(sorted(participants, key=lambda agent: last_answer.get(agent, float("-inf"))))
