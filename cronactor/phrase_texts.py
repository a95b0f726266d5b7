"""Every sentence about a phrase that is no clear moment, in Spanish and English."""

from __future__ import annotations

__all__ = ["PHRASES"]

PHRASES: dict[str, tuple[str, str]] = {
    "phrase_unknown": (
        "no entiendo {text!r} como momento; escribe por ejemplo `15:00`, `el viernes a las 17:00`, "
        "`en 30 minutos`, `mañana a las 9` o un cron como `0 9 * * 1`",
        "cannot read {text!r} as a time; write for example `15:00`, `on friday at 17:00`, "
        "`in 30 minutes`, `tomorrow at 9` or a cron expression like `0 9 * * 1`",
    ),
    "phrase_empty": (
        "falta el momento; escribe por ejemplo `15:00` o `en 30 minutos`",
        "the time is missing; write for example `15:00` or `in 30 minutes`",
    ),
    "phrase_long": (
        "el momento tiene {n} caracteres y el máximo es {limit}; escribe solo el momento, por "
        "ejemplo `mañana a las 9`",
        "the time has {n} characters, the most is {limit}; write only the time, for example "
        "`tomorrow at 9`",
    ),
    "phrase_char": (
        "el momento contiene el carácter {char}, que no puede estar ahí; escribe por ejemplo "
        "`mañana a las 9`",
        "the time contains the character {char}, which cannot be there; write for example "
        "`tomorrow at 9`",
    ),
    "phrase_past": (
        "{said} ya pasó (ahora es {now}); escribe un momento futuro, por ejemplo {instead}",
        "{said} has already passed (it is now {now}); write a future time, for example {instead}",
    ),
    "phrase_twelve": (
        "`las 12` puede ser mediodía o medianoche; escribe `12:00` o `00:00` (con el día)",
        "`12` may be noon or midnight; write `12:00` or `00:00` (with the day)",
    ),
    "phrase_hour": (
        "`las {hour}` puede ser por la mañana o por la noche; escribe {morning} o {evening}",
        "`{hour}` may be in the morning or in the evening; write {morning} or {evening}",
    ),
    "phrase_hours": (
        "{text!r} puede ser una hora del día o una duración; escribe {clock} o {duration}",
        "{text!r} may be a time of day or a duration; write {clock} or {duration}",
    ),
    "phrase_midnight": (
        "no está claro a qué día pertenece esa medianoche; escribe la fecha y `00:00`",
        "it is not clear which day that midnight belongs to; write the date and `00:00`",
    ),
    "phrase_part": (
        "{hour} no encaja con {part!r}; escribe la hora de 0 a 23, por ejemplo `15:00`",
        "{hour} does not fit {part!r}; write the hour from 0 to 23, for example `15:00`",
    ),
    "phrase_impossible": (
        "{said} no existe; escribe una fecha del calendario y una hora de 00:00 a 23:59, por "
        "ejemplo `mañana a las 15:00`",
        "{said} does not exist; write a date of the calendar and a time from 00:00 to 23:59, for "
        "example `tomorrow at 15:00`",
    ),
    "phrase_no_time": (
        "falta la hora; escribe por ejemplo `{text} a las {hour}:00`",
        "the time of day is missing; write for example `{text} at {hour}:00`",
    ),
    "phrase_which_day": (
        "{text!r} no dice qué día; escribe el día y la hora, por ejemplo {instead}",
        "{text!r} does not say which day; write the day and the time, for example {instead}",
    ),
    "phrase_either": (
        "{text!r} puede ser dos días; escribe {one} o {other}",
        "{text!r} may be two days; write {one} or {other}",
    ),
    "phrase_weekday": (
        "{date} es {real} y no {said}; escribe solo la fecha o solo el día de la semana, con la "
        "hora, por ejemplo `el lunes a las 9:00`",
        "{date} is a {real} and no {said}; write only the date or only the day of the week, with "
        "the time, for example `on monday at 9:00`",
    ),
    "phrase_days_differ": (
        "{text!r} nombra dos días distintos; escribe uno solo, por ejemplo `mañana a las 9:00`",
        "{text!r} names two different days; write only one, for example `tomorrow at 9:00`",
    ),
    "phrase_day_first": (
        "{said} no existe: primero va el día y luego el mes; escribe {instead} si era eso",
        "{said} does not exist: the day stands first, then the month; write {instead} if you meant "
        "that",
    ),
    "phrase_short_month": (
        "{missing} no existe, ese mes es más corto; escribe la fecha, por ejemplo {instead}",
        "{missing} does not exist, that month is shorter; write the date, for example {instead}",
    ),
    "phrase_every_days": (
        "{text!r}: eso no se puede repetir con exactitud; escribe los días, por ejemplo `todos los "
        "lunes y jueves a las 9:00`, o {instead}",
        "{text!r} cannot be repeated exactly; write the days, for example `every monday and "
        "thursday at 9:00`, or {instead}",
    ),
    "phrase_some_days": (
        "{text!r} no dice si es solo una vez o cada semana; escribe {instead}, o un recordatorio "
        "por cada día",
        "{text!r} does not say whether it is once or every week; write {instead}, or one reminder "
        "for each day",
    ),
    "phrase_rare_day": (
        "no todos los meses tienen día {day}; escribe por ejemplo {instead} o un cron como "
        "`0 9 {day} * *`, que salta los demás",
        "not every month has a day {day}; write for example {instead} or a cron expression like "
        "`0 9 {day} * *`, which skips the others",
    ),
    "phrase_list": (
        "{text!r} puede ser una hora o dos; escribe {one}, o las dos como {other}",
        "{text!r} may be one time or two; write {one}, or both, the later as {other}",
    ),
    "phrase_times": (
        "{text!r}: esas horas no caben en una sola repetición; crea una por cada hora, por ejemplo "
        "`todos los días a las 9:00`",
        "{text!r}: these times do not fit into one repetition; make one for each time, for example "
        "`every day at 9:00`",
    ),
    "phrase_seconds": (
        "{text!r}: lo que se repite va en minutos enteros; escribe por ejemplo `todos los días a "
        "las 9:00`",
        "{text!r}: what repeats goes by whole minutes; write for example `every day at 9:00`",
    ),
    "phrase_fraction": (
        "{text!r}: los días y semanas van enteros; escribe por ejemplo {instead}",
        "{text!r}: days and weeks must be whole; write for example {instead}",
    ),
    "phrase_far": (
        "eso queda a más de {years} años; escribe un momento más cercano",
        "that is more than {years} years away; write a nearer time",
    ),
    "shift_gap": (
        "esa hora no existe ese día por el cambio de hora: se toma {when}",
        "that time does not exist on that day because the clocks change: {when} is taken",
    ),
    "shift_fold": (
        "esa hora ocurre dos veces ese día por el cambio de hora: se toma la primera",
        "that time happens twice on that day because the clocks change: the first one is taken",
    ),
}
