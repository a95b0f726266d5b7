"""YAML text as a tree whose nodes know line and column; all that YAML can do wrong is a Problem.

The tree is built from ruamel's events and not from its loaded objects: so a duplicate key does not
hide the faults behind it, nothing is constructed from a tag, and depth and aliases are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import attrs
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, StringMark
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
)

from config.problems import Problem, dotted, printable

__all__ = ["Document", "Mapping", "Node", "Scalar", "Sequence", "parse", "plain_value"]

MAX_DEPTH = 24
MAX_NODES = 10_000


@attrs.frozen(eq=False)
class Scalar:
    """A text as written; `plain` when not quoted, so that it may mean a number, boolean or null."""

    line: int
    col: int
    text: str
    plain: bool
    size: int = 1


@attrs.define(eq=False)
class Sequence:
    """A list; `size` counts all nodes below, those behind aliases too."""

    line: int
    col: int
    items: list[Node] = attrs.Factory(list)
    size: int = 1


@attrs.define(eq=False)
class Mapping:
    """Keys and values in the file's order."""

    line: int
    col: int
    keys: dict[str, Scalar] = attrs.Factory(dict)
    values: dict[str, Node] = attrs.Factory(dict)
    size: int = 1


Node = Scalar | Sequence | Mapping


@attrs.frozen
class Document:
    """One parsed file: `root` is None when nothing could be read; `problems` are YAML's own."""

    file: str
    root: Node | None
    problems: tuple[Problem, ...]
    lines: tuple[str, ...] = attrs.field(default=(), repr=False)


def parse(text: str, file: str) -> Document:
    """Turn YAML text into a Document. Never raises: faults are in its `problems`."""
    builder = _Builder(file)
    try:
        root = builder.build(_events(text))
    except _Fault as fault:
        builder.complain(fault.line, fault.col, fault.message)
        root = None
    return Document(file, root, tuple(builder.problems), tuple(text.splitlines()))


def plain_value(text: str) -> bool | int | float | str | None:
    """Return what an unquoted text means in YAML 1.2: null, a boolean, a number, or itself."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text):
        return int(text[:400], 0 if text[:2] in ("0x", "0o") else 10)
    if _FLOAT.fullmatch(text):
        return float(text.replace(".inf", "inf").replace(".nan", "nan"))
    return text


_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(
    r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf)|\.(nan)", re.ASCII
)


class _Fault(Exception):
    """The rest of the file cannot be understood."""

    def __init__(self, line: int, col: int, message: str) -> None:
        super().__init__(message)
        self.line, self.col, self.message = line, col, message


def _events(text: str) -> Iterator[Event]:
    """Yield ruamel's events; whatever it raises leaves as a _Fault."""
    yaml = YAML(typ="safe", pure=True)
    event = None
    try:
        for event in yaml.parse(text):
            yield event
    except MarkedYAMLError as error:
        mark = _mark(error)
        line, col = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise _Fault(line, col, _explain(error, text.splitlines()[line - 1 : line])) from None
    except Exception as error:  # the scanner's own slip, as over "\UFFFFFFFF", is a bad file too
        line, col = _start(event) if event else (1, 1)
        kind = type(error).__name__
        raise _Fault(line, col, f"not valid YAML here or further on ({kind})") from None


_HINTS = (
    (
        "mapping values are not allowed",
        '": " cannot stand here: quote the text or fix the indent',
    ),
    ("could not find expected ':'", 'this line is not of the form "key: value": add the colon'),
    ("'\\t'", "a tab cannot stand here: indent with spaces"),
    ("expected <block end>", "the indent does not match the lines above: line the keys up"),
    ("did not find expected", "the indent does not match the lines above: line the keys up"),
    ("unexpected end of stream", "a quote or bracket is opened and not closed: close it"),
    ("expected ',' or", "a comma or the closing bracket is missing: add it"),
    ("unknown escape", 'this backslash escape does not exist: write "\\\\" or use single quotes'),
    ("undefined alias", "there is no such anchor: write the value out"),
    ("expected alphabetic or numeric", "quote texts that begin with * or &"),
    ("tag", 'tags ("!...") have no meaning here: quote a text that begins with "!"'),
)


def _mark(error: MarkedYAMLError) -> StringMark | None:
    """Return the more telling of the two marks: what is never closed is named where it begins."""
    text = str(error.problem)
    begun = "unexpected end of stream" in text or "could not find expected ':'" in text
    marks = (error.problem_mark, error.context_mark)
    found: StringMark | None = next(filter(None, reversed(marks) if begun else marks), None)
    return found


def _explain(error: MarkedYAMLError, line: list[str]) -> str:
    found = " ".join(str(error.problem or error.context or "").split())
    if "${" in "".join(line) and "expected" in found:
        return 'between brackets "${NAME}" needs quotes: add them'
    for pattern, hint in _HINTS:
        if pattern in found:
            return hint
    return f"not valid YAML: {printable(found, 100)}"


def _start(event: Event) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _after(key: Event, value: Scalar) -> Scalar:
    """Place an empty value just behind its key: ruamel places it where the next token begins."""
    end = key.end_mark
    return attrs.evolve(value, line=end.line + 1, col=end.column + 1)


def _joined(text: str) -> str:
    """Join the surrogate pairs of JSON escapes; UnicodeError for what is not text."""
    if "\0" in text:
        raise UnicodeError("a zero character")
    if text.isprintable():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16")


class _Builder:
    """Events in, tree out; keeps going after what can be skipped."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self.anchors: dict[str, Node] = {}
        self.path: list[str | int] = []
        self.nodes = 0

    def complain(self, line: int, col: int, message: str) -> None:
        self.problems.append(Problem(self.file, line, col, dotted(tuple(self.path)), message))

    def build(self, events: Iterable[Event]) -> Node | None:
        root: Node | None = None
        documents = 0
        stream = iter(events)
        for event in stream:
            if isinstance(event, DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise _Fault(*_start(event), 'a second document ("---") begins: keep only one')
            elif isinstance(event, NodeEvent):
                root = self._node(event, stream, 1)
        return root

    def _node(self, event: Any, events: Iterator[Event], depth: int) -> Node:
        line, col = _start(event)
        if depth > MAX_DEPTH:
            raise _Fault(line, col, f"nested more than {MAX_DEPTH} levels deep: make it flatter")
        self.nodes += 1
        if isinstance(event, AliasEvent):
            return self._alias(event)
        if event.ctag is not None and str(event.ctag) != "!":
            text = 'tags ("!...") have no meaning here: quote a text that begins with "!"'
            self.complain(line, col, text)
        node = self._collect(event, events, depth)
        if self.nodes > MAX_NODES:
            raise _Fault(line, col, f"more than {MAX_NODES} values: split or shorten the file")
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def _collect(self, event: Any, events: Iterator[Event], depth: int) -> Node:
        line, col = _start(event)
        if isinstance(event, ScalarEvent):
            return self._scalar(event, line, col)
        assert isinstance(event, CollectionStartEvent)
        if isinstance(event, MappingStartEvent):
            return self._mapping(Mapping(line, col), events, depth)
        return self._sequence(Sequence(line, col), events, depth)

    def _alias(self, event: AliasEvent) -> Node:
        node = self.anchors.get(event.anchor)
        if node is None:
            raise _Fault(*_start(event), "there is no such anchor above: write the value out")
        self.nodes += node.size
        if self.nodes > MAX_NODES:
            raise _Fault(*_start(event), "the aliases multiply beyond reason: write the values out")
        return node

    def _scalar(self, event: ScalarEvent, line: int, col: int) -> Scalar:
        try:
            text = _joined(event.value)
        except UnicodeError:
            self.complain(line, col, "an escape makes a character that is not text: remove it")
            text = ""
        return Scalar(line, col, text, plain=event.style is None)

    def _sequence(self, node: Sequence, events: Iterator[Event], depth: int) -> Sequence:
        for event in events:
            if isinstance(event, CollectionEndEvent):
                break
            self.path.append(len(node.items))
            item = self._node(event, events, depth + 1)
            self.path.pop()
            node.items.append(item)
            node.size += item.size
        return node

    def _mapping(self, node: Mapping, events: Iterator[Event], depth: int) -> Mapping:
        for event in events:
            if isinstance(event, CollectionEndEvent):
                break
            key = self._node(event, events, depth + 1)
            self.path.append(key.text if isinstance(key, Scalar) else "?")
            value = self._node(next(events), events, depth + 1)
            if isinstance(value, Scalar) and value.plain and not value.text:
                value = _after(event, value)
            node.size += key.size + value.size
            self._entry(node, key, *_start(event), value)
            self.path.pop()
        return node

    def _entry(self, node: Mapping, key: Node, line: int, col: int, value: Node) -> None:
        if not isinstance(key, Scalar):
            self.complain(line, col, 'a key must be plain text: write "key: value"')
        elif key.plain and not isinstance(plain_value(key.text), str):
            shown = printable(key.text) or "nothing"
            self.complain(line, col, f"a key must be text, {shown} is not: quote it or remove it")
        elif key.text in node.keys:
            first = node.keys[key.text].line
            text = f"duplicate key, already written on line {first}: keep one of the two"
            self.complain(line, col, text)
        else:
            node.keys[key.text] = (
                key if key.line == line else Scalar(line, col, key.text, key.plain)
            )
            node.values[key.text] = value
