"""A small house for the tests: local rooms on a file, agents, an orchestrator, in one nursery."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import attrs
import trio

from actors.agent import AgentLoop
from actors.connection import Connection
from actors.decision import AgentCard
from actors.journal import MIGRATIONS as JOURNAL
from actors.journal import Journal
from actors.llm.protocol import (
    Finished,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolCallRequested,
)
from actors.orchestrator import Orchestrator
from actors.thinking import AgentServices
from channels.bus import Bus, lane
from channels.database import Database
from channels.inbox import MIGRATIONS as INBOX
from channels.inbox import EventInbox, Slot
from channels.local import MIGRATIONS as LOCAL
from channels.local import LocalRooms, LocalTransport
from channels.mailbox import Inbox, Mailbox, MailboxSpec, Overflow
from channels.messages import AgentReachable, AgentUnreachable
from channels.outbox import MIGRATIONS as OUTBOX
from channels.outbox import Outbox
from config.schema import AgentConfig, RoomConfig
from supervisor.testkit.clock import VirtualClock
from tools.tool import Tool, ToolContext, tool
from tools.toolbox import Toolbox

MIGRATIONS = (*INBOX, *OUTBOX, *LOCAL, *JOURNAL)
ROOM = "#taller"
TALK = RoomConfig(ROOM, participants=("ada", "bob"), cooldown_applies_to="bots")

Answer = str | ToolCall | Sequence[ToolCall] | Exception
Script = Callable[[ModelRequest], Awaitable[Answer]]


async def echo(request: ModelRequest) -> Answer:
    """Answer what was said."""
    return f"{request.context.agent}: {said(request)}"


def said(request: ModelRequest) -> str:
    """The text of the message that the turn is about."""
    return [message.content for message in request.messages if message.role == "user"][-1]


def results(request: ModelRequest) -> list[str]:
    """The tool results that this turn has so far."""
    return [message.content for message in request.messages if message.role == "tool"]


@attrs.define
class Scripted:
    """A provider that is one async function."""

    script: Script = echo
    requests: list[ModelRequest] = attrs.field(factory=list)
    closed: int = 0

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        self.requests.append(request)
        answer = await self.script(request)
        if isinstance(answer, Exception):
            raise answer
        async with aclosing(self._events(answer)) as events:
            yield events

    async def _events(
        self, answer: str | ToolCall | Sequence[ToolCall]
    ) -> AsyncGenerator[ModelEvent, None]:
        if isinstance(answer, str):
            yield TextDelta(answer)
            yield Finished("stop")
            return
        for call in [answer] if isinstance(answer, ToolCall) else answer:
            yield ToolCallRequested(call)
        yield Finished("tool_calls")

    async def aclose(self) -> None:
        self.closed += 1


@attrs.define(eq=False)
class Running:
    """One generation of an actor in the harness: what a cell does, without the rest of one."""

    address: str
    actor: Any
    inbox: Inbox
    scope: trio.CancelScope
    ended: trio.Event = attrs.field(factory=trio.Event)

    async def stop(self, reason: str = "reload") -> None:
        """Drain, cancel with a typed reason, wait for the real exit."""
        self.inbox.drain()
        self.scope.cancel(reason=reason)
        await self.ended.wait()


@attrs.define(eq=False)
class House:
    """Everything a workspace's agents stand on, opened from one file."""

    db: Database
    bus: Bus
    clock: VirtualClock
    nursery: trio.Nursery
    rooms_config: tuple[RoomConfig, ...]
    agents: Mapping[str, AgentConfig]
    tools: Sequence[Tool] = ()
    scripts: dict[str, Script] = attrs.field(factory=dict)
    known_bots: tuple[str, ...] = ()
    providers: dict[str, Scripted] = attrs.field(factory=dict)
    running: dict[str, Running] = attrs.field(factory=dict)
    mailboxes: dict[str, Mailbox] = attrs.field(factory=dict)
    rooms: LocalRooms = attrs.field(init=False)
    inbox: EventInbox = attrs.field(init=False)
    outbox: Outbox = attrs.field(init=False)
    journal: Journal = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self.rooms = LocalRooms(self.db, self.clock, self.bus)
        self.rooms.set_agents(self.agents)
        self.inbox = EventInbox(
            self.db, self.clock, agents=tuple(self.agents), known_bots=self.known_bots
        )
        self.outbox = Outbox(self.db, self.clock)
        self.journal = Journal(self.db, self.clock)

    # -- life ------------------------------------------------------------------------------------

    async def open(self) -> None:
        for room in self.rooms_config:
            await self.rooms.ensure_room(room.id, room.alias, room.participants)
        await self.start("orchestrator", self.orchestrator())
        for agent in self.agents:
            await self.start_agent(agent)

    def orchestrator(self) -> Orchestrator:
        cards = {agent: AgentCard(agent, topics=self.agents[agent].topics) for agent in self.agents}
        return Orchestrator(
            self.bus, self.inbox, self.clock, self.rooms_config, cards, self.known_bots
        )

    def transport(self, agent: str) -> Any:
        return LocalTransport(self.rooms, agent)

    def connection(self, agent: str) -> Connection:
        return Connection(
            agent,
            self.transport(agent),
            self.inbox,
            self.outbox,
            self.bus,
            self.clock,
            agents=lambda: {name: name for name in self.agents},
            rng=Random(0),
        )

    def loop(self, agent: str) -> AgentLoop:
        provider = self.providers[agent] = Scripted(self.scripts.get(agent, echo))
        services = AgentServices(
            bus=self.bus,
            inbox=self.inbox,
            journal=self.journal,
            clock=self.clock,
            toolbox=Toolbox(self.tools),
            provider=provider,
            agents=lambda: {name: config.description for name, config in self.agents.items()},
        )
        return AgentLoop(self.agents[agent], services)

    async def start_agent(self, agent: str) -> None:
        await self.start(f"{agent}/connection", self.connection(agent))
        await self.start_loop(agent)

    async def start_loop(self, agent: str) -> None:
        await self.start(agent, self.loop(agent))
        self.bus.tell_nowait("orchestrator", AgentReachable(agent))

    async def start(self, address: str, actor: Any) -> None:
        if address not in self.mailboxes:
            capacity = self.agents[address].mailbox_capacity if address in self.agents else 1024
            policy = Overflow.REJECT if address in self.agents else Overflow.WAIT
            box = self.mailboxes[address] = Mailbox(MailboxSpec(capacity, policy))
            self.bus.register(address, box)
        await self.nursery.start(self._run, address, actor)

    async def _run(self, address: str, actor: Any, *, task_status: trio.TaskStatus[None]) -> None:
        inbox = self.mailboxes[address].open_inbox()
        error: str | None = "killed"
        with trio.CancelScope() as scope:
            own = self.running[address] = Running(address, actor, inbox, scope)
            try:
                with lane(address):
                    await actor.run(inbox, task_status=task_status)
                error = None
            finally:
                inbox.close(error)
                own.ended.set()

    async def reload(self, agent: str, reason: str = "reload") -> None:
        """A new generation of an agent's loop in the same mailbox."""
        await self.running[agent].stop(reason)
        await self.start_loop(agent)

    async def stop_agent(self, agent: str, why: str = "is stopped") -> None:
        """Stop an agent's loop for good."""
        await self.running[agent].stop("stopped")
        self.bus.unregister(agent, why)
        del self.mailboxes[agent]
        self.bus.tell_nowait("orchestrator", AgentUnreachable(agent, why))

    # -- what is seen ----------------------------------------------------------------------------

    async def say(self, text: str, who: str = "ana", room: str = ROOM, **more: Any) -> str:
        return await self.rooms.post(room, who, text, **more)

    async def texts(self, room: str = ROOM) -> list[str]:
        """What the agents have said in a room, in order."""
        events = await self.rooms.history(room, limit=1000)
        return [event.text for event in events if event.sender in self.agents]

    async def slots(self) -> tuple[Slot, ...]:
        """Every slot there ever was."""
        ids = await self.db.read(
            lambda db: [row[0] for row in db.conn.execute("SELECT id FROM slots ORDER BY id")]
        )
        return tuple([slot for i in ids if (slot := await self.inbox.slot(i)) is not None])

    async def settled(self, seconds: float = 30.0) -> None:
        """Let virtual time pass until nothing more happens."""
        await trio.sleep(seconds)


def agent_config(agent: str, **more: Any) -> AgentConfig:
    return AgentConfig(id=agent, **more)


AGENTS = {"ada": agent_config("ada"), "bob": agent_config("bob")}


_empty: list[bytes] = []


async def empty_state() -> bytes:
    """A state file with empty tables: making them anew is half of a short test."""
    if not _empty:
        with TemporaryDirectory() as folder:
            made = Path(folder) / "state.db"
            async with Database.open(made, MIGRATIONS, threaded=False):
                pass
            _empty.append(made.read_bytes())
    return _empty[0]


@asynccontextmanager
async def a_house(
    path: Path,
    *,
    rooms: tuple[RoomConfig, ...] = (TALK,),
    agents: Mapping[str, AgentConfig] = AGENTS,
    scripts: Mapping[str, Script] | None = None,
    tools: Sequence[Tool] = (),
    known_bots: tuple[str, ...] = (),
    kind: type[House] = House,
    started: bool = True,
) -> AsyncIterator[House]:
    """Open a house on `path/state.db`, start everyone, and stop them all at the block's end."""
    clock = VirtualClock()
    if not (path / "state.db").exists():
        (path / "state.db").write_bytes(await empty_state())
    async with (
        Database.open(path / "state.db", MIGRATIONS, threaded=False) as db,
        Bus.open(clock) as bus,
        trio.open_nursery() as nursery,
    ):
        assert db._raw is not None
        db._raw.conn.execute("PRAGMA synchronous=OFF")  # nothing here pulls the plug
        house = kind(db, bus, clock, nursery, rooms, agents, tools, dict(scripts or {}), known_bots)
        if started:
            await house.open()
        yield house
        nursery.cancel_scope.cancel(reason="shutdown")


@attrs.define
class Effects:
    """Tools with an effect outside the process, which no crash undoes: calls by idempotency key."""

    calls: list[str] = attrs.field(factory=list)

    def tool(self, name: str = "effect", *, idempotent: bool = False) -> Tool:
        async def effect(ctx: ToolContext) -> str:
            """Have an effect."""
            await trio.lowlevel.checkpoint()
            self.calls.append(ctx.idempotency_key)
            await trio.lowlevel.checkpoint()
            return f"effect {ctx.idempotency_key}"

        return tool(name, idempotent=idempotent)(effect)
