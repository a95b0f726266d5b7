"""The reminder databases of other bots, read and never written: matrix-reminder-bot and maubot's.

Both leave cron expressions to APScheduler 3, whose weekday 0 is Monday and which wants both day
fields to match; what cannot be said in cron's own words is left out, with the reason.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import attrs

from cronactor.phrases import At, Cron, Every, When, parse
from cronactor.texts import Explained
from cronactor.zones import get_zone, resolve

__all__ = ["Foreign", "ForeignRow", "read_foreign"]

ROOM = "@room"
_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_PART = re.compile(r"(?:\*|(\d|[a-z]{3})(?:-(\d|[a-z]{3}))?)(?:/(\d+))?", re.ASCII | re.IGNORECASE)


@attrs.frozen
class ForeignRow:
    """One reminder of another bot. `when` is None, and `why` says so, if it cannot be taken.

    `key` names the row for ever; `anchor` is what an interval counts from. `alarm`: it used to
    sound until somebody silenced it.
    """

    key: str
    room: str
    message: str
    users: tuple[str, ...]
    zone: str
    when: When | None = None
    anchor: float | None = None
    why: Explained | None = None
    alarm: bool = False


@attrs.frozen
class Foreign:
    """What a file held: which bot's it is, its reminders, and the zones that people had set."""

    bot: str
    rows: tuple[ForeignRow, ...]
    zones: Mapping[str, str] = attrs.field(factory=dict)


def read_foreign(path: Path, zone: str, now: float) -> Foreign:
    """Read a database file; blocks. `zone` counts where the file names none.

    Raises Explained when it is not one of the known kinds, OSError when it cannot be read.
    """
    with path.open("rb"):
        pass  # a missing file is an OSError, not a new database
    uri = f"{path.resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as conn:
            conn.row_factory = sqlite3.Row
            columns = _columns(conn)
            if "recurse_timedelta_s" in columns.get("reminder", ()):
                return _matrix_reminder_bot(conn, zone)
            if {"event_id", "message"} <= columns.get("reminder", set()):
                new = "start_time" in columns["reminder"]
                return _agenda_bot(conn, zone, now) if new else _maubot(conn, zone)
    except sqlite3.Error as error:
        raise Explained("import_unreadable", why=str(error)) from None
    raise Explained("import_unknown")


def _columns(conn: sqlite3.Connection) -> dict[str, set[str]]:
    tables = [name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    quoted = {name: name.replace('"', '""') for name in tables}
    return {
        name: {row["name"] for row in conn.execute(f'PRAGMA table_info("{quoted[name]}")')}
        for name in tables
    }


# -- matrix-reminder-bot --------------------------------------------------------------------------


def _matrix_reminder_bot(conn: sqlite3.Connection, zone: str) -> Foreign:
    found = conn.execute("SELECT * FROM reminder ORDER BY rowid").fetchall()
    return Foreign("matrix-reminder-bot", tuple(_mrb_row(dict(row), zone) for row in found))


def _mrb_row(row: Mapping[str, Any], zone: str) -> ForeignRow:
    text, room = _text(row, "text"), _text(row, "room_id")
    base = ForeignRow(
        key=f"import:matrix-reminder-bot:{room}|{text}",
        room=room,
        message=text,
        users=(_text(row, "target_user") or ROOM,),
        zone=_text(row, "timezone") or zone,
        alarm=bool(row.get("alarm")),
    )
    try:
        return _timed(base, row.get("start_time"), row.get("cron_tab"), _every(row))
    except Explained as why:
        return attrs.evolve(base, why=why)


def _every(row: Mapping[str, Any]) -> float | None:
    seconds = row.get("recurse_timedelta_s")
    return float(seconds) if seconds else None


# -- maubot's reminder, and reminder-agenda -------------------------------------------------------


def _maubot(conn: sqlite3.Connection, zone: str) -> Foreign:
    zones = _zones(conn, "timezone")
    told = _targets(conn, "reminder_id", "event_id")
    rows = []
    for row in map(dict, conn.execute("SELECT * FROM reminder ORDER BY id")):
        users = _told(told.get(str(row["id"]), {}), row.get("event_id"))
        room, event = _text(row, "room_id"), _text(row, "event_id")
        base = ForeignRow(
            key=f"import:maubot:{room}|{event}|{row['id']}",
            room=room,
            message=_text(row, "message"),
            users=users,
            zone=zones.get(users[0], zone) if users else zone,
        )
        try:
            rows.append(_timed(base, row.get("date"), None, None, naive="UTC"))
        except Explained as why:
            rows.append(attrs.evolve(base, why=why))
    return Foreign("maubot/reminder", tuple(rows), zones)


def _agenda_bot(conn: sqlite3.Connection, zone: str, now: float) -> Foreign:
    zones = _zones(conn, "user_settings")
    told = _targets(conn, "event_id", "subscribing_event")
    rows = []
    for row in map(dict, conn.execute("SELECT * FROM reminder ORDER BY rowid")):
        event, creator = _text(row, "event_id"), _text(row, "creator")
        users = _told(told.get(event, {}), event, creator)
        base = ForeignRow(
            key=f"import:maubot:{_text(row, 'room_id')}|{event}",
            room=_text(row, "room_id"),
            message=_text(row, "message"),
            users=users,
            zone=zones.get(creator, zone),
        )
        try:
            rows.append(_agenda_row(base, row, now))
        except Explained as why:
            rows.append(attrs.evolve(base, why=why))
    return Foreign("maubot/reminder-agenda", tuple(rows), zones)


def _agenda_row(base: ForeignRow, row: Mapping[str, Any], now: float) -> ForeignRow:
    if row.get("is_agenda"):
        raise Explained("import_agenda")
    recurs = _text(row, "recur_every")
    if not recurs or row.get("cron_tab"):
        return _timed(base, row.get("start_time"), row.get("cron_tab"), None, naive="UTC")
    when = _recurring(recurs, now, base.zone)
    if isinstance(when, Every) and row.get("start_time"):
        return _timed(base, row["start_time"], None, when.seconds, naive="UTC")
    return attrs.evolve(base, when=when, anchor=now if isinstance(when, Every) else None)


def _recurring(text: str, now: float, zone: str) -> Cron | Every:
    for phrase, locale in ((f"every {text}", "en"), (text, "en"), (text, "es")):
        try:
            when = parse(phrase, now, zone, locale)
        except Explained:
            continue
        if not isinstance(when, At):
            return when
    raise Explained("import_phrase", text=text[:80])


def _targets(conn: sqlite3.Connection, key: str, event: str) -> dict[str, dict[str, str]]:
    """Whom each reminder tells: user id -> the event by which that began."""
    found: dict[str, dict[str, str]] = {}
    for row in conn.execute("SELECT * FROM reminder_target ORDER BY rowid"):
        found.setdefault(str(row[key]), {})[str(row["user_id"])] = str(row[event])
    return found


def _told(told: Mapping[str, str], event: Any, creator: str = "") -> tuple[str, ...]:
    """Whoever asked for it comes first, then who was told too."""
    return tuple(sorted(told, key=lambda user: user != creator and told[user] != event))


def _zones(conn: sqlite3.Connection, table: str) -> dict[str, str]:
    if table not in _columns(conn):
        return {}
    found = conn.execute(f"SELECT user_id, timezone FROM {table}")
    return {str(user): str(zone) for user, zone in found if zone}


# -- times ----------------------------------------------------------------------------------------


def _timed(
    base: ForeignRow, start: Any, cron: Any, every: float | None, naive: str | None = None
) -> ForeignRow:
    """The row with its time. A start without an offset is in the zone `naive`, else its own."""
    get_zone(base.zone)
    if cron:
        return attrs.evolve(base, when=Cron(_cron(str(cron).removeprefix("cron").strip())))
    if not start:
        raise Explained("import_no_time")
    instant, wall = _instant(str(start), naive or base.zone)
    if every is not None:
        return attrs.evolve(base, when=Every(every), anchor=instant - every)
    return attrs.evolve(base, when=At(instant, None if naive else wall))


def _instant(text: str, zone: str) -> tuple[float, str | None]:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC).timestamp(), None
    except (ValueError, OverflowError):
        raise Explained("import_bad_time", text=text[:80]) from None
    return resolve(moment, get_zone(zone)).instant, moment.isoformat()


def _cron(expr: str) -> str:
    """The expression as cron would write it. Raises Explained when cron cannot say it."""
    fields = expr.split()
    if len(fields) != 5:
        return expr
    fields[4] = _weekdays(fields[4])
    if not fields[2].startswith("*") and not fields[4].startswith("*"):
        raise Explained("import_both_days", expr=expr[:80])
    return " ".join(fields)


def _weekdays(field: str) -> str:
    days = sorted({day for part in field.split(",") for day in _days(part, field)})
    return "*" if len(days) == len(_DAYS) else ",".join(_DAYS[day] for day in days)


def _days(part: str, field: str) -> Iterator[int]:
    found = _PART.fullmatch(part)
    if found is None:
        raise Explained("import_weekday", days=field[:40])
    first = _day(found[1], field) if found[1] else 0
    open_end = found[1] is None or found[3] is not None
    last = _day(found[2], field) if found[2] else len(_DAYS) - 1 if open_end else first
    return iter(range(first, last + 1, max(1, int(found[3] or 1))))


def _day(name: str, field: str) -> int:
    if name.isdigit() and int(name) < len(_DAYS):
        return int(name)
    if name.lower() in _DAYS:
        return _DAYS.index(name.lower())
    raise Explained("import_weekday", days=field[:40])


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""
