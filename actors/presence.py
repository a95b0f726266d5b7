"""Pure: which agents are up, in which rooms they are, and who may therefore be chosen."""

from __future__ import annotations

import enum
from collections.abc import Mapping

import attrs

from actors.decision import AgentCard, Company
from config.schema import RoomConfig

__all__ = ["Presence", "Reach", "Roster"]


class Reach(enum.Enum):
    """Whether an agent's loop can take a turn."""

    STARTING = "starting"  # expected, and waited for
    UP = "up"
    DOWN = "down"  # for good, until somebody acts: stopped, quarantined, invalid, removed


@attrs.define
class Presence:
    """What was heard of one agent. `rooms` None: its connection has said nothing yet."""

    reach: Reach = Reach.STARTING
    rooms: set[str] | None = None
    left: set[str] = attrs.field(factory=set)
    full: bool = False
    why: str = ""

    def moved(self, room: str, joined: bool) -> None:
        """The agent joined the room, or left it."""
        if self.rooms is None:
            self.rooms = set()
        (self.rooms.add if joined else self.rooms.discard)(room)
        (self.left.discard if joined else self.left.add)(room)

    def is_in(self, room: str) -> bool:
        """Whether the agent has said that it is in the room."""
        return self.rooms is not None and room in self.rooms

    def may_answer_in(self, room: str) -> bool:
        """Whether the agent counts as being there: one that is still starting is given time."""
        if self.reach is Reach.DOWN:
            return False
        return self.is_in(room) or (self.reach is Reach.STARTING and room not in self.left)

    @property
    def reachable(self) -> bool:
        """Whether a turn told now would be taken."""
        return self.reach is Reach.UP and not self.full


@attrs.define
class Roster:
    """The configured rooms and agents, and the presence of each agent."""

    rooms: tuple[RoomConfig, ...] = ()
    agents: Mapping[str, AgentCard] = attrs.field(factory=dict)
    known_bots: tuple[str, ...] = ()
    _presence: dict[str, Presence] = attrs.field(init=False, factory=dict)

    def of(self, agent: str) -> Presence:
        """Return what is known of an agent."""
        return self._presence.setdefault(agent, Presence())

    def all(self) -> Mapping[str, Presence]:
        """Return what is known of every agent ever heard of."""
        return self._presence

    def room(self, name: str) -> RoomConfig:
        """Return a room's configuration; one nobody configured is answered by whoever is in it."""
        for room in self.rooms:
            if name in (room.id, room.alias):
                return room
        there = tuple(sorted(agent for agent in self.agents if self.of(agent).is_in(name)))
        return RoomConfig(id=name, participants=there, cooldown_applies_to="bots")

    def company(self, room: str, *, waited: float, max_wait: float) -> Company:
        """Return what the rules may know of who is there, for a slot that waited that long."""
        known = {agent: self.of(agent) for agent in self.agents}
        return Company(
            agents=self.agents,
            present=frozenset(agent for agent in known if known[agent].may_answer_in(room)),
            reachable=frozenset(agent for agent in known if known[agent].reachable),
            known_bots=self.known_bots,
            waited=waited,
            max_wait=max_wait,
        )

    def speaker(self, room: str, preferred: str | None) -> str | None:
        """Return who tells the room something: `preferred` if it is there, else another agent."""
        there = [agent for agent in self.room(room).participants if self.of(agent).is_in(room)]
        return preferred if preferred in there or not there else there[0]
