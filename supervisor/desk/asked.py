"""What comes from outside: bodies, names and numbers of a request, read strictly or refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import attrs
from starlette.requests import Request

from config.problems import Problem
from supervisor.desk.boundary import Limits, read_body
from supervisor.desk.encoding import BadJson, decode_object
from supervisor.desk.office import Office, OfficeError
from supervisor.desk.texts import Texts

__all__ = ["Asked", "Said"]

_TEXT_LIMIT = 20_000
_BYTES_LIMIT = 60_000  # rooms hold events of 64 KB
_LINES_LIMIT = 1_000
_NAME = re.compile(r"[\w.\-=+]{1,64}")
_MEMBER = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,255}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")  # not: tab and ends of lines
_TXN = re.compile(r"[A-Za-z0-9_-]{8,64}")


@attrs.frozen
class Said:
    """What somebody wants to say; `txn_id` makes a second try the same message."""

    text: str
    sender: str
    as_bot: bool
    txn_id: str | None


class Asked:
    """Reads what a request asks for. What cannot be read raises OfficeError: 400, 404, 408, 413."""

    def __init__(self, office: Office, limits: Limits, texts: Texts) -> None:
        self._office = office
        self._limits = limits
        self._texts = texts

    async def body(
        self, request: Request, keys: set[str], limit: int | None = None
    ) -> dict[str, Any]:
        """Return the JSON object of a body of up to `limit` bytes; other keys are refused."""
        limits = self._limits if limit is None else attrs.evolve(self._limits, body_bytes=limit)
        declared = request.headers.get("content-length")
        data = await read_body(request.receive, limits, self._texts, declared)
        try:
            body = decode_object(data)
        except BadJson:
            raise OfficeError(self._texts("bad_json"), 400) from None
        unknown = sorted(set(body) - keys)
        if unknown:
            raise self.bad(unknown[0], "unknown_key")
        return body

    async def said(self, request: Request) -> Said:
        """Return the message of a body."""
        body = await self.body(request, {"text", "as", "as_bot", "txn_id"})
        text, as_bot, txn_id = body.get("text"), body.get("as_bot", False), body.get("txn_id")
        if not isinstance(text, str) or not _is_sayable(text):
            raise self.bad("text", "need_text", limit=_TEXT_LIMIT)
        if len(text.encode()) > _BYTES_LIMIT:
            raise self.bad("text", "long_text", limit=_BYTES_LIMIT)
        if control := _CONTROL.search(text):
            raise self.bad("text", "control_char", code=ord(control[0]))
        if not isinstance(as_bot, bool):
            raise self.bad("as_bot", "need_bool")
        if txn_id is not None and not (isinstance(txn_id, str) and _TXN.fullmatch(txn_id)):
            raise self.bad("txn_id", "bad_txn")
        return Said(text, self._sender(body.get("as")), as_bot, txn_id)

    def _sender(self, name: object) -> str:
        plain = name.removeprefix("@") if isinstance(name, str) else ""
        if not _NAME.fullmatch(plain):
            raise self.bad("as", "bad_name")
        if not self.may_speak(plain):
            raise self.bad("as", "is_agent", name=plain)
        return f"@{plain}"

    def may_speak(self, name: str) -> bool:
        """Return whether a person may bear this name."""
        agents = {id.casefold() for id in self._office.agents()}
        return _NAME.fullmatch(name) is not None and name.casefold() not in agents

    def room(self, request: Request) -> str:
        """Return the room in a request's path."""
        return self.word(request.path_params["room"])

    def agent(self, id: str) -> str:
        """Return the id of an agent that exists."""
        if id not in self._office.agents():
            raise OfficeError(self._texts("unknown_agent", id=ascii(id)[1:-1][:80]), 404)
        return id

    def word(self, word: str) -> str:
        """Let a name pass; what cannot be anybody's name is not found."""
        if not word or len(word) > 255 or not word.isprintable():
            raise OfficeError(self._texts("not_found"), 404)
        return word

    def whose(self, asked: Mapping[str, object]) -> tuple[str | None, str | None]:
        """Return the user and the room that are named; one of them must be."""
        user, room = asked.get("user"), asked.get("room")
        if user is None and room is None:
            raise self.bad("user", "need_whose")
        for key, value in (("user", user), ("room", room)):
            if value is not None and not (isinstance(value, str) and _MEMBER.fullmatch(value)):
                raise self.bad(key, "need_whose")
        named = None if user is None else f"@{str(user).removeprefix('@')}"
        return named, None if room is None else str(room)

    def number(self, request: Request, name: str, default: int) -> int:
        """Return a whole number of the query, from 1 to the most lines anybody gets at once."""
        given = request.query_params.get(name, str(default))
        plain = given.isascii() and given.isdigit() and len(given) < 6
        if plain and 1 <= int(given) <= _LINES_LIMIT:
            return int(given)
        raise self.bad(name, "need_number", limit=_LINES_LIMIT)

    def bad(self, key: str, text: str, **values: object) -> OfficeError:
        """Return the refusal of one key of a request."""
        message = self._texts(text, **values)
        problem = Problem(file="", line=0, col=0, key=ascii(key)[1:-1][:80], message=message)
        return OfficeError(f"{problem.key}: {message}", 400, (problem,))


def _is_sayable(text: str) -> bool:
    """Return whether any store and any encoding can carry this text, and it says something."""
    if not text.strip() or len(text) > _TEXT_LIMIT:
        return False
    return not any("\ud800" <= char <= "\udfff" for char in text)
