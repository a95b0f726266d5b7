"""Whose clock counts: the zone of a person, else of the room, else what is configured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import attrs
import sqlite_utils

from channels.database import Database
from cronactor.messages import ZoneFound
from cronactor.zones import get_zone

__all__ = ["Owner", "ZoneBook", "no_zone"]

Owner = Literal["user", "room"]


def no_zone(room: str) -> str | None:
    """The zones of configurations in which no room has one."""
    return None


@attrs.define(eq=False)
class ZoneBook:
    """The zones that were set, in memory and on disk. The scheduler alone writes it.

    `timezone` is the workspace's zone; `configured` gives that of a room's configuration, if any.
    """

    db: Database
    timezone: str
    configured: Callable[[str], str | None] = no_zone
    _zones: dict[tuple[str, str], str] = attrs.field(init=False, factory=dict)

    async def load(self) -> None:
        """Read what is on disk."""
        rows = await self.db.read(
            lambda db: db.conn.execute("SELECT kind, name, zone FROM zones").fetchall()
        )
        self._zones = {(kind, name): zone for kind, name, zone in rows}

    def find(self, user: str | None, room: str | None) -> ZoneFound:
        """Return the zone that counts for a user in a room, and whose it is."""
        for kind, name in (("user", user), ("room", room)):
            zone = self._zones.get((kind, name)) if name else None
            if zone is not None:
                return ZoneFound(zone, kind)
        configured = self.configured(room) if room else None
        if configured is not None:
            return ZoneFound(configured, "config")
        return ZoneFound(self.timezone, "workspace")

    async def set(self, kind: Owner, name: str, zone: str | None, now: float) -> None:
        """Set a zone, or forget it (None). Raises ZoneError with a hint for an unknown one."""
        if zone is not None:
            get_zone(zone)

        def write(db: sqlite_utils.Database) -> None:
            if zone is None:
                db.conn.execute("DELETE FROM zones WHERE kind = ? AND name = ?", (kind, name))
            else:
                sql = "INSERT OR REPLACE INTO zones(kind, name, zone, set_at) VALUES (?, ?, ?, ?)"
                db.conn.execute(sql, (kind, name, zone, now))

        await self.db.write(write)
        if zone is None:
            self._zones.pop((kind, name), None)
        else:
            self._zones[kind, name] = zone
