"""Instants for people: seconds since the epoch as an aware time in a zone."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

__all__ = ["local_time"]


def local_time(instant: float, zone: str) -> datetime:
    """Return an epoch instant (seconds, UTC) as an aware datetime in an IANA zone."""
    return datetime.fromtimestamp(instant, ZoneInfo(zone))
