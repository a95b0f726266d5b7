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

import copy
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import attrs
from croniter import CroniterBadDateError, CroniterError, croniter

from cronactor.texts import CronError
from cronactor.zones import get_zone, next_turn, resolve, wall

__all__ = ["MAX_LENGTH", "CronSpec", "fires", "next_fire", "parse_cron"]

MAX_LENGTH = 128
_CORRECTION = 3 * 3600
_MINUTE = timedelta(minutes=1)

_NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


@attrs.frozen
class _Field:
    name: str
    low: int
    high: int
    words: tuple[tuple[str, int], ...] = ()

    def number(self, token: str, whole: str) -> int:
        value = dict(self.words).get(token)
        if value is None and token.isdigit() and len(token) <= 4:
            value = int(token)
        if value is None or not self.low <= value <= self.high:
            names = f" ({self.words[0][0]}…{self.words[-1][0]})" if self.words else ""
            raise CronError(
                "cron_value",
                field=self.name,
                token=whole,
                low=self.low,
                high=self.high,
                names=names,
            )
        return value


_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("dom", 1, 31),
    _Field("month", 1, 12, tuple((name, i + 1) for i, name in enumerate(_MONTHS))),
    _Field("dow", 0, 7, tuple((name, i) for i, name in enumerate(_DAYS))),
)


@attrs.frozen
class _Values:
    """What a field admits: numbers, special forms (`L`, `15W`, `1#2`); if it starts with `*`."""

    numbers: frozenset[int]
    special: tuple[str, ...]
    starred: bool

    def text(self, full: int) -> str:
        if len(self.numbers) >= full:
            return "*"
        return ",".join([*map(str, sorted(self.numbers)), *self.special])


@attrs.frozen(eq=False)
class CronSpec:
    """A valid cron expression, compiled. `fixed`: neither minute nor hour starts with `*`."""

    text: str
    fixed: bool
    _prototype: Any = attrs.field(repr=False)

    def walls(self, after: datetime) -> Iterator[datetime]:
        """Yield the matching naive wall times strictly after `after`, in order, for ever."""
        steps = copy.copy(self._prototype)
        steps.set_current(after, force=True)
        while True:
            try:
                yield steps.get_next(datetime)
            except CroniterBadDateError as error:
                raise CronError("cron_never", expr=self.text) from error


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
    fields = _split(expr)
    values = [_values(field, token) for field, token in zip(_FIELDS, fields, strict=True)]
    minute, hour, dom, month, dow = values
    either = not (dom.starred or dow.starred)
    _refuse_impossible(expr, dom, month, either)
    if either and (len(dom.numbers) >= 31 or len(dow.numbers) >= 7):
        dom = dow = _Values(frozenset(range(32)), (), True)
    plain = " ".join(
        v.text(full) for v, full in zip((minute, hour, dom, month, dow), _FULL, strict=True)
    )
    try:
        prototype = croniter(plain, datetime(2024, 1, 1), day_or=either)
        next(CronSpec(expr, True, prototype).walls(datetime(2024, 1, 1)))
    except CroniterError as error:
        raise CronError("cron_syntax", field="dow" if dow.special else "dom", token=expr) from error
    return CronSpec(" ".join(expr.split()), not (minute.starred or hour.starred), prototype)


_FULL = (60, 24, 31, 12, 7)


def _split(expr: str) -> list[str]:
    if len(expr) > MAX_LENGTH:
        raise CronError("cron_long", n=len(expr), limit=MAX_LENGTH)
    for char in expr:
        if not (char == "\t" or (char.isascii() and char.isprintable())):
            raise CronError("cron_char", char=f"U+{ord(char):04X}")
    fields = expr.lower().split()
    if not fields:
        raise CronError("cron_empty")
    if fields[0].startswith("@"):
        if len(fields) > 1 or fields[0] not in _NICKNAMES:
            raise CronError("cron_nickname", token=expr.strip())
        fields = _NICKNAMES[fields[0]].split()
    if len(fields) != 5:
        raise CronError("cron_fields", n=len(fields))
    return fields


def _values(field: _Field, token: str) -> _Values:
    numbers: set[int] = set()
    special: list[str] = []
    for item in token.split(","):
        form = _special(field, item)
        if form is None:
            numbers.update(_plain(field, item))
        else:
            special.append(form)
    if field.name == "dow":
        numbers = {value % 7 for value in numbers}
    if special and (numbers or len(special) > 1):
        raise CronError("cron_mixed", field=field.name, token=token)
    return _Values(frozenset(numbers), tuple(special), token.startswith("*"))


def _special(field: _Field, item: str) -> str | None:
    """Translate `L`, `15W` (day of month), `5L`, `L5`, `1#2` (day of week) for croniter."""
    if field.name == "dom" and item == "l":
        return "L"
    if field.name == "dom" and (found := re.fullmatch(r"(\d{1,2})w", item)):
        return f"{field.number(found[1], item)}W"
    if field.name == "dow" and (found := re.fullmatch(r"l(\w+)|(\w+)l", item)):
        day = found[1] or found[2]
        return f"L{field.number(day, item) % 7}"
    if field.name == "dow" and (found := re.fullmatch(r"(\w+)#(\d)", item)):
        if not 1 <= int(found[2]) <= 5:
            raise CronError("cron_value", field="dow", token=item, low=1, high=5, names=" (#)")
        return f"{field.number(found[1], item) % 7}#{found[2]}"
    return None


def _plain(field: _Field, item: str) -> range:
    if item == "?":
        raise CronError("cron_question", field=field.name)
    if re.match(r"[rh](\(|/|$)", item):
        raise CronError("cron_random", field=field.name, token=item)
    found = re.fullmatch(r"(\*|\w+)(?:-(\w+))?(?:/(\w+))?", item)
    if found is None or (found[1] == "*" and found[2]):
        raise CronError("cron_syntax", field=field.name, token=item)
    low, high = _bounds(field, item, found[1], found[2])
    if found[3] is None:
        return range(low, high + 1)
    if not found[3].isdigit() or len(found[3]) > 4 or int(found[3]) < 1:
        raise CronError("cron_step", field=field.name, token=item)
    if found[1] != "*" and found[2] is None:
        instead = f"`{low}-{_top(field)}/{int(found[3])}`"
        raise CronError("cron_single_step", field=field.name, token=item, instead=instead)
    return range(low, high + 1, int(found[3]))


def _bounds(field: _Field, item: str, first: str, last: str | None) -> tuple[int, int]:
    if first == "*":
        return field.low, _top(field)
    low = field.number(first, item)
    high = low if last is None else field.number(last, item)
    if low > high:
        instead = f"`{_range(low, _top(field))},{_range(field.low, high)}`"
        raise CronError("cron_wrapped", field=field.name, token=item, instead=instead)
    return low, high


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def _top(field: _Field) -> int:
    return 6 if field.name == "dow" else field.high


def _refuse_impossible(expr: str, dom: _Values, month: _Values, either: bool) -> None:
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
