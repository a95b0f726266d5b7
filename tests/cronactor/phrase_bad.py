"""Families of bad phrases: past, impossible, ambiguous, contradictory or not understood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, timedelta

from tests.cronactor.phrase_base import (
    PARTS,
    Builder,
    Clock,
    Draft,
    Family,
    Scene,
    count_word,
    drop_accents,
    en_number,
    en_suffix,
    es_number,
    es_prep,
    month_length,
    month_name,
    pick_clock,
    say_clock,
    twelve,
    weekday_name,
)

BAD: list[Family] = []


def bad_family(name: str, weight: float) -> Callable[[Builder], Builder]:
    """Put a builder on the list of bad families."""

    def register(build: Builder) -> Builder:
        BAD.append(Family(name, weight, build))
        return build

    return register


def wrong(text: str, why: str, *, plain: bool = False) -> Draft:
    """A phrase that must be an error."""
    return Draft(text, "error", note=why, plain=plain)


def some_time(scene: Scene) -> str:
    """A time of day that is clear in itself, with its preposition."""
    while True:
        clock = pick_clock(scene, "day")
        if clock.hour:
            return say_clock(scene, clock, "day")


def some_day(scene: Scene) -> str:
    """A day to come that is clear in itself."""
    name = weekday_name(scene, (scene.today.weekday() + scene.rng.randrange(1, 7)) % 7)
    return scene.say(
        ("mañana", "pasado mañana", f"el {name}", f"el próximo {name}"),
        ("tomorrow", "the day after tomorrow", f"on {name}", f"next {name}"),
    )


def some_date(scene: Scene, day: date) -> str:
    """A date with its month in words, without a year."""
    month = month_name(scene, day.month, 0)
    return scene.say(
        (f"el {day.day} de {month}",),
        (f"{month} {day.day}", f"the {en_suffix(day.day)} of {month}"),
    )


def fixed(scene: Scene, spanish: Sequence[str], english: Sequence[str], why: str) -> Draft:
    """One phrase of a fixed list; {t} stands for a clear time, {d} for a clear day."""
    text = scene.say(spanish, english)
    if "{t}" in text:
        text = text.replace("{t}", some_time(scene), 1)
    if "{d}" in text:
        text = text.replace("{d}", some_day(scene), 1)
    return wrong(text, why)


# --- past --------------------------------------------------------------------------------------


@bad_family("past_day", 4)
def past_day(scene: Scene) -> Draft | None:
    """Yesterday at 5pm, last friday at noon."""
    name = weekday_name(scene, scene.rng.randrange(7))
    spanish = ("ayer {t}", "anteayer {t}", f"el {name} pasado {{t}}", f"el pasado {name} {{t}}")
    english = ("yesterday {t}", "the day before yesterday {t}", f"last {name} {{t}}")
    return fixed(scene, (*spanish, "anoche {t}"), english, "past day")


@bad_family("past_today", 5)
def past_today(scene: Scene) -> Draft | None:
    """Hoy a las 8 de la mañana in the afternoon."""
    clock = pick_clock(scene, "day")
    if clock.hour == 0 or scene.instant(scene.today, clock) > scene.now - 4 * 3600:
        return None
    day = scene.say(("hoy", "hoy mismo"), ("today",))
    return wrong(f"{day} {say_clock(scene, clock, 'day')}", f"today {clock} is past")


@bad_family("past_part", 2)
def past_part(scene: Scene) -> Draft | None:
    """Esta mañana a las 8 in the evening."""
    hour = scene.rng.randrange(7, 11)
    if scene.wall.hour < hour + 4:
        return None
    text = scene.say((f"esta mañana a las {hour}",), (f"this morning at {hour}",))
    return wrong(text, "this morning is over")


@bad_family("past_date", 4)
def past_date(scene: Scene) -> Draft | None:
    """April 10, 2019 at 3pm."""
    day = scene.day(-scene.rng.randrange(3, 3000))
    month, time = month_name(scene, day.month), some_time(scene)
    text = scene.say(
        (f"el {day.day} de {month} de {day.year} {time}", f"{day:%d/%m/%Y} {time}"),
        (f"{month} {day.day}, {day.year} {time}", f"{day:%d/%m/%Y} {time}"),
    )
    return wrong(text, f"{day} is past")


@bad_family("past_iso", 2)
def past_iso(scene: Scene) -> Draft | None:
    """2024-01-01T10:00Z."""
    day = scene.day(-scene.rng.randrange(3, 3000))
    clock = Clock(scene.rng.randrange(24), scene.rng.randrange(60))
    tail = scene.pick(("", "Z", "+02:00", "-05:00", ":00"))
    return wrong(f"{day}T{str(clock)[:5]}{tail}", f"{day} is past", plain=True)


@bad_family("past_month", 1)
def past_month(scene: Scene) -> Draft | None:
    """The 3rd of this month, on the 20th."""
    if scene.today.day < 4:
        return None
    number = scene.rng.randrange(1, scene.today.day - 1)
    time = some_time(scene)
    text = scene.say(
        (f"el {number} de este mes {time}",), (f"the {en_suffix(number)} of this month {time}",)
    )
    return wrong(text, f"day {number} of this month is past")


@bad_family("past_relative", 3)
def past_relative(scene: Scene) -> Draft | None:
    """Two hours ago, hace media hora."""
    number = count_word(scene, scene.rng.randrange(2, 50))
    spanish = (f"hace {number} minutos", f"hace {number} días", "hace media hora", "hace una hora")
    english = (f"{number} minutes ago", f"{number} days ago", "half an hour ago", "an hour ago")
    return fixed(scene, spanish, english, "counts backwards")


# --- impossible --------------------------------------------------------------------------------

SHORT_MONTHS = (4, 6, 9, 11)


@bad_family("no_such_day", 5)
def no_such_day(scene: Scene) -> Draft | None:
    """31 de abril, february 30th, the 32nd."""
    month = scene.pick((*SHORT_MONTHS, 2, 0))
    number = {2: scene.pick((30, 31)), 0: scene.pick((32, 33, 40))}.get(month, 31)
    name = month_name(scene, month or scene.rng.randrange(1, 13), 0.05)
    year = str(scene.today.year + scene.rng.randrange(1, 4))
    time = some_time(scene)
    text = scene.say(
        (f"{number} de {name} {time}", f"el {number} de {name} {time}",
         f"el {number} de {name} de {year} {time}"),
        (f"{name} {number} {time}", f"the {en_suffix(number)} of {name} {time}",
         f"{name} {en_suffix(number)}, {year} {time}"),
    )  # fmt: skip
    return wrong(text, f"no day {number} in {name}")


@bad_family("no_such_number", 1)
def no_such_number(scene: Scene) -> Draft | None:
    """El día 32, the 0th."""
    number = scene.pick((32, 33, 45, 99, 0))
    time = some_time(scene)
    text = scene.say(
        (f"el día {number} {time}", f"el {number} de cada mes {time}"),
        (f"the {en_suffix(number)} {time}", f"every month on the {en_suffix(number)} {time}"),
    )
    return wrong(text, f"no day {number} in any month")


def common_year(scene: Scene) -> int:
    """A year to come without a leap day."""
    year = scene.today.year + scene.rng.randrange(1, 6)
    return year + 1 if year % 4 == 0 else year


@bad_family("no_leap_day", 2)
def no_leap_day(scene: Scene) -> Draft | None:
    """29 de febrero de 2027."""
    year, time = common_year(scene), some_time(scene)
    text = scene.say(
        (f"29 de febrero de {year} {time}", f"el 29 de febrero del {year} {time}"),
        (f"february 29, {year} {time}", f"29 february {year} {time}"),
    )
    return wrong(text, f"{year} has no leap day")


@bad_family("no_such_numeric", 4)
def no_such_numeric(scene: Scene) -> Draft | None:
    """31/04/2027, 2027-02-30T10:00."""
    year, hour = common_year(scene), scene.rng.randrange(13, 24)
    month, day = scene.pick(((4, 31), (6, 31), (2, 29), (2, 30), (11, 31), (1, 32), (0, 10)))
    mark = scene.pick("/-.")
    text = scene.pick(
        (
            f"{day:02}{mark}{month:02}{mark}{year} {hour}:00",
            f"{year}-{month:02}-{day:02}T{hour}:30",
            f"{year}-{month:02}-{day:02} {hour}:30",
            f"{year}-{month:02}-{day:02}T{hour}:30:00Z",
        )
    )
    return wrong(text, f"no day {day}/{month}", plain=True)


@bad_family("thirteenth_month", 1)
def thirteenth_month(scene: Scene) -> Draft | None:
    """10/13/2027 is day first and so impossible."""
    if not scene.es:
        return None
    year, month = common_year(scene), scene.rng.randrange(13, 32)
    return wrong(f"10/{month}/{year} 15:00", f"no month {month}", plain=True)


@bad_family("no_such_time", 6)
def no_such_time(scene: Scene) -> Draft | None:
    """25:00, a las 9:75, tomorrow at 26:30."""
    hour, minute = scene.rng.randrange(25, 48), scene.rng.randrange(60, 99)
    good, part = scene.rng.randrange(7, 24), scene.rng.randrange(0, 60)
    clock = scene.pick((f"{hour}:{part:02}", f"{good}:{minute}", f"{hour}:00", f"24:{minute}"))
    day = scene.pick(("", f"{some_day(scene)} "))
    text = day + scene.say(("a las ", "a las ", ""), ("at ", "at ", "")) + clock
    return wrong(text, f"no time {clock}")


@bad_family("no_such_hour", 3)
def no_such_hour(scene: Scene) -> Draft | None:
    """Mañana a las 26, at 27 o'clock."""
    hour = scene.rng.randrange(25, 60)
    number = (es_number(hour) if scene.es else en_number(hour)) if scene.chance(0.3) else str(hour)
    text = scene.say(
        (f"{{d}} a las {number}", f"a las {number}", f"a las {hour} de la tarde", f"a las {hour}h"),
        (f"{{d}} at {number}", f"at {number} o'clock", f"at {hour} pm", f"at {hour}pm"),
    )
    return wrong(text.replace("{d}", some_day(scene)), f"no hour {hour}")


@bad_family("no_such_second", 1)
def no_such_second(scene: Scene) -> Draft | None:
    """Tomorrow at 17:30:75."""
    clock = f"{scene.rng.randrange(13, 24)}:{scene.rng.randrange(60):02}"
    day = scene.say(("mañana a las",), ("tomorrow at",))
    return wrong(f"{day} {clock}:{scene.rng.randrange(61, 99)}", "no such second")


@bad_family("zero_or_negative", 5)
def zero_or_negative(scene: Scene) -> Draft | None:
    """Cada 0 minutos, en -5 minutos."""
    number = scene.rng.randrange(1, 60)
    spanish = (
        "cada 0 minutos", "cada cero horas", f"cada -{number} minutos", f"en -{number} minutos",
        f"dentro de -{number} horas", f"en menos {number} minutos", "cada 0 h",
        f"dentro de -{number} días",
    )  # fmt: skip
    english = (
        "every 0 minutes", "every zero hours", f"every -{number} minutes", f"in -{number} minutes",
        f"in -{number} hours", f"in minus {number} minutes", "every 0h", f"in -{number} days",
    )  # fmt: skip
    return fixed(scene, spanish, english, "not a positive length of time")


@bad_family("wrong_weekday", 6)
def wrong_weekday(scene: Scene) -> Draft | None:
    """Lunes 10 de abril de 2026, a Friday."""
    day = scene.day(scene.rng.randrange(2, 300))
    name = weekday_name(scene, (day.weekday() + scene.rng.randrange(1, 7)) % 7)
    month, number, year, time = (month_name(scene, day.month), day.day, day.year, some_time(scene))
    text = scene.say(
        (f"{name} {number} de {month} de {year} {time}", f"{name} {day:%d/%m/%Y} {time}",
         f"el {name} {number} de {month} de {year} {time}"),
        (f"{name}, {month} {number}, {year} {time}", f"{name} {day:%d/%m/%Y} {time}",
         f"on {name} {number} {month} {year} {time}"),
    )  # fmt: skip
    return wrong(text, f"{day} is no {name}")


@bad_family("too_far", 1)
def too_far(scene: Scene) -> Draft | None:
    """In 99999999999 hours."""
    zeros = "0" * scene.rng.randrange(9, 30)
    return fixed(
        scene,
        (f"en 1{zeros} horas", f"dentro de 5{zeros} días"),
        (f"in 1{zeros} hours", f"in 5{zeros} days"),
        "beyond any calendar",
    )


@bad_family("odd_numbers", 2)
def odd_numbers(scene: Scene) -> Draft | None:
    """In NaN hours, en 1,2,3 horas."""
    return fixed(
        scene,
        ("en nan horas", "en inf minutos", "en infinitos minutos", "en 1,2,3 horas",
         "en 5.5.5 horas", "cada nan minutos", "en 1/0 horas", "en 0x10 minutos"),
        ("in nan hours", "in inf minutes", "in infinite minutes", "in 1.2.3 hours",
         "every nan minutes", "in 1/0 hours", "in 0x10 minutes", "in 5..5 hours"),
        "not a number",
    )  # fmt: skip


@bad_family("never_fires", 2)
def never_fires(scene: Scene) -> Draft | None:
    """El 31 de febrero de cada año, the sixth monday of every month."""
    name = weekday_name(scene, scene.rng.randrange(7))
    return fixed(
        scene,
        ("todos los años el 31 de febrero {t}", "cada 31 de abril {t}", "cada 30 de febrero {t}",
         f"el sexto {name} de cada mes {{t}}", f"el séptimo {name} de cada mes {{t}}"),
        ("every year on february 31 {t}", "every april 31st {t}", "every february 30th {t}",
         f"the sixth {name} of every month {{t}}", f"the 7th {name} of every month {{t}}"),
        "a recurrence that never happens",
    )  # fmt: skip


@bad_family("recurring_no_such_time", 2)
def recurring_no_such_time(scene: Scene) -> Draft | None:
    """Every monday at 25:00."""
    hour, minute = scene.rng.randrange(25, 60), scene.rng.randrange(60, 99)
    name = weekday_name(scene, scene.rng.randrange(7))
    clock = scene.pick((f"{hour}:00", f"9:{minute}", str(hour)))
    text = scene.say(
        (f"cada {name} a las {clock}", f"todos los días a las {clock}"),
        (f"every {name} at {clock}", f"every day at {clock}"),
    )
    return wrong(text, f"no time {clock}")


# --- ambiguous ---------------------------------------------------------------------------------


def recurring_day(scene: Scene) -> str:
    """A day phrase that recurs."""
    name = weekday_name(scene, scene.rng.randrange(7))
    return scene.say(
        ("todos los días", f"cada {name}", "de lunes a viernes", "el 1 de cada mes"),
        ("every day", f"every {name}", "every weekday", "on the 1st of every month"),
    )


def maybe_day(scene: Scene) -> str:
    """Nothing, a day or a recurring day, in front of a time."""
    return scene.pick(
        ("", f"{some_day(scene)} ", f"{some_day(scene)} ", f"{recurring_day(scene)} ")
    )


@bad_family("ambiguous_twelve", 4)
def ambiguous_twelve(scene: Scene) -> Draft | None:
    """Mañana a las 12."""
    said = scene.say(("a las 12", "a las doce", "a las 12"), ("at 12", "at twelve"))
    return wrong(maybe_day(scene) + said, "noon or midnight")


@bad_family("ambiguous_small", 7)
def ambiguous_small(scene: Scene) -> Draft | None:
    """Mañana a las 5, friday at 3."""
    hour = scene.rng.randrange(1, 7)
    word = es_number(hour, "una") if scene.es else en_number(hour)
    said = es_prep(scene.pick((str(hour), word))) if scene.es else f"at {scene.pick((hour, word))}"
    return wrong(maybe_day(scene) + said, f"{hour} in the morning or the afternoon")


@bad_family("ambiguous_small_minutes", 4)
def ambiguous_small_minutes(scene: Scene) -> Draft | None:
    """Mañana a las 5 y media, friday at quarter past three."""
    hour = scene.rng.randrange(1, 6)
    es_word, en_word = es_number(hour, "una"), en_number(hour)
    minute = scene.pick((10, 15, 20, 30, 45))
    text = scene.say(
        (es_prep(f"{hour}:{minute}"), es_prep(f"{hour} y media"), es_prep(f"{es_word} y cuarto"),
         es_prep(f"{es_number(hour + 1)} menos cuarto")),
        (f"at {hour}:{minute}", f"at half past {en_word}", f"at quarter past {hour}",
         f"at a quarter to {en_number(hour + 1)}"),
    )  # fmt: skip
    return wrong(maybe_day(scene) + text, f"{hour} in the morning or the afternoon")


@bad_family("ambiguous_h", 3)
def ambiguous_h(scene: Scene) -> Draft | None:
    """15h: a time or a length of time."""
    hour = scene.rng.randrange(1, 24)
    return wrong(scene.pick((f"{hour}h", f"{hour} h")), "a time or a length of time")


@bad_family("no_unit", 2)
def no_unit(scene: Scene) -> Draft | None:
    """En 5, every 10."""
    number = count_word(scene, scene.rng.randrange(2, 60))
    return fixed(
        scene,
        (f"en {number}", f"dentro de {number}", f"cada {number}", "en media", "cada media"),
        (f"in {number}", f"every {number}", f"{number} from now", "in half", "every half"),
        "no unit",
    )


@bad_family("vague", 5)
def vague(scene: Scene) -> Draft | None:
    """Later, en un rato."""
    return fixed(
        scene,
        ("luego", "más tarde", "en un rato", "dentro de un rato", "cuando puedas", "pronto",
         "en unos minutos", "en unas horas", "dentro de unos días", "algún día", "un día de estos",
         "a primera hora", "mañana a primera hora", "a última hora", "de vez en cuando",
         "a menudo", "en breve", "a la hora de comer", "cuando llegue a casa", "en varios días"),
        ("later", "soon", "in a while", "in a bit", "when you can", "in a few minutes",
         "in some hours", "in several days", "some day", "one of these days", "first thing",
         "first thing tomorrow", "end of day", "from time to time", "often", "shortly",
         "at lunchtime", "when i get home", "sometime tomorrow", "every now and then"),
        "vague",
    )  # fmt: skip


@bad_family("no_time", 3)
def no_time(scene: Scene) -> Draft | None:
    """El viernes, tomorrow morning: a day without a time."""
    name = weekday_name(scene, scene.rng.randrange(7))
    part, day = scene.pick(PARTS), scene.day(scene.rng.randrange(2, 200))
    dated = some_date(scene, day)
    return fixed(
        scene,
        (f"el {name}", f"el próximo {name}", f"mañana por la {part.es}", "esta noche", dated,
         f"el {name} por la {part.es}", f"todos los {name}" if name.endswith("s") else "el lunes",
         "la semana que viene", "el mes que viene", "entre semana", "el día 15"),
        (f"on {name}", f"next {name}", f"tomorrow {part.en}", "tonight", dated, "next week",
         f"{name} {part.en}", f"every {name}", "next month", "on weekdays", "the 15th"),
        "no time of day",
    )  # fmt: skip


# --- two of a kind, contradictions -------------------------------------------------------------


@bad_family("two_times", 5)
def two_times(scene: Scene) -> Draft | None:
    """Tomorrow at 5pm or 6pm."""
    first, second = scene.rng.sample(range(13, 24), 2)
    low, high = min(first, second), max(first, second)
    early, late = twelve(low), twelve(high)
    return fixed(
        scene,
        (f"{{d}} a las {first}:00 a las {second}:00", f"a las {low}:00 o a las {high}:00",
         f"{{d}} a las {low}:30 o {high}:30", f"entre las {low}:00 y las {high}:00",
         f"{{d}} de {low}:00 a {high}:00", f"en 10 minutos a las {low}:00",
         f"{{d}} a las {low}:00 y a las {high}:00", f"a las {low}:00 dentro de 2 horas"),
        (f"{{d}} at {first}:00 at {second}:00", f"at {early}pm or {late}pm",
         f"{{d}} at {early}pm or {late}pm", f"between {early}pm and {late}pm",
         f"{{d}} from {early}pm to {late}pm", f"in 10 minutes at {early}pm",
         f"{{d}} at {early}pm and at {late}pm", f"at {early}pm in 2 hours"),
        "two times",
    )  # fmt: skip


@bad_family("two_days", 4)
def two_days(scene: Scene) -> Draft | None:
    """El viernes o el sábado, today tomorrow."""
    a, b = (weekday_name(scene, d) for d in scene.rng.sample(range(7), 2))
    return fixed(
        scene,
        (f"el {a} o el {b} {{t}}", "hoy y mañana {t}", "mañana o pasado {t}",
         f"mañana el {a} {b} {{t}}",
         f"el {a} {b} {{t}}", "el 10 de abril 11 de mayo {t}", "10/05/2030 11/06/2030 {t}",
         "ayer mañana {t}"),
        (f"on {a} or {b} {{t}}", "today and tomorrow {t}", "tomorrow or the day after {t}",
         f"on {a} {b} {{t}}", "april 10 may 11 {t}", "10/05/2030 11/06/2030 {t}",
         f"next {a} next {b} {{t}}", "yesterday tomorrow {t}"),
        "two days",
    )  # fmt: skip


@bad_family("wrong_half", 6)
def wrong_half(scene: Scene) -> Draft | None:
    """A las 15:00 de la mañana, at 3pm in the morning."""
    late, early = scene.rng.randrange(15, 24), scene.rng.randrange(8, 11)
    dial, minute = twelve(late), scene.pick((0, 15, 30))
    day = scene.pick(("", f"{some_day(scene)} "))
    text = scene.say(
        (f"a las {late}:{minute:02} de la mañana", f"a las {late} de la madrugada",
         f"a las {dial}pm de la mañana", f"a las {early}am de la noche", f"a las {late}:00 am",
         f"a las {early} am de la tarde", f"a las {early} am pm"),
        (f"at {dial}pm in the morning", f"at {early}am in the evening", f"at {late}:{minute:02} am",
         f"at {early}am at night", f"at {late}:00 in the morning", f"at {early}am in the afternoon",
         f"at {early} am pm"),
    )  # fmt: skip
    return wrong(day + text, "the parts contradict each other")


@bad_family("wrong_part", 4)
def wrong_part(scene: Scene) -> Draft | None:
    """Esta noche a las 9 de la mañana, tomorrow morning at 6pm."""
    late, early = scene.rng.randrange(15, 22), scene.rng.randrange(8, 11)
    dial = twelve(late)
    name = weekday_name(scene, scene.rng.randrange(7))
    return fixed(
        scene,
        (f"esta noche a las {early} de la mañana", f"mañana por la mañana a las {late}:00",
         f"mañana por la mañana a las {dial} de la tarde", f"mañana por la tarde a las {early}am",
         f"el {name} por la noche a las {early} de la mañana", f"todas las mañanas a las {late}:00",
         "mañana por la mañana por la noche a las 9"),
        (f"tonight at {early}am", f"tomorrow morning at {dial}pm", f"tomorrow night at {early}am",
         f"{name} evening at {early} in the morning", f"every morning at {late}:00",
         f"this afternoon at {early}am", "tomorrow morning night at 9"),
        "the part and the time contradict each other",
    )  # fmt: skip


@bad_family("noon_and_time", 1)
def noon_and_time(scene: Scene) -> Draft | None:
    """Tomorrow at noon at 3pm."""
    hour = scene.rng.randrange(5, 9)
    return fixed(
        scene,
        (f"{{d}} a mediodía a las {hour} de la tarde", f"{{d}} al mediodía a las {hour + 12}:00"),
        (f"{{d}} at noon at {hour}pm", f"{{d}} at {hour}pm at noon"),
        "noon and another time",
    )


@bad_family("once_and_recurring", 4)
def once_and_recurring(scene: Scene) -> Draft | None:
    """Every monday tomorrow at 9am, cada 2 horas a las 9am."""
    name = weekday_name(scene, scene.rng.randrange(7))
    return fixed(
        scene,
        (f"cada {name} pasado mañana {{t}}", "todos los días el 10 de abril {t}",
         "cada 2 horas {t}",
         "cada día en 5 minutos", "cada 15 minutos mañana {t}", "cada minuto ayer",
         "todos los días pasado mañana {t}", "cada hora dentro de 3 días"),
        (f"every {name} tomorrow {{t}}", "every day on april 10 {t}", "every 2 hours {t}",
         "every day in 5 minutes", "every 15 minutes tomorrow {t}", "every minute yesterday",
         "every day the day after tomorrow {t}", "every hour in 3 days"),
        "once and recurring",
    )  # fmt: skip


@bad_family("today_wrong_weekday", 2)
def today_wrong_weekday(scene: Scene) -> Draft | None:
    """Mañana viernes a las 18:00, when tomorrow is no Friday."""
    real = (scene.today + timedelta(days=1)).weekday()
    name = weekday_name(scene, (real + scene.rng.randrange(1, 7)) % 7)
    return fixed(
        scene,
        (f"mañana {name} {{t}}", f"mañana, {name}, {{t}}"),
        (f"tomorrow {name} {{t}}", f"tomorrow, {name}, {{t}}"),
        f"tomorrow is no {name}",
    )


@bad_family("day_wrong_weekday", 2)
def day_wrong_weekday(scene: Scene) -> Draft | None:
    """Monday the 15th, when no near 15th is a Monday."""
    number = scene.rng.randrange(1, 29)
    firsts = [scene.day(ahead) for ahead in range(-40, 75)]
    near = {day.weekday() for day in firsts if day.day == number}
    name = weekday_name(scene, scene.pick([d for d in range(7) if d not in near]))
    return fixed(
        scene,
        (f"el {name} {number} de este mes {{t}}", f"el {name} {number} del mes que viene {{t}}"),
        (f"{name} the {en_suffix(number)} of this month {{t}}",
         f"{name} the {en_suffix(number)} of next month {{t}}"),
        f"no near {number} is a {name}",
    )  # fmt: skip


# --- more than the answer can hold -------------------------------------------------------------


@bad_family("every_other", 4)
def every_other(scene: Scene) -> Draft | None:
    """Every other monday: neither a cron nor an interval."""
    name = weekday_name(scene, scene.pick((0, 1, 2, 3, 4)))
    return fixed(
        scene,
        (f"un {name} sí y otro no {{t}}", f"cada dos {name} {{t}}", f"cada tres {name} {{t}}",
         f"uno de cada dos {name} {{t}}", f"{name} alternos {{t}}"),
        (f"every other {name} {{t}}", f"every third {name} {{t}}", f"every second {name} {{t}}",
         f"alternate {name}s {{t}}", f"biweekly on {name} {{t}}"),
        "no cron says every other week",
    )  # fmt: skip


@bad_family("exceptions", 3)
def exceptions(scene: Scene) -> Draft | None:
    """Every weekday except holidays: a rider that must not be dropped."""
    name = weekday_name(scene, scene.rng.randrange(7))
    return fixed(
        scene,
        ("todos los días menos los festivos {t}", "de lunes a viernes excepto festivos {t}",
         f"cada {name} hasta junio {{t}}", f"cada {name} a partir de mayo {{t}}",
         "todos los días {t} durante una semana", "cada 2 horas hasta las 20:00",
         f"cada {name} {{t}} salvo si llueve", "cada hora tres veces"),
        ("every day except holidays {t}", "every weekday but not on holidays {t}",
         f"every {name} until june {{t}}", f"every {name} starting in may {{t}}",
         "every day {t} for a week", "every 2 hours until 8pm",
         f"every {name} {{t}} unless it rains", "every hour three times"),
        "a condition the answer cannot hold",
    )  # fmt: skip


@bad_family("modifiers", 4)
def modifiers(scene: Scene) -> Draft | None:
    """Before friday at 5pm, not tomorrow at 9am."""
    hour = scene.rng.randrange(13, 23)
    return fixed(
        scene,
        ("no {d} {t}", "antes de {d} {t}", f"después de las {hour}:00", f"antes de las {hour}:00",
         "nunca {t}", f"desde las {hour}:00", "menos {d} {t}",
         f"{{d}} no a las {hour}:00"),
        ("not {d} {t}", "before {d} {t}", f"after {hour}:00", f"before {hour}:00", "never {t}",
         f"since {hour}:00", "except {d} {t}", f"{{d}} not at {hour}:00"),
        "a word that turns the meaning",
    )  # fmt: skip


# --- noise and near misses ---------------------------------------------------------------------

NOUNS_ES = ("patata", "zapato", "zanahoria", "farola", "paraguas", "mesa azul", "xyzzy", "gato")
NOUNS_EN = ("banana", "shoe", "carrot", "lamppost", "umbrella", "blue table", "xyzzy", "cat")


@bad_family("noise_words", 6)
def noise_words(scene: Scene) -> Draft | None:
    """Tomorrow banana at 9am."""
    noun = scene.say(NOUNS_ES, NOUNS_EN)
    number = scene.rng.randrange(2, 30)
    return fixed(
        scene,
        (f"{{d}} {noun} {{t}}", f"{{d}} {{t}} {noun}", f"{noun} {{t}}", f"cada {noun} {{t}}",
         f"en {number} {noun}", f"cada {number} {noun}", f"en {number} {noun} minutos"),
        (f"{{d}} {noun} {{t}}", f"{{d}} {{t}} {noun}", f"{noun} {{t}}", f"every {noun} {{t}}",
         f"in {number} {noun}", f"every {number} {noun}", f"in {number} {noun} minutes"),
        f"noise: {noun}",
    )  # fmt: skip


@bad_family("nonsense", 2)
def nonsense(scene: Scene) -> Draft | None:
    """No time at all."""
    letters = "".join(scene.pick("bcdfghjklmnpqrstvwxz") for _ in range(scene.rng.randrange(3, 30)))
    digits = str(scene.rng.randrange(10**5, 10**9))
    options = (
        "", " ", "\n\t", "???", "🦄", ":", "--", "a las", "at", "cada", "every", "in", "en", "el",
        "the", "de la tarde", "pm", "am", "* * *", "hola", "hello", letters, digits, "@", "Z", "T",
        "para", "por favor", "please", "del", "of", "//", "+02:00", "null", "None", "true",
    )  # fmt: skip
    return wrong(scene.pick(options), "says no time", plain=True)


@bad_family("hostile", 2)
def hostile(scene: Scene) -> Draft | None:
    """Control characters, repeated words, very long text."""
    good = scene.say(("mañana a las 18:00",), ("tomorrow at 6pm",))
    times = scene.rng.randrange(20, 400)
    options = (
        good + "\x00", "\x00" + good, f"{good} " * times, good + "\x1b[31m", "9" * times,
        good + "; drop table reminders", good + " && reboot", "(" * times, f"{good}\nhola",
        "%s " + good, "../../etc/passwd",
    )  # fmt: skip
    return wrong(scene.pick(options), "hostile", plain=True)


@bad_family("torn_digits", 5)
def torn_digits(scene: Scene) -> Draft | None:
    """A las 9:3, at 10:l5, 2026-4-1O: digits that could be several times."""
    hour, tail, year = scene.rng.randrange(13, 24), scene.rng.randrange(1, 6), scene.today.year + 1
    day = scene.say(("mañana a las", "a las"), ("tomorrow at", "at"))
    clock = scene.pick(
        (f"{hour}:{tail}", f"1O:3{tail}", f"{hour}::3{tail}", f"{hour}:l{tail}", f"{hour}:3{tail}0",
         f"{hour}0:3{tail}", f":{hour}", f"{hour}:-3{tail}",
         f"-{hour}:3{tail}", f"{hour}:3{tail}:1:1", f"{hour};;3{tail}")
    )  # fmt: skip
    dated = scene.pick(
        (f"10/04/{year}{tail} 15:00", f"10/04/{year // 10} 15:00",
         f"{year}{tail}-04-10 15:00", f"10//04/{year} 15:00", f"{year}-04-1O 15:00",
         f"{year}-04-10T15:0", f"{year}-04-10T15:00+99:00", f"10/04/{year}/3 15:00",
         f"{year}-04-10T15:00+", f"{year}-04-10TT15:00", f"{year}-04-10T15:00:00ZZ")
    )  # fmt: skip
    text = f"{day} {clock}" if scene.chance(0.6) else dated
    return wrong(text, "torn digits", plain=True)


@bad_family("typos", 5)
def typos(scene: Scene) -> Draft | None:
    """On thuesday, el 10 de ju: misspellings with two good corrections."""
    return fixed(
        scene,
        ("el 10 de ju {t}", "el 10 de jun-jul {t}", "el 5 de m {t}", "el 12 de ma {t}",
         "el 7 de a {t}", "el m {t}", "el juevernes {t}", "el lurtes {t}",
         "el mierkoles o jueves {t}", "mañana a las sesi de la tarde", "a las dose y treso",
         "en 5 mi", "en 3 ms", "cada 2 ho ras minutos", "el 4 de octiembre {t}",
         "a las ocho y ocho y media de la tarde", "el 3 de novbre-dic {t}"),
        ("on thuesday {t}", "on tursday {t}", "on t {t}", "on s {t}", "the 10th of ju {t}",
         "the 5th of m {t}", "the 12th of ma {t}", "on a {t}", "on sunmonday {t}", "on satsun {t}",
         "at fivteen o clock thirty pm", "in 3 mi", "in 5 ms", "every 2 ho urs minutes",
         "the 4th of octember {t}", "at eight and eight thirty pm", "at tweven pm",
         "the 3rd of jully-june {t}"),
        "a near miss with more than one correction",
    )  # fmt: skip


@bad_family("swapped_words", 3)
def swapped_words(scene: Scene) -> Draft | None:
    """Las a tarde 5 de la: the right words in no order."""
    hour = scene.rng.randrange(2, 8)
    words = (
        ["a", "las", str(hour), "de", "la", "tarde", "del", "próximo", "viernes"]
        if scene.es
        else ["at", "half", "past", str(hour), "in", "the", "afternoon", "on", "friday"]
    )
    scene.rng.shuffle(words)
    text, n = " ".join(words), hour
    sense = (f"las {n}", f"{n} de la", f"at {n}", f"past {n}", f"half {n}", f"{n} in", f"the {n}")
    return None if any(part in text for part in sense) else wrong(text, "words in no order")


@bad_family("other_language", 3)
def other_language(scene: Scene) -> Draft | None:
    """Demain à 9h, morgen um 9 Uhr."""
    hour = scene.rng.randrange(13, 23)
    options = (
        f"demain à {hour}h", f"morgen um {hour} Uhr", f"amanhã às {hour}h", f"demà a les {hour}:00",
        f"domani alle {hour}:00", f"vrijdag om {hour}:00", f"lundi à {hour}:00",
        f"jeden Montag um {hour}:00", "dans une heure", "in einer Stunde", "tra un'ora",
        f"mañá ás {hour}:00", f"bihar {hour}:00etan", f"завтра в {hour}:00", f"明日{hour}時",
        "chaque lundi à 9h", "tous les jours à 9h", "jeden Tag um 9 Uhr", "tutti i lunedì alle 9",
    )  # fmt: skip
    text = scene.pick(options)
    return wrong(drop_accents(text) if scene.chance(0.15) else text, "another language")


@bad_family("bad_units", 2)
def bad_units(scene: Scene) -> Draft | None:
    """In 5 fortnightlies, cada 3 lunas."""
    number = count_word(scene, scene.rng.randrange(2, 20))
    return fixed(
        scene,
        (f"en {number} lunas", f"cada {number} lustros y pico", f"dentro de {number} instantes",
         f"en {number} veces", f"cada {number} ratos", f"en {number} kilómetros"),
        (f"in {number} moons", f"every {number} moments", f"in {number} jiffies",
         f"in {number} times", f"every {number} whiles", f"in {number} miles"),
        "no such unit",
    )  # fmt: skip


@bad_family("last_day_over", 1)
def last_day_over(scene: Scene) -> Draft | None:
    """El 31 de este mes in a month of thirty days."""
    if month_length(scene.today) == 31:
        return None
    return fixed(
        scene, ("el 31 de este mes {t}",), ("the 31st of this month {t}",), "this month has no 31st"
    )
