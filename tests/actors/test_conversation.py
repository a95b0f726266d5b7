"""What a model is shown of a room."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from actors.conversation import Setting, display_name, history_messages, spoken, system_prompt
from actors.llm.protocol import NO_REPLY, ChatMessage
from channels.rooms import RoomEvent, text_content

SETTING = Setting(
    agent="ada",
    name="Ada",
    prompt="Eres amable.\n",
    room="#taller",
    locale="es",
    timezone="Europe/Madrid",
    now=1_775_000_000.0,
    received_at=1_775_000_000.0,
    agents={"ada": "jardinera", "bob": "cuida servidores", "cid": ""},
    tools=("current_time",),
)


def heard(text: str, sender: str = "@ana:example.org", **more: Any) -> RoomEvent:
    return RoomEvent(f"${text}", "#taller", sender, 0.0, text_content(text), **more)


def test_the_system_prompt_holds_the_agents_own_words_and_the_facts() -> None:
    text = system_prompt(SETTING).content
    assert text.startswith("Eres amable.\nEres Ada")
    for fact in ("#taller", "2026-04-01 01:33", "Europe/Madrid", "bob (cuida servidores)", "cid"):
        assert fact in text
    assert "jardinera" not in text  # an agent is not told about itself as another
    assert "current_time" in text and NO_REPLY in text


def test_it_speaks_the_workspaces_language() -> None:
    assert "You are Ada" in system_prompt(attrs.evolve(SETTING, locale="en")).content


def test_a_message_written_while_away_says_when() -> None:
    late = attrs.evolve(SETTING, received_at=SETTING.now - 7200)
    assert "2026-03-31 23:33" in system_prompt(late).content


def test_a_task_has_no_room() -> None:
    assert "tarea" in system_prompt(attrs.evolve(SETTING, room=None)).content


def test_own_messages_are_the_assistants_and_others_carry_their_name() -> None:
    events = [heard("hola"), heard("buenas", "ada"), heard("¡eh!", "bob")]
    assert history_messages(events, "ada") == (
        ChatMessage("user", "hola", name="ana"),
        ChatMessage("assistant", "buenas"),
        ChatMessage("user", "¡eh!", name="bob"),
    )


def test_notices_joins_and_empty_messages_are_left_out() -> None:
    events = [heard("aviso", kind="notice"), heard("x", kind="join"), heard("  ")]
    assert history_messages(events, "ada") == ()


@pytest.mark.parametrize(
    ("user", "name"), [("@ana:example.org", "ana"), ("@ana", "ana"), ("bob", "bob"), ("@", "@")]
)
def test_a_person_is_called_by_the_local_part(user: str, name: str) -> None:
    assert display_name(user) == name


def test_a_given_name_wins() -> None:
    assert spoken(heard("x"), "ada", {"@ana:example.org": "Ana María"}).name == "Ana María"
