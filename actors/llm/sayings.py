"""Pure: what the builtin model says, in Spanish and English."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from typing import Final

from actors.llm.splitting import Unclear
from cronactor.texts import CronError

__all__ = ["abilities", "introduction", "say", "unclear"]

_TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "greet": (
        "Hola{to}. Soy {me}. Escribe «ayuda» y te digo qué sé hacer.",
        "Hello{to}. I am {me}. Write “help” and I will tell you what I can do.",
    ),
    "thanks": ("De nada{to}.", "You are welcome{to}."),
    "farewell": ("Hasta luego{to}.", "See you{to}."),
    "me": ("Soy {me}{what}.", "I am {me}{what}."),
    "not_llm": (
        "No soy un modelo de lenguaje: respondo con reglas fijas, y lo que no entiendo lo digo.",
        "I am not a language model: I answer by fixed rules, and say so when I do not understand.",
    ),
    "others": ("También están:", "There are also:"),
    "alone": ("No hay más agentes.", "There are no other agents."),
    "abilities": ("Sé hacer esto:", "This is what I can do:"),
    "unknown": ("No te he entendido.", "I did not understand you."),
    "can_remind": (
        "poner un recordatorio: «recuérdame en 5 minutos que riegue las plantas», "
        "«recuérdame mañana a las 9 llamar a Luis», "
        "«recuérdame todos los lunes a las 10 hacer el standup»",
        "set a reminder: “remind me in 5 minutes to water the plants”, "
        "“remind me tomorrow at 9 to call Luis”, "
        "“remind me every monday at 10am to do the standup”",
    ),
    "can_list": (
        "decir qué recordatorios hay: «qué recordatorios tengo»",
        "list the reminders: “what reminders do I have”",
    ),
    "can_delete": (
        "borrar uno: «borra el recordatorio r7f3k2», «borra el del standup»",
        "delete one: “delete reminder r7f3k2”, “delete the one about the standup”",
    ),
    "can_snooze": (
        "repetirlo o moverlo: «otra vez en 10 minutos», o una respuesta al recordatorio con la "
        "hora; «cambia el de las plantas a mañana a las 10»",
        "say it again or move it: “again in 10 minutes”, or a reply to the reminder with the time; "
        "“move the one about the plants to tomorrow at 10”",
    ),
    "can_pause": (
        "callarlo un tiempo: «pausa el del standup», «reanuda el del standup»",
        "silence it for a while: “pause the standup one”, “resume the standup one”",
    ),
    "can_zone": (
        "usar tu hora: «mi zona es Asia/Tokyo»",
        "use your time: “my time zone is Asia/Tokyo”",
    ),
    "can_time": (
        "decir la hora: «qué hora es», «qué hora es en Tokio»",
        "tell the time: “what time is it”, “what time is it in Tokyo”",
    ),
    "can_ask": (
        "preguntar a otro agente: «pregunta a {agent} qué hora es»",
        "ask another agent: “ask {agent} what time it is”",
    ),
    "can_introduce": (
        "presentarnos: «quién eres», «qué agentes hay»",
        "introduce us: “who are you”, “what agents are there”",
    ),
    "cannot": (
        "Eso lo entiendo, pero aquí no tengo con qué hacerlo: me falta la herramienta {tool}.",
        "I understand that, but cannot do it here: I was not given the tool {tool}.",
    ),
    "no_time": (
        "¿Cuándo? Dímelo así: «recuérdame en 30 minutos que…», «recuérdame mañana a las 9 …», "
        "«recuérdame el 2026-04-10 a las 15:00 …».",
        "When? Say it like this: “remind me in 30 minutes to…”, “remind me tomorrow at 9 to…”, "
        "“remind me on 2026-04-10 at 15:00 to…”.",
    ),
    "no_message": (
        "¿Qué te recuerdo? Dímelo así: «recuérdame en 30 minutos que riegue las plantas».",
        "What shall I remind you of? Say: “remind me in 30 minutes to water the plants”.",
    ),
    "phrase": (
        "No he puesto el recordatorio: {error}.",
        "I have not set the reminder: {error}.",
    ),
    "shift": (
        "No lo he cambiado: «{phrase}», ¿desde ahora o desde su hora? Di el momento entero: «a las "
        "10:30», «mañana a las 10», «en 10 minutos».",
        "I have not changed it: “{phrase}”, from now or from its own time? Say the whole time: “to "
        "10:30”, “to tomorrow at 10”, “in 10 minutes”.",
    ),
    "day": (
        "No he puesto el recordatorio: no sé qué día quieres. Di el día y la hora juntos, al "
        "principio: «recuérdame mañana a las 9:00 …» o «recuérdame el 2026-04-10 a las 9:00 …».",
        "I have not set the reminder: I cannot tell which day you mean. Say day and time together, "
        "first: “remind me tomorrow at 9:00 to…” or “remind me on 2026-04-10 at 9:00 to…”.",
    ),
    "recurring": (
        "No he puesto el recordatorio: no sé cuándo se repite. Di primero los días y la hora: "
        "«recuérdame todos los lunes a las 10:00 hacer el standup»; o una expresión cron: "
        "«recuérdame con cron 0 10 * * 1 hacer el standup».",
        "I have not set the reminder: I cannot tell when it repeats. Say the days and the time "
        "first: “remind me every monday at 10:00 to do the standup”; or a cron expression: “remind "
        "me with cron 0 10 * * 1 to do the standup”.",
    ),
    "several": (
        "No he puesto el recordatorio: no sé si «{phrase}» es el momento o parte de lo que hay que "
        "recordar. Di primero el momento: «recuérdame en 30 minutos que…».",
        "I have not set the reminder: I cannot tell if “{phrase}” is the time or part of the "
        "message. Say the time first: “remind me in 30 minutes to…”.",
    ),
    "unknown_agent": (
        "No hay ningún agente «{name}». {there}",
        "There is no agent “{name}”. {there}",
    ),
    "there_are": ("Los hay: {names}.", "There are: {names}."),
    "ask_myself": (
        "Eso pregúntamelo directamente: {me} soy yo.",
        "Ask me that directly: I am {me}.",
    ),
    "delete_all": (
        "Los borro de uno en uno: dime cuál, por su id («borra el recordatorio r7f3k2»). "
        "Con «qué recordatorios tengo» ves los ids.",
        "I delete them one by one: tell me which, by its id (“delete reminder r7f3k2”). "
        "“What reminders do I have” shows the ids.",
    ),
    "delete_none": (
        "No encuentro ningún recordatorio que encaje con «{said}».",
        "I find no reminder that fits “{said}”.",
    ),
    "change_which": (
        "¿Cuál? Repítelo con su id:",
        "Which one? Say it again with its id:",
    ),
    "delete_which": (
        "¿Cuál borro? Dime su id:",
        "Which one shall I delete? Tell me its id:",
    ),
}


def say(key: str, language: str, **values: str) -> str:
    """Return the text `key` in `language` ("en", anything else is Spanish)."""
    return _TEXTS[key][1 if language == "en" else 0].format(**values)


def unclear(why: Unclear | CronError, language: str) -> str:
    """Say what kept a reminder from being set, and what to write instead."""
    if isinstance(why, CronError):
        return say("phrase", language, error=why.say(language))
    error = why.error.say(language) if why.error is not None else ""
    return say(why.cause, language, phrase=why.phrase, error=error)


def abilities(tools: Set[str], others: Collection[str], language: str) -> str:
    """List what can be done with the tools at hand."""
    keys = [
        ("can_remind", "create_reminder" in tools),
        ("can_list", "list_reminders" in tools),
        ("can_delete", "delete_reminder" in tools),
        ("can_snooze", {"snooze_reminder", "update_reminder"} <= tools),
        ("can_pause", {"pause_reminder", "resume_reminder"} <= tools),
        ("can_zone", "set_timezone" in tools),
        ("can_time", "current_time" in tools),
        ("can_ask", "ask_agent" in tools and bool(others)),
        ("can_introduce", True),
    ]
    agent = min(others, default="")
    lines = [say(key, language, agent=agent) for key, able in keys if able]
    return "\n".join([say("abilities", language), *(f"- {line}" for line in lines)])


def introduction(agent: str, agents: Mapping[str, str], language: str) -> str:
    """Say who this agent is, that it is no LLM, and who else is there."""
    described = _clause(agents.get(agent, ""))
    what = f": {described}" if described else ""
    parts = [say("me", language, me=agent, what=what) + " " + say("not_llm", language)]
    others = {name: _clause(text) for name, text in agents.items() if name != agent}
    if others:
        lines = [f"- {name}: {text}" if text else f"- {name}" for name, text in others.items()]
        parts.append("\n".join([say("others", language), *lines]))
    else:
        parts.append(say("alone", language))
    return "\n".join(parts)


def _clause(description: str) -> str:
    return " ".join(description.split()).rstrip(".")
