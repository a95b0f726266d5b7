"""What the desk says to people, Spanish first, in the reader's language where that is known."""

from __future__ import annotations

from contextvars import ContextVar

__all__ = ["LOCALES", "Texts", "reader_locale"]

LOCALES = ("es", "en")

reader_locale: ContextVar[str | None] = ContextVar("reader_locale", default=None)
"""The language that the reader of this task's words asked for; None: the workspace's."""

_TEXTS: dict[str, tuple[str, str]] = {
    # the API
    "bad_host": (
        "Host no permitido: solo se atiende a esta máquina",
        "host not allowed: loopback names only",
    ),
    "bad_origin": ("petición de otro sitio rechazada", "cross-site request refused"),
    "no_token": (
        "falta el token, o no es el de run/web.token",
        "missing or wrong token (see run/web.token)",
    ),
    "not_found": ("no existe", "no such thing"),
    "method": ("método no permitido aquí", "method not allowed here"),
    "internal": ("error interno; el registro dice más", "internal error; the log says more"),
    "no_tree": ("el árbol aún no está en pie", "the tree is not built yet"),
    "no_reply": ("{to} no ha contestado en {seconds} s", "{to} gave no answer within {seconds} s"),
    "cannot_answer": ("{to} no puede contestar ahora: {why}", "{to} cannot answer now: {why}"),
    "no_room": ("no hay ninguna sala {room}", "there is no room {room}"),
    "no_event": ("ningún agente ha leído un mensaje {id}", "no agent has read a message {id}"),
    "no_schedule": (
        "no hay ninguna tarea {name}; hay {known}",
        "there is no schedule {name}; there are {known}",
    ),
    "some_schedules": (
        "{name} puede ser {found}: di también su agente",
        "{name} could be {found}: name its agent too",
    ),
    "long_text": (
        "el texto ocupa más de {limit} bytes: repártelo en varios mensajes",
        "the text takes more than {limit} bytes: make several messages of it",
    ),
    "control_char": (
        "el texto lleva un carácter de control (U+{code:04X}): quítalo",
        "the text holds a control character (U+{code:04X}): remove it",
    ),
    "bad_json": ("el cuerpo no es un objeto JSON", "the body is no JSON object"),
    "bad_request": ("petición incorrecta", "bad request"),
    "too_big": ("el cuerpo pasa de {limit} bytes", "the body is over {limit} bytes"),
    "too_slow": ("el cuerpo tarda demasiado en llegar", "the body takes too long to arrive"),
    "unknown_agent": ("no hay ningún agente {id}", "there is no agent {id}"),
    "too_many": ("demasiadas conexiones de eventos a la vez", "too many event streams at once"),
    "is_agent": (
        "{name} es un agente: nadie puede hablar en su nombre",
        "{name} is an agent: nobody may speak for it",
    ),
    "bad_name": (
        "nombre no válido (letras, cifras y . _ - = +, hasta 64)",
        "bad name (letters, digits and . _ - = +, up to 64)",
    ),
    "need_text": (
        "hace falta un texto no vacío de hasta {limit} caracteres",
        "needs a text, not empty, of up to {limit} characters",
    ),
    "need_bool": ("tiene que ser true o false", "must be true or false"),
    "need_number": ("tiene que ser un número de 1 a {limit}", "must be a number from 1 to {limit}"),
    "need_ids": ("tiene que ser una lista de agentes", "must be a list of agent ids"),
    "need_schedule": (
        "hace falta el nombre de una tarea: [AGENTE/]NOMBRE",
        "needs a schedule: [AGENT/]NAME",
    ),
    "need_whose": (
        "hace falta de quién: user (@nombre) o room, sin espacios",
        "needs whose: user (@name) or room, without spaces",
    ),
    "one_of_two": ("da user o room, no los dos", "give user or room, not both"),
    "need_zone": (
        "hace falta una zona horaria IANA, por ejemplo Europe/Madrid, o null para olvidarla",
        "needs an IANA time zone such as Europe/Madrid, or null to forget it",
    ),
    "zone_line": ("{timezone} ({source})", "{timezone} ({source})"),
    "zone user": ("de la persona", "the person's"),
    "zone room": ("de la sala", "the room's"),
    "zone config": ("de la configuración de la sala", "from the room's configuration"),
    "zone workspace": ("de supervisor.yaml", "from supervisor.yaml"),
    "unknown_key": ("clave desconocida", "unknown key"),
    "reload_failed": ("no se ha podido recargar: {ids}", "could not reload: {ids}"),
    "port_taken": (
        "el puerto {port} de {host} no se puede usar ({why})",
        "port {port} of {host} cannot be used ({why})",
    ),
    "no_free_port": (
        "ningún puerto libre en {host} entre {first} y {last}",
        "no free port on {host} between {first} and {last}",
    ),
    "not_loopback": (
        "{host} no es una dirección loopback, y la API solo escucha en esta máquina",
        "{host} is no loopback address, and the API listens on this machine only",
    ),
    "bad_txn": (
        "de 8 a 64 caracteres: letras ASCII, cifras, _ y -",
        "8 to 64 characters: ASCII letters, digits, _ and -",
    ),
    # the page that signs in
    "sign_in open": (
        "Abre la dirección completa que el supervisor escribe al arrancar, y guarda en "
        "run/web.url, en la carpeta del workspace: lleva el token. O pégala aquí.",
        "Open the whole address that the supervisor prints when it starts, and keeps in "
        "run/web.url, in the workspace folder: it carries the token. Or paste it here.",
    ),
    "sign_in label": ("Dirección o token", "Address or token"),
    "sign_in enter": ("Entrar", "Sign in"),
    "sign_in wait": ("Entrando…", "Signing in…"),
    "sign_in wrong": (
        "Ese token no es el de este supervisor: mira run/web.url, en la carpeta del workspace.",
        "That is not this supervisor's token: see run/web.url in the workspace folder.",
    ),
    "sign_in gone": ("El supervisor no contesta.", "The supervisor does not answer."),
    "sign_in noscript": (
        "Esta página necesita JavaScript; agentctl hace lo mismo sin él.",
        "This page needs JavaScript; agentctl does the same without it.",
    ),
    # agentctl
    "no_supervisor": (
        "no hay ningún supervisor en marcha en {workspace}",
        "no supervisor is running in {workspace}",
    ),
    "no_answer": ("el supervisor no contesta ({why})", "the supervisor does not answer ({why})"),
    "unexpected": (
        "error inesperado: {why} (con VIVERO_DEBUG=1 se ve entero)",
        "unexpected error: {why} (VIVERO_DEBUG=1 shows it whole)",
    ),
    "nothing_said": (
        "nadie ha dicho nada en {seconds:g} s",
        "nobody said anything in {seconds:g} s",
    ),
    "missed_some": (
        "se han perdido mensajes: la conexión iba demasiado lenta",
        "some messages were missed: the connection was too slow",
    ),
    "signalled": (
        "sin respuesta por el socket: recarga pedida por señal a {pid}; su registro dirá más",
        "no answer on the socket: asked process {pid} by signal to reload; its log will tell",
    ),
    "supervisor": (
        "supervisor {pid} · en marcha desde hace {age} · {workspace}",
        "supervisor {pid} · up for {age} · {workspace}",
    ),
    "no_agents": ("ningún agente", "no agents"),
    "nothing": ("nada", "nothing"),
    "reloaded": (
        "{id}: recargado (generación {generation})",
        "{id}: reloaded (generation {generation})",
    ),
    "scheduled": ("{id}: se recargará al acabar su turno", "{id}: will reload when its turn ends"),
    "started": (
        "{id}: en marcha (generación {generation})",
        "{id}: started (generation {generation})",
    ),
    "stopped": ("{id}: parado", "{id}: stopped"),
    "failed": ("{id}: no se ha podido recargar: {error}", "{id}: could not reload: {error}"),
    "is_now": (
        "{id}: {state} (generación {generation})",
        "{id}: {state} (generation {generation})",
    ),
    "bad_zone": ("no existe la zona horaria {zone!r}", "no such time zone {zone!r}"),
    "bad_instant": ("{text!r} no es un instante ISO 8601", "{text!r} is no ISO 8601 instant"),
    "bad_line": (
        'la línea no es un objeto JSON con "expr"',
        'the line is no JSON object with "expr"',
    ),
    "bad_count": (
        "count tiene que ser un número de 1 a {limit}",
        "count must be a number from 1 to {limit}",
    ),
    "because answer": ("← contesta a", "← answers"),
    "because notice": ("← aviso", "← notice"),
    "because reminder": ("← recordatorio {name}", "← reminder {name}"),
    "because schedule": ("← tarea {name}", "← schedule {name}"),
    "no_slots": ("sin turno: nadie tenía que contestar", "no slot: nobody had to answer"),
    "ago": ("hace {age}", "{age} ago"),
    "in": ("en {age}", "in {age}"),
    "once": ("una vez", "once"),
    # help
    "help": ("Habla con un supervisor en marcha.", "Talk to a running supervisor."),
    "help status": ("El estado de cada agente.", "Show every agent."),
    "help tree": ("El árbol de supervisión.", "Show the supervision tree."),
    "help reload": ("Recarga agentes, o todos.", "Reload agents, or all."),
    "help start": ("Arranca un agente parado o en cuarentena.", "Start a stopped agent."),
    "help stop": ("Para un agente hasta `start`.", "Stop an agent until `start`."),
    "help say": (
        "Dice algo en una sala; con --wait muestra lo que contestan los agentes.",
        "Say something in a room; --wait shows what agents answer.",
    ),
    "help history": ("Lo último que se ha dicho en una sala.", "Show what was said in a room."),
    "help why": ("Qué ha sido de un mensaje.", "Tell what became of a message."),
    "help timezone": (
        "La zona horaria de una persona o una sala; con ZONA la pone, con - la olvida.",
        "Show a person's or a room's time zone; ZONE sets it, - forgets it.",
    ),
    "help reminders": ("Los recordatorios pendientes.", "List pending reminders."),
    "help when": (
        "Lee una frase de tiempo (- : una por línea). No necesita supervisor.",
        "Read a phrase of time (-: one a line). Needs no supervisor.",
    ),
    "help cron": ("Tareas programadas.", "Schedules."),
    "help cron list": ("Las tareas y su próxima vez.", "List schedules."),
    "help cron runs": ("Las veces que se han ejecutado.", "Show past occurrences."),
    "help cron run": ("Ejecuta una tarea ahora.", "Run a schedule now."),
    "help cron next": (
        "Cuándo toca una expresión cron (- : JSON por línea). No necesita supervisor.",
        "When a cron expression fires (-: JSON a line). Needs no supervisor.",
    ),
    # table heads
    "agent": ("agente", "agent"),
    "state": ("estado", "state"),
    "generation": ("gen", "gen"),
    "restarts": ("reinicios", "restarts"),
    "mailbox": ("buzón", "mailbox"),
    "turns": ("turnos", "turns"),
    "last_error": ("último error", "last error"),
    "room": ("sala", "room"),
    "user": ("usuario", "user"),
    "message": ("mensaje", "message"),
    "when": ("cuándo", "when"),
    "next": ("próxima", "next"),
    "last": ("última", "last"),
    "schedule": ("tarea", "schedule"),
    "cron": ("cron", "cron"),
    "zone": ("zona", "zone"),
    "scheduled_for": ("prevista", "scheduled"),
    "outcome": ("resultado", "outcome"),
    "reason": ("motivo", "reason"),
    "took": ("duró", "took"),
    "rule": ("regla", "rule"),
    "attempt": ("intento", "attempt"),
    "hop": ("salto", "hop"),
    "answers": ("respuestas", "answers"),
}


class Texts:
    """The texts of one locale, unless `reader_locale` says another; an unknown one is Spanish."""

    def __init__(self, locale: str = "es") -> None:
        self._own = locale if locale in LOCALES else "es"

    @property
    def locale(self) -> str:
        """The language that a text would be in now."""
        return reader_locale.get() or self._own

    def __call__(self, key: str, **values: object) -> str:
        """Return the text of a key, its values filled in. Raises KeyError for an unknown key."""
        text = _TEXTS[key][LOCALES.index(self.locale)]
        return text.format(**values) if values else text
