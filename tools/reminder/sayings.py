"""Pure: how reminders are confirmed, listed and refused, in Spanish and English."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from cronactor.messages import ReminderAdded, ReminderChanged
from cronactor.reminder import ACTIVE, PAUSED, Reminder, mention
from cronactor.spoken import duration

__all__ = ["added", "deleted", "listed", "moved", "paused", "resumed", "say", "unfollowed"]

_TEXTS: Final = {
    "once": (
        "Listo, {user}: te recordaré «{message}» {when}. [{id}]",
        "Done, {user}: I will remind you “{message}” {when}. [{id}]",
    ),
    "recurring": (
        "Listo, {user}: te recordaré «{message}» {how}; la próxima vez, {when}. [{id}]",
        "Done, {user}: I will remind you “{message}” {how}; the next time is {when}. [{id}]",
    ),
    "cron": ("con el cron `{cron}`", "by cron `{cron}`"),
    "every": ("cada {every}", "every {every}"),
    "moved": ("Hecho: «{message}», {when}. [{id}]", "Done: “{message}”, {when}. [{id}]"),
    "moved_recurring": (
        "Hecho: «{message}» {how}; la próxima vez, {when}. [{id}]",
        "Done: “{message}” {how}; the next time is {when}. [{id}]",
    ),
    "repeats_no_more": (
        "Ya no se repite (antes, {how}). Si debe repetirse, di también cuándo: «todos los lunes a "
        "las 10:00», «cada 2 horas».",
        "It no longer repeats (before, {how}). If it should, say when: “every monday at 10am”, "
        "“every 2 hours”.",
    ),
    "once_more": (
        "Hecho: «{message}» otra vez {when}. [{id}] El que se repite [{of}] sigue como estaba.",
        "Done: “{message}” once more {when}. [{id}] The one that repeats [{of}] stays as it was.",
    ),
    "over": (
        "Eso ya estaba hecho, y «{message}» ya no está pendiente. [{id}]",
        "That was done already, and “{message}” is no longer to come. [{id}]",
    ),
    "paused": (
        "En pausa: «{message}». No avisaré hasta que se reanude. [{id}]",
        "Paused: “{message}”. I will be silent until it is resumed. [{id}]",
    ),
    "resumed": (
        "Sigue en marcha: «{message}»; la próxima vez, {when}. [{id}]",
        "It goes on: “{message}”; the next time is {when}. [{id}]",
    ),
    "unfollowed": (
        "De acuerdo, ya no te avisaré de: {messages}.",
        "All right, I will no longer tell you of: {messages}.",
    ),
    "zone_user": (
        "Tu zona horaria es ahora {zone}: allí son las {now}. Los recordatorios que ya había "
        "conservan su hora.",
        "Your time zone is now {zone}: it is {now} there. Reminders that were there already keep "
        "their time.",
    ),
    "zone_room": (
        "La zona horaria de esta sala es ahora {zone}: allí son las {now}. Los recordatorios que "
        "ya había conservan su hora, y quien tiene zona propia la conserva.",
        "The time zone of this room is now {zone}: it is {now} there. Reminders that were there "
        "already keep their time, and whoever has a zone of their own keeps it.",
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
    "some_paused": (
        "Recordatorios de esta sala, activos {n}, en pausa {paused} (hora de {zone}):",
        "Reminders of this room, {n} active, {paused} paused ({zone} time):",
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
    return _confirmed(
        "recurring" if reply.recurring else "once", reply.reminder, reply.text, reply.note, locale
    )


def moved(reply: ReminderChanged, locale: str) -> str:
    """Confirm that a reminder has another message or time."""
    reminder = reply.reminder
    if not reminder.kept or not reply.text:
        return _said("over", reminder, locale)
    if reply.of:
        return _confirmed("once_more", reminder, reply.text, reply.note, locale, of=reply.of)
    key = "moved" if reminder.one_shot else "moved_recurring"
    text = _confirmed(key, reminder, reply.text, reply.note, locale)
    if reply.before is not None:
        text += "\n" + say("repeats_no_more", locale, how=_how(reply.before, locale))
    return f"{text}\n{_said('paused', reminder, locale)}" if reminder.state == PAUSED else text


def paused(reminder: Reminder, locale: str) -> str:
    """Confirm that a reminder is silent."""
    return _said("paused" if reminder.state == PAUSED else "over", reminder, locale)


def resumed(reply: ReminderChanged, locale: str) -> str:
    """Confirm that a reminder goes on."""
    if reply.reminder.state != ACTIVE or not reply.text:
        return _said("over", reply.reminder, locale)
    return _confirmed("resumed", reply.reminder, reply.text, reply.note, locale)


def unfollowed(gone: Sequence[Reminder], locale: str) -> str:
    """Confirm that a user is no longer told."""
    messages = ", ".join(f"«{_line_of(one)}» [{one.id}]" for one in gone)
    return say("unfollowed", locale, messages=messages)


def _confirmed(key: str, reminder: Reminder, when: str, note: str, locale: str, **rest: str) -> str:
    at = "at" if locale == "en" else "a las"
    text = say(
        key,
        locale,
        user=mention(reminder.user),
        message=reminder.message,
        when=re.sub(r"(\d{4}-\d\d-\d\d) (?=\d\d:\d\d)", rf"\1 {at} ", when),
        how=_how(reminder, locale),
        id=reminder.id,
        **rest,
    )
    return f"{text}\n{_sentence(note)}" if note else text


def _how(reminder: Reminder, locale: str) -> str:
    if reminder.every is not None:
        return say("every", locale, every=duration(reminder.every, locale))
    return say("cron", locale, cron=reminder.cron)


def _said(key: str, reminder: Reminder, locale: str) -> str:
    return say(key, locale, message=_line_of(reminder), id=reminder.id)


def _line_of(reminder: Reminder) -> str:
    return " ".join(reminder.message.split())


def listed(reminders: Sequence[Reminder], zone: str, user: str | None, locale: str) -> str:
    """Number the reminders of a room: `1. [id] message — next local time (one-shot|recurrente)`."""
    if not reminders:
        return say("none", locale)
    silent = sum(reminder.state == PAUSED for reminder in reminders)
    head = "some_paused" if silent else "one" if len(reminders) == 1 else "many"
    lines = [
        f"{number}. [{reminder.id}] {_line(reminder, zone, user, locale)}"
        for number, reminder in enumerate(reminders, start=1)
    ]
    counted = say(head, locale, n=len(reminders) - silent, paused=silent, zone=zone)
    return "\n".join([counted, *lines])


def _line(reminder: Reminder, zone: str, user: str | None, locale: str) -> str:
    recurring = "recurring" if locale == "en" else "recurrente"
    kind = "one-shot" if reminder.one_shot else recurring
    if reminder.state == PAUSED:
        kind += ", paused" if locale == "en" else ", en pausa"
    whose = "" if reminder.user == user else f" {mention(reminder.user)}"
    return f"{_line_of(reminder)} — {_local(reminder.next_due, zone)} ({kind}){whose}"


def _local(instant: float | None, zone: str) -> str:
    if instant is None:
        return "…"
    moment = datetime.fromtimestamp(instant, ZoneInfo(zone))
    return moment.strftime("%Y-%m-%d %H:%M:%S" if moment.second else "%Y-%m-%d %H:%M")


def deleted(reminder: Reminder, locale: str) -> str:
    """Confirm that a reminder is gone."""
    return _said("deleted", reminder, locale)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
