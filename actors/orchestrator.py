"""The one who dispatches: decides by pure rules who answers, and sees every slot to its end."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
import structlog
import trio

from actors.choice import Choice
from actors.decision import AgentCard
from actors.farewell import given_up
from actors.journal import Journal
from actors.presence import Reach, Roster
from actors.survey import Found, Surveys
from actors.turns import CRASH, RESTART, DeadLetter, next_step
from channels.bus import Bus
from channels.clock import WallClock
from channels.crashpoints import crash_point, declare_crash_points
from channels.errors import BusError, Drained, MailboxFull, UnknownAddress
from channels.inbox import Decision, Decline, Dispatch, EventInbox, Hold, Slot
from channels.mailbox import Inbox, Message
from channels.messages import (
    AgentReachable,
    Agents,
    AgentUnreachable,
    Flush,
    GiveBackHop,
    Membership,
    ReserveHop,
    RunTurn,
    SlotGivenUp,
    SlotOpened,
    StopReason,
    TurnEnd,
    TurnEnded,
)
from config.schema import RoomConfig

__all__ = ["Orchestrator"]

declare_crash_points(
    "orchestrator.before_decide",
    "orchestrator.after_decide",
    "orchestrator.after_dispatch",
    "orchestrator.before_release",
    "orchestrator.after_release",
    "orchestrator.after_dead_letter",
)

ADDRESS: Final = "orchestrator"
FULL_TICK_SECONDS: Final = 1.0
HOLD_TICK_SECONDS: Final = 60.0
DAY_SECONDS: Final = 86_400.0
RETENTION_DAYS: Final = 30

# An agent stopped for one of these is not coming back now: wait to be told that it is gone.
_GOING_AWAY: Final = frozenset(
    reason.value for reason in (StopReason.SHUTDOWN, StopReason.STOPPED, StopReason.REMOVED)
)

_log = structlog.get_logger("actors.orchestrator")


@attrs.define(eq=False)
class Orchestrator:
    """The actor at "orchestrator". Permanent; one object is one generation.

    `rooms`, `agents` and `known_bots` are what is configured now; an `Agents` message replaces them
    (who sends it tells the inbox too). `max_wait`: seconds after which a slot that nobody could
    take expires. With a `journal`, old records are purged daily. All that must survive is in the
    inbox: a new generation reads the open slots, and asks the agents which turns they run before it
    dispatches those again.
    """

    bus: Bus
    inbox: EventInbox
    clock: WallClock
    rooms: tuple[RoomConfig, ...] = ()
    agents: Mapping[str, AgentCard] = attrs.field(factory=dict)
    known_bots: tuple[str, ...] = ()
    locale: str = "es"
    max_wait: float = DAY_SECONDS
    journal: Journal | None = None
    _roster: Roster = attrs.field(init=False, factory=Roster)
    _surveys: Surveys = attrs.field(init=False)
    _since: dict[int, float] = attrs.field(init=False, factory=dict)
    _ended: dict[int, trio.Event] = attrs.field(init=False, factory=dict)
    _sweep: bool = attrs.field(init=False, default=True)
    _holding: bool = attrs.field(init=False, default=False)
    _closing: bool = attrs.field(init=False, default=False)
    _purge_at: float = attrs.field(init=False, default=math.inf)
    _nursery: trio.Nursery = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._surveys = Surveys(self.bus, ADDRESS)
        self._set_company(Agents(self.rooms, self.agents, self.known_bots))

    # -- life ------------------------------------------------------------------------------------

    async def run(
        self, inbox: Inbox, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Decide and dispatch until drained or cancelled; neither loses anything durable."""
        async with trio.open_nursery() as self._nursery:
            await self._begin()
            task_status.started()
            with contextlib.suppress(Drained):
                await self._work(inbox)
            self._nursery.cancel_scope.cancel(reason="drained")

    async def _begin(self) -> None:
        now = trio.current_time()
        self._purge_at = math.inf if self.journal is None else now
        for slot in await self.inbox.open_slots():
            self._since[slot.id] = now - max(0.0, self.clock.now() - slot.opened_at)
        await self._drop_strangers()
        for agent in self.agents:
            await self._survey(agent, crashed=False)

    async def _work(self, inbox: Inbox) -> None:
        while True:
            if self._sweep:
                await self._offer_open()
            batch: Iterable[Message] = ()
            with trio.move_on_at(self._next_tick()) as timer:
                batch = await inbox.receive_batch()
            for message in batch:
                await self._handle(message)
            if timer.cancelled_caught:
                await self._tick()

    async def dispatch_and_wait(self, slot_id: int) -> Slot:
        """Offer an open slot and wait until it has ended; return it as it is then.

        A participant that is reloaded, raises or crashes meanwhile is survived as `turns` says: the
        same agent once more, then the next one, then a dead letter. For callers outside this actor.
        Raises KeyError for an unknown slot. A cancel stops the waiting, not the slot.
        """
        ended = self._ended.setdefault(slot_id, trio.Event())
        await self.bus.tell(ADDRESS, SlotOpened((slot_id,)))
        await ended.wait()
        slot = await self.inbox.slot(slot_id)
        if slot is None:
            raise KeyError(f"no answer slot {slot_id}")
        return slot

    def status(self) -> dict[str, Any]:
        """Return whom the orchestrator sees up, and how many slots it follows."""
        agents = {agent: known.reach.value for agent, known in self._roster.all().items()}
        return {"agents": agents, "slots": len(self._since)}

    # -- messages --------------------------------------------------------------------------------

    async def _handle(self, message: Message) -> None:
        match message.body:
            case SlotOpened(slot_ids=slot_ids):
                for slot_id in sorted(slot_ids):
                    await self._offer(slot_id)
            case TurnEnded():
                await self._turn_ended(message.body)
            case AgentReachable(agent=agent):
                await self._reachable(agent)
            case AgentUnreachable(agent=agent, why=why):
                await self._unreachable(agent, why)
            case Membership(agent=agent, room=room, joined=joined):
                self._roster.of(agent).moved(room, joined)
                self._sweep = True
            case Agents():
                self._set_company(message.body)
                await self._drop_strangers()
                self._sweep = True
            case Found():
                await self._found(message.body)
            case ReserveHop(room=room, chain=chain, key=key):
                limit = self._roster.room(room).max_bot_turns
                message.reply(await self.inbox.reserve_hop(room, chain, key, limit))
            case GiveBackHop(room=room, chain=chain, key=key):
                message.reply(await self.inbox.give_back_hop(room, chain, key))
            case other:
                _log.warning("message_not_understood", body=type(other).__name__)

    async def _turn_ended(self, ended: TurnEnded) -> None:
        """Offer the slot again if it is open; but an agent that goes away will be missed first."""
        if ended.end is TurnEnd.INTERRUPTED and ended.detail in _GOING_AWAY:
            self._holding = True
            self._closing = self._closing or ended.detail == StopReason.SHUTDOWN.value
        else:
            await self._offer(ended.slot_id)
        self._refill(ended.agent)

    async def _reachable(self, agent: str) -> None:
        """Ask first which turns the agent holds: what it has lost comes before what is new."""
        known = self._roster.of(agent)
        crashed = known.reach is Reach.UP
        known.reach, known.why = Reach.STARTING, ""
        self._refill(agent)
        await self._survey(agent, crashed=crashed)

    async def _unreachable(self, agent: str, why: str) -> None:
        known = self._roster.of(agent)
        known.reach, known.why, known.full = Reach.DOWN, why, False
        self._surveys.stop(agent)
        for slot in await self._dispatched_to(agent):
            await self._release(slot, RESTART)
        self._sweep = True

    def _set_company(self, company: Agents) -> None:
        roster = self._roster
        roster.rooms, roster.agents = tuple(company.rooms), dict(company.agents)
        roster.known_bots = tuple(company.known_bots)
        self.agents = roster.agents

    async def _drop_strangers(self) -> None:
        """Take back what is with agents that no longer exist."""
        slots = await self.inbox.open_slots()
        holders = {slot.agent for slot in slots if slot.state == "dispatched" and slot.agent}
        for agent in sorted(holders - self.agents.keys()):
            await self._unreachable(agent, "removed")

    async def _survey(self, agent: str, *, crashed: bool) -> None:
        asked = await self._dispatched_to(agent)
        rooms = self._roster.of(agent).rooms is None
        self._surveys.start(self._nursery, agent, asked, crashed=crashed, rooms=rooms)

    async def _found(self, found: Found) -> None:
        known = self._roster.of(found.agent)
        if known.reach is Reach.DOWN:
            return
        known.reach = Reach.UP
        for room in found.rooms:
            known.moved(room, True)
        for slot in found.lost:
            await self._release(slot, CRASH if found.crashed else RESTART)
        self._sweep = True

    async def _dispatched_to(self, agent: str) -> tuple[Slot, ...]:
        slots = await self.inbox.open_slots(agent=agent)
        return tuple(slot for slot in slots if slot.state == "dispatched")

    async def _release(self, slot: Slot, reason: str) -> None:
        """Open the slot again, if this attempt still holds it."""
        crash_point("orchestrator.before_release")
        if await self.inbox.release(slot.id, slot.attempt, reason, crashed=reason == CRASH):
            _log.info("slot_released", slot=slot.id, agent=slot.agent, reason=reason)
        crash_point("orchestrator.after_release")

    # -- deciding --------------------------------------------------------------------------------

    async def _offer_open(self) -> None:
        """Offer every open slot, oldest first, and forget what has ended unnoticed."""
        self._sweep = self._holding = False
        slots = await self.inbox.open_slots()
        for slot_id in self._since.keys() - {slot.id for slot in slots}:
            self._forget(slot_id)
        for slot in slots:
            if slot.state == "open":
                await self._offer(slot.id)

    async def _offer(self, slot_id: int) -> None:
        """Decide about a slot if it is open, and make the decision known.

        While the process shuts down nothing is decided any more: the next one goes on from there.
        """
        if self._closing:
            return
        slot = await self.inbox.slot(slot_id)
        if slot is None or slot.ended:
            self._forget(slot_id)
            return
        since = self._since.setdefault(slot_id, trio.current_time())
        if slot.state != "open":
            return
        step = next_step(slot.attempt, slot.failures, slot.interruptions)
        if isinstance(step, DeadLetter):
            await self._dead_letter(slot, step.reason)
            return
        waited = trio.current_time() - since
        company = self._roster.company(slot.room, waited=waited, max_wait=self.max_wait)
        choice = Choice(self._roster.room(slot.room), company, step, self.locale)
        crash_point("orchestrator.before_decide")
        decided = await self.inbox.decide(slot_id, choice)
        crash_point("orchestrator.after_decide")
        if choice.dead is not None:
            await self._dead_letter(slot, choice.dead.reason)
        elif decided.decision is not None:
            await self._carry_out(decided.slots, decided.decision)

    async def _carry_out(self, slots: tuple[Slot, ...], decision: Decision) -> None:
        first = slots[0]
        what = type(decision).__name__.lower()
        why = getattr(decision, "rule", None) or getattr(decision, "reason", None)
        _log.info("slot_decided", slot=first.id, room=first.room, decision=what, rule=why)
        if isinstance(decision, Dispatch):
            for slot in slots:
                self._since.setdefault(slot.id, trio.current_time())
                await self._dispatch(slot)
        elif isinstance(decision, Hold):
            self._holding = True
        else:
            self._forget(first.id)
            if isinstance(decision, Decline) and decision.notice is not None:
                self._flush(decision.notice.agent)

    async def _dispatch(self, slot: Slot) -> None:
        """Tell the agent; if it cannot take the turn now, the slot is open again and waits."""
        assert slot.agent is not None
        known = self._roster.of(slot.agent)
        try:
            self.bus.tell_nowait(slot.agent, RunTurn(slot.id, slot.attempt))
        except MailboxFull:
            known.full = self._holding = True
            await self._release(slot, RESTART)
        except UnknownAddress:
            known.reach, self._holding = Reach.STARTING, True
            await self._release(slot, RESTART)
        crash_point("orchestrator.after_dispatch")

    async def _dead_letter(self, slot: Slot, reason: str) -> None:
        agent = self._roster.speaker(slot.room, slot.agent)
        notice = None if agent is None else given_up(slot, agent, reason, self.locale)
        if not await self.inbox.dead_letter(slot.id, None, reason, notice):
            return
        crash_point("orchestrator.after_dead_letter")
        _log.error("slot_dead_letter", slot=slot.id, room=slot.room, why=reason, last=slot.reason)
        self.bus.publish("slots", SlotGivenUp(slot.id, slot.room, reason))
        self._forget(slot.id)
        if agent is not None:
            self._flush(agent)

    def _flush(self, agent: str) -> None:
        with contextlib.suppress(BusError):  # the connection looks into the outbox by itself too
            self.bus.tell_nowait(f"{agent}/connection", Flush())

    def _forget(self, slot_id: int) -> None:
        self._since.pop(slot_id, None)
        ended = self._ended.pop(slot_id, None)
        if ended is not None:
            ended.set()

    # -- time ------------------------------------------------------------------------------------

    def _next_tick(self) -> float:
        soon = math.inf
        if any(known.full for known in self._roster.all().values()):
            soon = FULL_TICK_SECONDS
        elif self._holding:
            soon = HOLD_TICK_SECONDS
        return min(trio.current_time() + soon, self._purge_at)

    async def _tick(self) -> None:
        for agent in self._roster.all():
            self._refill(agent)
        self._sweep = self._sweep or self._holding
        if self.journal is not None and trio.current_time() >= self._purge_at:
            self._purge_at = trio.current_time() + DAY_SECONDS
            await self.journal.purge(self.clock.now() - RETENTION_DAYS * DAY_SECONDS)

    def _refill(self, agent: str) -> None:
        """An agent whose mailbox was full is offered what waits when there is room again."""
        known = self._roster.of(agent)
        if known.full:
            box = self.bus.statistics().mailboxes.get(agent)
            known.full = box is not None and box.depth >= box.capacity
            self._sweep = self._sweep or not known.full
