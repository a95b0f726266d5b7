"""The one place where what the office answers becomes JSON, and where JSON from outside is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from math import isfinite
from typing import Any

import attrs

__all__ = ["BadJson", "decode_object", "encode", "failure", "iso", "plain"]


_AS_THEY_ARE = frozenset((str, int, float, bool, type(None)))
_quoted = json.encoder.encode_basestring
_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


class BadJson(ValueError):
    """Bytes from outside are no JSON object."""


def iso(instant: datetime) -> str:
    """Return an aware instant in ISO 8601 with its offset; milliseconds only if there are some."""
    return instant.isoformat(timespec="milliseconds" if instant.microsecond else "seconds")


@lru_cache(maxsize=256)
def _field_names(kind: type) -> tuple[str, ...] | None:
    """Return the names of an attrs class's fields; None of any other class."""
    return tuple(field.name for field in attrs.fields(kind)) if attrs.has(kind) else None


def plain(value: Any) -> Any:
    """Return attrs objects, mappings, tuples and instants as what JSON knows."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return value
    if (names := _field_names(kind)) is not None:  # type: ignore[arg-type]  # it is hashable
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return value


def encode(value: Any) -> bytes:
    """Return compact UTF-8 JSON. A lone surrogate, which UTF-8 cannot carry, becomes `?`."""
    names = _field_names(type(value))  # type: ignore[arg-type]  # it is hashable
    if names is None:
        return _text(value).encode("utf-8", "replace")
    # The commonest, an event of the feed, is a flat object: so it takes a third of the time.
    members = [f'"{name}":{_text(getattr(value, name))}' for name in names]
    return f"{{{','.join(members)}}}".encode("utf-8", "replace")


def _text(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return _quoted(value)
    if value is None:
        return "null"
    if kind is int or (kind is float and isfinite(value)):
        return repr(value)
    return _json.encode(plain(value))


def failure(text: str, errors: Any = ()) -> dict[str, Any]:
    """Return the shape of every failure: `{error, errors}`."""
    return {"error": text, "errors": plain(tuple(errors))}


def decode_object(data: bytes) -> dict[str, Any]:
    """Read one JSON object. Raises BadJson, also for NaN and for nesting too deep to read."""
    try:
        value = json.loads(data or b"{}", parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise BadJson(str(error)) from None
    if not isinstance(value, dict):
        raise BadJson("not an object")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
