"""The pure rules as the inbox calls them, inside the transaction that makes their decision true."""

from __future__ import annotations

import attrs
import structlog

from actors.decision import Company, decide, decide_again
from actors.restraint import restrained
from actors.turns import Again, DeadLetter, WhoNext
from channels.inbox import Decision, Decline, Hold, SlotFacts
from config.schema import RoomConfig

__all__ = ["Choice"]

_log = structlog.get_logger("actors.orchestrator")


@attrs.define(eq=False)
class Choice:
    """One decision to be made; `locale` is for what the room is told of it.

    `dead`: the rules gave the slot up, which is held meanwhile.
    """

    room: RoomConfig
    company: Company
    step: Again
    locale: str = "es"
    dead: DeadLetter | None = None

    def __call__(self, facts: SlotFacts) -> Decision:
        try:
            return self._decide(facts)
        except Exception as error:  # a rule's bug must not stop every later decision too
            _log.error("rule_failed", slot=facts.slot.id, exc_info=error)
            return Decline("rule_failed")

    def _decide(self, facts: SlotFacts) -> Decision:
        if self.step.who is WhoNext.ANYONE:
            return self._told(decide(self.room, facts, self.company), facts)
        decision = decide_again(self.room, facts, self.company, self.step.who)
        if isinstance(decision, DeadLetter):
            self.dead = decision
            return Hold(decision.reason)
        return decision

    def _told(self, decision: Decision, facts: SlotFacts) -> Decision:
        """Let the first participant who is there tell the room of a limit that struck."""
        there = [agent for agent in self.room.participants if agent in self.company.present]
        if not isinstance(decision, Decline) or not there:
            return decision
        notice = restrained(decision.rule, facts, self.room, there[0], self.locale)
        return attrs.evolve(decision, notice=notice)
