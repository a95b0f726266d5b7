"""Pure: how instants and durations are said to people."""

from __future__ import annotations

from datetime import datetime

from cronactor.texts import say
from cronactor.zones import get_zone, local

__all__ = ["describe", "duration"]

_UNITS = (
    (86400, ("día", "días"), ("day", "days")),
    (3600, ("hora", "horas"), ("hour", "hours")),
    (60, ("minuto", "minutos"), ("minute", "minutes")),
    (1, ("segundo", "segundos"), ("second", "seconds")),
)


def describe(instant: float, zone: str, locale: str, now: float | None = None) -> str:
    """Say an instant in local time with its zone: `mañana 2026-04-10 09:00 (Europe/Madrid)`.

    Seconds appear when they are not zero, the offset when that wall time happens twice. `today` and
    `tomorrow` need `now`. Raises ZoneError.
    """
    where = get_zone(zone)
    moment = local(instant, where)
    clock = moment.strftime("%H:%M:%S" if moment.second else "%H:%M")
    text = f"{moment:%Y-%m-%d} {clock} ({zone}{_offset_if_doubtful(moment)})"
    if now is None:
        return text
    days = (moment.date() - local(now, where).date()).days
    word = {0: "today", 1: "tomorrow"}.get(days)
    return f"{say(word, locale)} {text}" if word else text


def _offset_if_doubtful(moment: datetime) -> str:
    if moment.replace(fold=0).utcoffset() == moment.replace(fold=1).utcoffset():
        return ""
    offset = f"{moment:%z}"
    return f", UTC{offset[:3]}:{offset[3:5]}"


def duration(seconds: float, locale: str) -> str:
    """Say a duration with its two largest units: `3 horas y 5 minutos`, `1 day and 2 hours`."""
    rest = max(0, round(seconds))
    parts = []
    for size, spanish, english in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            one, many = english if locale == "en" else spanish
            parts.append(f"{count} {one if count == 1 else many}")
    if not parts:
        return "0 seconds" if locale == "en" else "0 segundos"
    return (" and " if locale == "en" else " y ").join(parts[:2])
