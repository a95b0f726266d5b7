"""How the reminder tools reach the scheduler: for the room and the user of the turn, no others."""

from __future__ import annotations

from typing import Any, Final

from channels.errors import ActorDied, AskTimeout, BusError, UnknownAddress
from cronactor.messages import SCHEDULER, SchedulerRefused, Which
from tools.reminder.sayings import say
from tools.tool import ToolContext, ToolError

__all__ = ["ask", "origin", "place", "plain_id", "when", "which"]

_ASK_SECONDS: Final = 5.0
_TRIES: Final = 3


def place(ctx: ToolContext) -> tuple[str, str]:
    """Return room and user of the turn. Raises ToolError where there is no room."""
    if ctx.room is None or ctx.user is None:
        raise ToolError(say("no_room", ctx.locale))
    return ctx.room, ctx.user


def origin(ctx: ToolContext) -> str:
    """Return the chain of messages this turn belongs to: its answer bears the same."""
    return ctx.stamp.chain if ctx.stamp is not None else ctx.event_id or ""


def plain_id(id: str | None) -> str:
    """Return an id as the list shows it, without what surrounds it there."""
    return (id or "").strip().strip("[]`").lower()


def which(ctx: ToolContext, id: str | None) -> Which:
    """Say which reminder is meant: by id, else by the message that this turn's replies to."""
    room, user = place(ctx)
    return Which(room, user, plain_id(id), ctx.reply_to)


def when(
    ctx: ToolContext, time: str | None, cron: str | None, *, needed: bool = True
) -> str | None:
    """Return the one of the two that is given. Raises ToolError for both, or for none if needed."""
    time, cron = (time or "").strip(), (cron or "").strip()
    if time and cron:
        raise ToolError(say("both", ctx.locale))
    if needed and not (time or cron):
        raise ToolError(say("when", ctx.locale))
    return cron or time or None


async def ask(ctx: ToolContext, request: object) -> Any:
    """Ask the scheduler. All requests may be repeated, so one that died with it is asked again."""
    for left in reversed(range(_TRIES)):
        try:
            return await ctx.bus.ask(SCHEDULER, request, timeout=_ASK_SECONDS)
        except SchedulerRefused as refusal:
            why = str(refusal).rstrip(".")
            raise ToolError(say("refused", ctx.locale, why=why)) from None
        except (ActorDied, AskTimeout):
            if not left:
                raise ToolError(say("no_answer", ctx.locale)) from None
        except UnknownAddress:
            raise ToolError(say("no_scheduler", ctx.locale)) from None
        except BusError:
            raise ToolError(say("no_answer", ctx.locale)) from None
    raise AssertionError("unreachable")
