"""Pure: a day of the month or of the year inside a phrase: `el 15`, `april 10th`, `1º de mayo`."""

from __future__ import annotations

from cronactor.lexicon import MONTHS, Words

__all__ = ["ARTICLES", "read_day_of_year", "read_month_day"]

ARTICLES = (("el", "dia"), ("el", "proximo"), ("el",), ("on", "the"), ("the",), ("on",), ("dia",))


def read_day_of_year(words: Words) -> tuple[int, int] | None:
    """Read a month and a day: `el 10 de abril`, `the 10th of april`, `april 10`."""
    start = words.at
    words.take_any(*ARTICLES)
    words.take("proximo")
    words.take("dia")
    month = words.one_of(MONTHS)
    words.take("the") if month is not None else None
    day = words.ordinal() or words.whole()
    if month is None and day is not None:
        words.take_any(("de",), ("of",))
        month = words.one_of(MONTHS)
    if month is None or day is None:
        words.at = start
        return None
    return month, day


def read_month_day(words: Words) -> int | None:
    """Read a day of the month that shows to be one: `el 15`, `día 15`, `the 15th`, `15th`."""
    start = words.at
    article = words.take_any(*ARTICLES)
    words.take("dia") if article else None
    named = article and words.peek(-1) != "on"
    day = words.ordinal() if named or (words.peek() or "").isdigit() else None
    if day is None and named:
        day = words.whole()
    if day is None or words.peek() in ("/", "-", "h"):
        words.at = start
        return None
    return day
