"""Pure: the words of time in Spanish and English, and a cursor over the words of one phrase.

Everything is lower case and without accents; both languages are always understood.
"""

from __future__ import annotations

import re
from decimal import Decimal

import attrs

__all__ = ["CLOCK_UNITS", "DAY_UNITS", "DAY_WORDS", "PARTS", "Words"]

_SMALL = {
    "un": 1, "una": 1, "uno": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6,
    "siete": 7, "ocho": 8, "nueve": 9, "diez": 10, "once": 11, "doce": 12, "trece": 13,
    "catorce": 14, "quince": 15, "dieciseis": 16, "diecisiete": 17, "dieciocho": 18,
    "diecinueve": 19, "veinte": 20, "veintiun": 21, "veintiuno": 21, "veintiuna": 21,
    "veintidos": 22, "veintitres": 23, "veinticuatro": 24, "veinticinco": 25, "veintiseis": 26,
    "veintisiete": 27, "veintiocho": 28, "veintinueve": 29,
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
}  # fmt: skip
_TENS = {
    "treinta": 30, "cuarenta": 40, "cincuenta": 50, "sesenta": 60, "setenta": 70, "ochenta": 80,
    "noventa": 90, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
    "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip

CLOCK_UNITS = {
    **dict.fromkeys(("s", "seg", "segundo", "segundos", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minuto", "minutos", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hs", "hr", "hrs", "hora", "horas", "hour", "hours"), 3600),
}
"""Units of elapsed time, in seconds."""

DAY_UNITS = {
    **dict.fromkeys(("d", "dia", "dias", "day", "days"), 1),
    **dict.fromkeys(("semana", "semanas", "week", "weeks"), 7),
}
"""Units of wall time, in days."""

DAY_WORDS: tuple[tuple[tuple[str, ...], int], ...] = (
    (("the", "day", "after", "tomorrow"), 2),
    (("day", "after", "tomorrow"), 2),
    (("pasado", "manana"), 2),
    (("manana",), 1),
    (("tomorrow",), 1),
    (("hoy",), 0),
    (("today",), 0),
)
"""What names a day, and how many days it is from today."""

PARTS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("de", "la", "manana"), "morning"),
    (("de", "la", "madrugada"), "small"),
    (("de", "la", "tarde"), "afternoon"),
    (("de", "la", "noche"), "night"),
    (("del", "mediodia"), "noon"),
    (("in", "the", "morning"), "morning"),
    (("in", "the", "afternoon"), "afternoon"),
    (("in", "the", "evening"), "evening"),
    (("at", "night"), "night"),
    (("am",), "am"),
    (("pm",), "pm"),
)
"""What says which half of the day an hour belongs to."""

_TOKEN = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d+:\d+(?::\d+)?|\d+(?:[.,]\d+)?|[a-z]+|\S")


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

    def peek(self, ahead: int = 0) -> str | None:
        """Return a word without reading it; None past the end."""
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else None

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

    def number(self) -> Decimal | None:
        """Read a number in digits or words (0 to 99); a comma or point is a decimal mark."""
        found = self.match(r"\d{1,9}(?:[.,]\d{1,6})?")
        if found is not None:
            return Decimal(found[0].replace(",", "."))
        word = self.peek() or ""
        if word in _TENS:
            self.at += 1
            return Decimal(_TENS[word] + self._ones())
        if word in _SMALL:
            self.at += 1
            return Decimal(_SMALL[word])
        return None

    def _ones(self) -> int:
        """Read what follows a ten: `y cinco`, `-five`, `five`; 0 when it is not that."""
        skip = 1 if self.peek() in ("y", "-") else 0
        value = _SMALL.get(self.peek(skip) or "", 0)
        if not 1 <= value <= 9 or self.peek(skip) in ("a", "an"):
            return 0
        self.at += skip + 1
        return value
