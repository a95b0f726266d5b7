"""Pure: the script of the replay model, read from YAML with every fault at its line."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final, cast, get_args

import attrs

from actors.llm.protocol import ModelErrorKind
from config.document import Mapping, Node, Scalar, Sequence, parse, plain_value
from config.problems import ConfigError, Problem, did_you_mean

__all__ = [
    "Call",
    "Case",
    "Crash",
    "CutOff",
    "Delay",
    "Fail",
    "Hang",
    "Say",
    "ScriptError",
    "Step",
    "parse_script",
]


class ScriptError(ConfigError):
    """A script that cannot be played; `problems` holds everything that is wrong with it."""


@attrs.frozen
class Say:
    """Stream this text."""

    text: str


@attrs.frozen
class Delay:
    """Wait so many seconds."""

    seconds: float


@attrs.frozen
class Call:
    """Ask for a tool call; `arguments` is JSON text."""

    name: str
    arguments: str


@attrs.frozen
class Fail:
    """Raise a ModelError."""

    kind: ModelErrorKind
    message: str


@attrs.frozen
class Crash:
    """Raise something that is no ModelError, as a bug would."""

    text: str


@attrs.frozen
class Hang:
    """Wait for ever."""


@attrs.frozen
class CutOff:
    """End the stream without a finish reason."""


Step = Say | Delay | Call | Fail | Crash | Hang | CutOff


@attrs.frozen
class Case:
    """What to play when a turn matches; `line` is where it stands in the script."""

    line: int
    rounds: tuple[tuple[Step, ...], ...]
    match: re.Pattern[str] | None = None
    agent: str | None = None
    first_attempt: int = 1
    last_attempt: float = float("inf")

    def fits(self, text: str, attempt: int, agent: str) -> bool:
        """Say whether this case plays for a turn of `agent` on a message with that text."""
        return (
            self.first_attempt <= attempt <= self.last_attempt
            and self.agent in (None, agent)
            and (self.match is None or self.match.search(text) is not None)
        )


def parse_script(text: str, file: str) -> tuple[Case, ...]:
    """Read a script. Raises ScriptError with all problems; `file` is the name they carry."""
    document = parse(text, file)
    reader = _Reader(file, list(document.problems))
    cases = reader.cases(document.root)
    if reader.problems:
        raise ScriptError(sorted(set(reader.problems)))
    return cases


class _Fault(Exception):
    """One part cannot be read; it is on the list already."""


class _Reader:
    def __init__(self, file: str, problems: list[Problem]) -> None:
        self._file = file
        self.problems = problems

    def _bad(self, node: Any, key: str, message: str) -> _Fault:
        line, col = (node.line, node.col) if node is not None else (1, 1)
        self.problems.append(Problem(self._file, line, col, key, message))
        return _Fault()

    def cases(self, root: Node | None) -> tuple[Case, ...]:
        if root is None and self.problems:
            return ()
        found = [self._try(self._case, node) for node in self._items(root, "script", "cases")]
        return tuple(case for case in found if case is not None)

    def _try(self, read: Callable[[Node], Any], node: Node) -> Any:
        try:
            return read(node)
        except _Fault:
            return None

    def _items(self, node: Node | None, key: str, what: str) -> list[Node]:
        if isinstance(node, Sequence) and node.items:
            return node.items
        self._bad(node, key, f"must be a list of {what}")
        return []

    def _case(self, node: Node) -> Case:
        if not isinstance(node, Mapping):
            raise self._bad(node, "case", "must be a mapping with `rounds` (and `match`, ...)")
        known = ("match", "attempt", "agent", "rounds")
        for name, key in node.keys.items():
            if name not in known:
                self._bad(key, name, f"unknown key{did_you_mean(name, known)}")
        match = self._try(self._match, node.values["match"]) if "match" in node.values else None
        agent = self._try(self._agent, node.values["agent"]) if "agent" in node.values else None
        attempt = node.values.get("attempt")
        first, last = (attempt and self._try(self._attempt, attempt)) or (1, float("inf"))
        rounds = self._items(
            node.values.get("rounds", node), "rounds", "rounds, each a list of steps"
        )
        return Case(node.line, tuple(map(self._round, rounds)), match, agent, first, last)

    def _match(self, node: Node) -> re.Pattern[str]:
        text = self._text(node, "match")
        try:
            return re.compile(text, re.IGNORECASE | re.DOTALL)
        except re.error as error:
            raise self._bad(node, "match", f"not a regular expression: {error}") from None

    def _agent(self, node: Node) -> str:
        return self._text(node, "agent")

    def _attempt(self, node: Node) -> tuple[int, float]:
        text = self._text(node, "attempt")
        found = re.fullmatch(r"([1-9]\d{0,5})(\+?)", text)
        if not found:
            raise self._bad(node, "attempt", f'must be a number such as 1, or "2+", not {text!r}')
        number = int(found[1])
        return number, float("inf") if found[2] else number

    def _round(self, node: Node) -> tuple[Step, ...]:
        steps = [self._try(self._step, step) for step in self._items(node, "round", "steps")]
        return tuple(step for step in steps if step is not None)

    def _step(self, node: Node) -> Step:
        if not isinstance(node, Mapping) or len(node.keys) != 1:
            raise self._bad(node, "step", f"must be one of {', '.join(_STEPS)} with its value")
        ((name, value),) = node.values.items()
        if name not in _STEPS:
            hint = did_you_mean(name, _STEPS) or f"; known here: {', '.join(_STEPS)}"
            raise self._bad(node.keys[name], name, f"unknown step{hint}")
        return _STEPS[name](self, value)

    def _text(self, node: Node, key: str) -> str:
        if not isinstance(node, Scalar):
            raise self._bad(node, key, "must be text")
        return node.text

    def _say(self, node: Node) -> Step:
        return Say(self._text(node, "text"))

    def _delay(self, node: Node) -> Step:
        value = plain_value(self._text(node, "delay"))
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not good or not 0 <= cast(float, value) < float("inf"):
            raise self._bad(node, "delay", "must be seconds, 0 or more")
        return Delay(float(cast(float, value)))

    def _call(self, node: Node) -> Step:
        fields = self._fields(node, "tool", ("name", "args"), required=("name",))
        args = fields.get("args")
        if args is not None and not isinstance(args, Mapping):
            raise self._bad(args, "args", "must be a mapping")
        value = _plain(args) if args is not None else {}
        return Call(self._text(fields["name"], "name"), json.dumps(value, ensure_ascii=False))

    def _fail(self, node: Node) -> Step:
        if isinstance(node, Scalar):
            return Fail("http", node.text)
        fields = self._fields(node, "error", ("kind", "message"), required=("kind",))
        kind = self._text(fields["kind"], "kind")
        kinds = get_args(ModelErrorKind)
        if kind not in kinds:
            raise self._bad(fields["kind"], "kind", f"must be one of {', '.join(kinds)}")
        message = self._text(fields["message"], "message") if "message" in fields else "scripted"
        return Fail(cast(ModelErrorKind, kind), message)

    def _fields(
        self, node: Node, key: str, known: tuple[str, ...], required: tuple[str, ...]
    ) -> dict[str, Node]:
        if not isinstance(node, Mapping):
            raise self._bad(node, key, f"must be a mapping with {', '.join(known)}")
        for name in node.keys:
            if name not in known:
                raise self._bad(node.keys[name], name, f"unknown key{did_you_mean(name, known)}")
        for name in required:
            if name not in node.keys:
                raise self._bad(node, key, f"needs `{name}`")
        return node.values

    def _crash(self, node: Node) -> Step:
        return Crash(self._text(node, "crash"))

    def _flag(self, node: Node, key: str, wanted: bool, step: Step) -> Step:
        if plain_value(self._text(node, key)) is not wanted:
            raise self._bad(node, key, f"only `{key}: {str(wanted).lower()}` has a meaning")
        return step

    def _hang(self, node: Node) -> Step:
        return self._flag(node, "hang", True, Hang())

    def _no_reply(self, node: Node) -> Step:
        return self._flag(node, "no_reply", True, Say("NO_REPLY"))

    def _end(self, node: Node) -> Step:
        return self._flag(node, "end", False, CutOff())


_STEPS: Final[dict[str, Callable[[_Reader, Node], Step]]] = {
    "text": _Reader._say,
    "delay": _Reader._delay,
    "tool": _Reader._call,
    "error": _Reader._fail,
    "crash": _Reader._crash,
    "hang": _Reader._hang,
    "no_reply": _Reader._no_reply,
    "end": _Reader._end,
}


def _plain(node: Node) -> Any:
    if isinstance(node, Mapping):
        return {name: _plain(value) for name, value in node.values.items()}
    if isinstance(node, Sequence):
        return [_plain(item) for item in node.items]
    return plain_value(node.text) if node.plain else node.text
