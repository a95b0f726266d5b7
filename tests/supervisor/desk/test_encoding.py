"""JSON out and JSON in."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.desk.encoding import BadJson, decode_object, encode, failure, plain
from supervisor.desk.office import LastRun, Line, Node, Problem


def test_types_become_objects_and_instants_iso_with_their_offset() -> None:
    zone = timezone(timedelta(hours=2))
    run = LastRun(datetime(2026, 4, 10, 9, tzinfo=zone), None)
    assert json.loads(encode(run)) == {"scheduled": "2026-04-10T09:00:00+02:00", "outcome": None}
    exact = datetime(2026, 4, 10, 9, 0, 0, 250_000, tzinfo=UTC)
    assert encode([exact]) == b'["2026-04-10T09:00:00.250+00:00"]'
    assert json.loads(encode(Node("a", "s", 1, (Node("b", "s", 2),))))["children"][0]["name"] == "b"


def test_a_failure_has_one_shape() -> None:
    problem = Problem("f", 1, 2, "k", "m")
    expected = {"file": "f", "line": 1, "col": 2, "key": "k", "message": "m"}
    assert failure("no", [problem]) == {"error": "no", "errors": [expected]}


@given(st.text())
def test_any_text_is_encoded(text: str) -> None:
    assert isinstance(json.loads(encode({"text": text}))["text"], str)


SCALAR = st.one_of(
    st.text(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.none(),
    st.booleans(),
    st.lists(st.integers(), max_size=2),
)


@given(st.lists(SCALAR, min_size=7, max_size=7))
def test_an_object_is_encoded_as_the_standard_encoder_would(values: list[Any]) -> None:
    line = Line(*values)
    usual = json.dumps(plain(line), ensure_ascii=False, separators=(",", ":"))
    assert encode(line) == usual.encode("utf-8", "replace")


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_json_cannot_say_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="JSON"):
        encode(Line("#r", "@a", "t", "$1", number))


def test_a_lone_surrogate_does_not_break_the_encoder() -> None:
    assert encode("a\ud800b") == b'"a?b"'


@pytest.mark.parametrize("data", [b"[]", b"3", b"{", b"\xff", b'{"a": Infinity}', b"[" * 100_000])
def test_what_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(BadJson):
        decode_object(data)


def test_an_empty_body_is_an_empty_object() -> None:
    assert decode_object(b"") == {}


@given(st.binary(max_size=50))
def test_no_bytes_raise_anything_else(data: bytes) -> None:
    with suppress(BadJson):
        assert isinstance(decode_object(data), dict)
