"""A tree of nodes into attrs classes, by their annotations alone; faults are collected."""

from __future__ import annotations

import math
import os
import re
import types
from collections.abc import Mapping as Environ
from functools import cache
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import attrs

from config.constraints import ExistingFile, FilledByLoader
from config.document import Document, Mapping, Node, Scalar, Sequence, plain_value
from config.files import UnreadableError, file_fault, read_text
from config.problems import KeyPath, Problem, did_you_mean, printable
from config.secrets import Secret
from config.source import Source
from config.substitution import SubstitutionError, substitute

__all__ = ["Structurer"]

T = TypeVar("T")
FILE_SUFFIX = "_file"
MAX_SECRET_BYTES = 65_536
LOST = 'is empty, for # begins a comment: put the text in quotes ("#...")'


class _Bad:
    """Stands for a value that could not be made; its problem is already on the list."""


BAD = _Bad()


@attrs.frozen
class _Field:
    name: str
    type: Any
    default: Any

    @property
    def required(self) -> bool:
        return self.default is attrs.NOTHING

    @property
    def secret(self) -> bool:
        return self.type is Secret or Secret in get_args(self.type)


@attrs.frozen
class _Read:
    """A scalar after substitution: its text, and what it means where quotes do not forbid it."""

    text: str
    meaning: bool | int | float | str | None
    substituted: bool


@cache
def _fields(cls: Any) -> dict[str, _Field]:
    """Return the fields of an attrs class that YAML may set."""
    hints = get_type_hints(cls, include_extras=True)
    return {
        field.name: _Field(field.name, hints[field.name], field.default)
        for field in attrs.fields(cls)
        if not any(isinstance(m, FilledByLoader) for m in get_args(hints[field.name])[1:])
    }


class Structurer:
    """Build one file's config; `problems` holds all its faults, those of YAML included.

    `folder` is where relative secret files and scripts live, `workspace` where templates do.
    """

    def __init__(
        self, doc: Document, folder: Path, workspace: Path, environ: Environ[str, str]
    ) -> None:
        self.source = Source(doc.file, doc.root)
        self.problems: list[Problem] = list(doc.problems)
        self._lines = doc.lines
        self._bases = {"folder": folder, "workspace": workspace}
        self._environ = environ

    def structure(self, cls: type[T], **given: Any) -> T | None:
        """Return the config with the `given` extra fields; worth nothing if there are problems."""
        if self.source.root is None:
            return None
        value = self._object(cls, self.source.root, (), given)
        return None if value is BAD else cast(T, value)

    # -- each kind of type --------------------------------------------------------------------

    def _value(self, kind: Any, node: Node, path: KeyPath) -> Any:
        origin = get_origin(kind)
        if origin is Annotated:
            return self._constrained(kind, node, path)
        if origin in (Union, types.UnionType):
            return self._optional(kind, node, path)
        if origin is tuple:
            return self._list(get_args(kind)[0], node, path)
        if attrs.has(kind):
            return self._object(kind, node, path, {})
        if not isinstance(node, Scalar):
            return self._bad(path, f"must be {_wanted(kind)}, not {_shown(node)}")
        return self._scalar(kind, node, path)

    def _constrained(self, kind: Any, node: Node, path: KeyPath) -> Any:
        base, *constraints = get_args(kind)
        value = self._value(base, node, path)
        if value is BAD:
            return BAD
        before = len(self.problems)
        for constraint in constraints:
            if isinstance(constraint, ExistingFile):
                self._check_file(value, constraint, path)
                continue
            for below, message in constraint.faults(value):
                self._bad((*path, *below), message)
        return value if len(self.problems) == before else BAD

    def _optional(self, kind: Any, node: Node, path: KeyPath) -> Any:
        (inner,) = (arg for arg in get_args(kind) if arg is not type(None))
        if isinstance(node, Scalar):
            read = self._read(node, path)
            if isinstance(read, _Bad):
                return BAD
            if read.meaning is None and not (read.substituted and _base(inner) in (str, Secret)):
                return self._bad(path, LOST) if self._lost(node) else None
        return self._value(inner, node, path)

    def _list(self, kind: Any, node: Node, path: KeyPath) -> Any:
        if not isinstance(node, Sequence):
            wanted = "a list ([a, b], or lines that begin with -)"
            return self._bad(path, f"must be {wanted}, not {_shown(node)}")
        values = [self._value(kind, item, (*path, i)) for i, item in enumerate(node.items)]
        return BAD if any(value is BAD for value in values) else tuple(values)

    def _object(self, cls: Any, node: Node, path: KeyPath, given: dict[str, Any]) -> Any:
        if not isinstance(node, Mapping):
            return self._bad(path, f'must be "key: value" lines, not {_shown(node)}')
        fields = _fields(cls)
        values = dict(given)
        for key, value in node.values.items():
            name = self._field_of(key, fields)
            if name is None:
                self._unknown(key, fields, (*path, key))
            elif name == key:
                values[name] = self._value(fields[name].type, value, (*path, key))
            elif name in node.values:
                self._bad((*path, key), f"is given beside {name}: keep one of the two", key=True)
            else:
                values[name] = self._secret_file(value, (*path, key))
        missing = [f.name for f in fields.values() if f.required and f.name not in values]
        for name in missing:
            self._bad((*path, name), f"is missing: write `{name}: ...` here")
        self._check_default_files(fields, values, path)
        return self._construct(cls, values, path, complete=not missing)

    def _construct(self, cls: Any, values: dict[str, Any], path: KeyPath, complete: bool) -> Any:
        """Build the object, with defaults for what is bad, for the rules that look at it whole."""
        fields = _fields(cls)
        bad = {name for name, value in values.items() if value is BAD}
        if not complete or any(fields[name].required for name in bad):
            return BAD
        made = cls(**{name: value for name, value in values.items() if name not in bad})
        for names, message in getattr(made, "faults", tuple)():
            if bad.isdisjoint(names):
                self._bad((*path, names[0]), message)
        return made

    def _field_of(self, key: str, fields: dict[str, _Field]) -> str | None:
        if key in fields:
            return key
        name = key.removesuffix(FILE_SUFFIX)
        return name if name != key and name in fields and fields[name].secret else None

    def _unknown(self, key: str, fields: dict[str, _Field], path: KeyPath) -> None:
        names = [*fields, *(f.name + FILE_SUFFIX for f in fields.values() if f.secret)]
        hint = did_you_mean(key, names) or f"; known here: {', '.join(names)}"
        self._bad(path, f"unknown key{hint}", key=True)

    # -- scalars ------------------------------------------------------------------------------

    def _read(self, node: Scalar, path: KeyPath) -> _Read | _Bad:
        try:
            text = substitute(node.text, self._environ)
        except SubstitutionError as error:
            return self._bad(path, str(error))
        substituted = text != node.text
        return _Read(text, plain_value(text) if node.plain or substituted else text, substituted)

    def _scalar(self, kind: Any, node: Scalar, path: KeyPath) -> Any:
        read = self._read(node, path)
        if isinstance(read, _Bad):
            return BAD
        if read.meaning is None and not read.substituted:
            return self._bad(path, LOST if self._lost(node) else f"is empty: write {_wanted(kind)}")
        if get_origin(kind) is Literal:
            return self._choice(get_args(kind), read, node, path)
        if kind is str or kind is Secret:
            return self._string(kind, read, path)
        value = _as_number(kind, read.meaning)
        if value is None:
            return self._bad(path, f"must be {_wanted(kind)}, not {_shown(node)}")
        return value

    def _choice(self, options: tuple[str, ...], read: _Read, node: Scalar, path: KeyPath) -> Any:
        if read.text in options:
            return read.text
        listed = " or ".join(filter(None, [", ".join(options[:-1]), options[-1]]))
        hint = did_you_mean(node.text, options)
        return self._bad(path, f"must be {listed}, not {_shown(node)}{hint}")

    def _string(self, kind: Any, read: _Read, path: KeyPath) -> Any:
        if not (read.substituted or isinstance(read.meaning, str)):
            return self._bad(path, "must be text: put the value in quotes")
        if kind is str:
            return read.text
        if not read.text.strip():
            return self._bad(path, "is empty: give the secret or remove the line")
        return Secret(read.text)

    def _lost(self, node: Scalar) -> bool:
        """Say whether an empty value is really a `#text` that YAML took for a comment."""
        line = self._lines[node.line - 1] if node.line <= len(self._lines) else ""
        return not node.text and re.match(r":?\s*#[^\s#]", line[node.col - 1 :]) is not None

    # -- files --------------------------------------------------------------------------------

    def _secret_file(self, node: Node, path: KeyPath) -> Any:
        name = self._value(str, node, path)
        if name is BAD:
            return BAD
        try:
            place = self._bases["folder"] / os.path.expanduser(name)  # noqa: PTH111
            text = read_text(place, MAX_SECRET_BYTES).strip()
        except UnreadableError as error:
            return self._bad(path, error.message)
        return Secret(text) if text else self._bad(path, "the file is empty: put the secret in")

    def _check_default_files(
        self, fields: dict[str, _Field], values: dict[str, Any], path: KeyPath
    ) -> None:
        for field in fields.values():
            if field.name not in values and isinstance(field.default, str):
                for rule in get_args(field.type)[1:]:
                    if isinstance(rule, ExistingFile):
                        self._check_file(field.default, rule, (*path, field.name))

    def _check_file(self, name: str, rule: ExistingFile, path: KeyPath) -> None:
        fault = file_fault(self._bases[rule.base] / name, tuple(self._bases.values()))
        if fault is not None:
            self._bad(path, fault)

    def _bad(self, path: KeyPath, message: str, key: bool = False) -> _Bad:
        self.problems.append(self.source.problem(*path, message=message, key=key))
        return BAD


def _base(kind: Any) -> Any:
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _as_number(kind: Any, meaning: Any) -> bool | int | float | None:
    """Return the bool, int or finite float that `kind` asks for, or None."""
    if kind is bool or isinstance(meaning, bool):
        return meaning if kind is bool and isinstance(meaning, bool) else None
    if kind is int:
        return meaning if isinstance(meaning, int) else None
    try:
        number = float(meaning) if isinstance(meaning, (int, float)) else math.nan
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


_WANTED = {
    str: "text",
    Secret: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
}


def _wanted(kind: Any) -> str:
    return _WANTED.get(kind) or "one of " + ", ".join(map(str, get_args(kind)))


def _shown(node: Node) -> str:
    """Describe a value for people as it was written, before any substitution."""
    if isinstance(node, Mapping):
        return "a mapping"
    if isinstance(node, Sequence):
        return "a list"
    return repr(printable(node.text, 40)) if node.text else "nothing"
