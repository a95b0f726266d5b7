"""Pure: a phrase in Spanish or English → one instant or a cron expression, or a helpful error.

A strict grammar: rules are tried in order, each reads the whole phrase or steps aside, and what
none reads is an error. Hours are elapsed time, days are wall time. What is past, impossible or
ambiguous is an error too: never a silently wrong instant.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime, timedelta, timezone

import attrs

from cronactor.asked import MAX_YEARS, Asked, At, Cron, Every, Rule, When
from cronactor.clocktime import Clock, SaidClock, read_clock, settle
from cronactor.dates import read_day
from cronactor.dayparts import Part, take_part, usual_hour
from cronactor.days import EARLIEST, Day, OnDate, agreed, which_half
from cronactor.elapsed import read_elapsed
from cronactor.lexicon import Words
from cronactor.recurring import read_interval, read_recurring
from cronactor.sametime import read_same_time
from cronactor.schedule import parse_cron
from cronactor.spoken import describe
from cronactor.texts import CronError, PhraseError
from cronactor.zones import get_zone

__all__ = ["MAX_YEARS", "At", "Cron", "Every", "PhraseError", "When", "describe", "parse"]

MAX_LENGTH = 200


def parse(text: str, now: float, zone: str, locale: str = "es") -> When:
    """Read a phrase said at `now` (seconds since the epoch) in the IANA zone `zone`.

    `locale` chooses only the language of errors. Relative times count from `now` exactly. A bare
    time of day is its next occurrence. Raises PhraseError, which says what to send instead, and
    ZoneError.
    """
    get_zone(zone)
    asked = Asked(_normalise(text, locale), _short(text), now, zone, locale)
    for rule in _RULES:
        when = rule(asked)
        if when is not None:
            return _checked(when, asked)
    raise asked.error("phrase_unknown", text=asked.said)


_DASHES = dict.fromkeys(map(ord, "‐‑‒–—―−"), "-") | dict.fromkeys(map(ord, "’‘´ʼ"), "'")
_PLEASE = "(?:por favor|porfa|porfavor|please)"
_COURTESY = re.compile(rf"^(?:{_PLEASE}[ ,]+)+|(?:[ ,]+{_PLEASE})+[ .!]*$", re.IGNORECASE)
_EDGES = " .!¡?¿,;:\"'`«»“”"


def _normalise(text: str, locale: str) -> str:
    """Lower case, no accents, single spaces, no closing punctuation, no dots of abbreviations."""
    if len(text) > MAX_LENGTH:
        raise PhraseError("phrase_long", locale, n=len(text), limit=MAX_LENGTH)
    for char in text:
        if unicodedata.category(char)[0] == "C" and char not in "\t\n\r":
            raise PhraseError("phrase_char", locale, char=f"U+{ord(char):04X}")
    text = text.translate(_DASHES)
    plain = "".join(c for c in unicodedata.normalize("NFD", text) if not unicodedata.combining(c))
    plain = " ".join(plain.casefold().split()).strip(_EDGES)
    plain = re.sub(r"\b([ap])\. ?m\b\.?|(?<=\d)([ap]) m\b", r"\1\2m", plain)
    plain = re.sub(r"(?<=[a-z])\.(?=[ ,]|$)", "", plain).replace("&", " y ")
    plain = _COURTESY.sub("", plain)
    if not plain:
        raise PhraseError("phrase_empty", locale)
    return plain


def _checked(when: When, asked: Asked) -> When:
    if isinstance(when, At):
        if when.instant <= asked.now:
            raise asked.past(when.instant, f"{asked.today + timedelta(days=1)} 09:00")
        if when.instant - asked.now > MAX_YEARS * 366 * 86400:
            raise asked.far()
    return when


# Rules. Each returns None when the phrase is not its kind.


def _cron(asked: Asked) -> When | None:
    fields = asked.text.split()
    looks = len(fields) in (4, 5, 6, 7) and all(
        re.fullmatch(r"[\d*/,#?lwrh()a-z-]+", f) for f in fields
    )
    looks = looks and not any(field.count("/") > 1 for field in fields[:2])
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


def _iso(asked: Asked) -> When | None:
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


def _hours(asked: Asked) -> When | None:
    """`15h` alone: an hour of the day, or a duration?"""
    found = re.fullmatch(r"(\d{1,2}) ?(h|hs|horas?|hours?)", asked.text)
    if found is None:
        return None
    clock, length = ("at", "in {} hours") if asked.locale == "en" else ("a las", "en {} horas")
    raise asked.error(
        "phrase_hours",
        text=asked.said,
        clock=f"`{clock} {int(found[1]) % 24:02}:00`",
        duration=f"`{length.format(int(found[1]))}`",
    )


@attrs.define
class _Moment:
    """What was said so far of one moment, in any order."""

    days: list[Day] = attrs.field(factory=list)
    parts: list[Part] = attrs.field(factory=list)
    clock: SaidClock | None = None


def _moment(asked: Asked) -> When | None:
    """A day, a part of it and a time of day in any order, or a time of day alone."""
    words, moment = Words.of(asked.text), _Moment()
    while not words.done:
        if words.at and words.take(","):
            continue
        if not (_more_clock(words, moment) or _more_days(words, moment, asked)):
            return None
    if moment.clock is None:
        if not (moment.days or moment.parts):
            return None
        hour = usual_hour(moment.parts[0] if moment.parts else None)
        raise asked.error("phrase_no_time", text=asked.said, hour=hour)
    clock = settle(moment.clock, moment.parts, asked.error)
    return _on_days(asked, moment, clock) if moment.days else _next_clock(asked, clock)


def _more_clock(words: Words, moment: _Moment) -> bool:
    if moment.clock is None:
        moment.clock = read_clock(words, with_day=bool(moment.days))
        if moment.clock is not None:
            return True
    part = take_part(words, bare=bool(moment.days) and moment.clock is None)
    if part is not None:
        moment.parts.append(part)
    return part is not None


def _more_days(words: Words, moment: _Moment, asked: Asked) -> bool:
    named = read_day(words, asked, first=words.at == 0)
    for one in named:
        moment.days.append(one.day)
        if one.part is not None:
            moment.parts.append(one.part)
    return bool(named)


def _on_days(asked: Asked, moment: _Moment, clock: Clock) -> When:
    """`esta noche a las 12` is the coming midnight; that of another day is a matter of opinion."""
    tonight = moment.days == [OnDate(asked.today, today=True)] and moment.parts
    if clock.midnight and tonight and moment.parts[0].name == "night":
        return asked.at(asked.today + timedelta(days=1), clock)
    return agreed(asked, moment.days, clock)


def _next_clock(asked: Asked, clock: Clock) -> When:
    """The next time the clock on the wall shows this; both halves of a fold count."""
    if clock.coarse and clock.hour < EARLIEST:
        raise which_half(asked, clock)
    zone = get_zone(asked.zone)
    for ahead in (0, 1):
        when = asked.at(asked.today + timedelta(days=ahead), clock)
        if when.instant > asked.now:
            return when
        if when.shift == "fold" and when.wall is not None:
            second = datetime.fromisoformat(when.wall).replace(tzinfo=zone, fold=1).timestamp()
            if second > asked.now:
                return At(second)
        if clock.coarse:
            raise which_half(asked, clock)
    return when


def _short(text: str) -> str:
    text = _COURTESY.sub("", " ".join(text.split()))
    return text if len(text) <= 60 else text[:59] + "…"


_RULES: tuple[Rule, ...] = (
    _cron,
    _iso,
    _hours,
    read_elapsed,
    read_same_time,
    read_interval,
    read_recurring,
    _moment,
)
