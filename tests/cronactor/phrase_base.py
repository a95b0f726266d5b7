"""Ground of the paraphrase generators: scenes, wall-clock arithmetic, words and spelling.

Every right answer comes from the numbers a phrase is built from; no text is ever read back.
"""

from __future__ import annotations

import calendar
import random
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Literal, TypeAlias, TypeVar
from zoneinfo import ZoneInfo

Locale = Literal["es", "en"]
Kind = Literal["at", "cron", "every", "error"]
Mode = Literal["bare", "day", "later"]
T = TypeVar("T")

ZONES = (
    "Europe/Madrid",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
)
START = int(datetime(2025, 1, 1, tzinfo=UTC).timestamp())
END = int(datetime(2028, 12, 1, tzinfo=UTC).timestamp())
TICKS = 64  # fractions of a second are exact in binary and in microseconds
DAY = 86_400
FIRES = 10


@dataclass(frozen=True)
class Case:
    """One phrase with all that is needed to judge an answer to it."""

    text: str
    now: float
    zone: str
    locale: Locale
    kind: Kind
    instant: float | None
    fires: tuple[float, ...] | None
    seconds: float | None
    family: str
    note: str


@dataclass(frozen=True)
class Clock:
    """A wall time of day."""

    hour: int
    minute: int
    second: int = 0

    def __str__(self) -> str:
        return f"{self.hour:02}:{self.minute:02}:{self.second:02}"


@dataclass(frozen=True)
class Scene:
    """Where and when a phrase is said, and the dice to build it with."""

    rng: random.Random
    now: float
    zone: str
    locale: Locale

    @property
    def es(self) -> bool:
        """Whether the phrase is to be Spanish."""
        return self.locale == "es"

    @property
    def wall(self) -> datetime:
        """The wall clock at `now`, without a zone."""
        return datetime.fromtimestamp(self.now, ZoneInfo(self.zone)).replace(tzinfo=None, fold=0)

    @property
    def today(self) -> date:
        """The local date at `now`."""
        return self.wall.date()

    def day(self, ahead: int) -> date:
        """The local date so many days ahead."""
        return self.today + timedelta(days=ahead)

    def instant(self, day: date, clock: Clock) -> float:
        """The instant of a wall time here."""
        return resolve(self.zone, combine(day, clock))

    def pick(self, options: Sequence[T]) -> T:
        """One of the options, all alike."""
        return self.rng.choice(options)

    def say(self, spanish: Sequence[str], english: Sequence[str]) -> str:
        """One of the templates of the scene's language."""
        return self.rng.choice(spanish if self.es else english)

    def chance(self, share: float) -> bool:
        """True that often."""
        return self.rng.random() < share


@dataclass(frozen=True)
class Draft:
    """A built phrase with its answer, before spelling and before it becomes a case."""

    text: str
    kind: Kind
    instant: float | None = None
    fires: tuple[float, ...] | None = None
    seconds: float | None = None
    note: str = ""
    plain: bool = False


Builder: TypeAlias = Callable[[Scene], Draft | None]


@dataclass(frozen=True)
class Family:
    """A template family: how often it is drawn and how it is built."""

    name: str
    weight: float
    build: Builder
    near: bool = False


# --- wall-clock arithmetic ---------------------------------------------------------------------


def combine(day: date, clock: Clock) -> datetime:
    """A naive wall time."""
    return datetime.combine(day, time(clock.hour, clock.minute, clock.second))


def offset_at(zone: str, stamp: float) -> int:
    """Seconds east of UTC at an instant."""
    shift = datetime.fromtimestamp(stamp, ZoneInfo(zone)).utcoffset()
    assert shift is not None
    return round(shift.total_seconds())


def readings(zone: str, wall: datetime) -> list[float]:
    """All instants at which the zone's clocks show this wall time, in order."""
    base = (wall - datetime(1970, 1, 1)) / timedelta(seconds=1)
    shifts = {offset_at(zone, base - DAY), offset_at(zone, base + DAY)}
    return sorted(base - s for s in shifts if offset_at(zone, base - s) == s)


def resolve(zone: str, wall: datetime) -> float:
    """The instant of a wall time: the first of two; in a gap, forward by the gap's length."""
    found = readings(zone, wall)
    if found:
        return found[0]
    base = (wall - datetime(1970, 1, 1)) / timedelta(seconds=1)
    return base - offset_at(zone, base - DAY)


def regular(zone: str, wall: datetime) -> bool:
    """Whether a wall time exists exactly once."""
    return len(readings(zone, wall)) == 1


@lru_cache
def changes(zone: str) -> tuple[int, ...]:
    """The clock changes of a zone within the generator's years."""
    marks = range(START, END, DAY)
    return tuple(
        bisect_change(zone, a, a + DAY)
        for a in marks
        if offset_at(zone, a) != offset_at(zone, a + DAY)
    )


def bisect_change(zone: str, low: int, high: int) -> int:
    """The first second with the new offset."""
    old = offset_at(zone, low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset_at(zone, middle) == old else (low, middle)
    return high


def make_scene(rng: random.Random, near: bool) -> Scene:
    """A random moment and place; `near` ones lie a few days before a clock change."""
    locale: Locale = "es" if rng.random() < 0.5 else "en"
    zone = rng.choice(ZONES)
    while near and not changes(zone):
        zone = rng.choice(ZONES)
    if changes(zone) and (near or rng.random() < 0.3):
        before = (DAY // 2, 6 * DAY) if near else (-2 * DAY, 3 * DAY)
        whole = rng.choice(changes(zone)) - rng.randrange(*before)
    else:
        whole = rng.randrange(START, END)
    return Scene(rng, whole + rng.randrange(1, TICKS) / TICKS, zone, locale)


def month_length(day: date) -> int:
    """Days in the month of a date."""
    return calendar.monthrange(day.year, day.month)[1]


def next_weekday(scene: Scene, weekday: int) -> date:
    """The first such weekday strictly after today."""
    return scene.day((weekday - scene.today.weekday() - 1) % 7 + 1)


def collect_fires(
    scene: Scene, due: Callable[[date], bool], clocks: Iterable[Clock], count: int = FIRES
) -> tuple[float, ...] | None:
    """The next fires on the days that are due; None when a clock change would touch one."""
    found: list[float] = []
    times = tuple(clocks)
    for ahead in range(366 * 9):
        day = scene.day(ahead)
        for clock in times if due(day) else ():
            if not regular(scene.zone, combine(day, clock)):
                return None
            found += [s for s in [scene.instant(day, clock)] if s > scene.now]
        if len(found) >= count:
            return tuple(found[:count])
    return None


# --- words -------------------------------------------------------------------------------------


def listed_words(text: str) -> tuple[str, ...]:
    """The words of a table."""
    return tuple(text.split())


WEEKDAYS_ES = ("lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo")
WEEKDAYS_EN = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
SHORT_WEEKDAYS_EN = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
MONTHS_ES = listed_words(
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
)
MONTHS_EN = listed_words(
    "january february march april may june july august september october november december"
)
SHORT_MONTHS_ES = listed_words("ene feb mar abr may jun jul ago sep oct nov dic")
SHORT_MONTHS_EN = listed_words("jan feb mar apr may jun jul aug sep oct nov dec")

ES_SMALL = listed_words(
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince "
    "dieciséis diecisiete dieciocho diecinueve veinte veintiuno veintidós veintitrés "
    "veinticuatro veinticinco veintiséis veintisiete veintiocho veintinueve"
)
ES_TENS = {3: "treinta", 4: "cuarenta", 5: "cincuenta", 6: "sesenta", 9: "noventa"}
EN_SMALL = listed_words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen"
)
EN_TENS = {2: "twenty", 3: "thirty", 4: "forty", 5: "fifty", 6: "sixty", 9: "ninety"}
EN_ORDINALS = listed_words(
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth "
    "thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)


def es_number(number: int, one: str = "uno") -> str:
    """A Spanish cardinal below 100; `one` is the form of a final one (uno, un, una)."""
    if number < 30:
        word = ES_SMALL[number]
        if number == 1:
            return one
        if number == 21:
            return {"uno": word, "un": "veintiún", "una": "veintiuna"}[one]
        return word
    tens, units = divmod(number, 10)
    return ES_TENS[tens] + (f" y {es_number(units, one)}" if units else "")


def en_number(number: int, hyphen: str = "-") -> str:
    """An English cardinal below 100."""
    if number < 20:
        return EN_SMALL[number]
    tens, units = divmod(number, 10)
    return EN_TENS[tens] + (hyphen + EN_SMALL[units] if units else "")


def en_suffix(number: int) -> str:
    """A number with its ordinal ending, such as 21st."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number in (11, 12, 13) else ending}"


def en_ordinal(number: int) -> str:
    """An English ordinal word up to 31st."""
    if number < 20:
        return EN_ORDINALS[number]
    tens, units = divmod(number, 10)
    if not units:
        return {2: "twentieth", 3: "thirtieth"}[tens]
    return f"{EN_TENS[tens]}-{EN_ORDINALS[units]}"


def has_words(number: int) -> bool:
    """Whether the number tables above can spell it."""
    return number < 70 or 90 <= number < 100


def count_word(scene: Scene, number: int, feminine: bool = False) -> str:
    """A count of units, in digits or in words."""
    words = 0.6 if number <= 12 else 0.25
    if not has_words(number) or not scene.chance(words):
        return str(number)
    if scene.es:
        return es_number(number, "una" if feminine else "un")
    if number == 1:
        return "one"
    return en_number(number, scene.pick(("-", "-", " ")))


def weekday_name(scene: Scene, weekday: int) -> str:
    """A weekday by its name."""
    return (WEEKDAYS_ES if scene.es else WEEKDAYS_EN)[weekday]


def month_name(scene: Scene, month: int, short: float = 0.1) -> str:
    """A month by its name, now and then shortened."""
    if scene.chance(short):
        return (SHORT_MONTHS_ES if scene.es else SHORT_MONTHS_EN)[month - 1]
    return (MONTHS_ES if scene.es else MONTHS_EN)[month - 1]


def ampm(scene: Scene, hour: int) -> str:
    """am or pm as people type it, with its leading space if any."""
    half = "a" if hour < 12 else "p"
    forms = [f"{half}m", f"{half}m", f" {half}m", f" {half.upper()}M", f" {half}.m."]
    return scene.pick([*forms, f" {half}. m."] if scene.es else forms)


# --- times of day ------------------------------------------------------------------------------


def pick_minute(scene: Scene) -> int:
    """A minute as people choose them: mostly round."""
    roll = scene.rng.random()
    if roll < 0.42:
        return 0
    if roll < 0.62:
        return 30
    if roll < 0.78:
        return scene.pick((15, 45))
    return scene.rng.randrange(0, 60, 5) if roll < 0.92 else scene.rng.randrange(60)


def pick_clock(scene: Scene, mode: Mode = "later") -> Clock:
    """A time of day that can be said without doubt in this mode."""
    while True:
        small = scene.chance(0.08)
        hour = scene.rng.randrange(0, 7) if small else scene.rng.randrange(7, 24)
        clock = Clock(hour, pick_minute(scene))
        if hour or (clock.minute and (mode == "bare" or scene.chance(0.5))):
            return clock


def es_parts(clock: Clock) -> list[str]:
    """The Spanish parts of the day a native speaker may name with this time."""
    hour = clock.hour
    noon = hour == 12
    return [
        *(["de la madrugada"] if 1 <= hour <= 5 else []),
        *(["de la mañana"] if 1 <= hour <= 11 else []),
        *(["de la tarde"] if 13 <= hour <= 20 or (noon and clock.minute) else []),
        *(["del mediodía"] if noon or (hour == 14 and clock.minute <= 30) else []),
        *(["de la noche"] if 20 <= hour <= 23 else []),
    ]


def en_parts(clock: Clock) -> list[str]:
    """The English parts of the day a native speaker may name with this time."""
    hour = clock.hour
    return [
        *(["in the morning"] if 1 <= hour <= 11 else []),
        *(["in the afternoon"] if 13 <= hour <= 17 or (hour == 12 and clock.minute) else []),
        *(["in the evening"] if 18 <= hour <= 21 else []),
        *(["at night"] if 20 <= hour <= 23 else []),
    ]


def twelve(hour: int) -> int:
    """The hour on a twelve-hour dial."""
    return hour % 12 or 12


def es_prep(said: str) -> str:
    """The Spanish article phrase in front of a said hour."""
    one = said == "1" or said.startswith(("una", "1 ", "1:", "1p", "1a"))
    return f"a la {said}" if one else f"a las {said}"


def digits12(scene: Scene, clock: Clock, colon: bool = False) -> str:
    """A twelve-hour time in digits."""
    hour = twelve(clock.hour)
    if clock.minute or colon or scene.chance(0.1):
        return f"{hour}:{clock.minute:02}"
    return str(hour)


def es_hour(scene: Scene, hour: int) -> str:
    """An hour of the dial, as a word or digits."""
    return es_number(twelve(hour), "una") if scene.chance(0.6) else str(twelve(hour))


def es_spoken(scene: Scene, clock: Clock) -> str:
    """A time as it is spoken in Spanish, without the part of the day."""
    minute = clock.minute
    here, after = es_hour(scene, clock.hour), es_hour(scene, clock.hour + 1)
    if minute == 0:
        return f"{here} en punto" if scene.chance(0.15) else here
    if minute in (35, 40, 45, 50, 55) and scene.chance(0.8):
        less = "cuarto" if minute == 45 else es_number(60 - minute)
        return f"{after} menos {less}"
    named = {15: ("cuarto", "cuarto", "quince"), 30: ("media", "media", "treinta")}
    return f"{here} y {scene.pick(named.get(minute, (es_number(minute), str(minute))))}"


def en_hour(scene: Scene, hour: int) -> str:
    """An hour of the dial, as a word or digits."""
    return en_number(twelve(hour)) if scene.chance(0.6) else str(twelve(hour))


def en_past(scene: Scene, minute: int) -> str:
    """A share of the hour as English says it before past or to."""
    if minute == 15:
        return scene.pick(("quarter", "a quarter"))
    return en_number(minute) if scene.chance(0.7) else str(minute)


def en_spoken(scene: Scene, clock: Clock, oclock: bool = True) -> str:
    """A time as it is spoken in English, without the part of the day."""
    minute = clock.minute
    here, after = en_hour(scene, clock.hour), en_hour(scene, clock.hour + 1)
    if minute == 0:
        return f"{here} o'clock" if oclock and scene.chance(0.3) else here
    if minute == 30 and scene.chance(0.7):
        return f"half past {here}"
    if minute % 5 == 0 and minute < 30:
        return f"{en_past(scene, minute)} {scene.pick(('past', 'past', 'past', 'after'))} {here}"
    if minute % 5 == 0 and minute > 30:
        return f"{en_past(scene, 60 - minute)} to {after}"
    word = f"oh {en_number(minute)}" if minute < 10 else en_number(minute, " ")
    return f"{en_number(twelve(clock.hour))} {word}"


def clear_dial(clock: Clock) -> bool:
    """Whether a dial time of 7 to 11 without a part means the morning, whichever way it is said."""
    return 7 <= clock.hour <= 10 or (clock.hour == 11 and clock.minute <= 30)


def forms24(scene: Scene, clock: Clock, mode: Mode) -> list[str]:
    """The ways to write this time on the 24-hour clock without doubt."""
    hour, minute = clock.hour, clock.minute
    text = f"{hour:02}:{minute:02}"
    if hour < 10:
        return [text, *([f"{hour}:{minute:02}"] if mode == "later" and hour >= 7 else [])]
    if hour < 13:
        return [text] if mode == "later" and hour < 12 else []
    if not scene.es:
        return [text]
    whole = [str(hour), f"{hour}h", f"{hour} horas"] if minute == 0 else [f"{hour}h{minute:02}"]
    return [text, text, text, f"{text} h", f"{text}h", f"{text} horas", *whole]


def es_dial(scene: Scene, clock: Clock) -> list[str]:
    """Spanish dial times made clear by a part of the day or by am and pm."""
    forms = [
        f"{scene.pick((es_spoken(scene, clock), digits12(scene, clock)))} {part}"
        for part in es_parts(clock)
    ]
    if clock.hour not in (0, 12) or clock.minute:
        forms.append(digits12(scene, clock) + ampm(scene, clock.hour))
    return forms


def en_dial(scene: Scene, clock: Clock) -> list[str]:
    """English dial times made clear by a part of the day or by am and pm."""
    forms = [
        f"{scene.pick((en_spoken(scene, clock), digits12(scene, clock)))} {part}"
        for part in en_parts(clock)
    ]
    if clock.hour in (0, 12) and not clock.minute:
        return forms
    short = digits12(scene, clock)
    forms += [short + ampm(scene, clock.hour)] * 3
    if clock.minute and scene.chance(0.2):
        forms.append(short.replace(":", ".") + ("am" if clock.hour < 12 else "pm"))
    if clock.hour not in (11, 12, 23, 0):
        half = scene.pick(("am", "AM", "a.m.") if clock.hour < 12 else ("pm", "PM", "p.m."))
        forms.append(f"{en_spoken(scene, clock, oclock=False)} {half}")
    return forms


def noon_forms(scene: Scene, clock: Clock) -> list[str]:
    """Names of noon itself, complete with their preposition."""
    if clock.hour != 12 or clock.minute:
        return []
    return ["al mediodía", "a mediodía"] if scene.es else ["at noon", "at midday", "at 12 noon"]


def at_prep(scene: Scene, said: str) -> str:
    """A said time with its preposition."""
    return es_prep(said) if scene.es else f"at {said}"


def say_clock(scene: Scene, clock: Clock, mode: Mode) -> str:
    """A time of day with its preposition, clear in the given mode.

    bare: no day is named; day: a day is named; later: a later day, or a recurring phrase, where
    7 to 11 without a part mean the morning.
    """
    if clock.hour == 0 and mode != "bare":
        return at_prep(scene, f"00:{clock.minute:02}")
    clear = es_dial(scene, clock) if scene.es else en_dial(scene, clock)
    groups = [forms24(scene, clock, mode), clear, clear]
    if mode == "later" and clear_dial(clock):
        spoken = es_spoken(scene, clock) if scene.es else en_spoken(scene, clock)
        groups.append([spoken, digits12(scene, clock)])
    options = [at_prep(scene, said) for said in scene.pick([g for g in groups if g] or [[]])]
    return scene.pick([*options, *noon_forms(scene, clock)])


def say_short(scene: Scene, clock: Clock) -> str:
    """A time in digits that needs no preposition."""
    if clock.hour >= 13 and scene.chance(0.6):
        return f"{clock.hour}:{clock.minute:02}"
    if clock.hour == 0:
        return f"00:{clock.minute:02}"
    noon = noon_forms(scene, clock)
    return scene.pick(noon) if noon else digits12(scene, clock) + ampm(scene, clock.hour)


# --- parts named with the day ------------------------------------------------------------------


@dataclass(frozen=True)
class Part:
    """A part of the day that is named together with the day."""

    key: str
    hours: range
    es: str
    en: str


PARTS = (
    Part("morning", range(6, 12), "mañana", "morning"),
    Part("afternoon", range(13, 18), "tarde", "afternoon"),
    Part("evening", range(18, 21), "tarde", "evening"),
    Part("night", range(20, 24), "noche", "night"),
)


def part_clock(scene: Scene, part: Part) -> Clock:
    """A time within a part of the day."""
    return Clock(scene.pick(part.hours), pick_minute(scene))


def say_in_part(scene: Scene, clock: Clock) -> str:
    """A dial time whose half the day's part has fixed already."""
    spoken = es_spoken(scene, clock) if scene.es else en_spoken(scene, clock)
    forms = [spoken, digits12(scene, clock), digits12(scene, clock)]
    if clock.hour >= 13:
        forms.append(f"{clock.hour}:{clock.minute:02}")
    return at_prep(scene, scene.pick(forms))


# --- spelling ----------------------------------------------------------------------------------


def drop_accents(text: str) -> str:
    """The text as typed on a keyboard without accents."""
    split = unicodedata.normalize("NFD", text)
    return "".join(c for c in split if not unicodedata.combining(c))


def respell_accents(scene: Scene, text: str) -> str:
    """Accents as typed, dropped, or in decomposed form."""
    roll = scene.rng.random()
    if roll < 0.3:
        return drop_accents(text)
    return unicodedata.normalize("NFD", text) if roll < 0.32 else text


def respell_case(scene: Scene, text: str) -> str:
    """Letters in lower, upper or sentence case."""
    roll = scene.rng.random()
    if roll < 0.1:
        return text.lower()
    if roll < 0.17:
        return text.upper()
    return text[:1].upper() + text[1:] if roll < 0.35 else text


def respell_spaces(scene: Scene, text: str) -> str:
    """Extra spaces where fingers leave them."""
    roll = scene.rng.random()
    if roll < 0.05:
        return text.replace(" ", "  ")
    if roll < 0.1:
        return scene.pick((" ", "  ", "\t")) + text + scene.pick(("", " ", "\n"))
    return text.replace(" ", "\u00a0", 1) if roll < 0.11 else text


LEADS_ES = ("el ", "mañana", "pasado ", "hoy ", "esta ", "este ")
LEADS_EN = ("tomorrow", "today ", "next ", "monday", "friday", "the ")


def wrap_politely(scene: Scene, text: str) -> str:
    """Small courtesies that change nothing."""
    roll = scene.rng.random()
    if roll < 0.03:
        return text + scene.say((" por favor", ", por favor"), (" please", ", please"))
    if roll < 0.06 and text.startswith(LEADS_ES if scene.es else LEADS_EN):
        return scene.say(("para ",), ("for ",)) + text
    return text + "." if roll > 0.98 and not text.endswith(".") else text


def spell(scene: Scene, draft: Draft) -> str:
    """The final text of a draft."""
    if draft.plain:
        return draft.text
    text = wrap_politely(scene, draft.text)
    return respell_spaces(scene, respell_case(scene, respell_accents(scene, text)))


def to_case(scene: Scene, draft: Draft, family: str) -> Case:
    """A finished case from a draft."""
    return Case(
        spell(scene, draft), scene.now, scene.zone, scene.locale, draft.kind, draft.instant,
        draft.fires, draft.seconds, f"{family}.{scene.locale}", draft.note,
    )  # fmt: skip
