"""Pure: a phrase in Spanish or English → one instant or a cron expression, or a helpful error.

A strict grammar: rules are tried in order, each reads the whole phrase or steps aside, and what
none reads is an error. Hours are elapsed time, days are wall time. What is past, impossible or
ambiguous is an error too: never a silently wrong instant.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal

import attrs

from cronactor.clocktime import Clock, read_clock
from cronactor.lexicon import CLOCK_UNITS, DAY_UNITS, DAY_WORDS, Words
from cronactor.schedule import parse_cron
from cronactor.spoken import describe
from cronactor.texts import CronError, PhraseError
from cronactor.zones import Shift, get_zone, resolve, wall

__all__ = ["At", "Cron", "Every", "PhraseError", "When", "describe", "parse"]

MAX_LENGTH = 200
MAX_YEARS = 50


@attrs.frozen
class At:
    """One instant (seconds since the epoch).

    `wall`: the wall time it was said as (naive ISO), None for elapsed time. `shift`: `gap` or
    `fold` when that wall time does not exist, or exists twice.
    """

    instant: float
    wall: str | None = None
    shift: Shift = ""


@attrs.frozen
class Cron:
    """A cron expression, valid."""

    expr: str


@attrs.frozen
class Every:
    """An interval in seconds."""

    seconds: float


When = At | Cron | Every


@attrs.frozen
class _Asked:
    """A phrase, normalised and as it was said, with what it is read against."""

    text: str
    said: str
    now: float
    zone: str
    locale: str

    def error(self, key: str, **values: object) -> PhraseError:
        return PhraseError(key, self.locale, **values)

    @property
    def today(self) -> date:
        return wall(self.now, get_zone(self.zone)).date()


def parse(text: str, now: float, zone: str, locale: str = "es") -> When:
    """Read a phrase said at `now` (seconds since the epoch) in the IANA zone `zone`.

    `locale` chooses only the language of errors. Relative times count from `now` exactly. A bare
    time of day is its next occurrence. Raises PhraseError, which says what to send instead, and
    ZoneError.
    """
    get_zone(zone)
    asked = _Asked(_normalise(text, locale), _short(text.strip()), now, zone, locale)
    for rule in _RULES:
        when = rule(asked)
        if when is not None:
            return _checked(when, asked)
    raise asked.error("phrase_unknown", text=asked.said)


def _normalise(text: str, locale: str) -> str:
    """Lower case, no accents, single spaces, no closing punctuation."""
    if len(text) > MAX_LENGTH:
        raise PhraseError("phrase_long", locale, n=len(text), limit=MAX_LENGTH)
    for char in text:
        if unicodedata.category(char)[0] == "C" and char not in "\t\n\r":
            raise PhraseError("phrase_char", locale, char=f"U+{ord(char):04X}")
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    plain = " ".join(plain.casefold().split()).strip(" .!¡?¿,;")
    plain = re.sub(r"\b([ap])\. ?m\b\.?", r"\1m", plain)
    if not plain:
        raise PhraseError("phrase_empty", locale)
    return plain


def _checked(when: When, asked: _Asked) -> When:
    if isinstance(when, At):
        if when.instant <= asked.now:
            raise _past(asked, describe(when.instant, asked.zone, asked.locale))
        if when.instant - asked.now > MAX_YEARS * 366 * 86400:
            raise asked.error("phrase_far", years=MAX_YEARS)
    return when


def _past(asked: _Asked, said: str, instead: str | None = None) -> PhraseError:
    tomorrow = asked.today + timedelta(days=1)
    return asked.error(
        "phrase_past",
        said=said,
        now=describe(asked.now, asked.zone, asked.locale),
        instead=instead or f"`{tomorrow} 09:00`",
    )


# Rules. Each returns None when the phrase is not its kind.


def _cron(asked: _Asked) -> When | None:
    fields = asked.text.split()
    looks = len(fields) in (4, 5, 6, 7) and all(
        re.fullmatch(r"[\d*/,#?lwrh()a-z-]+", f) for f in fields
    )
    if not asked.text.startswith("@") and not (
        looks and all(re.match(r"[\d*?]|[rh](\(|$)", field) for field in fields[:2])
    ):
        return None
    try:
        return Cron(parse_cron(asked.text).text)
    except CronError as error:
        raise PhraseError(error.key, asked.locale, **error.values) from None


_ISO = re.compile(
    r"(\d{4})-(\d{2})-(\d{2})[t ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,6})?)? ?(z|[+-]\d{2}:?\d{2})"
)


def _iso(asked: _Asked) -> When | None:
    """`2026-04-10T15:00+02:00`: the offset decides, whatever the zone."""
    found = _ISO.fullmatch(asked.text)
    if found is None:
        return None
    offset = found[8].replace("z", "+0000").replace(":", "")
    behind = timedelta(hours=int(offset[1:3]), minutes=int(offset[3:5]))
    try:
        zone = timezone(-behind if offset[0] == "-" else behind)
        naive = datetime(*(int(found[i] or 0) for i in range(1, 7)))  # type: ignore[arg-type]
        return At(naive.replace(tzinfo=zone).timestamp() + float(found[7] or 0))
    except (ValueError, OverflowError):
        raise asked.error("phrase_impossible", said=f"`{asked.said}`") from None


def _hours(asked: _Asked) -> When | None:
    """`15h` alone: an hour of the day, or a duration?"""
    found = re.fullmatch(r"(\d{1,2}) ?(h|hs|horas?|hours?)", asked.text)
    if found is None:
        return None
    clock, length = ("at", "in {} hours") if asked.locale == "en" else ("a las", "en {} horas")
    raise asked.error(
        "phrase_hours",
        text=asked.said,
        clock=f"`{clock} {int(found[1]) % 24}:00`",
        duration=f"`{length.format(int(found[1]))}`",
    )


def _relative(asked: _Asked) -> When | None:
    """`en 30 minutos`, `dentro de una hora y media`, `in 2h30m`, `in 2 days`."""
    words = Words.of(asked.text)
    if not words.take_any(("en",), ("dentro", "de"), ("in",)):
        return None
    days, seconds, read = 0, Decimal(0), False
    while not words.done:
        if read:
            words.take_any(("y",), ("and",), (",",))
        amount = words.number() if not words.take_any(*_HALVES) else Decimal("0.5")
        unit = words.match(r"[a-z]+")
        if amount is None or unit is None:
            return None
        if unit[0] in DAY_UNITS:
            if amount != int(amount):
                instead = "`in 36 hours`" if asked.locale == "en" else "`en 36 horas`"
                raise asked.error("phrase_fraction", text=asked.said, instead=instead)
            days += int(amount) * DAY_UNITS[unit[0]]
        elif unit[0] in CLOCK_UNITS:
            seconds += (amount + _tail(words)) * CLOCK_UNITS[unit[0]]
        else:
            return None
        read = True
    return _elapsed(asked, days, seconds) if read else None


_HALVES = (("half", "an"), ("half", "a"), ("media",), ("medio",))


def _tail(words: Words) -> Decimal:
    """What follows a unit: `una hora y media`, `an hour and a half`, `2 horas y cuarto`."""
    ends = words.peek(2) is None or words.peek(2) in ("y", "and")
    if ends and words.take_any(("y", "media"), ("y", "medio")):
        return Decimal("0.5")
    if ends and words.take("y", "cuarto"):
        return Decimal("0.25")
    return Decimal("0.5") if words.take("and", "a", "half") else Decimal(0)


def _elapsed(asked: _Asked, days: int, seconds: Decimal) -> When:
    if days > MAX_YEARS * 366 or seconds > MAX_YEARS * 366 * 86400:
        raise asked.error("phrase_far", years=MAX_YEARS)
    if not days:
        return At(asked.now + float(seconds))
    zone = get_zone(asked.zone)
    naive = wall(asked.now, zone) + timedelta(days=days)
    found = resolve(naive, zone)
    instant = found.instant + asked.now % 1 + float(seconds)
    return At(instant, None if seconds else naive.isoformat(), found.shift)


def _wall(asked: _Asked) -> When | None:
    """A day and a time of day in either order, or a time of day alone."""
    words = Words.of(asked.text)
    day = _day(words, asked)
    words.take(",") if day else None
    clock = read_clock(words, asked.error)
    if day is None and clock is not None:
        words.take(",")
        day = _day(words, asked)
    if not words.done:
        return None
    if clock is None:
        if day is None:
            return None
        raise asked.error("phrase_no_time", text=asked.said)
    return _next_clock(asked, clock) if day is None else _on_day(asked, day, clock)


_EARLIEST = 7
"""`mañana a las 9` is taken for the morning; who says `a las 5` may well mean the afternoon."""


@attrs.frozen
class _Day:
    date: date
    today: bool = False


def _day(words: Words, asked: _Asked) -> _Day | None:
    for sequence, ahead in DAY_WORDS:
        if words.take(*sequence):
            return _Day(asked.today + timedelta(days=ahead), today=ahead == 0)
    start = words.at
    words.take_any(("el",), ("on",))
    found = words.match(r"(\d{4})-(\d{1,2})-(\d{1,2})")
    if found is None:
        words.at = start
        return None
    words.take("t")
    try:
        return _Day(date(int(found[1]), int(found[2]), int(found[3])))
    except ValueError:
        raise asked.error("phrase_impossible", said=f"`{found[0]}`") from None


def _on_day(asked: _Asked, day: _Day, clock: Clock) -> When:
    if clock.coarse and clock.hour < _EARLIEST:
        raise _which_half(asked, clock)
    when = _at(asked, day.date, clock)
    if when.instant <= asked.now and day.today and clock.coarse:
        later = _at(asked, day.date, attrs.evolve(clock, hour=clock.hour + 12))
        if later.instant > asked.now:
            instead = "today at" if asked.locale == "en" else "hoy a las"
            said = describe(when.instant, asked.zone, asked.locale)
            raise _past(asked, said, f"`{instead} {later.wall[11:16]}`" if later.wall else None)
    return when


def _next_clock(asked: _Asked, clock: Clock) -> When:
    """The next time the clock on the wall shows this; both halves of a fold count."""
    if clock.coarse and clock.hour < _EARLIEST:
        raise _which_half(asked, clock)
    zone = get_zone(asked.zone)
    for ahead in (0, 1):
        when = _at(asked, asked.today + timedelta(days=ahead), clock)
        if when.instant > asked.now:
            return when
        if when.shift == "fold" and when.wall is not None:
            second = datetime.fromisoformat(when.wall).replace(tzinfo=zone, fold=1).timestamp()
            if second > asked.now:
                return At(second, when.wall)
        if clock.coarse:
            raise _which_half(asked, clock)
    return when


def _which_half(asked: _Asked, clock: Clock) -> PhraseError:
    early = f"{clock.hour:02}:{clock.minute:02}"
    late = f"{clock.hour + 12}:{clock.minute:02}"
    return asked.error("phrase_hour", hour=clock.hour, morning=f"`{early}`", evening=f"`{late}`")


def _at(asked: _Asked, day: date, clock: Clock) -> At:
    naive = datetime.combine(day, time(clock.hour, clock.minute, clock.second))
    try:
        found = resolve(naive, get_zone(asked.zone))
    except (OverflowError, ValueError):
        raise asked.error("phrase_far", years=MAX_YEARS) from None
    return At(found.instant, naive.isoformat(), found.shift)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:59] + "…"


_RULES: tuple[Callable[[_Asked], When | None], ...] = (_cron, _iso, _hours, _relative, _wall)
