"""Rooms: an event reads the same whatever a stranger put in its content."""

from __future__ import annotations

import pytest
from hypothesis import given

from channels.chain import Stamp, stamped
from channels.rooms import RoomEvent, TransportError, text_content
from tests.channels.test_chain import CONTENTS, JSON


def event(content: dict[str, object], **changes: object) -> RoomEvent:
    return RoomEvent("$1", "#taller", "@ana", 1.0, content, **changes)  # type: ignore[arg-type]


def test_text_mentions_reply_and_stamp_are_read_from_the_content() -> None:
    stamp = Stamp("asistente", "$0", "$0", 1)
    seen = event(
        stamped(
            {
                **text_content("hola"),
                "m.mentions": {"user_ids": ["asistente", "devops", 3]},
                "m.relates_to": {"m.in_reply_to": {"event_id": "$0"}},
            },
            stamp,
        )
    )
    assert seen.text == "hola"
    assert seen.mentions == {"asistente", "devops"}
    assert seen.reply_to == "$0"
    assert seen.stamp == stamp


@given(CONTENTS, JSON, JSON, JSON, JSON)
def test_no_content_makes_reading_raise(
    content: dict[str, object], body: object, mentions: object, relation: object, member: object
) -> None:
    for seen in (
        event({**content, "body": body, "m.mentions": mentions, "m.relates_to": relation}),
        event({"m.mentions": {"user_ids": mentions}, "m.relates_to": {"m.in_reply_to": relation}}),
        event({"member": member}, kind="join"),
    ):
        assert isinstance(seen.text, str)
        assert isinstance(seen.member, str)
        assert all(isinstance(user, str) for user in seen.mentions)
        assert seen.reply_to is None or isinstance(seen.reply_to, str)
        assert seen.control is None or seen.control[0] in ("stop", "yes", "no")


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("!stop", ("stop", "")),
        ("  !STOP  ", ("stop", "")),
        ("!yes a1b2 ", ("yes", "a1b2")),
        ("!no\ta1b2", ("no", "a1b2")),
        ("!stop ya, por favor", ("stop", "ya, por favor")),
        ("!stopwatch", None),
        ("no !stop", None),
        ("! stop", None),
        ("!", None),
        ("!ayuda", None),
        ("", None),
    ],
)
def test_control_messages_are_told_from_talk(text: str, control: object) -> None:
    assert event(text_content(text)).control == control


def test_a_notice_is_never_a_control_message() -> None:
    assert event(text_content("!stop", notice=True), kind="notice").control is None


def test_a_membership_is_about_the_one_named_else_the_sender() -> None:
    assert event({"member": "@eva"}, kind="leave").member == "@eva"
    assert event({"membership": "join"}, kind="join").member == "@ana"


def test_a_transport_error_tells_whether_and_when_to_try_again() -> None:
    slow = TransportError("too many requests", retry_after=2.5)
    assert (str(slow), slow.retry_after, slow.permanent) == ("too many requests", 2.5, False)
    assert TransportError("forbidden", permanent=True).permanent
