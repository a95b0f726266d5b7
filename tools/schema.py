"""From a function's signature to a JSON schema for the model and a check of what the model sent."""

from __future__ import annotations

import difflib
import inspect
import json
import typing
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from tools.docstrings import describe

if typing.TYPE_CHECKING:
    from pydantic import TypeAdapter

__all__ = ["Arguments", "Signature", "read_signature"]

_WANTED = {
    "missing": "is required but was not given",
    "string_type": "must be text (a JSON string)",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
}


@attrs.frozen
class Arguments:
    """A checked call: `values` to call the function with, or else `errors` as text."""

    values: dict[str, Any]
    errors: str = ""


@attrs.frozen
class Signature:
    """A tool function's parameters, as a JSON schema and as a check."""

    description: str
    parameters: dict[str, Any]
    _adapter: TypeAdapter[Any]
    _label: str

    def check(self, arguments: str) -> Arguments:
        """Check a call's arguments, given as the JSON text that the model produced ("" means none).

        Reports everything that is wrong at once, worded so that the model can mend its call.
        Never raises.
        """
        import pydantic

        try:
            given = json.loads(arguments) if arguments.strip() else {}
        except ValueError as error:
            return Arguments({}, f"The arguments of {self._label} are not valid JSON: {error}.")
        except RecursionError:
            return Arguments({}, f"The arguments of {self._label} are nested too deeply.")
        if not isinstance(given, dict):
            return Arguments({}, f"The arguments of {self._label} must be one JSON object.")
        try:
            return Arguments(dict(self._adapter.validate_python(given)))
        except pydantic.ValidationError as error:
            lines = [self._line(dict(detail), given) for detail in error.errors(include_url=False)]
            unique = "\n".join(f"- {line}" for line in dict.fromkeys(lines))
            return Arguments({}, f"{self._label} was not called. Mend these arguments:\n{unique}")

    def _line(self, detail: Mapping[str, Any], given: Mapping[str, Any]) -> str:
        where = ".".join(str(part) for part in detail["loc"]) or "arguments"
        if detail["type"] == "extra_forbidden":
            return f"{where}: there is no such argument{self._suggest(where)}"
        wanted = _WANTED.get(detail["type"], detail["msg"])
        if detail["type"] == "missing":
            return f"{where}: {wanted}"
        return f"{where}: {wanted}, got {_short(detail.get('input'))}"

    def _suggest(self, name: str) -> str:
        known = list(self.parameters["properties"])
        close = difflib.get_close_matches(name, known, n=1)
        if close:
            return f" (did you mean {close[0]}?)"
        return f" (there are: {', '.join(known)})" if known else " (it takes none)"


def read_signature(label: str, function: Callable[..., Any]) -> Signature:
    """Read `async def function(ctx, argument: type = default, ...)`.

    Raises TypeError for a parameter without a type, for `*args`, `**kwargs` and positional-only
    parameters, and for a function without a docstring: a model could not use it.
    """
    import pydantic
    import typing_extensions

    hints = typing.get_type_hints(function, include_extras=True)
    parameters = list(inspect.signature(function).parameters.values())[1:]
    described = describe(function.__doc__, {parameter.name for parameter in parameters})
    if not described.text:
        raise TypeError(f"tool {label}: write a docstring, it is what the model reads")
    fields: dict[str, Any] = {}
    for parameter in parameters:
        fields[parameter.name] = _field(label, parameter, hints, described.arguments)
    shape = typing_extensions.TypedDict("Arguments", fields)  # type: ignore[misc]
    shape.__pydantic_config__ = pydantic.ConfigDict(extra="forbid")  # type: ignore[attr-defined]
    adapter: TypeAdapter[Any] = pydantic.TypeAdapter(shape)
    return Signature(described.text, _tidy(adapter.json_schema()), adapter, label)


def _field(
    label: str, parameter: inspect.Parameter, hints: Mapping[str, Any], texts: Mapping[str, str]
) -> Any:
    from typing import NotRequired, Required

    import pydantic

    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise TypeError(f"tool {label}: {parameter} cannot be given by name")
    if parameter.name not in hints:
        raise TypeError(f"tool {label}: parameter {parameter.name} needs a type")
    hint = hints[parameter.name]
    text = texts.get(parameter.name) or None
    if parameter.default is parameter.empty:
        return Required[typing.Annotated[hint, pydantic.Field(description=text)]]
    extra = None if parameter.default is None else {"default": parameter.default}
    field = pydantic.Field(description=text, json_schema_extra=extra)
    return NotRequired[typing.Annotated[hint, field]]


def _tidy(schema: dict[str, Any]) -> dict[str, Any]:
    """Drop titles, and say `X` instead of `X or null` where leaving the argument out means null."""
    schema.pop("title", None)
    schema.setdefault("properties", {})
    required = set(schema.get("required", ()))
    for name, part in schema["properties"].items():
        part.pop("title", None)
        choices = [choice for choice in part.get("anyOf", ()) if choice != {"type": "null"}]
        if len(choices) == 1 and name not in required:
            del part["anyOf"]
            part.update(choices[0])
    return schema


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else text[:57] + "..."
