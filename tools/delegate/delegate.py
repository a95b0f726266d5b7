"""Asking another agent: its answer comes back as text, and its turn counts in the same chain."""

from __future__ import annotations

from typing import Final

import structlog

from channels.chain import Stamp
from channels.errors import (
    ActorDied,
    AskCycle,
    AskTimeout,
    BusError,
    MailboxFull,
    UnknownAddress,
)
from channels.messages import GiveBackHop, ReserveHop, Task, TaskResult
from tools.tool import ToolContext, ToolError, tool

__all__ = ["ask_agent"]

_log = structlog.get_logger("tools.delegate")

_ORCHESTRATOR: Final = "orchestrator"
_RESERVE_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = 120.0
_TRIES: Final = 2

_TEXTS: Final = {
    "nobody": (
        "No hay ningún agente «{agent}». Los hay: {there}.",
        "There is no agent “{agent}”. There are: {there}.",
    ),
    "self": ("{agent} eres tú: contesta tú.", "{agent} is you: answer it yourself."),
    "limit": (
        "No pregunto a {agent}: en esta conversación los agentes ya han hablado bastante.",
        "I do not ask {agent}: the agents have spoken enough in this conversation.",
    ),
    "cycle": (
        "{agent} está esperando justamente esta respuesta: no se le puede preguntar.",
        "{agent} is waiting for this very answer: it cannot be asked.",
    ),
    "timeout": (
        "{agent} no contestó en {seconds:g} s; puede que siga trabajando en ello.",
        "{agent} did not answer within {seconds:g} s; it may still be working on it.",
    ),
    "busy": (
        "{agent} tiene demasiado pendiente ahora mismo.",
        "{agent} has too much to do right now.",
    ),
    "stopped": ("{agent} no está en marcha ahora.", "{agent} is not running right now."),
    "failed": (
        "{agent} falló al contestar; el detalle está en el registro.",
        "{agent} failed to answer; the details are in the log.",
    ),
    "uncounted": (
        "No pregunto a {agent}: quien cuenta los turnos no responde ahora.",
        "I do not ask {agent}: whoever counts the turns does not answer right now.",
    ),
    "silent": ("{agent} no tiene nada que decir a eso.", "{agent} has nothing to say to that."),
    "answer": ("{agent}: {text}", "{agent}: {text}"),
}  # fmt: skip


@tool(idempotent=True, timeout=_ANSWER_SECONDS * _TRIES + 15)
async def ask_agent(ctx: ToolContext, agent: str, question: str) -> str:
    """Ask another agent and get its answer. Say everything it needs: it does not see this room.

    Args:
        agent: the id of the agent to ask.
        question: what to ask, in full.
    """
    name = _known(ctx, agent)
    hop = await _reserve(ctx, name)
    task = Task(
        task_id=ctx.idempotency_key,
        text=question,
        sender=ctx.agent,
        room=ctx.room,
        user=ctx.user,
        stamp=_stamp(ctx, hop),
        timeout=_ANSWER_SECONDS,
    )
    result = await _ask(ctx, name, task)
    text = result.text.strip()
    if text in ("", "NO_REPLY"):
        await _give_back(ctx)
        return _say(ctx, "silent", agent=name)
    return _say(ctx, "answer", agent=name, text=text)


def _known(ctx: ToolContext, agent: str) -> str:
    wanted = agent.strip().lstrip("@").casefold()
    name = next((one for one in ctx.agents if one.casefold() == wanted), None)
    if name == ctx.agent or wanted == ctx.agent.casefold():
        raise ToolError(_say(ctx, "self", agent=ctx.agent))
    if name is None:
        there = ", ".join(one for one in ctx.agents if one != ctx.agent) or "—"
        raise ToolError(_say(ctx, "nobody", agent=agent.strip(), there=there))
    return name


def _chain(ctx: ToolContext) -> str:
    """The chain of the turn; a turn without a stamp begins one of its own."""
    return ctx.stamp.chain if ctx.stamp is not None else (ctx.event_id or ctx.idempotency_key)


def _stamp(ctx: ToolContext, hop: int) -> Stamp:
    origin = ctx.stamp.origin if ctx.stamp is not None else _chain(ctx)
    return Stamp(agent=ctx.agent, origin=origin, chain=_chain(ctx), hop=hop)


async def _reserve(ctx: ToolContext, agent: str) -> int:
    """Take one turn of the chain for the agent that will answer; a repeated call takes it once."""
    request = ReserveHop(room=ctx.room or "", chain=_chain(ctx), key=ctx.idempotency_key)
    try:
        hop: int | None = await ctx.bus.ask(_ORCHESTRATOR, request, timeout=_RESERVE_SECONDS)
    except BusError:
        raise ToolError(_say(ctx, "uncounted", agent=agent)) from None
    if hop is None:
        raise ToolError(_say(ctx, "limit", agent=agent))
    return hop


async def _give_back(ctx: ToolContext) -> None:
    body = GiveBackHop(room=ctx.room or "", chain=_chain(ctx), key=ctx.idempotency_key)
    try:
        await ctx.bus.tell(_ORCHESTRATOR, body)
    except BusError as error:
        _log.warning("hop_not_given_back", agent=ctx.agent, error=str(error))


async def _ask(ctx: ToolContext, agent: str, task: Task) -> TaskResult:
    """Ask; an agent that died with the question (a reload, a crash) is asked once more."""
    for left in reversed(range(_TRIES)):
        try:
            reply: TaskResult = await ctx.bus.ask(
                agent, task, timeout=task.timeout, lane=task.task_id
            )
            return reply
        except ActorDied:
            if not left:
                raise ToolError(_say(ctx, "failed", agent=agent)) from None
        except AskTimeout:
            seconds = task.timeout
            raise ToolError(_say(ctx, "timeout", agent=agent, seconds=seconds)) from None
        except (AskCycle, MailboxFull, UnknownAddress) as error:
            await _give_back(ctx)
            raise ToolError(_say(ctx, _never_began(error), agent=agent)) from None
        except BusError as error:
            _log.warning("delegation_failed", agent=ctx.agent, asked=agent, error=str(error))
            raise ToolError(_say(ctx, "failed", agent=agent)) from None
    raise AssertionError("unreachable")


def _never_began(error: BusError) -> str:
    if isinstance(error, AskCycle):
        return "cycle"
    return "busy" if isinstance(error, MailboxFull) else "stopped"


def _say(ctx: ToolContext, key: str, **values: object) -> str:
    return _TEXTS[key][1 if ctx.locale == "en" else 0].format(**values)
