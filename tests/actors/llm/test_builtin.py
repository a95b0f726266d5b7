"""The builtin model: what it understands, and what it refuses to guess."""

from __future__ import annotations

from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st

from actors.llm.builtin import BuiltinProvider, Reply, respond
from actors.llm.protocol import (
    NO_REPLY,
    ChatMessage,
    Finished,
    TextDelta,
    ToolCall,
    ToolCallRequested,
    complete,
)
from tests.actors.llm.requests import ALL_TOOLS, called, request

WATER = ("riegue las plantas", "en 5 segundos")
LUIS = ("llamar a Luis", "mañana a las 9")
STANDUP = ("hacer el standup", "0 10 * * 1")


def reply(text: str, **options: Any) -> Reply:
    return respond(request(text, **options))


REMINDERS = [
    ("recuérdame en 5 segundos que riegue las plantas", WATER),
    ("Recuerdame en 5 segundos que riegue las plantas.", WATER),
    ("recuérdame que riegue las plantas en 5 segundos", WATER),
    ("recuérdame en 5 segundos riegue las plantas", WATER),
    ("recuérdame, en 5 segundos, que riegue las plantas", WATER),
    ("recuérdame en 5 segundos: riegue las plantas", WATER),
    ("  recuérdame   en 5  segundos que\nriegue las plantas  ", WATER),
    ("@asistente recuérdame en 5 segundos que riegue las plantas", WATER),
    ("@asistente, recuérdame en 5 segundos que riegue las plantas", WATER),
    ("@asistente: recuérdame en 5 segundos que riegue las plantas", WATER),
    ("@asistente:example.org recuérdame en 5 segundos que riegue las plantas", WATER),
    ("asistente: recuérdame en 5 segundos que riegue las plantas", WATER),
    ("asistente, recuérdame en 5 segundos que riegue las plantas", WATER),
    ("Asistente recuérdame en 5 segundos que riegue las plantas", WATER),
    ("asistente virtual, recuérdame en 5 segundos que riegue las plantas", WATER),
    ("recuérdame en 5 segundos que riegue las plantas, asistente", WATER),
    ("recuérdame en 5 segundos que riegue las plantas @asistente", WATER),
    ("hola asistente, recuérdame en 5 segundos que riegue las plantas", WATER),
    ("hola, ¿me recuerdas en 5 segundos que riegue las plantas?", WATER),
    ("¿puedes recordarme en 5 segundos que riegue las plantas?", WATER),
    ("¿Me puedes recordar en 5 segundos que riegue las plantas, por favor?", WATER),
    ("por favor recuérdame en 5 segundos que riegue las plantas", WATER),
    ("quiero que me recuerdes en 5 segundos que riegue las plantas", WATER),
    ("recuérdeme en 5 segundos que riegue las plantas", WATER),
    ("avísame en 5 segundos de que riegue las plantas", WATER),
    ("recuerda me en 5 segundos que riegue las plantas", WATER),
    ("recuérdame que en 5 segundos riegue las plantas", WATER),
    ("pon un recordatorio en 5 segundos: riegue las plantas", WATER),
    ("recuérdame mañana a las 9 llamar a Luis", LUIS),
    ("recuérdame llamar a Luis mañana a las 9", LUIS),
    ("recuérdame mañana a las 9 que llamar a Luis", LUIS),
    ("recuérdame para mañana a las 9 llamar a Luis", LUIS),
    ("ponme un recordatorio para mañana a las 9 llamar a Luis", LUIS),
    ("crea un recordatorio para llamar a Luis mañana a las 9", LUIS),
    ("recuérdame mañana llamar a Luis a las 9", LUIS),
    ("recuerdame manana a las 9 llamar a Luis", ("llamar a Luis", "manana a las 9")),
    ("recuérdame en media hora apagar el horno", ("apagar el horno", "en media hora")),
    ("recuérdame dentro de una hora y media la cita", ("la cita", "dentro de una hora y media")),
    ("recuérdame a las 18:30 mandar el informe de las 15:00", (
        "mandar el informe de las 15:00", "a las 18:30")),
    ("recuérdame a las 16:00 preparar el informe del lunes", (
        "preparar el informe del lunes", "a las 16:00")),
    ("recuérdame en 5 minutos comprar regalos para el lunes", (
        "comprar regalos para el lunes", "en 5 minutos")),
    ("recuérdame 2026-12-10 15:00 pagar el alquiler", ("pagar el alquiler", "2026-12-10 15:00")),
    ("recuérdame el 2026-12-10 a las 15:00 pagar", ("pagar", "el 2026-12-10 a las 15:00")),
    ("recuérdame 18:00 regar", ("regar", "18:00")),
    ("recuérdame en 5 minutos preguntar: ¿vienes?", ("preguntar: ¿vienes?", "en 5 minutos")),
    ("recuérdame en 5 minutos dar las gracias a @asistente", (
        "dar las gracias a @asistente", "en 5 minutos")),
    ("recuérdame en 5 minutos Llamar a «Óscar» 📞!", ("Llamar a «Óscar» 📞!", "en 5 minutos")),
    ("remind me in 10 seconds to stretch", ("stretch", "in 10 seconds")),
    ("Remind me to stretch in 10 seconds.", ("stretch", "in 10 seconds")),
    ("remind me to stretch tomorrow at 9", ("stretch", "tomorrow at 9")),
    ("remind me tomorrow at 9 to stretch", ("stretch", "tomorrow at 9")),
    ("remind me tomorrow to stretch at 9", ("stretch", "tomorrow at 9")),
    ("please remind me to call Luis at 18:00", ("call Luis", "at 18:00")),
    ("@asistente: could you remind me in 2 hours that the oven is on?", (
        "the oven is on", "in 2 hours")),
    ("can you please remind me in 2 hours to stretch, please", ("stretch", "in 2 hours")),
    ("remind me about the meeting in 10 minutes", ("the meeting", "in 10 minutes")),
    ("set a reminder for tomorrow at 9 to call Luis", ("call Luis", "tomorrow at 9")),
    ("create a reminder in 10 minutes: tea", ("tea", "in 10 minutes")),
    ("recuérdame todos los lunes a las 10 el standup", ("el standup", "todos los lunes a las 10")),
    ("recuérdame todos los lunes a las 10:00 hacer el standup", (
        "hacer el standup", "todos los lunes a las 10:00")),
    ("recuérdame hacer standup todos los días a las 10:00", (
        "hacer standup", "todos los días a las 10:00")),
    ("recuérdame cada 10 minutos beber agua", ("beber agua", "cada 10 minutos")),
    ("recuérdame los lunes llamar a Luis a las 9", ("llamar a Luis", "los lunes a las 9")),
    ("recuérdame el viernes a las 5 de la tarde que llame a Luis", (
        "llame a Luis", "el viernes a las 5 de la tarde")),
    ("recuérdame el viernes llamar a Luis a las 9:00", ("llamar a Luis", "el viernes a las 9:00")),
    ("recuérdame comprar pan el 24 de diciembre a las 9", (
        "comprar pan", "el 24 de diciembre a las 9")),
    ("remind me every weekday at 8:30 to stand up", ("stand up", "every weekday at 8:30")),
    ("remind me every day at 9:00 to stretch", ("stretch", "every day at 9:00")),
    ("remind me daily to stretch at 18:00", ("stretch", "daily at 18:00")),
    ("remind me next friday at noon to call Luis", ("call Luis", "next friday at noon")),
    ("remind me at 9pm night shift starts", ("night shift starts", "at 9pm")),
    ("REMIND ME IN 10 SECONDS TO STRETCH", ("STRETCH", "IN 10 SECONDS")),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), REMINDERS)
def test_a_reminder_is_set_in_the_users_words(text: str, wanted: tuple[str, str]) -> None:
    message, time = wanted
    assert reply(text) == Reply(
        tool="create_reminder", arguments={"message": message, "time": time}
    )


@pytest.mark.parametrize(
    "text",
    [
        "recuérdame con cron 0 10 * * 1 hacer el standup",
        "recuérdame con el cron 0 10 * * 1 que hacer el standup",
        "recuérdame con cron `0 10 * * 1` hacer el standup",
        'recuérdame con cron "0 10 * * 1": hacer el standup',
        "recuérdame cron 0 10 * * 1 hacer el standup",
        "recuérdame usando la expresión cron 0 10 * * 1 hacer el standup",
        "recuérdame hacer el standup con cron 0 10 * * 1",
        "recuérdame hacer el standup con el cron `0 10 * * 1`",
        "recuérdame 0 10 * * 1 hacer el standup",
        "recuérdame hacer el standup 0 10 * * 1",
        "@asistente, RECUÉRDAME CON CRON 0 10 * * 1 hacer el standup",
        "remind me with cron 0 10 * * 1 to hacer el standup",
        "remind me to hacer el standup with the cron expression 0 10 * * 1",
    ],
)
def test_a_cron_expression_sets_a_recurring_one(text: str) -> None:
    message, cron = STANDUP
    assert reply(text) == Reply(
        tool="create_reminder",
        arguments={"message": message, "cron": cron, "recurring": True},
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("recuérdame llamar a Luis", "¿Cuándo?"),
        ("recuérdame", "¿Cuándo?"),
        ("recuérdame un día de estos llamar a Luis", "¿Cuándo?"),
        ("remind me to call Luis", "When?"),
        ("recuérdame en 5 minutos", "¿Qué te recuerdo?"),
        ("recuérdame mañana a las 9 que", "¿Qué te recuerdo?"),
        ("recuérdame en 5 minutos ...", "¿Qué te recuerdo?"),
        ("remind me in 5 minutes", "What shall I remind you of?"),
        ("recuérdame con cron 0 10 * * 1", "¿Qué te recuerdo?"),
        ("recuérdame a las 12 comer", "mediodía o medianoche"),
        ("recuérdame comer a las 12", "mediodía o medianoche"),
        ("recuérdame mañana llamar a Luis", "falta la hora"),
        ("remind me tomorrow to call Luis", "the time of day is missing"),
        ("recuérdame hoy a las 9:00 correr", "ya pasó"),
        ("recuérdame 2020-01-01 10:00 correr", "ya pasó"),
        ("recuérdame 2026-13-01 10:00 correr", "no existe"),
        ("recuérdame a las 5 ir a casa", "por la mañana o por la noche"),
        ("recuérdame con cron 0 99 * * 1 x", "'99' no vale"),
        ("recuérdame con cron 0 10 31 2 * x", "no ocurre nunca"),
        ("recuérdame con cron hacer el standup", "No he puesto el recordatorio"),
        ("remind me with cron 0 99 * * 1 to x", "'99' does not fit"),
        ("recuérdame a las 16:00 llamar a Luis mañana", "no sé qué día"),
        ("recuérdame que mañana tengo reunión a las 9:00", "no sé qué día"),
        ("remind me at 16:00 to call Luis tomorrow", "which day"),
        ("recuérdame todos los lunes hacer el standup", "falta la hora"),
        ("recuérdame cada 2 días a las 9 regar", "no se puede repetir con exactitud"),
        ("recuérdame cada luna llena salir", "¿Cuándo?"),
        ("recuérdame hacer standup cada lunes alterno", "se repite"),
        ("recuérdame llamar a Luis el 31 de abril a las 15:00", "no existe"),
        ("recuérdame a las 15:00 de la mañana llamar", "no encaja"),
        ("recuérdame la reunión cada dos semanas el viernes a las 9", "con exactitud"),
        ("recuérdame cada 2 horas hasta las 20:00 beber agua", "parte de lo que hay que recordar"),
        ("recuérdame todos los lunes a las 10 excepto festivos salir", "parte de lo que hay que"),
        ("recuérdame a las 16:00 llamar a Luis el 10 de diciembre", "no sé qué día"),
        ("recuérdame el viernes llamar a Luis", "falta la hora"),
        ("recuérdame lunes y jueves a las 9 regar", "cada semana"),
        ("remind me on monday april 10 2027 at 9am to stretch", "2027-04-10"),
        ("remind me every month to stretch", "which day"),
        ("recuérdame revisar el plan de mañana a las 9:00", "parte de lo que hay que recordar"),
        ("recuérdame trabajar hasta las 18:00", "parte de lo que hay que recordar"),
        ("recuérdame a las 16:00 y a las 17:00 beber agua", "parte de lo que hay que recordar"),
        ("remind me to work until 18:00", "part of the message"),
    ],
)
def test_an_open_reminder_is_asked_about_and_never_guessed(text: str, told: str) -> None:
    answer = reply(text)
    assert answer.tool is None
    assert told in answer.text


@pytest.mark.parametrize(
    "text",
    [
        "qué recordatorios tengo",
        "¿Qué recordatorios tengo?",
        "que recordatorios hay en esta sala",
        "@asistente ¿cuáles son mis recordatorios?",
        "lista los recordatorios",
        "muéstrame mis recordatorios, por favor",
        "recordatorios",
        "¿tengo algún recordatorio?",
        "what reminders do I have",
        "What reminders do I have?",
        "list my reminders",
        "show me the reminders please",
        "do I have any reminders?",
    ],
)
def test_the_list_is_asked_for(text: str) -> None:
    assert reply(text) == Reply(tool="list_reminders")


@pytest.mark.parametrize(
    "text",
    [
        "borra el recordatorio r7f3k2",
        "Borra el recordatorio [R7F3K2].",
        "elimina r7f3k2",
        "asistente: cancela el recordatorio con id r7f3k2",
        "puedes borrar el recordatorio r7f3k2?",
        "delete reminder r7f3k2",
        "please remove the reminder r7f3k2",
    ],
)
def test_an_id_is_deleted_directly(text: str) -> None:
    assert reply(text) == Reply(tool="delete_reminder", arguments={"id": "r7f3k2"})


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("qué hora es", None),
        ("¿Qué hora es?", None),
        ("que hora es ahora", None),
        ("dime la hora", None),
        ("me dices la hora?", None),
        ("¿sabes qué hora es?", None),
        ("qué día es hoy", None),
        ("qué hora es @asistente", None),
        ("hola, ¿qué hora es?", None),
        ("¿qué hora es en Tokio?", "Tokio"),
        ("qué hora es ahora en Nueva York", "Nueva York"),
        ("what time is it", None),
        ("What time is it now?", None),
        ("what time it is", None),
        ("tell me the time", None),
        ("what's the time?", None),
        ("what time is it in New York?", "New York"),
        ("do you know what time it is in Tokyo", "Tokyo"),
    ],
)
def test_the_time_is_asked_for(text: str, zone: str | None) -> None:
    arguments = {} if zone is None else {"zone": zone}
    assert reply(text) == Reply(tool="current_time", arguments=arguments)


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("pregunta a devops qué hora es", "qué hora es"),
        ("pregúntale a @devops: ¿qué hora es?", "¿qué hora es?"),
        ("pregunta a DevOps que qué hora es", "qué hora es"),
        ("consulta con devops si todo va bien", "si todo va bien"),
        ("dile a devops que reinicie", "reinicie"),
        ("@asistente, pide a devops que mire los logs", "mire los logs"),
        ("ask devops what time it is", "what time it is"),
        ("ask devops to tell the time", "tell the time"),
        ("tell devops that the site is down", "the site is down"),
        ("could you ask @devops what time it is?", "what time it is"),
    ],
)
def test_another_agent_is_asked(text: str, question: str) -> None:
    arguments = {"agent": "devops", "question": question}
    assert reply(text) == Reply(tool="ask_agent", arguments=arguments)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("pregunta a luis si viene", "No hay ningún agente «luis». Los hay: devops."),
        ("ask luis if he comes", "There is no agent “luis”. There are: devops."),
        ("pregunta a asistente qué hora es", "asistente soy yo"),
        ("borra todos los recordatorios", "de uno en uno"),
        ("delete all reminders", "one by one"),
        ("hola", "Hola, @ana. Soy asistente."),
        ("hola a todos", "Hola, @ana."),
        ("buenos días, asistente!", "Hola, @ana."),
        ("@asistente", "Hola, @ana."),
        ("hello", "Hello, @ana. I am asistente."),
        ("good morning everyone", "Hello, @ana."),
        ("gracias", "De nada, @ana."),
        ("muchas gracias por todo", "De nada, @ana."),
        ("thanks a lot!", "You are welcome, @ana."),
        ("adiós", "Hasta luego, @ana."),
        ("bye", "See you, @ana."),
    ],
)
def test_small_talk_is_answered_without_tools(text: str, told: str) -> None:
    answer = reply(text)
    assert answer.tool is None
    assert told in answer.text


@pytest.mark.parametrize(
    "text",
    ["quién eres", "preséntate", "¿qué agentes hay?", "¿eres un bot?", "¿eres una IA?"],
)
def test_it_introduces_all_agents_and_says_what_it_is(text: str) -> None:
    assert reply(text).text == (
        "Soy asistente: Lleva los recordatorios. No soy un modelo de lenguaje: respondo con reglas "
        "fijas, y lo que no entiendo lo digo.\n"
        "También están:\n"
        "- devops: Cuida los servidores"
    )


@pytest.mark.parametrize(
    "text", ["who are you", "introduce yourself", "What agents are there?", "are you an AI?"]
)
def test_it_introduces_itself_in_english_too(text: str) -> None:
    assert "I am not a language model" in reply(text).text
    assert "There are also:\n- devops" in reply(text).text


def test_alone_it_says_so() -> None:
    assert "No hay más agentes." in reply("qué agentes hay", agents={"asistente": ""}).text


@pytest.mark.parametrize("text", ["ayuda", "¿qué sabes hacer?", "asistente, ¿qué puedes hacer?"])
def test_help_lists_what_it_can_do_with_its_tools(text: str) -> None:
    told = reply(text, tools=("current_time",)).text
    assert "decir la hora" in told
    assert "presentarnos" in told
    assert "recordatorio" not in told
    assert "preguntar a otro agente" not in told


@pytest.mark.parametrize(
    "text",
    [
        "cuéntame un chiste",
        "¿cuál es la capital de Francia?",
        "recuerda que me gustan los gatos",
        "no me recuerdes nada",
        "Luis dijo: recuérdame en 5 minutos que salga",
        "qué hora era cuando saliste",
        "recuérdale a Luis en 5 minutos que venga",
        "pregunta",
        "dile a Luis que venga",
        "reinicia el servidor",
        "👍",
        "...",
        "asdf qwer",
    ],
)
def test_what_it_does_not_understand_it_says_and_lists_what_it_can(text: str) -> None:
    answer = reply(text)
    assert answer.tool is None
    assert answer.text.startswith("No te he entendido. No soy un modelo de lenguaje")
    assert "recuérdame en 5 minutos que riegue las plantas" in answer.text
    assert "pregunta a devops" in answer.text


@pytest.mark.parametrize(
    "text", ["tell me a joke", "what is the capital of France?", "write a poem for me please"]
)
def test_the_answer_follows_the_messages_language(text: str) -> None:
    assert reply(text).text.startswith("I did not understand you.")


def test_where_the_message_does_not_tell_the_locale_decides() -> None:
    assert reply("xyzzy", locale="en").text.startswith("I did not understand you.")
    assert reply("xyzzy").text.startswith("No te he entendido.")


LIST = (
    "Hay 3 recordatorios activos en esta sala (hora de Europe/Madrid):\n"
    "1. [r7f3k2] hacer el standup — 2026-12-07 10:00 (recurrente)\n"
    "2. [rabc12] regar las plantas — 2026-12-01 09:00 (one-shot)\n"
    "3. [rdef45] regar el huerto — lo de Ana — 2026-12-01 10:00 (one-shot) @luis"
)


def after_list(text: str, listed: str = LIST) -> Reply:
    return respond(request(text, *called("list_reminders", listed)))


@pytest.mark.parametrize(
    ("text", "id"),
    [
        ("borra el del standup", "r7f3k2"),
        ("borra el de hacer el standup", "r7f3k2"),
        ("borra el recordatorio de la planta", "rabc12"),
        ("elimina el del HUERTO", "rdef45"),
        ("quita el recordatorio de las plantas, por favor", "rabc12"),
        ("delete the one about the standup", "r7f3k2"),
    ],
)
def test_the_one_that_the_words_describe_is_looked_up_and_deleted(text: str, id: str) -> None:
    assert reply(text) == Reply(tool="list_reminders")
    assert after_list(text) == Reply(tool="delete_reminder", arguments={"id": id})


def test_two_that_fit_are_asked_about() -> None:
    answer = after_list("borra el de regar")
    assert answer.tool is None
    assert answer.text.splitlines() == ["¿Cuál borro? Dime su id:", *LIST.splitlines()[2:]]


def test_none_that_fits_is_said_with_what_there_is() -> None:
    answer = after_list("borra el de la cena")
    assert answer.tool is None
    assert answer.text.startswith(
        "No encuentro ningún recordatorio que encaje con «el de la cena»."
    )
    assert answer.text.endswith("\n".join(LIST.splitlines()[1:]))


@pytest.mark.parametrize("text", ["borra", "borra eso", "borra el 2", "borra el recordatorio"])
def test_an_open_deletion_is_asked_about(text: str) -> None:
    assert after_list(text).tool is None


def test_the_only_reminder_needs_no_name_but_needs_to_be_meant() -> None:
    only = "\n".join(LIST.splitlines()[:2])
    wanted = Reply(tool="delete_reminder", arguments={"id": "r7f3k2"})
    assert after_list("borra el recordatorio", only) == wanted
    assert after_list("borra", only).tool is None
    assert after_list("borra el de la cena", only).tool is None


def test_an_empty_or_failed_list_is_passed_on() -> None:
    assert (
        after_list("borra el del standup", "No hay recordatorios.").text == "No hay recordatorios."
    )


def test_after_the_deletion_its_text_is_the_answer() -> None:
    rounds = (
        *called("list_reminders", LIST),
        *called("delete_reminder", "Recordatorio eliminado.", "call_2_1"),
    )
    assert respond(request("borra el del standup", *rounds)).text == "Recordatorio eliminado."


def test_a_tools_text_becomes_the_answer_word_for_word() -> None:
    text = "Listo, @ana: te recordaré «riegue las plantas» hoy. [r7f3k2]"
    message = "recuérdame en 5 segundos que riegue las plantas"
    answer = respond(request(message, *called("create_reminder", text)))
    assert answer == Reply(text)


def test_all_results_of_a_round_come_before_the_answer() -> None:
    calls = tuple(ToolCall(f"c{n}", "current_time", "{}") for n in (1, 2))
    rounds = [ChatMessage("assistant", "", tool_calls=calls)]
    rounds += [ChatMessage("tool", f"hora {n}", tool_call_id=f"c{n}") for n in (1, 2)]
    assert respond(request("qué hora es", *rounds)).text == "hora 1\nhora 2"


def test_only_the_turns_own_rounds_count() -> None:
    earlier = ("qué hora es", *called("current_time", "Son las 3."))
    said = ChatMessage("assistant", "Son las 3.")
    assert respond(request(*earlier, said, "qué hora es")).tool == "current_time"


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("recuérdame en 5 segundos que riegue las plantas", "create_reminder"),
        ("qué recordatorios tengo", "list_reminders"),
        ("borra el recordatorio r7f3k2", "delete_reminder"),
        ("borra el del standup", "delete_reminder"),
        ("qué hora es", "current_time"),
        ("pregunta a devops qué hora es", "ask_agent"),
    ],
)
def test_without_its_tool_it_says_that_it_cannot(text: str, tool: str) -> None:
    answer = reply(text, tools=())
    assert answer.tool is None
    assert f"me falta la herramienta {tool}" in answer.text


@pytest.mark.parametrize(
    "text", ["hola", "gracias", "cuéntame un chiste", "No te he entendido.", "ok", "Son las 3."]
)
def test_a_bots_chatter_gets_no_reply(text: str) -> None:
    assert reply(text, sender_is_bot=True) == Reply(NO_REPLY)


def test_a_bot_that_addresses_it_with_something_to_do_is_answered() -> None:
    assert reply("@asistente qué hora es", sender_is_bot=True).tool == "current_time"


def test_a_bot_that_addresses_nobody_gets_no_reply() -> None:
    assert reply("qué hora es", sender_is_bot=True, addressed=False) == Reply(NO_REPLY)


def test_a_person_is_answered_also_when_nobody_was_addressed() -> None:
    assert reply("qué hora es", addressed=False).tool == "current_time"


def test_nothing_said_is_nothing_to_answer() -> None:
    assert respond(request()) == Reply(NO_REPLY)


def test_phrases_count_from_when_the_message_came_in() -> None:
    late = reply("recuérdame hoy a las 16:00 salir", received_at=1_796_049_842.0 + 3600)
    assert "ya pasó" in late.text
    assert reply("recuérdame hoy a las 16:00 salir").tool == "create_reminder"


def test_a_zone_that_does_not_exist_is_no_reason_to_stumble() -> None:
    assert reply("recuérdame en 5 minutos salir", timezone="Mars/Base").tool is None


async def test_as_a_provider_it_streams_words_and_ends() -> None:
    async with BuiltinProvider().stream(request("gracias")) as events:
        seen = [event async for event in events]
    assert seen == [TextDelta("De"), TextDelta(" nada,"), TextDelta(" @ana."), Finished("stop")]


async def test_as_a_provider_its_call_is_complete_json_with_an_id_of_the_round() -> None:
    output = await complete(BuiltinProvider(), request("recuérdame en 5 minutos «ñ»"))
    wanted = ToolCall("call_1_1", "create_reminder", '{"message": "«ñ»", "time": "en 5 minutos"}')
    assert output.calls == (wanted,)
    assert output.finish == Finished("tool_calls")
    second = request("borra el del standup", *called("list_reminders", LIST))
    async with BuiltinProvider().stream(second) as events:
        first_event = await anext(events)
    assert isinstance(first_event, ToolCallRequested)
    assert first_event.call.id == "call_2_1"


WORDS = (
    "recuérdame remind me en in 5 minutos seconds a las at 9 12 mañana tomorrow que to con cron "
    "0 10 * * 1 @daily borra delete el the del r7f3k2 qué hora es what time is it Tokio pregunta "
    "ask devops asistente @asistente , : . ¿ ? ! hola gracias todos los lunes every day ` [ ] — "
    "recordatorios reminders tengo y hasta 15:00 2026-12-01"
)
PIECES = st.sampled_from(WORDS.split())
SENTENCES = st.lists(PIECES, max_size=14).map(" ".join)


@given(SENTENCES | st.text(max_size=300), st.sets(st.sampled_from(ALL_TOOLS)), st.booleans())
def test_any_text_gets_one_answer_and_only_offered_tools(
    text: str, tools: set[str], bot: bool
) -> None:
    answer = reply(text, tools=tuple(tools), sender_is_bot=bot)
    assert (answer.tool is None) is bool(answer.text)
    assert answer.tool is None or answer.tool in tools
    assert all(str(value).strip() for value in answer.arguments.values())


@given(SENTENCES, st.lists(st.tuples(st.sampled_from(ALL_TOOLS), st.text(max_size=80)), max_size=3))
def test_any_rounds_before_end_in_an_answer(text: str, rounds: list[tuple[str, str]]) -> None:
    done = [m for n, (tool, told) in enumerate(rounds) for m in called(tool, told, f"c{n}")]
    answer = respond(request(text, *done))
    assert answer.text or answer.tool in ALL_TOOLS


@given(SENTENCES)
def test_the_same_request_gets_the_same_answer(text: str) -> None:
    assert reply(text) == reply(text)


@given(st.text(alphabet="hola asdf ñ?¡", max_size=60))
def test_bots_that_want_nothing_never_get_a_word(text: str) -> None:
    assert reply(text, sender_is_bot=True) == Reply(NO_REPLY)


@pytest.mark.parametrize(
    "text", ["a " * 4000, "recuérdame " * 700, "¿" * 8000, "qué hora es en " * 500]
)
def test_long_texts_take_no_long_time(text: str) -> None:
    async def answered() -> None:
        with trio.fail_after(2):
            await complete(BuiltinProvider(), request(text))

    trio.run(answered)


def test_a_message_too_long_to_keep_is_never_kept_in_part() -> None:
    answer = reply("recuérdame en 5 minutos " + "x" * 9000)
    assert answer.tool is None or len(answer.arguments["message"]) > 4000
