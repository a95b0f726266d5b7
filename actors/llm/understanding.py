"""Pure: what people say, in Spanish and English, and which rule reads it; the rest is `Unknown`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from actors.llm.changes import again, change_text, change_time, silence, zone
from actors.llm.intents import (
    Farewell,
    Greet,
    Help,
    Introduce,
    ListReminders,
    Speaker,
    TellTime,
    Thanks,
    Understood,
    Unknown,
)
from actors.llm.rules import Rule, ask, delete, either, fixed, remind, tell_time
from actors.llm.splitting import ErrorOf
from actors.llm.utterance import core, fold, language_of

__all__ = ["understand"]

_NAME = r"@?(?P<agent>[\w-]+(?:\.[\w-]+)*)(?::[\w.:-]+)?[,:]?"
_WHERE_ES = r"(?:\s+(?:ahora|ya|ahora mismo))?(?:\s+(?:en|de)\s+(?P<place>\S.{0,80}))?(?:\s+ahora)?"
_WHERE_EN = r"(?:\s+(?:now|right now))?(?:\s+(?:in|at)\s+(?P<place>\S.{0,80}))?(?:\s+now)?"
_SAY_ES = r"(?:(?:me\s+)?(?:dime|di|dices|decir|decirme|sabes|sabrias)\s+)?"
_SAY_EN = r"(?:(?:tell me|do you know|give me)\s+)?"
_MACHINE_ES = either(["llm", "ia", "bot", "robot", "humano", "humana", "persona", "maquina"])
_MACHINE_EN = either(["llm", "ai", "bot", "robot", "human", "person", "machine", "real"])

_SPANISH: Sequence[Rule] = (
    fixed(
        ListReminders(),
        r"(?:que|cuales|cuantos) (?:recordatorios|avisos)"
        r" (?:tengo|hay|tenemos|quedan|tienes)(?: .*)?",
        r"cuales son (?:mis|los) recordatorios(?: .*)?",
        r"(?:todos )?(?:mis |los )?recordatorios(?: activos| pendientes)?",
        r"(?:lista|listar|listame|muestra|muestrame|mostrar|ensena|ensename|dime|dame|ver)"
        r"(?: de)?(?: todos)?(?: los| mis)? recordatorios(?: .*)?",
        r"(?:tengo|hay) (?:algun |algunos )?recordatorios?(?: .*)?",
    ),
    again(
        r"(?:otra vez|de nuevo|repitelo|recuerdamelo|avisame)(?: (?:otra vez|de nuevo))?"
        r"(?P<time> \S.*)",
        r"(?:recuerdame|recuerdamelo|avisame|repitemelo|dimelo)(?: lo mismo)? (?:otra vez|de nuevo)"
        r"(?P<time> \S.*)",
        r"(?:posponlo|pospon|posponer|posponerlo|aplazalo|aplaza|retrasalo|retrasa|muevelo|pasalo"
        r"|cambialo|dejalo)(?P<time> \S.*)",
        r"(?P<time>\S.*?),? (?:otra vez|de nuevo)",
    ),
    change_text(
        r"(?:cambia|cambiar|modifica|corrige) (?:el )?(?:texto|mensaje) (?:de|del) (?P<which>\S.*?)"
        r" (?:por|a)[: ]+(?P<message>\S.*)",
    ),
    change_time(
        "cambia|cambiar|cambiame|mueve|mover|pasa|pasar|modifica|adelanta|retrasa|pospon|posponer",
        "aplaza|aplazar",
    ),
    silence("pause_reminder", "pausa|pausar|pon en pausa|poner en pausa|silencia|suspende"),
    silence("resume_reminder", "reanuda|reanudar|reactiva|reactivar|quita la pausa(?: a| de)?"),
    silence(
        "unfollow_reminder",
        r"deja de avisarme(?: de)?|ya no me avises(?: de)?|no me avises mas(?: de)?",
    ),
    zone(
        r"mi zona(?: horaria)? es(?: la de)? (?P<place>\S.{0,80})",
        r"(?:pon|ponme|cambia|usa) (?:mi|la) zona(?: horaria)?(?: a| en| de| como)? "
        r"(?P<place>\S.{0,80})",
    ),
    zone(
        r"la zona(?: horaria)? de (?:esta|la) sala es(?: la de)? (?P<place>\S.{0,80})",
        whole_room=True,
    ),
    fixed(TellTime(), r"(?:cual es|en que esta|que es) mi zona(?: horaria)?"),
    delete(
        "borra|borrar|borrame|elimina|eliminar|eliminame|quita|quitar|quitame|cancela|cancelar",
        "cancelame|anula|anular|suprime|olvida",
    ),
    tell_time(
        rf"{_SAY_ES}(?:que hora (?:es|son|tienes|sera)|la hora|hora)(?: actual)?{_WHERE_ES}",
        r"(?:que dia es(?: hoy)?|que fecha es(?: hoy)?|a que (?:dia|fecha) estamos|fecha|la fecha)"
        r"(?: en (?P<place>\S.{0,80}))?",
    ),
    fixed(
        Introduce(),
        r"(?:quien|que|como) eres(?: tu)?|tu quien eres|como te llamas|cual es tu nombre",
        r"(?:presentate|presentaos|presentense|presenta a todos|presentacion)(?: .{0,40})?",
        rf"eres (?:un |una )?(?:{_MACHINE_ES}|inteligencia artificial|chatgpt|gpt|modelo.*)",
        r"(?:que|cuales|cuantos) (?:agentes|bots) (?:hay|tienes|estan|sois|existen)(?: .{0,40})?",
        r"quien(?:es)? (?:sois|mas hay|hay|esta|estan|son los agentes)(?: .{0,40})?",
        r"(?:lista|listar|dime|muestra|presenta|presentame)(?: a| de)?(?: todos)?(?: los)? agentes",
    ),
    ask(
        rf"(?:pregunta|preguntale|preguntar|consulta|consultale|preguntele) (?:al? |con ){_NAME}"
        r"\s+(?P<question>\S.*)",
    ),
    ask(
        rf"(?:pide|pidele|dile|di) al? {_NAME}\s+(?P<question>\S.*)",
        only_agents=True,
    ),
    fixed(
        Help(),
        r"ayuda(?:me)?|que (?:mas )?(?:puedes|sabes) hacer(?: .{0,30})?|comandos",
        r"opciones|como funcionas|para que sirves|que haces",
        r"menu|en que (?:me )?puedes ayudar(?:me)?",
    ),
    fixed(
        Thanks(),
        r"(?:muchas |mil |muchisimas )?gracias(?: .{0,40})?",
        r"vale|de acuerdo|perfecto|genial|estupendo",
    ),
    fixed(Farewell(), r"adios|hasta (?:luego|manana|pronto|la vista)|chao|nos vemos"),
    remind(
        "recuerda ?me|recuerde ?me|recuerden ?me|recordarme|recordadme|me recuerdas|me recordarias",
        "recordar|me recuerdes|avisame|aviseme|hazme acordar",
        r"(?:pon|ponme|crea|creame|programa|programame|haz|hazme|anade|apunta) (?:un |otro )?"
        r"(?:recordatorio|aviso)(?: para| de)?",
    ),
)

_ENGLISH: Sequence[Rule] = (
    fixed(
        ListReminders(),
        r"(?:what|which|how many) reminders"
        r" (?:do i have|are there|have i(?: got)?|are set)(?: .*)?",
        r"(?:what are|list|show|show me|tell me|give me)(?: all)?(?: of)?(?: my| the)? reminders",
        r"(?:my |all |all my )?reminders|do i have (?:any )?reminders?(?: .*)?",
    ),
    again(
        r"(?:again|once more|repeat it|say it again"
        r"|remind me(?: of (?:it|that))? (?:again|once more))(?P<time> \S.*)",
        r"(?:snooze it|snooze|postpone it|postpone|move it|delay it|push it|change it)"
        r"(?P<time> \S.*)",
        r"(?P<time>\S.*?),? (?:again|once more)",
    ),
    change_text(
        r"(?:change|edit|correct) the (?:text|message) of (?P<which>\S.*?) to[: ]+"
        r"(?P<message>\S.*)",
    ),
    change_time("change|move|reschedule|postpone|snooze|delay|push"),
    silence("pause_reminder", "pause|mute|suspend"),
    silence("resume_reminder", "resume|unpause|reactivate"),
    silence(
        "unfollow_reminder",
        r"stop (?:telling|reminding|notifying) me(?: of| about)?|unfollow",
    ),
    zone(
        r"my time ?zone is (?P<place>\S.{0,80})",
        r"(?:set|change) my time ?zone to (?P<place>\S.{0,80})",
    ),
    zone(
        r"(?:the time ?zone of this room|this room's time ?zone) is (?P<place>\S.{0,80})",
        whole_room=True,
    ),
    fixed(TellTime(), r"what(?:'s|s| is) my time ?zone"),
    delete("delete|remove|cancel|drop|erase|forget"),
    tell_time(
        rf"{_SAY_EN}(?:what time (?:is it|it is)|what(?:'s|s| is) the time|the time|time)"
        rf"(?: please)?{_WHERE_EN}",
        r"(?:what (?:day|date) is (?:it|today)|what(?:'s|s| is) (?:the|today's) date|date)"
        r"(?: today)?(?: in (?P<place>\S.{0,80}))?",
    ),
    fixed(
        Introduce(),
        r"(?:who|what) are you|what(?:'s|s| is) your name",
        r"introduce (?:yourself|yourselves|everyone)",
        rf"are you (?:an? )?{_MACHINE_EN}(?: .{{0,20}})?|(?:list|introduce) (?:the |all )?agents",
        r"(?:what|which) (?:agents|bots) (?:are there|are here|exist|do you know)(?: .{0,30})?",
        r"who(?: else)? is (?:here|there|in (?:this|the) room)",
    ),
    ask(rf"(?:ask|consult) {_NAME}\s+(?P<question>\S.*)"),
    ask(rf"tell {_NAME}\s+(?P<question>\S.*)", only_agents=True),
    fixed(
        Help(),
        r"help(?: me)?|what (?:can|do) you do(?: .{0,30})?|how do you work|commands|options",
    ),
    fixed(
        Thanks(),
        r"(?:many )?thanks(?: .{0,40})?|thank you(?: .{0,40})?|thx|ty|great|perfect|ok|okay",
    ),
    fixed(Farewell(), r"bye|good ?bye|good night|see you(?: .{0,20})?"),
    remind(
        "remind me",
        r"(?:set|create|make|add|schedule)(?: me)? (?:a |another )?reminder(?: for| to)?",
    ),
)

_GREETINGS: Final = {
    "es": fixed(
        Greet(),
        r"(?:hola|holi|buenas|buenos dias|buenas tardes|buenas noches|saludos|ey)"
        r"(?: a tod[oa]s| equipo| gente)?(?:[,!. ¿]*(?:que tal|como estas|como va)(?: todo)?)?",
        r"que tal|como estas",
    ),
    "en": fixed(
        Greet(),
        r"(?:hi|hello|hey|hiya|good morning|good afternoon|good evening|greetings)"
        r"(?: there| all| everyone| everybody| team)?(?:[,!. ]*how are you(?: doing)?)?",
        r"how are you",
    ),
}
_RULES: Final = {"es": _SPANISH, "en": _ENGLISH}


def understand(text: str, speaker: Speaker, error_of: ErrorOf) -> Understood:
    """Read a message. Never raises; `error_of` asks the time grammar about a part of the text."""
    plain = core(text, speaker.names, courtesies=False)
    for language, greeting in _GREETINGS.items():
        if greeting(plain, speaker, error_of):
            return Understood(Greet(), language)
    said = core(text, speaker.names)
    if fold(said).strip(" @,.:;!?¡¿") in {fold(name) for name in speaker.names}:
        return Understood(Greet(), language_of(text, speaker.locale))
    for language, rules in _RULES.items():
        for rule in rules:
            intent = rule(said, speaker, error_of)
            if intent is not None:
                return Understood(intent, language)
    return Understood(Unknown(), language_of(said, speaker.locale))
