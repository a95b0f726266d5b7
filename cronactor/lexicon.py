"""Pure: the words of time in Spanish and English, and a cursor over the words of one phrase.

Everything is lower case and without accents; both languages are always understood.
"""

from __future__ import annotations

import re
from decimal import Decimal

import attrs

from cronactor.numerals import ORDINALS, SMALL, SUFFIXES, TENS

__all__ = ["CLOCK_UNITS", "DAY_UNITS", "DAY_WORDS", "MONTHS", "MONTH_UNITS", "WEEKDAYS", "Words"]

CLOCK_UNITS = {
    **dict.fromkeys(("s", "seg", "segundo", "segundos", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minuto", "minutos", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hs", "hr", "hrs", "hora", "horas", "hour", "hours"), 3600),
}
"""Units of elapsed time, in seconds."""

DAY_UNITS = {
    **dict.fromkeys(("d", "dia", "dias", "day", "days"), 1),
    **dict.fromkeys(("semana", "semanas", "week", "weeks"), 7),
    **dict.fromkeys(("fortnight", "fortnights"), 14),
}
"""Units of wall time, in days."""

MONTH_UNITS = {
    **dict.fromkeys(("mes", "meses", "month", "months"), 1),
    **dict.fromkeys(("ano", "anos", "year", "years"), 12),
}
"""Units of the calendar, in months."""

DAY_WORDS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("the", "day", "after", "tomorrow"), 2),
    (("day", "after", "tomorrow"), 2),
    (("pasado", "manana"), 2),
    (("manana",), 1),
    (("tomorrow",), 1),
    (("hoy", "mismo"), 0),
    (("hoy",), 0),
    (("today",), 0),
    (("anteayer",), -2),
    (("ayer",), -1),
    (("yesterday",), -1),
)
"""What names a day, and how many days it is from today."""

_WEEKDAYS = (
    "lunes lun monday mon mondays",
    "martes tuesday tue tues tuesdays",
    "miercoles mie wednesday wed wednesdays",
    "jueves jue thursday thu thur thurs thursdays",
    "viernes vie friday fri fridays",
    "sabado sab saturday sat sabados saturdays",
    "domingo dom sunday sun domingos sundays",
)
WEEKDAYS = {word: index for index, words in enumerate(_WEEKDAYS) for word in words.split()}
"""The days of the week, Monday 0; `mar` is missing: it may be March."""

_MONTHS = (
    "enero ene january jan",
    "febrero feb february",
    "marzo mar march",
    "abril abr april apr",
    "mayo may",
    "junio jun june",
    "julio jul july",
    "agosto ago august aug",
    "septiembre setiembre sep sept set september",
    "octubre oct october",
    "noviembre nov november",
    "diciembre dic december dec",
)
MONTHS = {word: index for index, words in enumerate(_MONTHS, 1) for word in words.split()}

_TOKEN = re.compile(
    r"\d+/\d+(?:/\d+)?|\d+-\d+-\d+|\d+\.\d+\.\d+|\d+:\d+(?::\d+)?|\d+(?:[.,]\d+)?|[a-z]+|\S"
)


@attrs.define
class Words:
    """The words of one phrase and how far they were read. A `take` reads all or nothing."""

    tokens: tuple[str, ...]
    at: int = 0

    @classmethod
    def of(cls, text: str) -> Words:
        """Split a normalised phrase into words, numbers, clock times and dates."""
        return cls(tuple(_TOKEN.findall(text)))

    @property
    def done(self) -> bool:
        """True when every word was read."""
        return self.at >= len(self.tokens)

    def since(self, start: int) -> str:
        """Return what was read since the place `start`."""
        return " ".join(self.tokens[start : self.at])

    def peek(self, ahead: int = 0) -> str | None:
        """Return a word without reading it; None past the end."""
        place = self.at + ahead
        return self.tokens[place] if 0 <= place < len(self.tokens) else None

    def take(self, *sequence: str) -> bool:
        """Read exactly these words."""
        if self.tokens[self.at : self.at + len(sequence)] != sequence:
            return False
        self.at += len(sequence)
        return True

    def take_any(self, *sequences: tuple[str, ...]) -> bool:
        """Read the first of these sequences that fits."""
        return any(self.take(*sequence) for sequence in sequences)

    def match(self, pattern: str) -> re.Match[str] | None:
        """Read one word that matches a pattern in full."""
        word = self.peek()
        found = re.fullmatch(pattern, word) if word is not None else None
        if found is not None:
            self.at += 1
        return found

    def one_of(self, table: dict[str, int]) -> int | None:
        """Read one word of a table and return what it stands for."""
        value = table.get(self.peek() or "")
        self.at += value is not None
        return value

    def number(self) -> Decimal | None:
        """Read a number in digits or words (0 to 99); a comma or point is a decimal mark."""
        found = self.match(r"\d{1,9}(?:[.,]\d{1,6})?")
        if found is not None:
            return Decimal(found[0].replace(",", "."))
        word = self.peek() or ""
        if word in TENS:
            self.at += 1
            return Decimal(TENS[word] + self._ones())
        if word in SMALL:
            self.at += 1
            return Decimal(SMALL[word])
        return None

    def whole(self) -> int | None:
        """Read a number without a fraction; an article is none."""
        start = self.at
        value = None if self.peek() in ("a", "an", "un") else self.number()
        if value is None or "." in str(value):
            self.at = start
            return None
        return int(value)

    def ordinal(self) -> int | None:
        """Read `15th`, `1º`, `primero`, `twenty-first`."""
        start = self.at
        found = self.match(r"\d{1,2}")
        if found is not None:
            self.take(".")
            if self.match(SUFFIXES):
                return int(found[0])
        elif (tens := TENS.get(self.peek() or "")) is not None:
            self.at += 1
            self.take("-")
            ones = self.one_of(ORDINALS)
            if ones is not None and ones < 10:
                return tens + ones
        else:
            return self.one_of(ORDINALS)
        self.at = start
        return None

    def _ones(self) -> int:
        """Read what follows a ten: `y cinco`, `-five`, `five`; 0 when it is not that."""
        skip = 1 if self.peek() in ("y", "-") else 0
        value = SMALL.get(self.peek(skip) or "", 0)
        if not 1 <= value <= 9 or self.peek(skip) in ("a", "an"):
            return 0
        self.at += skip + 1
        return value
