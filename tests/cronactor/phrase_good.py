"""Families of good phrases: each builds a text and, beside it, its only right answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta

from tests.cronactor.phrase_base import (
    PARTS,
    SHORT_WEEKDAYS_EN,
    WEEKDAYS_EN,
    WEEKDAYS_ES,
    Builder,
    Clock,
    Draft,
    Family,
    Part,
    Scene,
    changes,
    collect_fires,
    combine,
    count_word,
    digits12,
    en_ordinal,
    en_spoken,
    en_suffix,
    es_hour,
    es_number,
    es_parts,
    es_spoken,
    month_length,
    month_name,
    next_weekday,
    offset_at,
    part_clock,
    pick_clock,
    readings,
    regular,
    resolve,
    say_clock,
    say_in_part,
    say_short,
    weekday_name,
)

GOOD: list[Family] = []


def family(name: str, weight: float, near: bool = False) -> Callable[[Builder], Builder]:
    """Put a builder on the list of good families."""

    def register(build: Builder) -> Builder:
        GOOD.append(Family(name, weight, build, near))
        return build

    return register


# --- common makers -----------------------------------------------------------------------------


def elapsed(scene: Scene, text: str, seconds: float, plain: bool = False) -> Draft:
    """A phrase for so many seconds from now."""
    return Draft(text, "at", scene.now + seconds, note=f"now + {seconds:g} s", plain=plain)


def on_day(scene: Scene, text: str, day: date, clock: Clock, plain: bool = False) -> Draft | None:
    """A phrase for a wall time on a date, if it is still to come."""
    instant = scene.instant(day, clock)
    if instant <= scene.now or (day == scene.today and not regular_on(scene, day, clock)):
        return None
    odd = "" if regular_on(scene, day, clock) else ", gap or fold"
    return Draft(text, "at", instant, note=f"wall {day} {clock}{odd}", plain=plain)


def regular_on(scene: Scene, day: date, clock: Clock) -> bool:
    """Whether this wall time exists exactly once on that date."""
    return regular(scene.zone, combine(day, clock))


def recurring(
    scene: Scene,
    text: str,
    due: Callable[[date], bool],
    clock: Clock,
    note: str,
    count: int = 10,
) -> Draft | None:
    """A phrase for a wall time on all days that are due."""
    fires = collect_fires(scene, due, [clock], count)
    return Draft(text, "cron", fires=fires, note=f"{note} at {clock}") if fires else None


def interval(text: str, seconds: float) -> Draft:
    """A phrase for an interval."""
    return Draft(text, "every", seconds=seconds, note=f"every {seconds:g} s")


def join(scene: Scene, day_text: str, clock: Clock, later: bool = True) -> str:
    """A day and a time, in the common order."""
    comma = "," if scene.chance(0.12) else ""
    return f"{day_text}{comma} {say_clock(scene, clock, 'later' if later else 'day')}"


def lead(scene: Scene, amount: str) -> str:
    """An amount of time put into the future."""
    if scene.es:
        return scene.pick(
            ("en {}", "en {}", "dentro de {}", "dentro de {}", "de aquí a {}")
        ).format(amount)
    return scene.pick(("in {}", "in {}", "in {}", "{} from now")).format(amount)


# --- relative: elapsed time --------------------------------------------------------------------

UNITS = {
    1: (("segundo", "segundos"), ("second", "seconds"), ("seg", "sec")),
    60: (("minuto", "minutos"), ("minute", "minutes"), ("min", "min")),
    3600: (("hora", "horas"), ("hour", "hours"), ("h", "hr")),
}


def unit_word(scene: Scene, number: int, size: int, short: float = 0.12) -> str:
    """The name of a unit in the right number, now and then shortened."""
    spanish, english, brief = UNITS[size]
    if scene.chance(short):
        plural = "s" if not scene.es and number > 1 and scene.chance(0.7) else ""
        return brief[0] if scene.es else brief[1] + plural
    return (spanish if scene.es else english)[number != 1]


def amount(scene: Scene, number: int, size: int) -> str:
    """So many units, as said in the middle of a phrase."""
    if number == 1 and not scene.es and scene.chance(0.6):
        return {1: "a second", 60: "a minute", 3600: "an hour"}[size]
    return f"{count_word(scene, number, size == 3600)} {unit_word(scene, number, size)}"


def pick_amount(scene: Scene) -> tuple[int, int]:
    """A number and a unit people use."""
    size = scene.pick((60, 60, 60, 3600, 3600, 1))
    common = {
        1: (5, 10, 15, 20, 30, 45, 90),
        60: (1, 2, 3, 5, 10, 15, 20, 25, 30, 40, 45, 50, 90),
        3600: (1, 2, 3, 4, 5, 6, 8, 10, 12, 24, 36, 48, 72),
    }
    top = {1: 99, 60: 150, 3600: 60}
    rare = scene.rng.randrange(2, top[size])
    return (scene.pick(common[size]) if scene.chance(0.8) else rare), size


@family("rel_number", 10)
def rel_number(scene: Scene) -> Draft | None:
    """In twenty minutes."""
    number, size = pick_amount(scene)
    return elapsed(scene, lead(scene, amount(scene, number, size)), number * size)


FRACTIONS_ES = (
    ("media hora", 1800), ("media hora", 1800), ("una media hora", 1800),
    ("un cuarto de hora", 900), ("cuarto de hora", 900), ("tres cuartos de hora", 2700),
    ("hora y media", 5400), ("una hora y media", 5400), ("una hora y cuarto", 4500),
    ("hora y cuarto", 4500), ("una hora y tres cuartos", 6300), ("minuto y medio", 90),
    ("medio minuto", 30), ("dos horas y cuarto", 8100),
)  # fmt: skip
FRACTIONS_EN = (
    ("half an hour", 1800), ("half an hour", 1800), ("a half hour", 1800), ("half hour", 1800),
    ("a quarter of an hour", 900), ("three quarters of an hour", 2700),
    ("an hour and a half", 5400), ("one hour and a half", 5400), ("one and a half hours", 5400),
    ("an hour and a quarter", 4500), ("a minute and a half", 90), ("half a minute", 30),
)  # fmt: skip


@family("rel_fraction", 6)
def rel_fraction(scene: Scene) -> Draft | None:
    """In half an hour, in an hour and a half."""
    if scene.chance(0.3):
        number = scene.rng.randrange(2, 7)
        word = count_word(scene, number, feminine=True)
        text = f"{word} horas y media" if scene.es else f"{word} and a half hours"
        return elapsed(scene, lead(scene, text), number * 3600 + 1800)
    text, seconds = scene.pick(FRACTIONS_ES if scene.es else FRACTIONS_EN)
    return elapsed(scene, lead(scene, text), seconds)


@family("rel_compact", 4)
def rel_compact(scene: Scene) -> Draft | None:
    """In 2h30m, en 1h30."""
    hours, minutes = scene.rng.randrange(1, 9), scene.pick((5, 10, 15, 20, 30, 45))
    forms = (
        (f"{hours}h{minutes:02}", hours * 3600 + minutes * 60),
        (f"{hours}h{minutes:02}m", hours * 3600 + minutes * 60),
        (f"{hours}h {minutes}m", hours * 3600 + minutes * 60),
        (f"{hours}h {minutes}min", hours * 3600 + minutes * 60),
        (f"{hours}h", hours * 3600),
        (f"{minutes}min", minutes * 60),
        (f"{minutes}m", minutes * 60),
    )
    text, seconds = scene.pick(forms)
    return elapsed(scene, scene.say(("en ", "dentro de "), ("in ",)) + text, seconds)


@family("rel_two_units", 4)
def rel_two_units(scene: Scene) -> Draft | None:
    """In 2 hours and 15 minutes."""
    big = scene.pick((3600, 3600, 3600, 60))
    small = big // 60
    first, second = scene.rng.randrange(1, 6), scene.pick((1, 2, 5, 10, 15, 20, 25, 30, 40, 45))
    link = scene.say((" y ", " y ", " "), (" and ", " and ", " ", ", "))
    text = amount(scene, first, big) + link + amount(scene, second, small)
    return elapsed(scene, lead(scene, text), first * big + second * small)


@family("rel_decimal", 2)
def rel_decimal(scene: Scene) -> Draft | None:
    """In 1.5 hours, en 2,5 horas."""
    tenths = scene.pick((5, 15, 25, 35, 45))
    size = scene.pick((3600, 3600, 60))
    point = scene.say((",", "."), (".",))
    number = f"{tenths // 10}{point}{tenths % 10}"
    return elapsed(scene, lead(scene, f"{number} {unit_word(scene, 2, size)}"), tenths * size // 10)


@family("rel_couple", 1)
def rel_couple(scene: Scene) -> Draft | None:
    """In a couple of hours."""
    size = scene.pick((60, 3600))
    text = scene.say(("un par de {}",), ("a couple of {}", "a couple {}"))
    return elapsed(scene, lead(scene, text.format(unit_word(scene, 2, size, 0))), 2 * size)


# --- relative: wall days -----------------------------------------------------------------------


def wall_ahead(scene: Scene, text: str, days: int) -> Draft:
    """A phrase for the same wall time so many days on."""
    wall = scene.wall + timedelta(days=days)
    odd = "" if regular(scene.zone, wall) else ", gap or fold"
    return Draft(text, "at", resolve(scene.zone, wall), note=f"wall + {days} d{odd}")


def pick_days(scene: Scene) -> int:
    """A number of days; Spanish says eight and fifteen for weeks, so those stay out."""
    while True:
        days = scene.pick((1, 2, 2, 3, 3, 4, 5, 6, 7, 10, 14, 20, 30, scene.rng.randrange(2, 40)))
        if days not in (8, 15):
            return days


def days_text(scene: Scene, days: int) -> str:
    """So many days in words."""
    if days == 1:
        return scene.say(("un día", "1 día"), ("a day", "one day", "1 day"))
    return f"{count_word(scene, days)} {scene.say(('días',), ('days',))}"


def weeks_text(scene: Scene, weeks: int) -> str:
    """So many weeks in words."""
    if weeks == 1:
        return scene.say(("una semana", "1 semana"), ("a week", "one week", "1 week"))
    return f"{count_word(scene, weeks, feminine=True)} {scene.say(('semanas',), ('weeks',))}"


@family("rel_days", 4)
def rel_days(scene: Scene) -> Draft | None:
    """In three days, at the same wall time."""
    days = pick_days(scene)
    return wall_ahead(scene, lead(scene, days_text(scene, days)), days)


@family("rel_weeks", 2.5)
def rel_weeks(scene: Scene) -> Draft | None:
    """In two weeks, at the same wall time."""
    weeks = scene.pick((1, 1, 2, 2, 3, 4, 6))
    return wall_ahead(scene, lead(scene, weeks_text(scene, weeks)), weeks * 7)


@family("rel_days_time", 4)
def rel_days_time(scene: Scene) -> Draft | None:
    """In 3 days at 9am."""
    days, clock = max(2, pick_days(scene)), pick_clock(scene)
    return on_day(
        scene, join(scene, lead(scene, days_text(scene, days)), clock), scene.day(days), clock
    )


@family("rel_weeks_time", 2)
def rel_weeks_time(scene: Scene) -> Draft | None:
    """In two weeks at 10."""
    weeks, clock = scene.pick((1, 2, 3)), pick_clock(scene)
    text = join(scene, lead(scene, weeks_text(scene, weeks)), clock)
    return on_day(scene, text, scene.day(weeks * 7), clock)


@family("rel_days_hours", 1)
def rel_days_hours(scene: Scene) -> Draft | None:
    """In 1 day and 3 hours, where no clock change makes two readings."""
    days, hours = scene.rng.randrange(1, 4), scene.rng.randrange(1, 13)
    seconds = days * 86_400 + hours * 3600
    if offset_at(scene.zone, scene.now) != offset_at(scene.zone, scene.now + seconds):
        return None
    link = scene.say((" y ",), (" and ",))
    return elapsed(
        scene, lead(scene, days_text(scene, days) + link + amount(scene, hours, 3600)), seconds
    )


@family("same_time", 1)
def same_time(scene: Scene) -> Draft | None:
    """Tomorrow at this time."""
    text, days = scene.pick(
        (("mañana a esta hora", 1), ("mañana a esta misma hora", 1), ("mañana a la misma hora", 1))
        if scene.es
        else (("tomorrow at this time", 1), ("this time tomorrow", 1), ("same time tomorrow", 1))
    )
    return wall_ahead(scene, text, days)


# --- bare times of day -------------------------------------------------------------------------


def bare(scene: Scene, text: str, clock: Clock) -> Draft | None:
    """A phrase for the next occurrence of a time of day."""
    if not regular_on(scene, scene.today, clock):
        return None
    ahead = 0 if scene.instant(scene.today, clock) > scene.now else 1
    return on_day(scene, text, scene.day(ahead), clock)


@family("bare_24h", 4)
def bare_24h(scene: Scene) -> Draft | None:
    """At 17:30."""
    clock = Clock(scene.rng.randrange(13, 24), scene.rng.randrange(0, 60, 5))
    if scene.chance(0.25):
        clock = Clock(scene.rng.randrange(0, 10), scene.rng.randrange(5, 60, 5))
    text = f"{clock.hour:02}:{clock.minute:02}"
    return bare(scene, scene.say(("a las ", "a las ", ""), ("at ", "at ", "")) + text, clock)


@family("bare_clear", 8)
def bare_clear(scene: Scene) -> Draft | None:
    """At 5 in the afternoon, a las 5pm, a las 17h."""
    clock = pick_clock(scene, "bare")
    return bare(scene, say_clock(scene, clock, "bare"), clock)


@family("bare_noon", 1)
def bare_noon(scene: Scene) -> Draft | None:
    """At noon, a medianoche: with no day both are plain."""
    if scene.chance(0.5):
        return bare(scene, scene.say(("a medianoche",), ("at midnight",)), Clock(0, 0))
    names = (("al mediodía", "a mediodía", "a las 12 del mediodía"), ("at noon", "at midday"))
    return bare(scene, scene.say(*names), Clock(12, 0))


def es_minutes_to(scene: Scene, clock: Clock) -> str:
    """Diez para las seis de la tarde, as said in America."""
    less = "un cuarto" if clock.minute == 45 else es_number(60 - clock.minute)
    hour = es_hour(scene, clock.hour + 1)
    article = "la" if hour in ("una", "1") else "las"
    return f"{less} para {article} {hour} {scene.pick(es_parts(clock))}"


@family("bare_spoken", 3)
def bare_spoken(scene: Scene) -> Draft | None:
    """Las 9 y cuarto de la noche, quarter to six pm: without a preposition."""
    minute = scene.pick((5, 10, 15, 20, 25, 30, 40, 45, 50))
    clock = Clock(scene.pick((8, 9, 10, 13, 15, 16, 17, 18, 20, 21, 22)), minute)
    if scene.es:
        if minute in (40, 45, 50) and scene.chance(0.25):
            return bare(scene, es_minutes_to(scene, clock), clock)
        said = es_spoken(scene, clock)
        article = "la" if said.startswith(("una", "1 ")) else "las"
        return bare(scene, f"{article} {said} {scene.pick(es_parts(clock))}", clock)
    half = "am" if clock.hour < 12 else "pm"
    return bare(scene, f"{en_spoken(scene, clock, oclock=False)} {half}", clock)


@family("bare_short", 2)
def bare_short(scene: Scene) -> Draft | None:
    """5pm, 17:45."""
    clock = pick_clock(scene, "bare")
    return bare(scene, say_short(scene, clock), clock)


# --- today, tomorrow and weekdays --------------------------------------------------------------


@family("today_time", 5)
def today_time(scene: Scene) -> Draft | None:
    """Today at 6pm."""
    clock = pick_clock(scene, "day")
    text = join(scene, scene.say(("hoy", "hoy", "hoy mismo"), ("today",)), clock, later=False)
    return on_day(scene, text, scene.today, clock)


@family("today_part", 5)
def today_part(scene: Scene) -> Draft | None:
    """Esta noche a las 10, tonight at 9."""
    part = scene.pick(PARTS)
    clock = part_clock(scene, part)
    if scene.wall.hour < 5:
        return None
    english = {"night": ("tonight",)}.get(part.key, (f"this {part.en}",))
    day = scene.say((f"esta {part.es}",), english)
    return on_day(scene, f"{day} {say_in_part(scene, clock)}", scene.today, clock)


@family("tomorrow", 10)
def tomorrow(scene: Scene) -> Draft | None:
    """Tomorrow at 9."""
    clock = pick_clock(scene)
    return on_day(
        scene, join(scene, scene.say(("mañana",), ("tomorrow",)), clock), scene.day(1), clock
    )


@family("after_tomorrow", 4)
def after_tomorrow(scene: Scene) -> Draft | None:
    """The day after tomorrow at noon."""
    clock = pick_clock(scene)
    day = scene.say(("pasado mañana",), ("the day after tomorrow", "day after tomorrow"))
    return on_day(scene, join(scene, day, clock), scene.day(2), clock)


def es_in_part(scene: Scene, part: Part) -> str:
    """The Spanish part of a named day."""
    return scene.pick(("por la", "por la", "por la", "en la")) + f" {part.es}"


@family("tomorrow_part", 5)
def tomorrow_part(scene: Scene) -> Draft | None:
    """Mañana por la mañana a las 8, tomorrow night at 9."""
    part = scene.pick(PARTS)
    clock = part_clock(scene, part)
    day = f"mañana {es_in_part(scene, part)}" if scene.es else f"tomorrow {part.en}"
    return on_day(scene, f"{day} {say_in_part(scene, clock)}", scene.day(1), clock)


def other_weekday(scene: Scene) -> int:
    """Any weekday but today's."""
    return (scene.today.weekday() + scene.rng.randrange(1, 7)) % 7


@family("weekday", 9)
def weekday_time(scene: Scene) -> Draft | None:
    """El lunes a las 10, on friday at 5pm."""
    weekday, clock = other_weekday(scene), pick_clock(scene)
    name = weekday_name(scene, weekday)
    if not scene.es and scene.chance(0.08):
        name = SHORT_WEEKDAYS_EN[weekday]
    day = scene.say((f"el {name}", f"el {name}", name), (f"on {name}", f"on {name}", name))
    return on_day(scene, join(scene, day, clock), next_weekday(scene, weekday), clock)


@family("next_weekday", 5)
def next_weekday_time(scene: Scene) -> Draft | None:
    """El próximo viernes, next friday: the first one strictly after today."""
    weekday, clock = scene.rng.randrange(7), pick_clock(scene)
    name = weekday_name(scene, weekday)
    day = scene.say(
        (f"el próximo {name}", f"el próximo {name}", f"el {name} que viene", f"el {name} próximo"),
        (f"next {name}",),
    )
    return on_day(scene, join(scene, day, clock), next_weekday(scene, weekday), clock)


@family("this_weekday", 2)
def this_weekday(scene: Scene) -> Draft | None:
    """Este viernes, this friday: later in the running week."""
    today, clock = scene.today.weekday(), pick_clock(scene)
    if today == 6:
        return None
    weekday = scene.rng.randrange(today + 1, 7)
    name = weekday_name(scene, weekday)
    day = scene.say((f"este {name}",), (f"this {name}", f"this coming {name}"))
    return on_day(scene, join(scene, day, clock), next_weekday(scene, weekday), clock)


@family("weekday_part", 4)
def weekday_part(scene: Scene) -> Draft | None:
    """El viernes por la tarde a las 6, friday night at 10."""
    part, weekday = scene.pick(PARTS), other_weekday(scene)
    clock, name = part_clock(scene, part), weekday_name(scene, weekday)
    day = scene.say(
        (f"el {name} {es_in_part(scene, part)}",), (f"{name} {part.en}", f"on {name} {part.en}")
    )
    text = f"{day} {say_in_part(scene, clock)}"
    return on_day(scene, text, next_weekday(scene, weekday), clock)


@family("next_week_weekday", 1)
def next_week_weekday(scene: Scene) -> Draft | None:
    """Monday of next week; no Sundays, since weeks start on either day."""
    today, weekday, clock = scene.today.weekday(), scene.rng.randrange(6), pick_clock(scene)
    if today == 6:
        return None
    name = weekday_name(scene, weekday)
    day = scene.say(
        (f"el {name} de la semana que viene", f"el {name} de la próxima semana"),
        (f"{name} of next week", f"on {name} of next week"),
    )
    return on_day(scene, join(scene, day, clock), scene.day(7 - today + weekday), clock)


@family("week_from_day", 1)
def week_from_day(scene: Scene) -> Draft | None:
    """A week from today at 10am, de hoy en una semana."""
    clock = pick_clock(scene)
    ahead = 7 if scene.es else scene.pick((7, 8))
    english = "a week from today" if ahead == 7 else "a week from tomorrow"
    day = scene.say(("de hoy en una semana", "de aquí a una semana"), (english,))
    return on_day(scene, join(scene, day, clock), scene.day(ahead), clock)


def of_day(scene: Scene, ahead: int) -> str:
    """A day as it follows a time: del viernes, on friday, tomorrow."""
    day = scene.day(ahead)
    name = weekday_name(scene, day.weekday())
    if ahead == 0:
        return scene.say(("de hoy",), ("today",))
    if ahead == 1 and scene.chance(0.7):
        return scene.say(("de mañana",), ("tomorrow",))
    if ahead < 7:
        return scene.say((f"del {name}", f"del próximo {name}"), (f"on {name}", f"next {name}"))
    month = month_name(scene, day.month, 0)
    return scene.say((f"del {day.day} de {month}",), (f"on {month} {en_suffix(day.day)}",))


@family("time_first", 6)
def time_first(scene: Scene) -> Draft | None:
    """A las 5 de la tarde del viernes, at 9am tomorrow."""
    ahead = scene.pick((0, 1, 1, 2, 3, 4, 5, 6, scene.rng.randrange(7, 200)))
    clock = pick_clock(scene, "day")
    text = f"{say_clock(scene, clock, 'day')} {of_day(scene, ahead)}"
    if text.startswith("at ") and text[3].isdigit() and scene.chance(0.3):
        text = text.removeprefix("at ")
    return None if feb29(scene.day(ahead)) else on_day(scene, text, scene.day(ahead), clock)


@family("short_day_time", 3)
def short_day_time(scene: Scene) -> Draft | None:
    """Mañana 18:30, friday 5pm."""
    clock = pick_clock(scene, "day")
    ahead = scene.pick((1, 1, 2, 3, 4, 5, 6))
    name = weekday_name(scene, scene.day(ahead).weekday())
    day = scene.say(("mañana",), ("tomorrow",)) if ahead == 1 else name
    return on_day(scene, f"{day} {say_short(scene, clock)}", scene.day(ahead), clock)


@family("day_noon", 2)
def day_noon(scene: Scene) -> Draft | None:
    """Tomorrow at noon, el viernes a mediodía."""
    ahead, clock = scene.rng.randrange(1, 7), Clock(12, 0)
    name = weekday_name(scene, scene.day(ahead).weekday())
    day = scene.say((f"el {name}",), (name, f"on {name}", f"next {name}"))
    if ahead == 1 and scene.chance(0.6):
        day = scene.say(("mañana",), ("tomorrow",))
    noon = scene.say(("a mediodía", "al mediodía"), ("at noon", "at midday"))
    return on_day(scene, f"{day} {noon}", scene.day(ahead), clock)


@family("with_seconds", 1)
def with_seconds(scene: Scene) -> Draft | None:
    """Tomorrow at 17:30:15."""
    clock = Clock(scene.rng.randrange(13, 24), scene.rng.randrange(60), scene.rng.randrange(1, 60))
    day = scene.say(("mañana a las",), ("tomorrow at",))
    return on_day(scene, f"{day} {clock}", scene.day(1), clock)


# --- dates -------------------------------------------------------------------------------------


def feb29(day: date) -> bool:
    """Whether this is the leap day."""
    return (day.month, day.day) == (2, 29)


def next_number(scene: Scene, number: int, clock: Clock) -> date | None:
    """The next day of the month with this number whose time is to come."""
    for ahead in range(62):
        day = scene.day(ahead)
        if day.day == number and scene.instant(day, clock) > scene.now:
            near = number <= 28 or (day.month, day.year) == (scene.today.month, scene.today.year)
            return day if near else None
    return None


@family("day_number", 5)
def day_number(scene: Scene) -> Draft | None:
    """El día 15, the 15th."""
    number, clock = scene.rng.randrange(1, 32), pick_clock(scene, "day")
    day = next_number(scene, number, clock)
    if day is None:
        return None
    word = es_number(number) if scene.chance(0.1) else str(number)
    text = scene.say(
        (f"el día {word}", f"el {word}", f"el día {number}"),
        (f"the {en_suffix(number)}", f"on the {en_suffix(number)}", f"the {en_ordinal(number)}"),
    )
    return on_day(scene, join(scene, text, clock, scene.today.day != number), day, clock)


@family("weekday_number", 3)
def weekday_number(scene: Scene) -> Draft | None:
    """Viernes 17 a las 17:00, on friday the 17th at 5pm."""
    day, clock = scene.day(scene.rng.randrange(1, 28)), pick_clock(scene)
    if next_number(scene, day.day, clock) != day:
        return None
    name, number = weekday_name(scene, day.weekday()), day.day
    text = scene.say(
        (f"el {name} {number}", f"{name} {number}", f"el {name} día {number}"),
        (f"on {name} the {en_suffix(number)}", f"{name} the {en_suffix(number)}"),
    )
    return on_day(scene, join(scene, text, clock), day, clock)


def es_day_word(scene: Scene, number: int) -> str:
    """A day of the month in Spanish words."""
    return scene.pick(("uno", "primero")) if number == 1 else es_number(number)


def say_month_day(scene: Scene, day: date, words: float = 0.08) -> str:
    """A day and its month, without a year."""
    month, number = month_name(scene, day.month), day.day
    if scene.chance(words):
        month = month_name(scene, day.month, 0)
        spanish = f"el {es_day_word(scene, number)} de {month}"
        return scene.say((spanish,), (f"the {en_ordinal(number)} of {month}",))
    suffix = en_suffix(number)
    return scene.say(
        (f"el {number} de {month}", f"el {number} de {month}", f"{number} de {month}",
         f"el día {number} de {month}", f"{number} {month}"),
        (f"{month} {number}", f"{month} {suffix}", f"on {month} {suffix}", f"{number} {month}",
         f"the {suffix} of {month}", f"on the {suffix} of {month}", f"{suffix} of {month}"),
    )  # fmt: skip


def say_full_date(scene: Scene, day: date) -> str:
    """A day, its month and its year."""
    month, number, suffix = month_name(scene, day.month), day.day, en_suffix(day.day)
    return scene.say(
        (f"el {number} de {month} de {day.year}", f"{number} de {month} de {day.year}",
         f"el {number} de {month} del {day.year}", f"{number} {month} {day.year}"),
        (f"{month} {suffix}, {day.year}", f"{month} {number}, {day.year}",
         f"{number} {month} {day.year}", f"the {suffix} of {month} {day.year}",
         f"on {month} {number}, {day.year}"),
    )  # fmt: skip


def yearless(scene: Scene) -> date | None:
    """A date that needs no year: within some months, never the leap day."""
    day = scene.day(scene.rng.randrange(1, 40 if scene.chance(0.6) else 300))
    return None if feb29(day) else day


@family("month_date", 7)
def month_date(scene: Scene) -> Draft | None:
    """El 10 de abril a las 15:00, april 10 at 3pm."""
    day, clock = yearless(scene), pick_clock(scene)
    if day is None:
        return None
    return on_day(scene, join(scene, say_month_day(scene, day), clock), day, clock)


@family("month_date_short", 2)
def month_date_short(scene: Scene) -> Draft | None:
    """10 de abril 17:00, april 10, 5pm."""
    day, clock = yearless(scene), pick_clock(scene, "day")
    if day is None:
        return None
    link = scene.pick((" ", ", "))
    return on_day(scene, say_month_day(scene, day, 0) + link + say_short(scene, clock), day, clock)


@family("date_words", 2)
def date_words(scene: Scene) -> Draft | None:
    """El diez de abril, the tenth of april."""
    day, clock = yearless(scene), pick_clock(scene)
    if day is None:
        return None
    return on_day(scene, join(scene, say_month_day(scene, day, 1), clock), day, clock)


@family("full_date", 4)
def full_date(scene: Scene) -> Draft | None:
    """April 10th, 2027 at 3 p.m."""
    day, clock = scene.day(scene.rng.randrange(1, 900)), pick_clock(scene)
    return on_day(scene, join(scene, say_full_date(scene, day), clock), day, clock)


@family("leap_day", 0.5)
def leap_day(scene: Scene) -> Draft | None:
    """29 de febrero de 2028."""
    day, clock = date(2028, 2, 29), pick_clock(scene)
    if day <= scene.today:
        day = date(2032, 2, 29)
    return on_day(scene, join(scene, say_full_date(scene, day), clock), day, clock)


@family("weekday_date", 5)
def weekday_date(scene: Scene) -> Draft | None:
    """Viernes 17 de abril, friday april 17th."""
    day, clock = yearless(scene), pick_clock(scene)
    if day is None:
        return None
    name, month = weekday_name(scene, day.weekday()), month_name(scene, day.month, 0.05)
    number, suffix = day.day, en_suffix(day.day)
    text = scene.say(
        (f"el {name} {number} de {month}", f"{name} {number} de {month}",
         f"{name}, {number} de {month}"),
        (f"{name} {month} {suffix}", f"{name}, {month} {number}", f"on {name}, {month} {suffix}",
         f"{name} {number} {month}", f"on {name} the {suffix} of {month}"),
    )  # fmt: skip
    return on_day(scene, join(scene, text, clock), day, clock)


@family("weekday_full_date", 2)
def weekday_full_date(scene: Scene) -> Draft | None:
    """Viernes 17 de abril de 2026 a las 17:00."""
    day, clock = scene.day(scene.rng.randrange(1, 700)), pick_clock(scene)
    name, month = weekday_name(scene, day.weekday()), month_name(scene, day.month, 0)
    number, suffix = day.day, en_suffix(day.day)
    text = scene.say(
        (f"el {name} {number} de {month} de {day.year}",
         f"{name}, {number} de {month} de {day.year}"),
        (f"{name}, {month} {suffix}, {day.year}", f"on {name} {number} {month} {day.year}"),
    )  # fmt: skip
    return on_day(scene, join(scene, text, clock), day, clock)


@family("month_relative", 1.5)
def month_relative(scene: Scene) -> Draft | None:
    """The 15th of next month, el 20 de este mes."""
    first = scene.today.replace(day=1)
    number, clock, later = scene.rng.randrange(1, 29), pick_clock(scene), scene.chance(0.7)
    day = (first + timedelta(days=31 if later else 0)).replace(day=number)
    if day <= scene.today:
        return None
    suffix = en_suffix(number)
    spanish = ("del mes que viene", "del próximo mes") if later else ("de este mes",)
    english = f"the {suffix} of {'next' if later else 'this'} month"
    text = scene.say((f"el {number} {scene.pick(spanish)}",), (english, f"on {english}"))
    return on_day(scene, join(scene, text, clock), day, clock)


def numeric(scene: Scene, day: date) -> str:
    """A numeric date, day first."""
    mark = scene.pick(("/", "/", "/", "-", "."))
    if scene.chance(0.75):
        return f"{day.day:02}{mark}{day.month:02}{mark}{day.year}"
    return f"{day.day}{mark}{day.month}{mark}{day.year}"


@family("numeric_full", 5)
def numeric_full(scene: Scene) -> Draft | None:
    """10/04/2026 15:00, day first in both languages."""
    day, clock = scene.day(scene.rng.randrange(1, 700)), pick_clock(scene)
    text = numeric(scene, day)
    if scene.chance(0.5):
        return on_day(scene, f"{text} {clock.hour:02}:{clock.minute:02}", day, clock)
    article = scene.say(("", "", "el "), ("", "", "on "))
    return on_day(scene, join(scene, article + text, clock), day, clock)


@family("numeric_short", 3)
def numeric_short(scene: Scene) -> Draft | None:
    """El 10/4 a las 18:00; in English only where the day cannot be a month."""
    day, clock = yearless(scene), pick_clock(scene)
    if day is None or (not scene.es and day.day < 13):
        return None
    text = f"{day.day:02}/{day.month:02}" if scene.chance(0.4) else f"{day.day}/{day.month}"
    article = scene.say(("", "el "), ("", "on "))
    return on_day(scene, join(scene, article + text, clock), day, clock)


@family("iso_local", 4)
def iso_local(scene: Scene) -> Draft | None:
    """2026-04-10T15:00, in the zone."""
    day = scene.day(scene.rng.randrange(1, 700))
    second = scene.pick((0, 0, scene.rng.randrange(60)))
    clock = Clock(scene.rng.randrange(24), scene.rng.randrange(60), second)
    tail = str(clock) if second or scene.chance(0.4) else str(clock)[:5]
    return on_day(scene, f"{day}{scene.pick(('T', 'T', ' '))}{tail}", day, clock, plain=True)


OFFSETS = (0, 0, 3600, 7200, -18_000, -14_400, 19_800, -10_800, 39_600, 37_800)


def say_offset(scene: Scene, offset: int) -> str:
    """An offset as ISO 8601 writes it."""
    if offset == 0 and scene.chance(0.7):
        return "Z"
    sign, size = "-" if offset < 0 else "+", abs(offset)
    return f"{sign}{size // 3600:02}:{size % 3600 // 60:02}"


@family("iso_offset", 4)
def iso_offset(scene: Scene) -> Draft | None:
    """2026-04-10T15:00:00+02:00 obeys its offset, not the zone."""
    offset = scene.pick(OFFSETS)
    ahead = scene.rng.randrange(600, 400 * 86_400)
    stamp = int(scene.now) + ahead
    if scene.chance(0.6):
        stamp -= stamp % 60
    shown = datetime(1970, 1, 1) + timedelta(seconds=stamp + offset)
    text = shown.isoformat(scene.pick(("T", "T", "T", " ")))
    if shown.second == 0 and scene.chance(0.5):
        text = text[:-3]
    note = f"offset {offset} s"
    return Draft(text + say_offset(scene, offset), "at", float(stamp), note=note, plain=True)


# --- clock changes -----------------------------------------------------------------------------


def change_ahead(scene: Scene) -> int | None:
    """The next clock change within a week, if any."""
    soon = [c for c in changes(scene.zone) if scene.now < c < scene.now + 7 * 86_400]
    return soon[0] if soon else None


def odd_clock(scene: Scene, change: int) -> tuple[date, Clock]:
    """A wall time that a change skips or repeats, to the minute."""
    old, new = offset_at(scene.zone, change - 1), offset_at(scene.zone, change)
    start = change + min(old, new)
    stamp = start + 60 * scene.rng.randrange(abs(new - old) // 60)
    wall = datetime(1970, 1, 1) + timedelta(seconds=stamp)
    return wall.date(), Clock(wall.hour, wall.minute)


def odd_day(scene: Scene, day: date) -> str:
    """A day near, said in one of the clear ways."""
    ahead = (day - scene.today).days
    name, month = weekday_name(scene, day.weekday()), month_name(scene, day.month, 0)
    spanish = [f"el {day.day} de {month}", f"el {name} {day.day} de {month}"]
    english = [f"{month} {en_suffix(day.day)}", f"on {name} the {en_suffix(day.day)}"]
    if ahead == 1:
        return scene.say(["mañana", *spanish], ["tomorrow", *english])
    if ahead < 7:
        return scene.say([f"el {name}", *spanish], [f"on {name}", *english])
    return scene.say(spanish, english)


@family("clock_change", 7, near=True)
def clock_change(scene: Scene) -> Draft | None:
    """A wall time in a spring gap or an autumn fold."""
    change = change_ahead(scene)
    if change is None:
        return None
    day, clock = odd_clock(scene, change)
    if day <= scene.today or len(readings(scene.zone, combine(day, clock))) == 1:
        return None
    time_text = f"{clock.hour:02}:{clock.minute:02}"
    if scene.chance(0.25):
        return on_day(scene, f"{day}T{time_text}", day, clock, plain=True)
    if scene.chance(0.4):
        return on_day(scene, f"{day:%d/%m/%Y} {time_text}", day, clock)
    dial = digits12(scene, clock)
    forms = [time_text, f"{dial}am", f"{dial} {scene.say(('de la madrugada',), ('am',))}"]
    said = scene.pick(forms)
    one = scene.es and said.startswith(("1 ", "1:", "1a"))
    prep = scene.say(("a la",) if one else ("a las",), ("at",))
    return on_day(scene, f"{odd_day(scene, day)} {prep} {said}", day, clock)


@family("change_days", 2, near=True)
def change_days(scene: Scene) -> Draft | None:
    """In two days across a clock change: the wall time stays."""
    days = scene.rng.randrange(1, 7)
    return wall_ahead(scene, lead(scene, days_text(scene, days)), days)


@family("change_hours", 2, near=True)
def change_hours(scene: Scene) -> Draft | None:
    """In 48 hours across a clock change: the elapsed time counts."""
    hours = scene.pick((12, 24, 36, 48, 72, 96))
    return elapsed(scene, lead(scene, amount(scene, hours, 3600)), hours * 3600)


@family("change_wall", 2, near=True)
def change_wall(scene: Scene) -> Draft | None:
    """An ordinary time on the very day of a clock change."""
    change = change_ahead(scene)
    clock = pick_clock(scene)
    if change is None:
        return None
    day, _ = odd_clock(scene, change)
    if day <= scene.today:
        return None
    return on_day(scene, join(scene, odd_day(scene, day), clock), day, clock)


# --- recurring: cron ---------------------------------------------------------------------------


def every_day(day: date) -> bool:
    """All days are due."""
    return day.year > 0


def on_weekdays(*weekdays: int) -> Callable[[date], bool]:
    """The days with one of these weekdays."""
    return lambda day: day.weekday() in weekdays


def cron_phrase(
    scene: Scene, text: str, due: Callable[[date], bool], note: str, count: int = 10
) -> Draft | None:
    """A recurring day phrase with a time behind it."""
    clock = pick_clock(scene)
    return recurring(scene, join(scene, text, clock), due, clock, note, count)


def plural_es(name: str) -> str:
    """A Spanish weekday in the plural."""
    return name if name.endswith("s") else f"{name}s"


def listed(scene: Scene, names: Sequence[str]) -> str:
    """Names joined as a list."""
    link = scene.say((" y ",), (" and ", " and ", " & "))
    return ", ".join(names[:-1]) + link + names[-1]


@family("daily", 6)
def daily(scene: Scene) -> Draft | None:
    """Cada día a las 7:15, every day at 9."""
    text = scene.say(
        ("todos los días", "todos los días", "cada día", "a diario", "diariamente"),
        ("every day", "every day", "each day", "daily"),
    )
    return cron_phrase(scene, text, every_day, "daily")


@family("daily_part", 4)
def daily_part(scene: Scene) -> Draft | None:
    """Todas las noches a las 10, every morning at 8."""
    part = scene.pick(PARTS)
    clock = part_clock(scene, part)
    text = scene.say(
        (f"todas las {part.es}s", f"cada {part.es}", f"todos los días por la {part.es}"),
        (f"every {part.en}", f"each {part.en}"),
    )
    return recurring(scene, f"{text} {say_in_part(scene, clock)}", every_day, clock, "daily")


@family("daily_noon", 1)
def daily_noon(scene: Scene) -> Draft | None:
    """Every day at noon, cada día a medianoche."""
    day = scene.say(("todos los días", "cada día"), ("every day", "daily"))
    clock = scene.pick((Clock(12, 0), Clock(12, 0), Clock(0, 0)))
    spanish, english = ("a mediodía", "at noon") if clock.hour else ("a medianoche", "at midnight")
    return recurring(scene, f"{day} {scene.say((spanish,), (english,))}", every_day, clock, "daily")


@family("weekly_one", 6)
def weekly_one(scene: Scene) -> Draft | None:
    """Todos los lunes a las 10am, every monday at 9."""
    weekday = scene.rng.randrange(7)
    name = weekday_name(scene, weekday)
    text = scene.say(
        (f"todos los {plural_es(name)}", f"cada {name}"), (f"every {name}", f"each {name}")
    )
    return cron_phrase(scene, text, on_weekdays(weekday), name)


@family("weekly_plural", 3)
def weekly_plural(scene: Scene) -> Draft | None:
    """Los lunes a las 10, on mondays at 10."""
    weekday = scene.rng.randrange(7)
    name = weekday_name(scene, weekday)
    text = scene.say((f"los {plural_es(name)}",), (f"{name}s", f"on {name}s"))
    return cron_phrase(scene, text, on_weekdays(weekday), f"every {name}")


@family("weekly_list", 5)
def weekly_list(scene: Scene) -> Draft | None:
    """Every monday and thursday at 18:00."""
    days = sorted(scene.rng.sample(range(7), scene.pick((2, 2, 3))))
    if scene.es:
        names = [WEEKDAYS_ES[d] for d in days]
        plural = listed(scene, [plural_es(n) for n in names])
        text = scene.pick((f"todos los {plural}", f"los {plural}", f"cada {listed(scene, names)}"))
    else:
        table = SHORT_WEEKDAYS_EN if scene.chance(0.15) else WEEKDAYS_EN
        names = [table[d] for d in days]
        text = f"every {listed(scene, names)}"
        if scene.chance(0.3):
            text = "on " + listed(scene, [f"{WEEKDAYS_EN[d]}s" for d in days])
    return cron_phrase(scene, text, on_weekdays(*days), f"weekdays {days}")


@family("weekly_bare_list", 1)
def weekly_bare_list(scene: Scene) -> Draft | None:
    """Lunes, miércoles y viernes a las 7 de la tarde."""
    days = scene.pick(((0, 2, 4), (1, 3, 5), (0, 3, 5), (1, 4, 6), (0, 2, 4)))
    text = listed(scene, [weekday_name(scene, d) for d in days])
    return cron_phrase(scene, text, on_weekdays(*days), f"weekdays {list(days)}")


@family("workdays", 5)
def workdays(scene: Scene) -> Draft | None:
    """De lunes a viernes a las 8, every weekday at 8:30."""
    text = scene.say(
        ("de lunes a viernes", "de lunes a viernes", "entre semana", "lunes a viernes",
         "todos los días de lunes a viernes"),
        ("every weekday", "every weekday", "on weekdays", "weekdays", "monday to friday",
         "monday through friday", "from monday to friday", "mon-fri"),
    )  # fmt: skip
    return cron_phrase(scene, text, on_weekdays(0, 1, 2, 3, 4), "monday to friday")


@family("day_range", 2)
def day_range(scene: Scene) -> Draft | None:
    """De martes a sábado, from monday to thursday."""
    first, last = scene.pick(((0, 3), (1, 4), (1, 5), (0, 5), (2, 6), (3, 6), (1, 3)))
    a, b = weekday_name(scene, first), weekday_name(scene, last)
    text = scene.say(
        (f"de {a} a {b}", f"todas las semanas de {a} a {b}"),
        (f"from {a} to {b}", f"{a} to {b}", f"{a} through {b}", f"every day from {a} to {b}"),
    )
    return cron_phrase(scene, text, on_weekdays(*range(first, last + 1)), f"{a} to {b}")


@family("weekends", 2)
def weekends(scene: Scene) -> Draft | None:
    """Los fines de semana a las 11."""
    text = scene.say(
        ("los fines de semana", "todos los fines de semana", "los sábados y domingos"),
        ("on weekends", "weekends", "every saturday and sunday"),
    )
    return cron_phrase(scene, text, on_weekdays(5, 6), "saturday and sunday")


@family("weekly_part", 2)
def weekly_part(scene: Scene) -> Draft | None:
    """Todos los viernes por la tarde a las 6, every friday night at 10."""
    part, weekday = scene.pick(PARTS), scene.rng.randrange(7)
    clock, name = part_clock(scene, part), weekday_name(scene, weekday)
    text = scene.say(
        (f"todos los {plural_es(name)} por la {part.es}", f"cada {name} por la {part.es}"),
        (f"every {name} {part.en}",),
    )
    said = f"{text} {say_in_part(scene, clock)}"
    return recurring(scene, said, on_weekdays(weekday), clock, f"every {name}")


@family("month_day", 4)
def month_day(scene: Scene) -> Draft | None:
    """El 1 de cada mes a las 8, every month on the 15th at 9am."""
    number = scene.pick((1, 1, 5, 10, 15, 15, 20, 28, scene.rng.randrange(1, 29)))
    suffix = en_suffix(number)
    text = scene.say(
        (f"el {number} de cada mes", f"el día {number} de cada mes", f"cada mes el día {number}",
         f"todos los meses el día {number}"),
        (f"every month on the {suffix}", f"the {suffix} of every month",
         f"on the {suffix} of each month", f"monthly on the {suffix}"),
    )  # fmt: skip
    return cron_phrase(scene, text, lambda day: day.day == number, f"day {number} of each month")


NTH_ES = ("primer", "segundo", "tercer", "cuarto")
NTH_EN = (("first", "1st"), ("second", "2nd"), ("third", "3rd"), ("fourth", "4th"))


@family("nth_weekday", 5)
def nth_weekday(scene: Scene) -> Draft | None:
    """El primer lunes de cada mes a las 9."""
    nth, weekday = scene.rng.randrange(4), scene.rng.randrange(7)
    name, rank = weekday_name(scene, weekday), scene.pick((*NTH_EN[nth], NTH_EN[nth][0]))
    text = scene.say(
        (f"el {NTH_ES[nth]} {name} de cada mes", f"cada {NTH_ES[nth]} {name} de mes",
         f"cada mes el {NTH_ES[nth]} {name}"),
        (f"the {rank} {name} of every month", f"every {NTH_EN[nth][0]} {name} of the month",
         f"on the {rank} {name} of each month"),
    )  # fmt: skip

    def due(day: date) -> bool:
        return day.weekday() == weekday and (day.day - 1) // 7 == nth

    return cron_phrase(scene, text, due, f"{name} #{nth + 1}")


@family("last_weekday", 3)
def last_weekday(scene: Scene) -> Draft | None:
    """The last friday of every month at 17:00."""
    weekday = scene.rng.randrange(7)
    name = weekday_name(scene, weekday)
    text = scene.say(
        (f"el último {name} de cada mes", f"el último {name} de mes, todos los meses,"),
        (f"the last {name} of every month", f"every last {name} of the month",
         f"on the last {name} of each month"),
    )  # fmt: skip

    def due(day: date) -> bool:
        return day.weekday() == weekday and day.day + 7 > month_length(day)

    return cron_phrase(scene, text.rstrip(","), due, f"last {name}")


@family("last_day", 1)
def last_day(scene: Scene) -> Draft | None:
    """El último día de cada mes a las 18:00."""
    text = scene.say(
        ("el último día de cada mes",),
        ("the last day of every month", "on the last day of each month"),
    )
    return cron_phrase(scene, text, lambda day: day.day == month_length(day), "last day")


@family("yearly", 1)
def yearly(scene: Scene) -> Draft | None:
    """Every year on april 10 at 9am."""
    target = scene.day(scene.rng.randrange(1, 365))
    if feb29(target):
        return None
    month, number = month_name(scene, target.month, 0), target.day
    text = scene.say(
        (f"todos los años el {number} de {month}", f"cada año el {number} de {month}",
         f"cada {number} de {month}"),
        (f"every year on {month} {number}", f"every {month} {en_suffix(number)}"),
    )  # fmt: skip

    def due(day: date) -> bool:
        return (day.month, day.day) == (target.month, target.day)

    return cron_phrase(scene, text, due, f"{number}/{target.month} each year", 3)


@family("recurring_time_first", 3)
def recurring_time_first(scene: Scene) -> Draft | None:
    """A las 9 todos los días, at 5pm every friday."""
    clock, weekday = pick_clock(scene), scene.rng.randrange(7)
    name = weekday_name(scene, weekday)
    options: list[tuple[str, Callable[[date], bool]]] = [
        (scene.say(("todos los días", "cada día"), ("every day", "each day")), every_day),
        (scene.say((f"todos los {plural_es(name)}",), (f"every {name}",)), on_weekdays(weekday)),
        (scene.say(("de lunes a viernes",), ("every weekday",)), on_weekdays(0, 1, 2, 3, 4)),
    ]
    text, due = scene.pick(options)
    said = f"{say_clock(scene, clock, 'later')} {text}"
    return recurring(scene, said, due, clock, "time first")


@family("on_the_hour", 0.7)
def on_the_hour(scene: Scene) -> Draft | None:
    """Cada hora en punto: at minute zero, so a cron and no interval."""
    spanish = ("cada hora en punto", "todas las horas en punto")
    text = scene.say(spanish, ("every hour on the hour",))
    clocks = [Clock(hour, 0) for hour in range(24)]
    fires = collect_fires(scene, every_day, clocks)
    return Draft(text, "cron", fires=fires, note="minute 0 of each hour") if fires else None


# --- recurring: intervals ----------------------------------------------------------------------


@family("every_number", 6)
def every_number(scene: Scene) -> Draft | None:
    """Cada 2 horas, every 15 minutes."""
    size = scene.pick((60, 60, 3600))
    common = {60: (2, 5, 10, 15, 20, 30, 45, 90), 3600: (2, 3, 4, 6, 8, 12, 24)}[size]
    number = scene.pick(common) if scene.chance(0.8) else scene.rng.randrange(2, 60)
    unit = unit_word(scene, number, size)
    lead_word = scene.say(("cada",), ("every", "every", "every", "each"))
    text = f"{lead_word} {count_word(scene, number, size == 3600)} {unit}"
    return interval(text, number * size)


@family("every_one", 2)
def every_one(scene: Scene) -> Draft | None:
    """Cada hora, every minute."""
    options = (
        (("cada hora", 3600), ("cada hora", 3600), ("todas las horas", 3600), ("cada minuto", 60),
         ("cada 1 hora", 3600), ("cada una hora", 3600))
        if scene.es
        else (("every hour", 3600), ("each hour", 3600), ("hourly", 3600), ("every minute", 60),
              ("every 1 hour", 3600), ("every one hour", 3600), ("every other hour", 7200))
    )  # fmt: skip
    return interval(*scene.pick(options))


@family("every_fraction", 2)
def every_fraction(scene: Scene) -> Draft | None:
    """Cada media hora, every hour and a half."""
    options = (
        (("cada media hora", 1800), ("cada cuarto de hora", 900), ("cada hora y media", 5400),
         ("cada tres cuartos de hora", 2700), ("cada dos horas y media", 9000))
        if scene.es
        else (("every half hour", 1800), ("every half an hour", 1800),
              ("every quarter of an hour", 900), ("every hour and a half", 5400),
              ("every two and a half hours", 9000))
    )  # fmt: skip
    return interval(*scene.pick(options))


@family("every_compact", 1)
def every_compact(scene: Scene) -> Draft | None:
    """Every 2h, cada 90m."""
    hours, minutes = scene.rng.randrange(1, 13), scene.pick((5, 10, 15, 20, 30, 45, 90))
    word = scene.say(("cada",), ("every",))
    options = (
        (f"{hours}h", hours * 3600),
        (f"{minutes}m", minutes * 60),
        (f"{minutes}min", minutes * 60),
        (f"{hours}h30m", hours * 3600 + 1800),
    )
    text, seconds = scene.pick(options)
    return interval(f"{word} {text}", seconds)
