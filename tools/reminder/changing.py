"""Reminders changed by a model: moved, reworded, paused, followed no more; and people's zones."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from cronactor.messages import (
    PauseReminder,
    ReminderChanged,
    ResumeReminder,
    SetZone,
    SnoozeReminder,
    UnfollowReminder,
    UpdateReminder,
    ZoneFound,
)
from cronactor.reminder import Reminder
from tools.clock.clock import known_zone
from tools.reminder.asking import ask, place, when, which
from tools.reminder.sayings import moved, paused, resumed, say, unfollowed
from tools.tool import Tool, ToolContext, tool

__all__ = [
    "pause_reminder",
    "resume_reminder",
    "set_timezone",
    "snoozing",
    "unfollow_reminder",
    "update_reminder",
]


@tool(idempotent=True, timeout=20.0)
async def update_reminder(
    ctx: ToolContext,
    id: str | None = None,
    message: str | None = None,
    time: str | None = None,
    cron: str | None = None,
) -> str:
    """Change the message or the time of a reminder of this room that is still to come.

    Repeat the resolved local date and time of the result to the user.

    Args:
        id: the id in brackets of the list; leave out when the user replied to the reminder or to
            its confirmation.
        message: the new message; leave out to keep it.
        time: the new time, as said: mañana a las 9, todos los lunes a las 10, in 2 hours; leave
            out to keep it.
        cron: instead of time, a five-field cron expression for one that repeats.
    """
    request = UpdateReminder(
        which=which(ctx, id),
        received_at=ctx.received_at,
        message=message,
        when=when(ctx, time, cron, needed=False),
        locale=ctx.locale,
        idempotency_key=ctx.idempotency_key,
    )
    reply: ReminderChanged = await ask(ctx, request)
    return moved(reply, ctx.locale)


def snoozing(max_per_room: int) -> Tool:
    """Return the tool that has a reminder speak again, within the limit of the room."""

    @tool(idempotent=True, timeout=20.0)
    async def snooze_reminder(ctx: ToolContext, time: str, id: str | None = None) -> str:
        """Have a reminder speak (again) later: "otra vez en 10 minutos", "snooze until 5 pm".

        A one-off reminder is moved, also when it has just fired; one that repeats keeps its times
        and is said once more. Repeat the resolved local date and time to the user.

        Args:
            time: one single time, as said: en 10 minutos, mañana a las 9, in 1 hour.
            id: the id in brackets of the list; leave out for the reminder the user replied to, or
                for the user's one that has just fired in this room.
        """
        request = SnoozeReminder(
            which=which(ctx, id),
            when=time,
            received_at=ctx.received_at,
            locale=ctx.locale,
            idempotency_key=ctx.idempotency_key,
            max_per_room=max_per_room,
        )
        reply: ReminderChanged = await ask(ctx, request)
        return moved(reply, ctx.locale)

    return snooze_reminder


@tool(idempotent=True, timeout=20.0)
async def pause_reminder(ctx: ToolContext, id: str | None = None) -> str:
    """Keep a reminder of this room silent until it is resumed.

    Args:
        id: the id in brackets of the list; leave out when the user replied to the reminder.
    """
    request = PauseReminder(which(ctx, id), ctx.locale, ctx.idempotency_key)
    reply: ReminderChanged = await ask(ctx, request)
    return paused(reply.reminder, ctx.locale)


@tool(idempotent=True, timeout=20.0)
async def resume_reminder(ctx: ToolContext, id: str | None = None) -> str:
    """Let a paused reminder of this room go on with its next time.

    Args:
        id: the id in brackets of the list; leave out when the user replied to the reminder.
    """
    request = ResumeReminder(which(ctx, id), ctx.locale, ctx.idempotency_key)
    reply: ReminderChanged = await ask(ctx, request)
    return resumed(reply, ctx.locale)


@tool(idempotent=True, timeout=20.0)
async def unfollow_reminder(ctx: ToolContext, id: str | None = None) -> str:
    """Stop telling the user who is speaking of reminders that others set: "deja de avisarme".

    Args:
        id: the id in brackets of the list; leave out for the reminder the user replied to, or for
            all of this room that the user follows.
    """
    gone: tuple[Reminder, ...] = await ask(ctx, UnfollowReminder(which(ctx, id), ctx.locale))
    return unfollowed(gone, ctx.locale)


@tool(idempotent=True, timeout=20.0)
async def set_timezone(ctx: ToolContext, zone: str, whole_room: bool = False) -> str:
    """Set the time zone of the user who is speaking: what times mean and are shown in from now on.

    Args:
        zone: IANA time zone (Asia/Tokyo) or a city (Tokio).
        whole_room: true only if the user asks for it for everybody in this room.
    """
    room, user = place(ctx)
    name = known_zone(zone, ctx.locale)
    request = SetZone(name, **({"room": room} if whole_room else {"user": user}), locale=ctx.locale)
    found: ZoneFound = await ask(ctx, request)
    there = datetime.fromtimestamp(ctx.clock.now(), ZoneInfo(found.zone))
    key = "zone_room" if whole_room else "zone_user"
    return say(key, ctx.locale, zone=found.zone, now=f"{there:%H:%M}")
