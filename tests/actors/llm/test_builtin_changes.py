"""The builtin model reads what becomes of a reminder, and asks where it is not clear which."""

from __future__ import annotations

from typing import Any

import pytest

from actors.llm.builtin import Reply, respond
from tests.actors.llm.requests import ALL_TOOLS, called, request
from tools.reminder.reminder import reminder_tools

TOOLS = (*dict.fromkeys((*ALL_TOOLS, *(tool.name for tool in reminder_tools()))),)
LIST = """Recordatorios de esta sala, activos 2, en pausa 1 (hora de Europe/Madrid):
1. [r7f3k2] regar las plantas — 2026-12-01 09:00 (one-shot)
2. [rab12c] hacer el standup — 2026-12-07 10:00 (recurrente)
3. [rzz99x] llamar a Luis — 2026-12-07 11:00 (recurrente, en pausa) @luis"""


def reply(*said: Any, **options: Any) -> Reply:
    return respond(request(*said, tools=TOOLS, **options))


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("otra vez en 10 minutos", "en 10 minutos"),
        ("Otra vez en 10 minutos, por favor", "en 10 minutos"),
        ("asistente, otra vez en diez minutos", "en diez minutos"),
        ("en 10 minutos otra vez", "en 10 minutos"),
        ("recuérdamelo en media hora", "en media hora"),
        ("recuérdamelo otra vez mañana a las 9:00", "mañana a las 9:00"),
        ("recuérdame otra vez en 10 minutos", "en 10 minutos"),
        ("avísame de nuevo en 10 minutos", "en 10 minutos"),
        ("pospón 10 minutos", "en 10 minutos"),
        ("pospónlo 10 minutos más", "en 10 minutos"),
        ("posponlo a mañana a las 9:00", "mañana a las 9:00"),
        ("muévelo a las 18:30", "a las 18:30"),
        ("déjalo para mañana a las 9:00", "mañana a las 9:00"),
        ("again in 10 minutes", "in 10 minutes"),
        ("remind me again in 10 minutes", "in 10 minutes"),
        ("in 10 minutes again", "in 10 minutes"),
        ("snooze 10 minutes", "in 10 minutes"),
        ("snooze for 10 minutes", "in 10 minutes"),
        ("snooze it until tomorrow at 9am", "tomorrow at 9am"),
        ("postpone it to tomorrow at 9am", "tomorrow at 9am"),
    ],
)
def test_again_snoozes_what_has_just_fired(text: str, time: str) -> None:
    got = reply(text)
    assert (got.tool, got.text) == ("snooze_reminder", "")
    assert got.arguments["time"] in (time, f"en {time}", f"in {time}")


@pytest.mark.parametrize(
    "text", ["en 10 minutos", "mañana a las 9:00", "a las 18:30", "10 minutos"]
)
def test_a_mere_time_counts_only_as_a_reply(text: str) -> None:
    assert reply(text, reply_to="$said").tool == "snooze_reminder"
    assert reply(text).tool is None
    assert reply(text, reply_to="$said", addressed=False).tool is None


def test_small_talk_as_a_reply_moves_nothing() -> None:
    for text in ("gracias", "vale", "hola", "qué bonito día", "perfecto"):
        assert reply(text, reply_to="$said").tool is None


@pytest.mark.parametrize("text", ["otra vez a las 12", "posponlo a las 12", "again at 12"])
def test_a_time_that_is_not_clear_is_asked_about(text: str) -> None:
    got = reply(text)
    assert got.tool is None and ("mediodía" in got.text or "noon" in got.text)


MOVES = [
    ("cambia el de las plantas a las 10:00", "r7f3k2", "a las 10:00"),
    ("cambia el de las plantas a mañana a las 10:00", "r7f3k2", "mañana a las 10:00"),
    (
        "mueve el recordatorio de las plantas para mañana a las 10:00",
        "r7f3k2",
        "mañana a las 10:00",
    ),
    ("pospón el del standup a dentro de 10 minutos", "rab12c", "dentro de 10 minutos"),
    (
        "cambia el del standup a todos los martes a las 10:00",
        "rab12c",
        "todos los martes a las 10:00",
    ),
    ("move the plantas one to tomorrow at 10am", "r7f3k2", "tomorrow at 10am"),
    ("reschedule the one about the standup to tomorrow at 10am", "rab12c", "tomorrow at 10am"),
]


@pytest.mark.parametrize(("text", "id", "time"), MOVES)
def test_the_one_the_words_describe_is_moved(text: str, id: str, time: str) -> None:
    assert reply(text).tool == "list_reminders"
    got = reply(text, *called("list_reminders", LIST))
    assert (got.tool, got.arguments) == ("update_reminder", {"id": id, "time": time})


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("pospón el del standup una hora", "desde ahora o desde su hora"),
        ("retrasa el de las plantas 10 minutos", "desde ahora o desde su hora"),
        ("adelanta el del standup media hora", "desde ahora o desde su hora"),
        ("pospón r7f3k2 una hora más", "desde ahora o desde su hora"),
        ("postpone the standup one by 10 minutes", "from now or from its own time"),
        ("delay the plantas one 1 hour", "from now or from its own time"),
    ],
)
def test_a_bare_duration_is_not_taken_as_from_now_for_one_that_is_still_to_come(
    text: str, asks: str
) -> None:
    """Postponing tomorrow's reminder by an hour must not have it speak in an hour."""
    got = reply(text)
    assert got.tool is None and asks in got.text


def test_an_id_is_moved_at_once() -> None:
    got = reply("cambia r7f3k2 a mañana a las 10:00")
    assert (got.tool, got.arguments) == (
        "update_reminder",
        {"id": "r7f3k2", "time": "mañana a las 10:00"},
    )
    got = reply("cambia el texto de r7f3k2 por «regar el huerto»")
    assert got.arguments == {"id": "r7f3k2", "message": "regar el huerto"}
    got = reply("change the text of r7f3k2 to water the garden")
    assert got.arguments == {"id": "r7f3k2", "message": "water the garden"}


@pytest.mark.parametrize(
    ("text", "tool", "id"),
    [
        ("pausa el del standup", "pause_reminder", "rab12c"),
        ("pon en pausa el recordatorio de las plantas", "pause_reminder", "r7f3k2"),
        ("pausa r7f3k2", "pause_reminder", "r7f3k2"),
        ("pause the standup one", "pause_reminder", "rab12c"),
        ("reanuda el de Luis", "resume_reminder", "rzz99x"),
        ("reanuda el recordatorio", "resume_reminder", "rzz99x"),
        ("resume the reminder", "resume_reminder", "rzz99x"),
    ],
)
def test_pausing_and_resuming(text: str, tool: str, id: str) -> None:
    first = reply(text)
    got = reply(text, *called("list_reminders", LIST)) if first.tool == "list_reminders" else first
    assert (got.tool, got.arguments) == (tool, {"id": id})


def test_one_of_several_is_asked_about() -> None:
    got = reply("pausa el recordatorio", *called("list_reminders", LIST))
    assert got.tool is None and got.text.startswith("¿Cuál?") and "r7f3k2" in got.text
    got = reply("cambia el de los gatos a mañana a las 10:00", *called("list_reminders", LIST))
    assert got.tool is None and "No encuentro" in got.text


def test_a_reply_says_which_one() -> None:
    for text, tool in (("pausa", "pause_reminder"), ("reanuda", "resume_reminder")):
        assert reply(text, reply_to="$said") == Reply(tool=tool)


@pytest.mark.parametrize("text", ["deja de avisarme", "ya no me avises", "stop telling me"])
def test_one_who_was_told_too_can_stop_that(text: str) -> None:
    assert reply(text) == Reply(tool="unfollow_reminder")
    assert reply(text.replace("avisarme", "avisarme de r7f3k2")).tool == "unfollow_reminder"


@pytest.mark.parametrize(
    ("text", "place", "room"),
    [
        ("mi zona es Asia/Tokyo", "Asia/Tokyo", None),
        ("mi zona horaria es Tokio", "Tokio", None),
        ("pon mi zona horaria en Europe/Madrid", "Europe/Madrid", None),
        ("my timezone is America/New_York", "America/New_York", None),
        ("set my time zone to Tokyo", "Tokyo", None),
        ("la zona horaria de esta sala es Europe/Lisbon", "Europe/Lisbon", True),
    ],
)
def test_a_zone_is_set(text: str, place: str, room: bool | None) -> None:
    got = reply(text)
    wanted = {"zone": place} | ({"whole_room": True} if room else {})
    assert (got.tool, got.arguments) == ("set_timezone", wanted)


def test_its_own_zone_is_told_with_the_time() -> None:
    assert reply("cuál es mi zona horaria") == Reply(tool="current_time")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recuérdame todos los lunes a las 10:00 hacer el standup", "hacer el standup"),
        ("recuérdame cada 2 horas beber agua", "beber agua"),
        ("recuérdame de lunes a viernes a las 8:30 fichar", "fichar"),
        ("remind me every monday at 10am to do the standup", "do the standup"),
    ],
)
def test_what_repeats_is_set_in_the_users_words(text: str, message: str) -> None:
    got = reply(text)
    assert got.tool == "create_reminder"
    assert got.arguments["message"] == message
    assert got.arguments["time"] in text


def test_help_tells_of_all_that() -> None:
    text = reply("ayuda").text
    for part in ("otra vez en 10 minutos", "pausa el del standup", "mi zona es", "todos los lunes"):
        assert part in text
    assert "otra vez" not in respond(request("ayuda")).text


@pytest.mark.parametrize(
    "text",
    ["cambia el mundo", "cambia la bombilla del salón", "mueve el coche", "pasa buena tarde"],
)
def test_what_is_about_something_else_is_left_alone(text: str) -> None:
    assert reply(text).tool is None
