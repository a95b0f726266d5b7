"""The time of day, here or at another place, from the workspace's clock."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from tools.clock.places import PlaceUnknown, zone_of
from tools.tool import ToolContext, ToolError, tool

__all__ = ["current_time", "known_zone"]

_WEEKDAYS: Final = {
    "es": ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"),
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
}
_MONTHS: Final = {
    "es": (
        "enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre",
        "octubre", "noviembre", "diciembre",
    ),
    "en": (
        "January", "February", "March", "April", "May", "June", "July", "August", "September",
        "October", "November", "December",
    ),
}  # fmt: skip


@tool(idempotent=True, timeout=10.0)
async def current_time(ctx: ToolContext, zone: str | None = None) -> str:
    """Tell the current date, weekday and time.

    Args:
        zone: IANA time zone (Europe/Madrid) or a city (Tokio); leave out for the user's own zone.
    """
    name = ctx.timezone if zone is None or not zone.strip() else known_zone(zone, ctx.locale)
    try:
        moment = datetime.fromtimestamp(ctx.clock.now(), ZoneInfo(name))
    except (ZoneInfoNotFoundError, ValueError):
        raise ToolError(_unknown(PlaceUnknown(name, ()), ctx.locale)) from None
    return _told(moment, name, ctx.locale)


def known_zone(place: str, locale: str) -> str:
    """Return the IANA zone of a place. Raises ToolError with a hint for an unknown one."""
    try:
        return zone_of(place)
    except PlaceUnknown as error:
        raise ToolError(_unknown(error, locale)) from None


def _unknown(error: PlaceUnknown, locale: str) -> str:
    near = ", ".join(error.near[:5])
    if locale == "en":
        hint = f"did you mean {near}?" if near else "give an IANA zone such as Asia/Tokyo."
        return f"I do not know the time zone of “{error.place}”: {hint}"
    hint = f"¿quieres decir {near}?" if near else "di una zona IANA, por ejemplo Asia/Tokyo."
    return f"No conozco la zona horaria de «{error.place}»: {hint}"


def _told(moment: datetime, zone: str, locale: str) -> str:
    language = "en" if locale == "en" else "es"
    weekday = _WEEKDAYS[language][moment.weekday()]
    month = _MONTHS[language][moment.month - 1]
    if language == "en":
        return f"It is {moment:%H:%M:%S} on {weekday} {moment.day} {month} {moment.year} ({zone})."
    start = "Es la" if moment.hour == 1 else "Son las"
    date = f"{weekday} {moment.day} de {month} de {moment.year}"
    return f"{start} {moment:%H:%M:%S} del {date} ({zone})."
