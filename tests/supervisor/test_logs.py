"""The log: one line an event, no secret in it, and never a reason to fail."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from config.schema import AgentConfig, LlmConfig
from config.secrets import Secret
from supervisor import logs

pytestmark = pytest.mark.promise("P7")


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    yield
    structlog.reset_defaults()
    root = logging.getLogger()
    for handler in [one for one in root.handlers if isinstance(one, logs._Bridge)]:
        root.removeHandler(handler)
    logs._hidden.clear()


@pytest.fixture
def text() -> io.StringIO:
    stream = io.StringIO()
    logs.configure("text", stream)
    return stream


@pytest.fixture
def machine() -> io.StringIO:
    stream = io.StringIO()
    logs.configure("json", stream)
    return stream


def read(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_people_get_time_level_event_and_fields_on_one_line(text: io.StringIO) -> None:
    structlog.get_logger().info(
        "agent asistente reloaded successfully", generation=3, room="#taller", why="a b"
    )
    line = text.getvalue()
    assert re.fullmatch(
        r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO  agent asistente reloaded successfully "
        r'generation=3 room=#taller why="a b"\n',
        line,
    )


def test_machines_get_one_json_object_a_line(machine: io.StringIO) -> None:
    log = structlog.get_logger().bind(agent="asistente")
    log.warning("dead_letter", reason="x", where={"room": "#a", "n": [1, 2]})
    (event,) = read(machine)
    assert event["level"] == "warning"
    assert event["event"] == "dead_letter"
    assert event["audit"] is True
    assert event["where"] == {"room": "#a", "n": [1, 2]}
    assert event["agent"] == "asistente"


def test_debug_is_off_until_asked_for(text: io.StringIO) -> None:
    structlog.get_logger().debug("quiet")
    logs.configure("text", text, level=logging.DEBUG)
    structlog.get_logger().debug("loud")
    assert "quiet" not in text.getvalue()
    assert "DEBUG loud" in text.getvalue()


@pytest.mark.parametrize("format", ["text", "json"])
def test_secrets_never_reach_the_log(format: Any) -> None:
    stream = io.StringIO()
    logs.configure(format, stream)
    logs.hide("s3cr3t-value")
    try:
        raise ValueError("boom s3cr3t-value")
    except ValueError:
        structlog.get_logger().exception(
            "event with s3cr3t-value",
            token="t0k",
            access_token="t1k",
            web={"Authorization": "Bearer t2k", "api_key": ["t3k"], "deep": [{"password": "t4k"}]},
            secret=Secret("t5k"),
            wrapped=Secret("t6k"),
            url="http://x/#token=s3cr3t-value",
        )
    shown = stream.getvalue()
    for secret in ("s3cr3t", *(f"t{n}k" for n in range(7)), "t0k"):
        assert secret not in shown
    assert "***" in shown


def test_counts_named_like_secrets_are_no_secrets(machine: io.StringIO) -> None:
    structlog.get_logger().info("usage", tokens=12, has_token=True, token_count=3)
    (event,) = read(machine)
    assert (event["tokens"], event["has_token"], event["token_count"]) == (12, True, 3)


def test_short_values_are_not_hidden(text: io.StringIO) -> None:
    logs.hide("a")
    structlog.get_logger().info("banana")
    assert "banana" in text.getvalue()


def test_what_others_write_cannot_forge_a_line(text: io.StringIO) -> None:
    structlog.get_logger().info("said", text="a\n2026-01-01 00:00:00 INFO fake\x1b[2J\u202e")
    assert len(text.getvalue().splitlines()) == 1
    assert "\x1b" not in text.getvalue()
    assert "\u202e" not in text.getvalue()


def test_a_traceback_is_one_bounded_text(machine: io.StringIO) -> None:
    def deep(n: int) -> None:
        if n:
            deep(n - 1)
        raise ValueError("x" * 50_000)

    try:
        deep(200)
    except ValueError as error:
        structlog.get_logger().error("crashed", exc_info=error)
    (event,) = read(machine)
    assert event["error"].startswith("ValueError: xxx")
    assert len(event["trace"]) < 9_000
    assert len(event["error"]) < 2_100


def test_people_see_where_it_broke_on_the_same_line(text: io.StringIO) -> None:
    try:
        raise KeyError("x")
    except KeyError:
        structlog.get_logger().exception("crashed")
    (line,) = text.getvalue().splitlines()
    assert "ERROR crashed" in line
    assert "KeyError: 'x'" in line
    assert re.search(r"at=test_logs\.py:\d+:test_people", line)


def test_a_group_names_its_leaves(machine: io.StringIO) -> None:
    group = ExceptionGroup("g", [ValueError("a"), ExceptionGroup("h", [KeyError("b")])])
    structlog.get_logger().error("crashed", exc_info=group)
    assert read(machine)[0]["error"] == "ValueError: a; KeyError: 'b'"


def test_the_standard_library_speaks_through_the_same_log(machine: io.StringIO) -> None:
    logging.getLogger("nio").warning("cannot %s", "sync")
    logging.getLogger("nio").info("too quiet")
    (event,) = read(machine)
    assert (event["event"], event["logger"], event["level"]) == ("cannot sync", "nio", "warning")


def test_a_foreign_call_with_wrong_arguments_is_still_logged(machine: io.StringIO) -> None:
    record = logging.LogRecord("nio", logging.ERROR, "x.py", 1, "bad %d arguments", ("x",), None)
    logs._Bridge(logging.WARNING).emit(record)
    assert read(machine)[0]["event"].startswith("bad %d arguments")


def test_configuring_again_replaces_the_first(text: io.StringIO, machine: io.StringIO) -> None:
    logging.getLogger("x").warning("once")
    assert text.getvalue() == ""
    assert len(read(machine)) == 1


def test_a_broken_stream_loses_lines_not_the_caller() -> None:
    stream = io.StringIO()
    logs.configure("text", stream)
    stream.close()
    before = logs.lost_lines()
    structlog.get_logger().info("into the void")
    assert logs.lost_lines() == before + 1


def test_a_value_that_cannot_be_shown_is_no_failure(text: io.StringIO) -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError

    structlog.get_logger().info("odd", value=Broken(), many={1, 2})
    assert "<Broken: RuntimeError>" in text.getvalue()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=20,
)


@given(st.text(), st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), JSON, max_size=4))
def test_anything_is_logged_on_one_line(event: str, fields: dict[str, Any]) -> None:
    fields = {key: value for key, value in fields.items() if key not in ("event", "self")}
    for format in ("text", "json"):
        stream = io.StringIO()
        logs.configure(format, stream)  # type: ignore[arg-type]
        structlog.get_logger().info(event, **fields)
        assert len(stream.getvalue().splitlines()) == 1


def test_every_secret_of_a_configuration_is_hidden() -> None:
    llm = LlmConfig(provider="openai", api_key=Secret("sk-config-secret-1"))
    logs.hide_secrets(AgentConfig(id="a", llm=llm))
    assert logs.redact("called with sk-config-secret-1") == "called with ***"
