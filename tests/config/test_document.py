"""YAML with positions; its traps are problems, not exceptions."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.document import Document, Mapping, Node, Scalar, Sequence, parse, plain_value


def faults(text: str) -> list[str]:
    return [f"{p.line}:{p.col}: {p.key}: {p.message}" for p in parse(text, "f").problems]


def as_python(node: Node | None) -> object:
    if isinstance(node, Scalar):
        return plain_value(node.text) if node.plain else node.text
    if isinstance(node, Sequence):
        return [as_python(item) for item in node.items]
    assert isinstance(node, Mapping)
    return {key: as_python(value) for key, value in node.values.items()}


def test_keys_and_values_know_where_they_stand() -> None:
    root = parse("a: 1\nb:\n  - ñ\n  - {c: 'd'}\n", "f").root
    assert isinstance(root, Mapping)
    assert (root.keys["b"].line, root.keys["b"].col) == (2, 1)
    items = root.values["b"]
    assert isinstance(items, Sequence)
    assert [(item.line, item.col) for item in items.items] == [(3, 5), (4, 5)]


def test_an_empty_value_stands_behind_its_own_key() -> None:
    root = parse("a:\n\n\nb: 1\n", "f").root
    assert isinstance(root, Mapping)
    assert (root.values["a"].line, root.values["a"].col) == (1, 2)


def test_duplicate_keys_do_not_hide_what_comes_after() -> None:
    text = "a: 1\na: 2\nb:\n  - c: 1\n    c: 2\n"
    assert faults(text) == [
        "2:1: a: duplicate key, already written on line 1: keep one of the two",
        "5:5: b[0].c: duplicate key, already written on line 4: keep one of the two",
    ]


def test_a_duplicate_key_is_reported_beside_a_syntax_error() -> None:
    assert [line.split(":")[0] for line in faults("a: 1\na: 2\nb: [\n")] == ["2", "4"]


@pytest.mark.parametrize(
    ("text", "position", "hint"),
    [
        ("a: b: c\n", "1:5", "quote the text or fix the indent"),
        ("\ta: 1\n", "1:1", "a tab cannot stand here"),
        ("a: 'x\n", "1:4", "close it"),
        ("a: [1\nb: 2\n", "2:2", "comma or the closing bracket"),
        ("a: 1\nb\nc: 2\n", "2:1", "add the colon"),
        ("a: {b: ${X}}\n", "1:9", "needs quotes"),
        ("a:\n  b: 1\n c: 2\n", "3:2", "line the keys up"),
        ("a: *no\n", "1:4", "no such anchor"),
        ("a: &a [*a]\n", "1:8", "no such anchor"),
        ('a: "\\q"\n', "1:6", "backslash"),
        ("a: 1\n--- \nb: 2\n", "2:1", "second document"),
        ("%YAML 9.9\n---\na: 1\n", "1:1", "not valid YAML"),
    ],
)
def test_a_syntax_error_says_what_to_write(text: str, position: str, hint: str) -> None:
    assert len(faults(text)) == 1
    assert faults(text)[0].startswith(position)
    assert hint in faults(text)[0]


@pytest.mark.parametrize(
    "text", ["? [a]\n: b\n", "1: x\n", "~: x\n", ": x\n", "true: x\n", "1.5: x\n"]
)
def test_a_key_that_is_no_text_is_refused(text: str) -> None:
    assert "key must be" in faults(text)[0]


def test_tags_construct_nothing_and_are_refused() -> None:
    assert "no meaning here" in faults("a: !!python/object/apply:os.system [id]\n")[0]
    assert faults("a: ! x\n") == []


@pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? "])
def test_deep_nesting_is_refused_at_its_place(opening: str) -> None:
    (fault,) = faults(opening * 3000)
    assert fault.startswith("1:")
    assert "levels deep" in fault


def test_an_alias_is_its_anchors_value() -> None:
    assert as_python(parse("a: &x [1, 2]\nb: *x\n", "f").root) == {"a": [1, 2], "b": [1, 2]}


def test_an_alias_bomb_is_refused() -> None:
    rows = [f"k{i}: &k{i} [{', '.join([f'*k{i - 1}'] * 9)}]" for i in range(1, 10)]
    (fault,) = faults("k0: &k0 [1]\n" + "\n".join(rows))
    assert "aliases multiply" in fault


def test_too_many_values_are_refused() -> None:
    (fault,) = faults("\n".join(f"k{i}: 1" for i in range(20_000)))
    assert "more than 10000 values" in fault


def test_escapes_that_are_no_text_are_refused_and_json_pairs_are_joined() -> None:
    assert "not text" in faults('a: "\\ud800"')[0]
    assert "not text" in faults('a: "\\0"')[0]
    assert as_python(parse('a: "\\ud83c\\udf31"', "f").root) == {"a": "🌱"}


def test_a_slip_of_the_scanner_is_a_problem_too() -> None:
    assert "not valid YAML" in faults('a: "\\UFFFFFFFF"')[0]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("True", True),
        ("false", False),
        ("yes", "yes"),
        ("-7", -7),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("-.inf", -math.inf),
        ("12:30", "12:30"),
        ("2026-01-01", "2026-01-01"),
        ("٣", "٣"),
    ],
)
def test_plain_text_means_what_yaml_1_2_says(text: str, value: object) -> None:
    found = plain_value(text)
    assert found == value
    assert type(found) is type(value)


def test_endless_digits_cost_nothing() -> None:
    assert isinstance(plain_value("9" * 100_000), int)


@given(st.text(max_size=300))
def test_any_text_gives_a_document(text: str) -> None:
    document = parse(text, "f")
    assert isinstance(document, Document)
    assert all(p.line >= 1 and p.col >= 1 and str(p).isprintable() for p in document.problems)


YAML_BITS = st.sampled_from(
    [
        *"[]{}:,-?&*!|>%@`'\"#\n\n\n  \t\\",
        "a",
        "b: ",
        "- ",
        "&x",
        "*x",
        "---",
        "...",
        "<<",
        "\r\n",
        "1",
    ]
)


@given(st.lists(YAML_BITS, max_size=60).map("".join))
def test_any_heap_of_yaml_signs_gives_a_document(text: str) -> None:
    document = parse(text, "f")
    assert all(p.line >= 1 and p.col >= 1 for p in document.problems)


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(alphabet=st.characters(codec="utf-8"), max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_json_means_the_same_here(value: object) -> None:
    import json

    if "\\u0000" in json.dumps(value) or "\x7f" in json.dumps(value, ensure_ascii=False):
        return
    document = parse(json.dumps(value), "f")
    assert document.problems == ()
    assert as_python(document.root) == value
