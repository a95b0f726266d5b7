"""Pure: cron expressions, and when they fire next in a zone by Debian's cron rule.

croniter reads and iterates plain local time; everything near a clock change is decided here:

- a job whose minute and hour do not start with `*` (a *fixed* job) runs once right after a spring
  gap that swallowed its time, and once, the first time, in an autumn fold;
- a job with `*` in minute or hour follows the new clock: nothing for a skipped hour, again in a
  repeated one;
- a change of three hours or more is a correction: nothing is made up for;
- day of month and day of week are joined by OR only if neither starts with `*`.
"""

from __future__ import annotations

import contextlib
import copy
import heapq
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import attrs
from croniter import CroniterBadDateError, CroniterError, croniter

from cronactor.cronfields import ANYTHING, MAX_LENGTH, Values, read_fields
from cronactor.texts import CronError
from cronactor.zones import get_zone, next_turn, resolve, wall

__all__ = ["MAX_LENGTH", "CronSpec", "fires", "next_fire", "parse_cron"]

_CORRECTION = 3 * 3600
_MINUTE = timedelta(minutes=1)

_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@attrs.frozen(eq=False)
class _Way:
    """One croniter; of the months with fewer than `days` days it would take the last for `31W`."""

    prototype: Any
    days: int

    def walls(self, after: datetime) -> Iterator[datetime]:
        steps = copy.copy(self.prototype)
        steps.set_current(after, force=True)
        with contextlib.suppress(CroniterBadDateError):
            while True:
                naive = steps.get_next(datetime)
                if self.days <= 28 or self.days <= monthrange(naive.year, naive.month)[1]:
                    yield naive


@attrs.frozen(eq=False)
class CronSpec:
    """A valid cron expression, compiled. `fixed`: neither minute nor hour starts with `*`."""

    text: str
    fixed: bool
    _ways: tuple[_Way, ...] = attrs.field(repr=False)

    def walls(self, after: datetime) -> Iterator[datetime]:
        """Yield the matching naive wall times strictly after `after`, in order, for ever."""
        last = after
        for naive in heapq.merge(*(way.walls(after) for way in self._ways)):
            if naive > last:
                yield naive
                last = naive
        raise CronError("cron_never", expr=self.text)


def next_fire(expr: str, zone: str, after: float) -> float:
    """Return the first instant strictly after `after` at which `expr` fires in the zone `zone`.

    Instants are seconds since the epoch. Raises CronError, ZoneError; OverflowError past year 9999.
    """
    return next(fires(expr, zone, after))


def fires(expr: str, zone: str, after: float) -> Iterator[float]:
    """Yield every instant strictly after `after` at which `expr` fires, strictly increasing.

    Raises CronError and ZoneError at the first step.
    """
    spec, where = parse_cron(expr), get_zone(zone)
    return _fixed(spec, where, after) if spec.fixed else _wild(spec, where, after)


@lru_cache(maxsize=2048)
def parse_cron(expr: str) -> CronSpec:
    """Validate and compile an expression of five fields or a nickname like `@daily`.

    Raises CronError, which says what to write instead.
    """
    minute, hour, dom, month, dow = read_fields(expr)
    either = not (dom.starred or dow.starred)
    _refuse_impossible(expr, dom, month, either)
    if either and (len(dom.numbers) >= 31 or len(dow.numbers) >= 7):
        dom = dow = ANYTHING
    try:
        ways = _compiled((minute, hour, dom, month, dow), either)
        next(CronSpec(expr, True, ways).walls(_SOME_DAY))
    except CroniterError as error:
        raise CronError("cron_syntax", field="dow" if dow.special else "dom", token=expr) from error
    return CronSpec(" ".join(expr.split()), not (minute.starred or hour.starred), ways)


def _compiled(values: tuple[Values, ...], either: bool) -> tuple[_Way, ...]:
    """One way; two where a special form is joined by OR, which croniter would join by AND."""
    minute, hour, dom, month, dow = values
    if either and (dom.special or dow.special):
        apart = ((minute, hour, dom, month, ANYTHING), (minute, hour, ANYTHING, month, dow))
        return tuple(way for each in apart for way in _compiled(each, False))
    text = " ".join(v.text(full) for v, full in zip(values, _FULL, strict=True))
    nearest = [int(form[:-1]) for form in dom.special if form != "L"]
    return (_Way(croniter(text, _SOME_DAY, day_or=either), max(nearest, default=0)),)


_FULL = (60, 24, 31, 12, 7)
_SOME_DAY = datetime(2024, 1, 1)


def _refuse_impossible(expr: str, dom: Values, month: Values, either: bool) -> None:
    if either or "L" in dom.special:
        return
    days = dom.numbers or {int(form[:-1]) for form in dom.special}
    if min(days) > max(_LONGEST[m - 1] for m in month.numbers):
        raise CronError("cron_never", expr=expr)


def _fixed(spec: CronSpec, zone: ZoneInfo, after: float) -> Iterator[float]:
    """Each wall time once: the first of two in a fold, the end of the gap that swallowed it."""
    for naive in spec.walls(_floor(wall(after, zone))):
        found = resolve(naive, zone)
        instant = found.instant
        if found.turn is not None:
            if found.turn.after - found.turn.before >= _CORRECTION:
                continue
            instant = float(found.turn.at)
        if instant > after:
            yield instant
            after = instant


def _wild(spec: CronSpec, zone: ZoneInfo, after: float) -> Iterator[float]:
    """Every instant whose wall time matches: one stretch of constant offset after another."""
    naive = _floor(wall(after, zone))
    while True:
        shift = _shift(after, zone)
        for matched in spec.walls(naive):
            instant = (matched.replace(tzinfo=UTC) - shift).timestamp()
            turn = next_turn(zone, after, instant)
            if turn is not None:
                after = float(turn.at)
                naive = _before(wall(after, zone))
                break
            yield instant
            after = instant


def _shift(instant: float, zone: ZoneInfo) -> timedelta:
    """The offset in force at an instant, as wall time minus UTC."""
    return wall(instant, zone) - wall(instant, _UTC)


_UTC = ZoneInfo("UTC")


def _floor(naive: datetime) -> datetime:
    return naive.replace(second=0, microsecond=0)


def _before(naive: datetime) -> datetime:
    """The last whole minute strictly before a wall time."""
    return _floor(naive - timedelta(microseconds=1))
