"""The agents of a workspace as supervised subtrees: what each is made of, how each is swapped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs

from actors.agent import AgentLoop
from actors.connection import Connection
from actors.decision import AgentCard
from actors.llm.providers import make_provider
from actors.thinking import AgentServices
from channels.crashpoints import crash_point, declare_crash_points
from channels.local import LocalTransport
from channels.mailbox import MailboxSpec, Overflow
from channels.messages import CellState, StopReason
from config.loading import Loaded
from config.problems import Problem
from config.schema import AgentConfig, SupervisorConfig
from supervisor.cell import CellInfo
from supervisor.errors import NotSupervising
from supervisor.logs import hide_secrets
from supervisor.plan import Plan
from supervisor.policy import Backoff, Exhausted, Intensity
from supervisor.services import Services
from supervisor.spec import Actor, ChildSpec
from supervisor.supervisor import Supervisor
from tools.modules import own_tools
from tools.toolbox import build as build_toolbox

__all__ = ["CONNECTION", "LOOP", "Failure", "Fleet", "Member"]

CONNECTION, LOOP = "connection", "loop"

declare_crash_points("reload.before_swap")


@attrs.frozen
class Failure:
    """A failure that was no crash of a cell: one sentence, and when (seconds since the epoch)."""

    text: str
    at: float


@attrs.define(eq=False)
class Member:
    """One agent: its configuration (None: it never had a valid one) and its own supervisor."""

    id: str
    loaded: Loaded[AgentConfig] | None = None
    problems: tuple[Problem, ...] = ()
    stopped: bool = False  # by a person, until `start`
    own: Supervisor | None = None
    past: int = 0  # generations of the loop under earlier supervisors of this agent
    past_restarts: int = 0
    failure: Failure | None = None  # the latest turn that raised under this configuration

    def adopt(self, own: Supervisor) -> None:
        """Take a fresh supervisor for this agent; its generations count on."""
        self.retire()
        self.own = own

    def retire(self) -> None:
        """Let the agent's supervisor go, and remember how far it had counted."""
        loop = self.cell(LOOP)
        if loop is not None:
            self.past += loop.generation
            self.past_restarts += loop.restarts
        self.own = None

    def cell(self, name: str) -> CellInfo | None:
        """Return the state of the agent's loop or connection, None before a start."""
        return None if self.own is None else self.own.child(name)


@attrs.define(eq=False)
class Fleet:
    """Owner of the `agents` supervisor and of every agent's present configuration."""

    services: Services
    config: SupervisorConfig
    members: dict[str, Member] = attrs.field(factory=dict)
    supervisor: Supervisor | None = attrs.field(init=False, default=None)

    @classmethod
    def of(cls, services: Services, plan: Plan) -> Fleet:
        """Return the fleet that a plan asks for; nothing runs yet."""
        members = {agent: Member(agent, loaded) for agent, loaded in plan.agents.items()}
        broken = {agent: Member(agent, None, found) for agent, found in plan.broken.items()}
        fleet = cls(services, plan.supervisor.value, members | broken)
        fleet.announce_names()
        return fleet

    # -- making ------------------------------------------------------------------------------------

    def build(self) -> Supervisor:
        """Make a fresh `agents` supervisor with everyone who should run; the root's factory."""
        runnable = [m for m in self.members.values() if m.loaded and not m.stopped]
        self.supervisor = self._supervisor("agents", [self._agent_spec(m) for m in runnable])
        return self.supervisor

    def _supervisor(self, name: str, children: Sequence[ChildSpec]) -> Supervisor:
        rules = self.config.supervision
        return Supervisor(
            name,
            children,
            bus=self.services.bus,
            clock=self.services.clock,
            random=self.services.random,
            stop_timeout=rules.stop_seconds if name == "agents" else 86_400.0,
        )

    def _spec(
        self,
        name: str,
        factory: Callable[[], Actor],
        *,
        address: str | None = None,
        grace: float | None = None,
        start_timeout: float | None = None,
        mailbox: MailboxSpec | None = None,
    ) -> ChildSpec:
        rules = self.config.supervision
        initial, maximum = rules.backoff_initial_seconds, rules.backoff_max_seconds
        return ChildSpec(
            name,
            factory,
            address=address,
            intensity=Intensity(rules.max_restarts, rules.window_seconds),
            backoff=Backoff(initial=initial, maximum=maximum),
            start_timeout=rules.start_seconds if start_timeout is None else start_timeout,
            grace=rules.grace_seconds if grace is None else grace,
            mailbox=MailboxSpec() if mailbox is None else mailbox,
            exhausted=Exhausted.QUARANTINE,
        )

    def _agent_spec(self, member: Member) -> ChildSpec:
        def make() -> Supervisor:
            assert member.loaded is not None
            children = [self._connection_spec(member.loaded), self._loop_spec(member.loaded)]
            own = self._supervisor(member.id, children)
            member.adopt(own)
            return own

        seconds = self.config.supervision.start_seconds
        both = 2 * seconds + 1  # its two children have one deadline each
        grace = self._grace(member.loaded) + 1
        return self._spec(member.id, make, start_timeout=both, grace=grace)

    def _grace(self, loaded: Loaded[AgentConfig] | None) -> float:
        own = loaded.value.grace_seconds if loaded is not None else None
        return self.config.supervision.grace_seconds if own is None else own

    def _connection_spec(self, loaded: Loaded[AgentConfig]) -> ChildSpec:
        services, agent = self.services, loaded.value.id

        def make() -> Connection:
            return Connection(
                agent,
                LocalTransport(services.rooms, agent),
                services.inbox,
                services.outbox,
                services.bus,
                services.clock,
                agents=self.user_ids,
            )

        return self._spec(CONNECTION, make, address=f"{agent}/connection")

    def _loop_spec(self, loaded: Loaded[AgentConfig]) -> ChildSpec:
        config = loaded.value

        def make() -> AgentLoop:
            return AgentLoop(config, self._agent_services(config), own_user=config.id)

        return self._spec(
            LOOP,
            make,
            address=config.id,
            grace=self._grace(loaded),
            mailbox=MailboxSpec(capacity=config.mailbox_capacity, overflow=Overflow.REJECT),
        )

    def _agent_services(self, config: AgentConfig) -> AgentServices:
        services = self.services
        return AgentServices(
            bus=services.bus,
            inbox=services.inbox,
            journal=services.journal,
            clock=services.clock,
            toolbox=build_toolbox(config.tools, extra=own_tools(config)),
            provider=make_provider(config.llm, services.workspace.agent_dir(config.id)),
            locale=self.config.locale,
            timezone=self.config.timezone,
            agents=self.descriptions,
            zones={room.id: room.timezone for room in self.config.rooms if room.timezone},
        )

    def room_zone(self, room: str) -> str | None:
        """Return the zone of a room's configuration, if it has one."""
        return next((one.timezone for one in self.config.rooms if one.id == room), None)

    # -- names -------------------------------------------------------------------------------------

    def user_ids(self) -> Mapping[str, str]:
        """Return user id -> agent id of all agents, as the rooms know them."""
        return {member.id: member.id for member in self.members.values()}

    def descriptions(self) -> Mapping[str, str]:
        """Return agent id -> description of the agents that have a valid configuration."""
        return {m.id: m.loaded.value.description for m in self.members.values() if m.loaded}

    def cards(self) -> Mapping[str, AgentCard]:
        """Return what the orchestrator must know of each agent with a valid configuration."""
        return {
            m.id: AgentCard(id=m.id, user_id=m.id, topics=m.loaded.value.topics)
            for m in self.members.values()
            if m.loaded
        }

    def announce_names(self) -> None:
        """Tell inbox and rooms who is an agent and who a known bot, and the log what is secret."""
        for member in self.members.values():
            if member.loaded is not None:
                hide_secrets(member.loaded.value)
        self.services.inbox.set_agents(self.user_ids())
        self.services.inbox.set_known_bots(self.config.known_bots)
        self.services.rooms.set_agents(self.members)

    # -- state -------------------------------------------------------------------------------------

    def state(self, member: Member) -> str:
        """Return the agent's state in the words of `agentctl status`."""
        loop, connection = member.cell(LOOP), member.cell(CONNECTION)
        if member.loaded is None:
            return "invalid"
        if member.stopped or loop is None:
            return "stopped" if member.stopped else "starting"
        states = {cell.state for cell in (loop, connection) if cell is not None}
        if states & {CellState.QUARANTINED, CellState.FAILED}:
            return "quarantined"
        if loop.state is CellState.RUNNING and self.connection_state(member) == "reconnecting":
            return "reconnecting"
        return "starting" if loop.state is CellState.BACKOFF else loop.state.value

    def generation(self, member: Member) -> int:
        """Return how often an agent's loop was made since the process began."""
        loop = member.cell(LOOP)
        return member.past + (loop.generation if loop else 0)

    def restarts(self, member: Member) -> int:
        """Return how often an agent's loop was restarted after a failure."""
        loop = member.cell(LOOP)
        return member.past_restarts + (loop.restarts if loop else 0)

    def connection_state(self, member: Member) -> str:
        """Return what the agent's connection says of itself."""
        actor = self.actor(member, CONNECTION)
        return str(actor.state) if isinstance(actor, Connection) else "stopped"

    def actor(self, member: Member, name: str) -> object | None:
        """Return the running actor of an agent's child, None between generations."""
        if member.cell(name) is None or member.own is None:
            return None
        return member.own.actor(name)

    def loop(self, member: Member) -> AgentLoop | None:
        """Return an agent's running loop, None between generations."""
        actor = self.actor(member, LOOP)
        return actor if isinstance(actor, AgentLoop) else None

    def last_error(self, member: Member) -> str | None:
        """Return the newest sentence about what went wrong with an agent."""
        if member.problems:
            more = f" (and {len(member.problems) - 1} more)" if len(member.problems) > 1 else ""
            return f"{member.problems[0]}{more}"
        cells = [cell for name in (LOOP, CONNECTION) if (cell := member.cell(name))]
        crashes = [Failure(crash.text, crash.at) for cell in cells for crash in cell.crashes]
        failures = [*crashes, *([member.failure] if member.failure else [])]
        newest = max(failures, key=lambda failure: failure.at, default=None)
        return newest.text if newest else None

    # -- operations: only the warden calls them ----------------------------------------------------

    def _agents(self) -> Supervisor:
        if self.supervisor is None:
            raise NotSupervising("the agents are not running yet")
        return self.supervisor

    def running(self, member: Member) -> bool:
        """Tell whether an agent is under supervision, in whatever state."""
        return self._agents().child(member.id) is not None

    async def reload(self, member: Member, loaded: Loaded[AgentConfig]) -> int:
        """Swap an agent's loop (its connection too if `matrix:` changed); return the generation.

        Raises RestartFailed or StartFailed; the previous configuration then runs again if it can.
        """
        own = member.own
        if own is None or member.loaded is None or not self.running(member):
            return await self.start(member, loaded)
        if member.loaded.value.matrix != loaded.value.matrix:
            await own.restart_child(CONNECTION, spec=self._connection_spec(loaded))
        crash_point("reload.before_swap")
        await own.restart_child(LOOP, spec=self._loop_spec(loaded))
        member.loaded, member.problems, member.failure = loaded, (), None
        return self.generation(member)

    async def start(self, member: Member, loaded: Loaded[AgentConfig]) -> int:
        """Start an agent that is new, stopped, invalid or quarantined; return its generation.

        Raises StartFailed or RestartFailed: its policy goes on trying.
        """
        before, member.loaded = member.loaded, loaded
        member.problems, member.stopped, member.failure = (), False, None
        if not self.running(member):
            await self._agents().start_child(self._agent_spec(member))
            return self.generation(member)
        await self._agents().revive(member.id)
        own = member.own
        if own is not None:
            await own.revive(CONNECTION)
            if before is None or before.value == loaded.value:
                await own.revive(LOOP)
            else:
                await own.restart_child(LOOP, spec=self._loop_spec(loaded))
        return self.generation(member)

    async def stop(self, member: Member) -> None:
        """Stop an agent, loop and connection, until `start`; returns once it has really exited."""
        member.stopped = True
        if self.running(member):
            await self._agents().remove_child(member.id, StopReason.STOPPED)
        member.retire()

    async def remove(self, member: Member) -> None:
        """Stop an agent whose folder is gone, and forget it."""
        await self.stop(member)
        self.members.pop(member.id, None)
        self.announce_names()
