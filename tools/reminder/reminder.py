"""Reminders as a model may set, list and delete them: in the room and for the user of the turn."""

from __future__ import annotations

from cronactor.messages import AddReminder, DeleteReminder, ListReminders, ReminderAdded
from cronactor.reminder import Reminder
from tools.reminder.asking import ask, origin, place, plain_id, when
from tools.reminder.changing import (
    pause_reminder,
    resume_reminder,
    set_timezone,
    snoozing,
    unfollow_reminder,
    update_reminder,
)
from tools.reminder.sayings import added, deleted, listed
from tools.tool import Tool, ToolContext, tool

__all__ = ["delete_reminder", "list_reminders", "reminder_tools"]


def reminder_tools(max_per_room: int = 50) -> tuple[Tool, ...]:
    """Return the reminder tools; at most `max_per_room` reminders may be kept in one room."""
    return (
        _creating(max_per_room),
        list_reminders,
        delete_reminder,
        update_reminder,
        snoozing(max_per_room),
        pause_reminder,
        resume_reminder,
        unfollow_reminder,
        set_timezone,
    )


def _creating(max_per_room: int) -> Tool:
    @tool(idempotent=True, timeout=20.0)
    async def create_reminder(
        ctx: ToolContext,
        message: str,
        time: str | None = None,
        recurring: bool = False,
        cron: str | None = None,
    ) -> str:
        """Set a reminder for the user who is speaking, in this room.

        Give exactly one of `time` and `cron`. The result says the resolved local date and time:
        repeat them to the user.

        Args:
            message: what to remind of, in the user's own words.
            time: when, as said: 15:00, 2026-04-10 15:00, en 30 minutos, mañana a las 9,
                tomorrow at 9, todos los lunes a las 10, every 2 hours.
            recurring: true if it has to repeat; a time that comes only once is then refused.
            cron: instead of time, a five-field cron expression in the user's time zone, for
                example 0 10 * * 1.
        """
        room, user = place(ctx)
        request = AddReminder(
            agent=ctx.agent,
            room=room,
            user=user,
            message=message,
            when=when(ctx, time, cron) or "",
            received_at=ctx.received_at,
            recurring=recurring or None,
            locale=ctx.locale,
            idempotency_key=ctx.idempotency_key,
            max_per_room=max_per_room,
            origin=origin(ctx),
        )
        reply: ReminderAdded = await ask(ctx, request)
        return added(reply, ctx.locale)

    return create_reminder


@tool(idempotent=True, timeout=20.0)
async def list_reminders(ctx: ToolContext) -> str:
    """List the active and paused reminders of this room with their ids."""
    room, user = place(ctx)
    reminders: tuple[Reminder, ...] = await ask(ctx, ListReminders(room=room, paused=True))
    return listed(reminders, ctx.timezone, user, ctx.locale)


@tool(idempotent=True, timeout=20.0)
async def delete_reminder(ctx: ToolContext, id: str) -> str:
    """Delete one reminder of this room by its id; list them first to know the ids.

    Args:
        id: the id in brackets of the list, for example r7f3k2.
    """
    room, _ = place(ctx)
    reminder: Reminder = await ask(ctx, DeleteReminder(plain_id(id), room, ctx.locale))
    return deleted(reminder, ctx.locale)
