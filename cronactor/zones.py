"""Pure: IANA zones, the instants at which their clocks turn, and wall time resolved to an instant.

An *instant* is a float: seconds since the Unix epoch. The host's own zone never matters here.
"""

from __future__ import annotations

import difflib
import math
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Literal
from zoneinfo import ZoneInfo, available_timezones

import attrs

from cronactor.texts import ZoneError

__all__ = ["Resolved", "Shift", "Turn", "get_zone", "local", "next_turn", "resolve", "wall"]

Shift = Literal["", "gap", "fold"]

_HOST_ONLY = ("localtime", "posixrules", "Factory", "posix/", "right/")
_SCAN_STEP = 6 * 3600


@attrs.frozen
class Turn:
    """One change of a zone's offset: the first instant of the new one, both offsets in seconds."""

    at: int
    before: int
    after: int


@attrs.frozen
class Resolved:
    """A wall time as an instant.

    `shift` is `gap` when the wall time does not exist (the instant is as far past the gap as the
    wall time was into it, RFC 5545), `fold` when it exists twice (the instant is the first).
    `turn` is the change that made the gap.
    """

    instant: float
    shift: Shift = ""
    turn: Turn | None = None


@lru_cache(maxsize=1024)
def get_zone(name: str) -> ZoneInfo:
    """Return the zone of an IANA name. Raises ZoneError with the nearest names."""
    if not name.startswith(_HOST_ONLY) and name.isascii() and name.isprintable():
        try:
            return ZoneInfo(name)
        except (KeyError, ValueError, OSError):
            pass
    near = difflib.get_close_matches(name[:64], sorted(available_timezones()), n=2, cutoff=0.6)
    raise ZoneError("zone_unknown", name=name[:64], hint=" / ".join(near) or "Europe/Madrid")


def wall(instant: float, zone: ZoneInfo) -> datetime:
    """Return the naive wall time of an instant, floored to the second."""
    return local(instant, zone).replace(tzinfo=None)


def local(instant: float, zone: ZoneInfo) -> datetime:
    """Return an instant as aware local time, floored to the second.

    Raises OverflowError beyond year 9999.
    """
    try:
        return datetime.fromtimestamp(math.floor(instant), zone)
    except (ValueError, OSError) as error:
        raise OverflowError(f"instant {instant!r} is outside the calendar") from error


def resolve(naive: datetime, zone: ZoneInfo) -> Resolved:
    """Resolve a naive wall time in a zone; says whether it fell into a gap or a fold."""
    first = naive.replace(tzinfo=zone, fold=0)
    second = naive.replace(tzinfo=zone, fold=1)
    before, after = _offset(first), _offset(second)
    instant = _epoch(naive) - before
    if before == after:
        return Resolved(instant)
    if before > after:
        return Resolved(instant, "fold")
    turn = next_turn(zone, _epoch(naive) - after - 1, instant + 1)
    return Resolved(instant, "gap", turn)


def next_turn(zone: ZoneInfo, after: float, until: float) -> Turn | None:
    """Return the first change of offset in (after, until], or None."""
    year = _utc(after).year
    last = _utc(until).year
    while year <= last:
        for turn in _turns(zone, year):
            if turn.at > until:
                return None
            if turn.at > after:
                return turn
        year += 1
    return None


@lru_cache(maxsize=4096)
def _turns(zone: ZoneInfo, year: int) -> tuple[Turn, ...]:
    start = _epoch(datetime(year, 1, 1))
    end = start + (366 if _leap(year) else 365) * 86400
    found = []
    before = _offset_at(zone, start - 1)
    for low in range(int(start) - 1, int(end) - 1, _SCAN_STEP):
        high = min(low + _SCAN_STEP, int(end) - 1)
        after = _offset_at(zone, high)
        if after != before:
            found.append(Turn(_bisect(zone, low, high), before, after))
            before = after
    return tuple(found)


def _bisect(zone: ZoneInfo, low: int, high: int) -> int:
    old = _offset_at(zone, low)
    while high - low > 1:
        middle = (low + high) // 2
        if _offset_at(zone, middle) == old:
            low = middle
        else:
            high = middle
    return high


def _offset_at(zone: ZoneInfo, instant: float) -> int:
    return _offset(local(instant, zone))


def _offset(moment: datetime) -> int:
    offset = moment.utcoffset()
    return 0 if offset is None else round(offset / timedelta(seconds=1))


def _epoch(naive: datetime) -> float:
    return naive.replace(tzinfo=UTC).timestamp()


def _utc(instant: float) -> datetime:
    return datetime.fromtimestamp(math.floor(instant), UTC)


def _leap(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
