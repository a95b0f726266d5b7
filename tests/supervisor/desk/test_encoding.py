"""JSON out and JSON in."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from supervisor.desk.encoding import BadJson, decode_object, encode, failure
from supervisor.desk.office import LastRun, Node, Problem


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
