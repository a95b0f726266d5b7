"""From nodes to attrs classes by annotation alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.constraints import Between, ExistingFile, FilledByLoader, Matches, Unique
from config.document import parse
from config.secrets import Secret
from config.structuring import Structurer


@attrs.frozen
class Part:
    name: str
    count: Annotated[int, Between(0, 9)] = 3
    key: Secret | None = None

    def faults(self) -> Iterator[tuple[tuple[str, ...], str]]:
        if self.name == "x" and self.count == 0:
            yield ("count", "name"), "must not be 0 for x"


@attrs.frozen
class Whole:
    id: Annotated[str, FilledByLoader()]
    title: Annotated[str, Matches(r"\w+", "one word")] = "none"
    ratio: float = 1.0
    on: bool = False
    level: Literal["low", "high"] = "low"
    limit: Annotated[int, Between(1, 5)] | None = None
    note: str | None = None
    tags: Annotated[tuple[str, ...], Unique()] = ()
    parts: Annotated[tuple[Part, ...], Unique("name")] = ()
    main: Part | None = None
    token: Secret | None = None
    script: Annotated[str, ExistingFile("folder")] | None = None
    base: Annotated[str, ExistingFile("folder")] = "base.txt"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "base.txt").write_text("x")
    return tmp_path


def build(
    folder: Path, text: str, environ: Mapping[str, str] | None = None
) -> tuple[Whole | None, list[str]]:
    maker = Structurer(parse(text, "f"), folder, folder, environ or {})
    value = maker.structure(Whole, id="me")
    return value, [str(problem) for problem in maker.problems]


def good(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> Whole:
    value, problems = build(folder, text, environ)
    assert problems == []
    assert value is not None
    return value


def bad(folder: Path, text: str, environ: Mapping[str, str] | None = None) -> list[str]:
    _, problems = build(folder, text, environ)
    assert problems
    return problems


def test_every_kind_of_field_is_built(folder: Path) -> None:
    text = """
title: hola
ratio: 2
on: true
level: high
limit: 5
note: "12"
tags: [a, b]
parts:
  - name: uno
  - {name: dos, count: 9, key: k}
main: {name: tres}
"""
    assert good(folder, text) == Whole(
        id="me",
        title="hola",
        ratio=2.0,
        on=True,
        level="high",
        limit=5,
        note="12",
        tags=("a", "b"),
        parts=(Part("uno"), Part("dos", 9, Secret("k"))),
        main=Part("tres"),
    )


def test_null_is_none_only_where_none_is_allowed(folder: Path) -> None:
    assert good(folder, "note:\nlimit: ~\nmain: null\n") == Whole(id="me")
    assert bad(folder, "ratio:\n") == ["f:1:6: ratio: is empty: write a finite number"]
    assert "must be a list" in bad(folder, "tags:\n")[0]


def test_all_faults_come_at_once_with_their_positions(folder: Path) -> None:
    text = """
titel: x
ratio: [1]
on: "true"
level: hihg
limit: 7
parts:
  - count: x
    nmae: y
tags: a
"""
    assert bad(folder, text) == [
        "f:2:1: titel: unknown key (did you mean 'title'?)",
        "f:3:8: ratio: must be a finite number, not a list",
        "f:4:5: on: must be true or false, not 'true'",
        "f:5:8: level: must be low or high, not 'hihg' (did you mean 'high'?)",
        "f:6:8: limit: is out of range: write a number from 1 to 5",
        "f:8:12: parts[0].count: must be a whole number, not 'x'",
        "f:9:5: parts[0].nmae: unknown key (did you mean 'name'?)",
        "f:8:5: parts[0].name: is missing: write `name: ...` here",
        "f:10:7: tags: must be a list ([a, b], or lines that begin with -), not 'a'",
    ]


def test_a_key_like_no_other_gets_the_list_of_known_ones(folder: Path) -> None:
    assert "known here: name, count, key, key_file" in bad(folder, "main: {name: a, zzzzz: 1}")[0]


def test_what_the_loader_fills_is_no_key(folder: Path) -> None:
    assert "unknown key" in bad(folder, "id: other\n")[0]


@pytest.mark.parametrize("text", [".nan", ".inf", "-.inf", "1e999", "9" * 400, "true", "a", "'1'"])
def test_a_number_is_a_finite_number(folder: Path, text: str) -> None:
    assert "must be a finite number" in bad(folder, f"ratio: {text}\n")[0]


@pytest.mark.parametrize("text", ["1.0", "true", "1e0", "'1'", "1_0"])
def test_a_whole_number_is_nothing_else(folder: Path, text: str) -> None:
    assert "must be a whole number" in bad(folder, f"limit: {text}\n")[0]


@pytest.mark.parametrize("text", ["12", "1.5", "true"])
def test_text_that_yaml_would_take_for_something_else_needs_quotes(folder: Path, text: str) -> None:
    assert "put the value in quotes" in bad(folder, f"note: {text}\n")[0]
    assert good(folder, f"note: '{text}'\n").note == text


def test_a_text_lost_in_a_comment_is_noticed(folder: Path) -> None:
    assert "begins a comment" in bad(folder, "note: #taller\n")[0]
    assert "begins a comment" in bad(folder, "title: #taller\n")[0]
    assert "begins a comment" in bad(folder, "tags:\n  - #taller\n")[0]
    assert good(folder, "note: # a comment\n").note is None


def test_a_substituted_value_has_the_type_of_its_field(folder: Path) -> None:
    env = {"N": "4", "B": "true", "EMPTY": "", "DIGITS": "123"}
    value = good(folder, 'limit: ${N}\nratio: "${N}"\non: ${B}\nnote: ${DIGITS}\n', env)
    assert (value.limit, value.ratio, value.on, value.note) == (4, 4.0, True, "123")
    value = good(folder, "limit: ${EMPTY}\nnote: ${EMPTY}\n", env)
    assert (value.limit, value.note) == (None, "")


def test_an_unset_variable_is_reported_once_at_its_value(folder: Path) -> None:
    for key in ("ratio", "limit", "note", "token", "level", "title"):
        (problem,) = bad(folder, f"{key}: ${{NOPE}}\n")
        assert problem.startswith(
            f"f:1:{len(key) + 3}: {key}: the environment variable NOPE is not set"
        )


def test_a_rule_over_fields_points_at_the_first_and_waits_for_sound_fields(folder: Path) -> None:
    assert bad(folder, "main: {name: x, count: 0}\n") == ["f:1:24: main.count: must not be 0 for x"]
    assert len(bad(folder, "main: {name: x, count: no}\n")) == 1


def test_repetitions_point_at_the_second(folder: Path) -> None:
    assert bad(folder, "tags: [a, b, a]\n")[0].startswith(
        "f:1:14: tags[2]: is already in this list"
    )
    assert bad(folder, "parts: [{name: a}, {name: a}]\n")[0].startswith("f:1:27: parts[1].name: ")


def test_a_secret_comes_from_a_file_beside_the_config(folder: Path) -> None:
    (folder / "token").write_text("  tok-1\n\n")
    assert good(folder, "token_file: token\n").token == Secret("tok-1")
    assert good(folder, f"token_file: {folder / 'token'}\n").token == Secret("tok-1")
    assert good(folder, "token_file: ${WHERE}\n", {"WHERE": "token"}).token == Secret("tok-1")


def test_a_secret_file_that_gives_no_secret_is_a_problem(folder: Path) -> None:
    (folder / "empty").write_text("\n")
    (folder / "binary").write_bytes(b"tok\xff")
    (folder / "token").write_text("tok-1")
    for name in ("missing", "empty", "binary", "."):
        (problem,) = bad(folder, f"token_file: {name}\n")
        assert problem.startswith("f:1:13: token_file: ")
        assert "tok" not in problem.removeprefix("f:1:13: token_file: ")
    (problem,) = bad(folder, "token: x\ntoken_file: token\n")
    assert problem.startswith("f:2:1: token_file: is given beside token")


def test_only_secrets_come_from_files(folder: Path) -> None:
    assert "unknown key" in bad(folder, "note_file: base.txt\n")[0]


def test_a_named_file_must_be_there_the_default_too(folder: Path) -> None:
    (folder / "s.yaml").write_text("x")
    assert good(folder, "script: s.yaml\n").script == "s.yaml"
    assert "does not exist" in bad(folder, "script: t.yaml\n")[0]
    assert "out of the workspace" in bad(folder, "script: ../t.yaml\n")[0]
    (folder / "base.txt").unlink()
    assert bad(folder, "on: true\n") == ["f:1:1: base: the file does not exist"]


@pytest.mark.parametrize("text", ["[a]", "just text", "~", "12"])
def test_a_file_that_is_no_mapping_is_refused(folder: Path, text: str) -> None:
    assert 'must be "key: value" lines' in bad(folder, text)[0]


SECRET = "s3cr3t-v4lue"
FIELDS = [
    "title",
    "ratio",
    "on",
    "level",
    "limit",
    "note",
    "tags",
    "parts",
    "main",
    "token",
    "script",
]


@given(
    key=st.sampled_from([*FIELDS, "token_file", "base", "nope"]),
    wrap=st.sampled_from(
        ["%s", "[%s]", "[%s, %s]", "{name: %s}", "{%s: %s}", "[{name: %s}, {name: %s}]"]
    ),
)
def test_a_secret_from_the_environment_is_in_no_problem(
    tmp_path_factory: pytest.TempPathFactory, key: str, wrap: str
) -> None:
    folder = tmp_path_factory.getbasetemp()
    text = f"{key}: " + wrap.replace("%s", '"${V} x"') + "\n"
    _, problems = build(folder, text, {"V": SECRET})
    assert not any(SECRET in problem for problem in problems)


@given(st.sampled_from(["token", "token_file"]), st.sampled_from(["[%s]", "{a: %s}", "%s"]))
def test_a_secret_written_into_the_file_is_in_no_problem(key: str, wrap: str) -> None:
    folder = Path("/nonexistent")
    _, problems = build(folder, f"{key}: " + wrap % SECRET + "\nzzz: 1\n")
    assert problems
    assert not any(SECRET in problem for problem in problems)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "!%s",
            "!a!%s",
            "!%s!b",
            "!<%s>",
            "!<%s",
            "&%s",
            "&%s x",
            "*%s",
            "@%s",
            "`%s",
            "{%s",
            "[%s",
        ),
        *('"%s', "'%s", "%s: x", "|%s", ">%s", "? %s", "- %s", "#%s", '"\\q%s"', "${%s", "${A:-%s"),
        *("%s\n%s", "%s\t: x", "\t%s", "%%%s", "---%s", "%s\n--- x"),
    ],
)
def test_a_secret_that_is_no_good_yaml_is_in_no_problem(folder: Path, text: str) -> None:
    line = text.replace("%%", "%").replace("%s", "s3cr3tv4lue")
    _, problems = build(folder, f"token: {line}\n")
    assert not any("s3cr3tv4lue" in problem for problem in problems)


ANY = st.recursive(
    st.sampled_from(
        ["1", "x", "'y'", "true", "", "-3", ".nan", "${N}", "*a", "&a z", "!t u", '"#"']
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[" + ", ".join(items) + "]")
        | st.lists(st.tuples(st.sampled_from([*FIELDS, "name", "count"]), inner), max_size=4).map(
            lambda pairs: "{" + ", ".join(f"{k}: {v}" for k, v in pairs) + "}"
        )
    ),
    max_leaves=15,
)


@given(st.lists(st.tuples(st.sampled_from(FIELDS), ANY), max_size=6))
def test_any_shape_is_built_or_explained(pairs: list[tuple[str, str]]) -> None:
    text = "".join(f"{key}: {value}\n" for key, value in pairs)
    value, problems = build(Path("/nonexistent"), text)
    assert problems or value is not None or not text
