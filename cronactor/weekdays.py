"""Pure: days of the week inside a phrase, and weeks: `el viernes que viene`, `friday next week`."""

from __future__ import annotations

from datetime import timedelta

from cronactor.asked import Asked
from cronactor.days import Day, MonthDay, OnDate, Weekday
from cronactor.lexicon import WEEKDAYS, Words
from cronactor.monthdays import read_day_of_year
from cronactor.texts import PhraseError

__all__ = ["number_is_day", "read_weekday", "refuse_vague", "which_day"]

_WEEKS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("la", "proxima", "semana"), 1),
    (("la", "semana", "que", "viene"), 1),
    (("la", "semana", "proxima"), 1),
    (("la", "siguiente", "semana"), 1),
    (("la", "semana", "siguiente"), 1),
    (("proxima", "semana"), 1),
    (("semana", "que", "viene"), 1),
    (("next", "week"), 1),
    (("esta", "semana"), 0),
    (("this", "week"), 0),
)
_NEXT = (("el", "proximo"), ("on", "next"), ("next",), ("proximo",), ("este", "proximo"))
_THIS = (
    ("el", "este"), ("on", "this"), ("this", "coming"), ("este",), ("this",), ("the", "coming"),
    ("coming",),
)  # fmt: skip
_PLAIN = (("el", "dia"), ("el",), ("on",), ("dia",))
_COMING = (("que", "viene"), ("proximo",), ("siguiente",))


def read_weekday(words: Words, asked: Asked) -> list[Day]:
    """Read `el viernes`, `next friday`, `viernes 10`, `friday next week`; empty when it is none."""
    start = words.at
    week = _week(words)
    if week is not None:
        words.take(",")
    which = _which(words)
    index = words.one_of(WEEKDAYS)
    if index is None or words.peek(-1) in _PLURALS or (week is not None and which):
        words.at = start
        return []
    if week is None and not which:
        which = "next" if words.take_any(*_COMING) else ""
    week = _week_after(words) if week is None and not which else week
    if week is not None:
        return [_in_week(asked, index, week, english=words.peek(-1) == "week")]
    day = Weekday(index, "next" if which == "next" else "this" if which == "this" else "")
    number = None if which else _bare_day(words)
    return [day] if number is None else [day, MonthDay(number)]


_PLURALS = frozenset(word for word in WEEKDAYS if word.endswith(("days", "sabados", "domingos")))


def _which(words: Words) -> str:
    if words.take_any(*_NEXT):
        return "next"
    if words.take_any(*_THIS):
        return "this"
    words.take_any(*_PLAIN)
    return ""


def _week(words: Words) -> int | None:
    for sequence, ahead in _WEEKS:
        if words.take(*sequence):
            return ahead
    return None


def _week_after(words: Words) -> int | None:
    start = words.at
    words.take_any(("de",), ("of",))
    week = _week(words)
    if week is None:
        words.at = start
    return week


def _in_week(asked: Asked, index: int, week: int, *, english: bool) -> Day:
    """A day of a calendar week, which begins on Monday; on Sunday too, to some who say `week`."""
    monday = asked.today - timedelta(days=asked.today.weekday())
    day = monday + timedelta(days=7 * week + index)
    if english:
        sunday = asked.today - timedelta(days=(asked.today.weekday() + 1) % 7)
        other = sunday + timedelta(days=7 * week + (index + 1) % 7)
        if other != day:
            early, late = sorted((day, other))
            raise asked.either(f"{early} 09:00", f"{late} 09:00")
    return OnDate(day)


def _bare_day(words: Words) -> int | None:
    """The 10 of `viernes 10`, when no month follows and it is no hour."""
    start = words.at
    if read_day_of_year(words) is not None:
        words.at = start
        return None
    found = words.match(r"\d{1,2}")
    if found is None or not number_is_day(words):
        words.at = start
        return None
    return int(found[0])


def number_is_day(words: Words) -> bool:
    """Whether the number just read may be a day: no word follows that makes it an hour."""
    rest = words.tokens[words.at : words.at + 3]
    following = rest[0] if rest else ""
    if following in ("de", "in", "a", "en", "por"):
        return not any(word in _PARTS for word in rest[1:]) and rest[1:2] != ("punto",)
    return following not in _AFTER_HOUR and rest[:2] != ("at", "night")


_PARTS = (
    "manana", "tarde", "noche", "madrugada", "morning", "afternoon", "evening", "night",
)  # fmt: skip
_AFTER_HOUR = (
    "am", "pm", "h", "hs", "hr", "hrs", "horas", "hours", "y", "menos", "past", "to", "after", "o",
    "o'clock", "para", "min", "minutos", "minutes", "/", "-", "sharp", "dias", "days", "del",
    "till", "til", "mediodia",
)  # fmt: skip

_VAGUE = (
    ("el", "fin", "de", "semana"),
    ("este", "fin", "de", "semana"),
    ("el", "proximo", "fin", "de", "semana"),
    ("el", "finde"),
    ("este", "finde"),
    ("this", "weekend"),
    ("next", "weekend"),
    ("the", "weekend"),
    ("el", "proximo", "mes"),
    ("el", "mes", "que", "viene"),
    ("este", "mes"),
    ("this", "month"),
    ("next", "month"),
    ("el", "proximo", "ano"),
    ("el", "ano", "que", "viene"),
    ("next", "year"),
    *(sequence for sequence, _ in _WEEKS),
)


def refuse_vague(words: Words, asked: Asked) -> None:
    """Raise the error that asks for the day where only a week, a month or a year is named."""
    start = words.at
    words.take_any(("para",), ("en",), ("on",))
    if words.take_any(*_VAGUE):
        raise which_day(asked, "el lunes a las 9:00", "on monday at 9:00")
    words.at = start


def which_day(asked: Asked, spanish: str, english: str) -> PhraseError:
    """Return the error that asks for the day, with an example in either language."""
    instead = f"`{asked.word(spanish, english)}`"
    return asked.error("phrase_which_day", text=asked.said, instead=instead)
