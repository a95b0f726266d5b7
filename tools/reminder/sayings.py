"""Pure: how reminders are confirmed, listed and refused, in Spanish and English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from cronactor.messages import ReminderAdded
from cronactor.reminder import Reminder, mention

__all__ = ["added", "deleted", "listed", "say"]

_TEXTS: Final = {
    "once": (
        "Listo, {user}: te recordaré «{message}» {when}. [{id}]",
        "Done, {user}: I will remind you “{message}” {when}. [{id}]",
    ),
    "recurring": (
        "Listo, {user}: te recordaré «{message}» con el cron {cron}; "
        "la próxima vez, {when}. [{id}]",
        "Done, {user}: I will remind you “{message}” by cron {cron}; "
        "the next time is {when}. [{id}]",
    ),
    "none": (
        "No hay recordatorios activos en esta sala.",
        "There are no active reminders in this room.",
    ),
    "one": (
        "Hay 1 recordatorio activo en esta sala (hora de {zone}):",
        "There is 1 active reminder in this room ({zone} time):",
    ),
    "many": (
        "Hay {n} recordatorios activos en esta sala (hora de {zone}):",
        "There are {n} active reminders in this room ({zone} time):",
    ),
    "deleted": ("Recordatorio eliminado: «{message}». [{id}]", "Deleted: “{message}”. [{id}]"),
    "refused": ("No se ha podido: {why}.", "That was not possible: {why}."),
    "when": (
        "No he puesto el recordatorio: falta el momento. Da `time` (por ejemplo `mañana a las 9`) "
        "o `cron` (por ejemplo `0 10 * * 1`).",
        "The reminder is not set: the time is missing. Give `time` (for example `tomorrow at 9`) "
        "or `cron` (for example `0 10 * * 1`).",
    ),
    "both": (
        "No he puesto el recordatorio: da `time` o `cron`, no los dos.",
        "The reminder is not set: give `time` or `cron`, not both.",
    ),
    "no_room": (
        "Los recordatorios pertenecen a una sala y esta conversación no está en ninguna.",
        "Reminders belong to a room, and this conversation is in none.",
    ),
    "no_answer": (
        "El programador de recordatorios no responde ahora. Puede que sí quede hecho: pide la "
        "lista antes de repetirlo.",
        "The scheduler does not answer right now. It may still get done: ask for the list "
        "before repeating it.",
    ),
    "no_scheduler": (
        "El programador de recordatorios no está en marcha; no se ha hecho nada.",
        "The scheduler is not running; nothing was done.",
    ),
}  # fmt: skip


def say(key: str, locale: str, **values: object) -> str:
    """Return the text `key` in `locale` ("en", anything else is Spanish)."""
    return _TEXTS[key][1 if locale == "en" else 0].format(**values)


def added(reply: ReminderAdded, locale: str) -> str:
    """Confirm a new reminder: what, and the resolved local date, time and zone."""
    reminder = reply.reminder
    at = "at" if locale == "en" else "a las"
    when = re.sub(r"(\d{4}-\d\d-\d\d) (?=\d\d:\d\d)", rf"\1 {at} ", reply.text)
    text = say(
        "recurring" if reply.recurring else "once",
        locale,
        user=mention(reminder.user),
        message=reminder.message,
        when=when,
        cron=f"`{reminder.cron}`",
        id=reminder.id,
    )
    return f"{text}\n{_sentence(reply.note)}" if reply.note else text


def listed(reminders: Sequence[Reminder], zone: str, user: str | None, locale: str) -> str:
    """Number the reminders of a room: `1. [id] message — next local time (one-shot|recurrente)`."""
    if not reminders:
        return say("none", locale)
    head = "one" if len(reminders) == 1 else "many"
    lines = [
        f"{number}. [{reminder.id}] {_line(reminder, zone, user, locale)}"
        for number, reminder in enumerate(reminders, start=1)
    ]
    return "\n".join([say(head, locale, n=len(reminders), zone=zone), *lines])


def _line(reminder: Reminder, zone: str, user: str | None, locale: str) -> str:
    recurring = "recurring" if locale == "en" else "recurrente"
    kind = "one-shot" if reminder.one_shot else recurring
    whose = "" if reminder.user == user else f" {mention(reminder.user)}"
    message = " ".join(reminder.message.split())
    return f"{message} — {_local(reminder.next_due, zone)} ({kind}){whose}"


def _local(instant: float | None, zone: str) -> str:
    if instant is None:
        return "…"
    moment = datetime.fromtimestamp(instant, ZoneInfo(zone))
    return moment.strftime("%Y-%m-%d %H:%M:%S" if moment.second else "%Y-%m-%d %H:%M")


def deleted(reminder: Reminder, locale: str) -> str:
    """Confirm that a reminder is gone."""
    message = " ".join(reminder.message.split())
    return say("deleted", locale, message=message, id=reminder.id)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
