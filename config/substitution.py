"""`${VAR}` and `${VAR:-default}` in values; `$${` is a literal `${`; values are not echoed."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["SubstitutionError", "substitute"]

_PART = re.compile(r"\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]*)(?::-([^{}]*))?\})?")


class SubstitutionError(Exception):
    """A reference that cannot be resolved; the message says what to write instead."""


def substitute(text: str, environ: Mapping[str, str]) -> str:
    """Return text with its references replaced. As in a shell, `:-` also covers an empty variable.

    Raises SubstitutionError for a variable that is not set, and for a broken reference.
    """
    return _PART.sub(lambda found: _value(found, environ), text) if "${" in text else text


def _value(found: re.Match[str], environ: Mapping[str, str]) -> str:
    if found.group().startswith("$$"):
        return "${"
    name, default = found.groups()
    if name is None:
        raise SubstitutionError('write ${NAME} or ${NAME:-default}, and "$${" for a literal "${"')
    value = environ.get(name)
    if default is not None and not value:
        return str(default)
    if value is None:
        raise SubstitutionError(
            f"the environment variable {name} is not set: set it, or write ${{{name}:-default}}"
        )
    if not value.isprintable() and any(c == "\0" or "\ud800" <= c <= "\udfff" for c in value):
        raise SubstitutionError(f"the environment variable {name} is not UTF-8 text")
    return value
