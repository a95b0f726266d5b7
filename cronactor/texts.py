"""Every sentence said to people and models, in Spanish and English, and errors that say them."""

from __future__ import annotations

from typing import Any

from cronactor.phrase_texts import PHRASES

__all__ = ["CronError", "Explained", "PhraseError", "ZoneError", "say"]

_TEXTS: dict[str, tuple[str, str]] = {
    **PHRASES,
    # -- zones ------------------------------------------------------------------------------------
    "zone_unknown": (
        "no conozco la zona horaria {name!r}; escribe una de la base IANA, por ejemplo {hint}",
        "unknown time zone {name!r}; write an IANA name, for example {hint}",
    ),
    # -- cron -------------------------------------------------------------------------------------
    "cron_empty": (
        "la expresión cron está vacía; escribe cinco campos, por ejemplo `0 9 * * 1`",
        "the cron expression is empty; write five fields, for example `0 9 * * 1`",
    ),
    "cron_long": (
        "la expresión cron tiene {n} caracteres y el máximo es {limit}; escribe una más corta",
        "the cron expression has {n} characters, the most is {limit}; write a shorter one",
    ),
    "cron_char": (
        "la expresión cron contiene el carácter {char}, que no puede estar ahí; escribe solo "
        "cinco campos, por ejemplo `0 9 * * 1`",
        "the cron expression contains the character {char}, which cannot be there; write only "
        "five fields, for example `0 9 * * 1`",
    ),
    "cron_fields": (
        "la expresión cron tiene {n} campos y son cinco: minuto, hora, día del mes, mes y día de "
        "la semana (sin segundos ni año); escribe por ejemplo `0 9 * * 1`",
        "the cron expression has {n} fields and there are five: minute, hour, day of month, month "
        "and day of week (no seconds, no year); write for example `0 9 * * 1`",
    ),
    "cron_nickname": (
        "no conozco {token!r}; escribe @hourly, @daily, @weekly, @monthly, @yearly o cinco campos",
        "unknown nickname {token!r}; write @hourly, @daily, @weekly, @monthly, @yearly or five "
        "fields",
    ),
    "cron_value": (
        "{field}: {token!r} no vale; escribe números de {low} a {high}{names}",
        "{field}: {token!r} does not fit; write numbers from {low} to {high}{names}",
    ),
    "cron_wrapped": (
        "{field}: el rango {token!r} va hacia atrás; escribe {instead}",
        "{field}: the range {token!r} runs backwards; write {instead}",
    ),
    "cron_step": (
        "{field}: en {token!r} el paso debe ser 1 o más; escribe por ejemplo `*/5`",
        "{field}: in {token!r} the step must be 1 or more; write for example `*/5`",
    ),
    "cron_single_step": (
        "{field}: {token!r} pone un paso a un solo valor; escribe {instead}",
        "{field}: {token!r} puts a step on a single value; write {instead}",
    ),
    "cron_random": (
        "{field}: {token!r} sería un momento al azar, y no se admite; escribe el valor exacto",
        "{field}: {token!r} would be a random time, which is not accepted; write the exact value",
    ),
    "cron_question": (
        "{field}: `?` no se admite; escribe `*`",
        "{field}: `?` is not accepted; write `*`",
    ),
    "cron_syntax": (
        "{field}: no entiendo {token!r}; escribe `*`, un número, un rango `1-5`, una lista `1,3` "
        "o un paso `*/5`",
        "{field}: cannot read {token!r}; write `*`, a number, a range `1-5`, a list `1,3` or a "
        "step `*/5`",
    ),
    "cron_mixed": (
        "{field}: {token!r} mezcla días sueltos con formas especiales (L, W, #); escribe solo unos",
        "{field}: {token!r} mixes plain days with special forms (L, W, #); write only one kind",
    ),
    "cron_never": (
        "{expr!r} no ocurre nunca: esa fecha no existe; cambie el día del mes o el mes",
        "{expr!r} never happens: that date does not exist; change the day of month or the month",
    ),
    # -- reminders --------------------------------------------------------------------------------
    "reminder": ("{prefix} {mention} Recordatorio: {text}", "{prefix} {mention} Reminder: {text}"),
    "late": ("{text} (con {late} de retraso)", "{text} (late by {late})"),
    "digest": (
        "{prefix} {n} recordatorios que no se dijeron a su hora:",
        "{prefix} {n} reminders that were not said on time:",
    ),
    "today": ("hoy", "today"),
    "tomorrow": ("mañana", "tomorrow"),
    # -- refusals ---------------------------------------------------------------------------------
    "room_full": (
        "esta sala ya tiene {n} recordatorios activos y el máximo es {limit}; borra alguno antes",
        "this room already has {n} active reminders and the most is {limit}; delete one first",
    ),
    "too_often": (
        "{expr!r} se repetiría cada {every}; el mínimo es {minimum}: escribe un cron menos "
        "frecuente",
        "{expr!r} would repeat every {every}; the least is {minimum}: write a less frequent cron",
    ),
    "due_past": (
        "ese momento ya pasó; escribe uno futuro, por ejemplo `en 30 minutos`",
        "that time has already passed; write a future one, for example `in 30 minutes`",
    ),
    "message_empty": (
        "falta el mensaje del recordatorio; escribe qué hay que recordar",
        "the reminder's message is missing; write what to be reminded of",
    ),
    "message_long": (
        "el mensaje tiene {n} caracteres y el máximo es {limit}; escribe uno más corto",
        "the message has {n} characters, the most is {limit}; write a shorter one",
    ),
    "message_char": (
        "el mensaje contiene un carácter que no se puede guardar; quítalo",
        "the message contains a character that cannot be stored; remove it",
    ),
    "recurring_once": (
        "un recordatorio recurrente necesita un cron, y eso es un solo momento; escribe por "
        "ejemplo el cron `0 9 * * 1`, o `todos los lunes a las 9` como momento",
        "a recurring reminder needs a cron expression, and that is a single time; write for "
        "example the cron `0 9 * * 1`, or `every monday at 9am` as time",
    ),
    "once_recurring": (
        "eso se repite y el recordatorio se pidió para una sola vez; escribe un momento, por "
        "ejemplo `mañana a las 9`, o pídalo recurrente",
        "that repeats and the reminder was asked for once; write a time, for example `tomorrow "
        "at 9`, or ask for a recurring one",
    ),
    "every_too_often": (
        "cada {every} es demasiado a menudo; el mínimo es {minimum}: escribe uno más largo",
        "every {every} is too often; the least is {minimum}: write a longer interval",
    ),
    "no_reminder": (
        "no hay ningún recordatorio activo {id!r} en esta sala; pida la lista para ver los ids",
        "there is no active reminder {id!r} in this room; ask for the list to see the ids",
    ),
    "which": (
        "no está claro qué recordatorio es; di su id, o responde al mensaje del recordatorio",
        "it is not clear which reminder is meant; give its id, or reply to the reminder's message",
    ),
    "which_of": (
        "ese mensaje trata de varios recordatorios ({ids}); di el id de uno",
        "that message is about several reminders ({ids}); give the id of one",
    ),
    "not_a_reminder": (
        "ese mensaje no es de ningún recordatorio de esta sala; pida la lista y diga el id",
        "that message belongs to no reminder of this room; ask for the list and give the id",
    ),
    "none_fired": (
        "ningún recordatorio suyo ha sonado aquí en el último día; pida la lista y diga el id",
        "none of your reminders fired here within the last day; ask for the list and give the id",
    ),
    "change_nothing": (
        "no hay nada que cambiar; dé un mensaje nuevo, un momento nuevo o los dos",
        "there is nothing to change; give a new message, a new time, or both",
    ),
    "snooze_recurring": (
        "para repetirlo una vez más hace falta un solo momento, por ejemplo `en 10 minutos`",
        "to say it once more a single time is needed, for example `in 10 minutes`",
    ),
    "resume_past": (
        "la hora de {id!r} ya pasó mientras estaba en pausa; dele un momento nuevo",
        "the time of {id!r} passed while it was paused; give it a new time",
    ),
    "followers_full": (
        "ese recordatorio ya avisa a {limit} personas más, y ese es el máximo",
        "that reminder tells {limit} other people already, which is the most",
    ),
    "follows_none": (
        "no hay ningún recordatorio de otra persona del que se le avise en esta sala",
        "there is no reminder of someone else in this room that you are told of",
    ),
    "zone_of_whom": (
        "falta de quién es la zona horaria: una persona o una sala",
        "it is missing whose time zone it is: a person's or a room's",
    ),
    "follows": (
        "De acuerdo, {mention}: también te avisaré de «{message}» {when}. [{id}] «Deja de "
        "avisarme» lo quita.",
        "All right, {mention}: I will tell you too of “{message}” {when}. [{id}] “Stop telling me” "
        "undoes it.",
    ),
    "follows_past": (
        "De acuerdo, {mention}: si «{message}» vuelve a sonar, también te avisaré. [{id}]",
        "All right, {mention}: if “{message}” is said again, I will tell you too. [{id}]",
    ),
    # -- imports ----------------------------------------------------------------------------------
    "import_unknown": (
        "no es una base de recordatorios que conozca: se leen las de matrix-reminder-bot y las de "
        "los plugins reminder de maubot (SQLite)",
        "this is no reminder database that I know: those of matrix-reminder-bot and of maubot's "
        "reminder plugins are read (SQLite)",
    ),
    "import_unreadable": (
        "la base de datos no se puede leer: {why}",
        "the database cannot be read: {why}",
    ),
    "import_agenda": (
        "es una entrada de agenda, sin hora",
        "it is an agenda entry, without a time",
    ),
    "import_no_time": ("no tiene hora", "it has no time"),
    "import_bad_time": ("no entiendo su hora {text!r}", "its time {text!r} cannot be read"),
    "import_phrase": (
        "se repite {text!r}, y eso no se entiende",
        "it repeats {text!r}, which cannot be read",
    ),
    "import_both_days": (
        "{expr!r} pide día del mes y de la semana a la vez, y en cron basta uno de los dos",
        "{expr!r} wants day of month and day of week at once, and cron takes either",
    ),
    "import_weekday": (
        "no entiendo el día de la semana {days!r}",
        "the day of week {days!r} cannot be read",
    ),
    "import_room": (
        "la sala {room!r} no está en supervisor.yaml; di con --room a cuál va",
        "the room {room!r} is not in supervisor.yaml; say with --room where it goes",
    ),
    "import_no_room": (
        "la sala {room!r} no está en supervisor.yaml",
        "the room {room!r} is not in supervisor.yaml",
    ),
    "import_not_there": (
        "el agente {agent!r} no está en la sala {room!r}",
        "the agent {agent!r} is not in the room {room!r}",
    ),
    "import_no_agent": ("no hay ningún agente {agent!r}", "there is no agent {agent!r}"),
    "import_owned": (
        "hay un supervisor en marcha en este espacio de trabajo; páralo antes",
        "a supervisor is running on this workspace; stop it first",
    ),
    "import_taken": (
        "tomado [{id}] {room} {user} «{message}» — {when}",
        "taken [{id}] {room} {user} “{message}” — {when}",
    ),
    "import_known": (
        "ya estaba [{id}] {room} {user} «{message}» — {when}",
        "known already [{id}] {room} {user} “{message}” — {when}",
    ),
    "import_left": ("no tomado: «{message}»: {why}", "left out: “{message}”: {why}"),
    "import_alarm": (
        "(era una alarma: aquí avisa una sola vez cada vez)",
        "(it was an alarm: here it speaks only once each time)",
    ),
    "import_done": (
        "{bot}: {taken} tomados, {known} ya estaban, {left} no tomados",
        "{bot}: {taken} taken, {known} known already, {left} left out",
    ),
    "import_nobody": ("no avisa a nadie", "it tells nobody"),
    "still_running": (
        "{id!r} se está ejecutando ahora mismo; espera a que termine",
        "{id!r} is running right now; wait until it ends",
    ),
    "every_syntax": (
        "no entiendo el intervalo {text!r}; escribe por ejemplo `90s`, `30m`, `2h` o `1h30m`",
        "cannot read the interval {text!r}; write for example `90s`, `30m`, `2h` or `1h30m`",
    ),
    "every_range": (
        "el intervalo {text!r} no vale; escribe uno de 1 segundo a 366 días, por ejemplo `2h`",
        "the interval {text!r} does not fit; write one from 1 second to 366 days, such as `2h`",
    ),
    "no_schedule": (
        "no hay ninguna tarea programada {id!r}; pida la lista para ver los nombres",
        "there is no schedule {id!r}; ask for the list to see the names",
    ),
}

_FIELDS: dict[str, tuple[str, str]] = {
    "minute": ("minuto", "minute"),
    "hour": ("hora", "hour"),
    "dom": ("día del mes", "day of month"),
    "month": ("mes", "month"),
    "dow": ("día de la semana", "day of week"),
}


def say(key: str, locale: str, **values: Any) -> str:
    """Return the sentence `key` in `locale` (`en`, else Spanish) with its values filled in."""
    index = 1 if locale == "en" else 0
    if "field" in values:
        values = {**values, "field": _FIELDS[values["field"]][index]}
    return _TEXTS[key][index].format(**values)


class Explained(ValueError):
    """An input that was refused with a sentence saying what to write instead.

    `str()` is the sentence in the locale it was raised for; `say(locale)` gives it in another.
    """

    def __init__(self, key: str, locale: str = "en", **values: Any) -> None:
        super().__init__(say(key, locale, **values))
        self.key = key
        self.values = values

    def say(self, locale: str) -> str:
        """Return the sentence in `locale`."""
        return say(self.key, locale, **self.values)


class ZoneError(Explained):
    """A name that is no IANA time zone."""


class CronError(Explained):
    """A cron expression that is malformed, impossible or not accepted."""


class PhraseError(Explained):
    """A phrase that is past, impossible, ambiguous or not understood."""
