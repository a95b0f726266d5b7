"""One turn: think, then freeze the answer together with closing the slot, or decline."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Final

import attrs
import structlog
import trio

from actors.conversation import Setting, history_messages, spoken, system_prompt
from actors.llm.protocol import NO_REPLY, ChatMessage
from actors.thinking import AgentServices, Work, think
from channels.bus import Bus
from channels.chain import Stamp, stamped
from channels.crashpoints import crash_point, declare_crash_points
from channels.errors import BusError
from channels.inbox import Slot
from channels.messages import Flush, Task, TurnEnd
from channels.outbox import OutgoingMessage
from channels.rooms import text_content
from config.schema import AgentConfig
from cronactor.messages import SCHEDULER, ZoneFound, ZoneOf

__all__ = [
    "AgentServices",
    "is_no_reply",
    "run_task",
    "run_turn",
    "split_answer",
    "turn_key",
]

declare_crash_points("turn.before_answer", "turn.after_answer", "task.before_end", "task.after_end")

PART_CHARACTERS: Final = 12_000
ZONE_SECONDS: Final = 2.0

_log = structlog.get_logger("actors.turn")


def turn_key(slot_id: int) -> str:
    """Return the journal key of a slot's turn: the same for every attempt and every agent."""
    return f"slot:{slot_id}"


def is_no_reply(text: str) -> bool:
    """Whether the model has chosen silence."""
    return text.strip().strip("`*_\"'. \n") == NO_REPLY


# -- an answer slot's turn -------------------------------------------------------------------


async def run_turn(
    agent: AgentConfig, services: AgentServices, slot: Slot, *, own_user: str
) -> TurnEnd:
    """Run one attempt of a slot's turn to its end and close the slot.

    Returns ANSWERED or DECLINED, or INTERRUPTED when another attempt holds the slot by now. Raises
    what `think` raises; the slot is then still dispatched. A cancel before the answer is frozen
    leaves it unsaid; after that it is said.
    """
    work = await _slot_work(agent, services, slot, own_user)
    text = await think(agent, services, work)
    ending = services.journal.ending(work.key, text)
    crash_point("turn.before_answer")
    await trio.lowlevel.checkpoint_if_cancelled()
    if is_no_reply(text):
        done = await services.inbox.decline(slot.id, slot.attempt, "no_reply", also=ending)
        return TurnEnd.DECLINED if done else TurnEnd.INTERRUPTED
    messages = _answer(agent.id, slot, split_answer(text), work)
    done = await services.inbox.answer(slot.id, slot.attempt, messages, also=ending)
    crash_point("turn.after_answer")
    if done:
        flush(services.bus, agent.id)
    return TurnEnd.ANSWERED if done else TurnEnd.INTERRUPTED


def flush(bus: Bus, agent: str) -> None:
    """Tell the agent's connection that the outbox holds something new; it looks by itself too."""
    with contextlib.suppress(BusError):
        bus.tell_nowait(f"{agent}/connection", Flush())


async def _slot_work(
    agent: AgentConfig, services: AgentServices, slot: Slot, own_user: str
) -> Work:
    facts = await services.inbox.facts(slot.id)
    event = facts.event
    history = await services.inbox.history(
        slot.room, before=event.event_id, limit=agent.history_messages
    )
    zone = await _zone(services, event.sender, slot.room)
    setting = _setting(agent, services, slot.room, zone, event.ts)
    heard = (*history_messages(history, own_user), spoken(event, own_user))
    return Work(
        key=turn_key(slot.id),
        lane=f"{agent.id}/{slot.room}",
        attempt=slot.attempt,
        room=slot.room,
        user=event.sender,
        event_id=event.event_id,
        received_at=event.ts,
        messages=(system_prompt(setting), *heard),
        timezone=zone,
        stamp=Stamp(agent.id, slot.chain, slot.chain, slot.hop),
        sender_is_bot=event.sender_is_bot,
        addressed=own_user in event.mentions or facts.replies_to in (own_user, agent.id),
        reply_to=event.reply_to,
    )


async def _zone(services: AgentServices, user: str | None, room: str | None) -> str:
    """The zone that counts for a person in a room; the configured one while no scheduler answers.

    What a reminder means is not settled here: for that the scheduler looks the zone up itself.
    """
    configured = services.zones.get(room or "", services.timezone)
    if SCHEDULER not in services.bus.names():
        return configured
    try:
        found = await services.bus.ask(SCHEDULER, ZoneOf(user, room), timeout=ZONE_SECONDS)
    except BusError as error:
        _log.warning("zone_not_known", room=room, error=str(error))
        return configured
    return found.zone if isinstance(found, ZoneFound) else configured


def _setting(
    agent: AgentConfig, services: AgentServices, room: str | None, zone: str, received_at: float
) -> Setting:
    return Setting(
        agent=agent.id,
        name=agent.display_name or agent.id,
        prompt=agent.prompt_text,
        room=room,
        locale=services.locale,
        timezone=zone,
        now=services.clock.now(),
        received_at=received_at,
        agents=services.agents(),
        tools=services.toolbox.names(),
    )


def _answer(agent: str, slot: Slot, parts: Iterable[str], work: Work) -> list[OutgoingMessage]:
    assert work.stamp is not None
    return [
        OutgoingMessage(agent, slot.room, f"slot-{slot.id}-{number}", stamped(content, work.stamp))
        for number, content in enumerate(map(text_content, parts))
    ]


def split_answer(text: str, limit: int = PART_CHARACTERS) -> tuple[str, ...]:
    """Split a long answer into parts of at most `limit` characters, at a paragraph or a space."""
    parts = []
    rest = text.strip()
    while len(rest) > limit:
        cut = next(
            (at for mark in ("\n\n", "\n", " ") if (at := rest.rfind(mark, 1, limit)) > 0), limit
        )
        parts.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return (*parts, rest)


# -- a task's turn ---------------------------------------------------------------------------


async def run_task(agent: AgentConfig, services: AgentServices, task: Task) -> str:
    """Run a task to its answer ("" when the model chose silence) and end its record.

    A task that has ended before gives its recorded answer again. Raises and cancels like `think`.
    """
    work = await _task_work(agent, services, task)
    text = await think(agent, services, work)
    crash_point("task.before_end")
    await services.journal.end(work.key, text)
    crash_point("task.after_end")
    return "" if is_no_reply(text) else text


async def _task_work(agent: AgentConfig, services: AgentServices, task: Task) -> Work:
    zone = await _zone(services, task.user, task.room)
    now = services.clock.now()
    setting = _setting(agent, services, None, zone, now)
    return Work(
        key=f"task:{task.task_id}",
        lane=f"{agent.id}/{task.task_id}",
        attempt=1,
        room=task.room,
        user=task.user,
        event_id=None,
        received_at=now,
        messages=(system_prompt(setting), ChatMessage("user", task.text, name=task.sender)),
        timezone=zone,
        stamp=None if task.stamp is None else attrs.evolve(task.stamp, agent=agent.id),
        sender_is_bot=True,
        addressed=True,
    )
