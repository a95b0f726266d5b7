"""Reminders as a model may set, list and delete them: in the room and for the user of the turn."""

from __future__ import annotations

from typing import Any, Final

from channels.errors import ActorDied, AskTimeout, BusError, UnknownAddress
from cronactor.messages import (
    SCHEDULER,
    AddReminder,
    DeleteReminder,
    ListReminders,
    ReminderAdded,
    SchedulerRefused,
)
from cronactor.reminder import Reminder
from tools.reminder.sayings import added, deleted, listed, say
from tools.tool import Tool, ToolContext, ToolError, tool

__all__ = ["delete_reminder", "list_reminders", "reminder_tools"]

_ASK_SECONDS: Final = 5.0
_TRIES: Final = 3


def reminder_tools(max_per_room: int = 50) -> tuple[Tool, ...]:
    """Return the three tools; at most `max_per_room` reminders may be active in one room."""

    @tool(idempotent=True, timeout=20.0)
    async def create_reminder(
        ctx: ToolContext,
        message: str,
        time: str | None = None,
        recurring: bool = False,
        cron: str | None = None,
    ) -> str:
        """Set a reminder for the user who is speaking, in this room.

        Give `time` for one that speaks once, or `cron` with `recurring` for one that repeats. The
        result says the resolved local date and time: repeat them to the user.

        Args:
            message: what to remind of, in the user's own words.
            time: when, as said: 15:00, 2026-04-10 15:00, en 30 minutos, mañana a las 9,
                in 10 seconds, tomorrow at 9.
            recurring: true for a reminder that repeats; it then needs cron.
            cron: five-field cron expression in the user's time zone, for example 0 10 * * 1.
        """
        room, user = _place(ctx)
        request = AddReminder(
            agent=ctx.agent,
            room=room,
            user=user,
            message=message,
            when=_when(ctx, time, recurring, cron),
            received_at=ctx.received_at,
            recurring=recurring or None,
            timezone=ctx.timezone,
            locale=ctx.locale,
            idempotency_key=ctx.idempotency_key,
            max_per_room=max_per_room,
        )
        reply: ReminderAdded = await _ask(ctx, request)
        return added(reply, ctx.locale)

    return (create_reminder, list_reminders, delete_reminder)


@tool(idempotent=True, timeout=20.0)
async def list_reminders(ctx: ToolContext) -> str:
    """List the active reminders of this room with their ids."""
    room, user = _place(ctx)
    reminders: tuple[Reminder, ...] = await _ask(ctx, ListReminders(room=room))
    return listed(reminders, ctx.timezone, user, ctx.locale)


@tool(idempotent=True, timeout=20.0)
async def delete_reminder(ctx: ToolContext, id: str) -> str:
    """Delete one reminder of this room by its id; list them first to know the ids.

    Args:
        id: the id in brackets of the list, for example r7f3k2.
    """
    room, _ = _place(ctx)
    wanted = id.strip().strip("[]").lower()
    reminder: Reminder = await _ask(ctx, DeleteReminder(wanted, room, ctx.locale))
    return deleted(reminder, ctx.locale)


def _place(ctx: ToolContext) -> tuple[str, str]:
    if ctx.room is None or ctx.user is None:
        raise ToolError(say("no_room", ctx.locale))
    return ctx.room, ctx.user


def _when(ctx: ToolContext, time: str | None, recurring: bool, cron: str | None) -> str:
    """Choose what says when; beside `recurring`, a cron expression is the exact form of a time."""
    time, cron = (time or "").strip(), (cron or "").strip()
    if time and cron and not recurring:
        raise ToolError(say("both", ctx.locale))
    if not (time or cron):
        raise ToolError(say("when", ctx.locale))
    return cron or time


async def _ask(ctx: ToolContext, request: object) -> Any:
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
