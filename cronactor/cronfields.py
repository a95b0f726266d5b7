"""Pure: the five fields of a cron expression read into what they admit, or refused with advice."""

from __future__ import annotations

import re

import attrs

from cronactor.texts import CronError

__all__ = ["ANYTHING", "MAX_LENGTH", "Values", "read_fields"]

MAX_LENGTH = 128

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
class Values:
    """What a field admits: numbers, special forms (`L`, `15W`, `1#2`); if it starts with `*`."""

    numbers: frozenset[int]
    special: tuple[str, ...]
    starred: bool

    def text(self, full: int) -> str:
        if len(self.numbers) >= full:
            return "*"
        return ",".join([*map(str, sorted(self.numbers)), *self.special])


ANYTHING = Values(frozenset(range(32)), (), True)


def read_fields(expr: str) -> tuple[Values, Values, Values, Values, Values]:
    """Read minute, hour, day of month, month and day of week. Raises CronError."""
    minute, hour, dom, month, dow = (
        _values(field, token) for field, token in zip(_FIELDS, _split(expr), strict=True)
    )
    return minute, hour, dom, month, dow


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


def _values(field: _Field, token: str) -> Values:
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
    return Values(frozenset(numbers), tuple(special), token.startswith("*"))


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
        ends = [_range(low, _top(field)), _range(field.low, high)]
        if low > _top(field):  # from a Sunday written as 7
            ends = [_range(field.low, high)]
        instead = f"`{','.join(ends)}`"
        raise CronError("cron_wrapped", field=field.name, token=item, instead=instead)
    return low, high


def _range(low: int, high: int) -> str:
    return str(low) if low == high else f"{low}-{high}"


def _top(field: _Field) -> int:
    return 6 if field.name == "dow" else field.high
