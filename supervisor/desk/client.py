"""A small blocking client of the API on the control socket; standard library only: starts fast."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

__all__ = ["Client", "Event", "NoAnswer", "NoSupervisor", "Refused"]

_SECONDS = 10.0
_LINE_LIMIT = 4 << 20


class NoSupervisor(Exception):
    """Nobody listens on the control socket."""


class NoAnswer(Exception):
    """Somebody listens, and does not answer: hung, stopped, or going down."""


class Refused(Exception):
    """The API said no; `body` is its `{error, errors}`."""

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        super().__init__(str(body.get("error", status)))
        self.status = status
        self.body = body


class Event(NamedTuple):
    """One server-sent event; `id` is where to go on after it."""

    type: str
    id: str
    data: Any


class _SocketConnection(http.client.HTTPConnection):
    """HTTP over a unix socket; `until` (monotonic) bounds every wait from now on."""

    def __init__(self, path: Path, until: float) -> None:
        super().__init__("localhost")
        self._path = path
        self._until = until
        self.wire = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def connect(self) -> None:
        """Connect within the time that is left."""
        self.sock = self.wire
        self.wait_less()
        self.sock.connect(str(self._path))

    def wait_less(self) -> None:
        """Let the next read or write last no longer than what is left. Raises TimeoutError at 0."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self.wire.settimeout(left)

    def close(self) -> None:
        """Close, also when `getresponse` has let the socket go already."""
        super().close()
        self.wire.close()


class Client:
    """Ask the supervisor that listens on a control socket. Every call opens its own connection."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, *segments: str, seconds: float = _SECONDS, **query: object) -> Any:
        """Return the answer to `GET /api/SEGMENTS?QUERY`; query values that are None are left out.

        Raises NoSupervisor, NoAnswer (also after `seconds`), Refused.
        """
        return self._ask("GET", _target(segments, query), None, seconds)

    def post(self, *segments: str, body: Any = None, seconds: float = _SECONDS) -> Any:
        """Return the answer to `POST /api/SEGMENTS` with a JSON body. Raises as `get`."""
        return self._ask("POST", _target(segments, {}), body, seconds)

    def answers(self, seconds: float = 2.0) -> bool:
        """Return whether a supervisor answers within `seconds`."""
        connection = _SocketConnection(self._path, time.monotonic() + seconds)
        try:
            return self._open(connection, "GET", "/healthz", None).status == 200
        except (NoSupervisor, OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _ask(self, method: str, target: str, body: Any, seconds: float) -> Any:
        connection = _SocketConnection(self._path, time.monotonic() + seconds)
        try:
            return _read(self._open(connection, method, target, body))
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NoAnswer(_why(error)) from error
        finally:
            connection.close()

    def _open(
        self, connection: _SocketConnection, method: str, target: str, body: Any
    ) -> http.client.HTTPResponse:
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"} if data else {}
        try:
            connection.request(method, target, data, headers)
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError) as error:
            raise NoSupervisor from error
        return connection.getresponse()

    def events(self, since: str | None, topics: Sequence[str], until: float) -> Iterator[Event]:
        """Yield events until the stream ends or `until` (monotonic seconds) has come.

        Raises NoSupervisor, NoAnswer when the connection cannot be made, Refused.
        """
        query = {"topics": ",".join(topics), "since": since}
        connection = _SocketConnection(self._path, until)
        response = None
        try:
            response = self._open(connection, "GET", _target(("events",), query), None)
            if response.status != 200:
                _read(response)
            yield from _frames(_lines(connection, response))
        except TimeoutError:
            return
        except (OSError, http.client.HTTPException) as error:
            raise NoAnswer(_why(error)) from error
        finally:
            if response is not None:
                response.close()
            connection.close()


def _lines(connection: _SocketConnection, response: http.client.HTTPResponse) -> Iterator[str]:
    while True:
        connection.wait_less()
        line = response.readline(_LINE_LIMIT)
        if not line:
            return
        yield line.decode("utf-8", "replace").rstrip("\r\n")


def _frames(lines: Iterator[str]) -> Iterator[Event]:
    fields: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith(":"):
            key, _, value = line.partition(": ")
            fields[key] = value
        elif not line and "data" in fields:
            yield Event(fields.get("event", ""), fields.get("id", ""), json.loads(fields["data"]))
            fields = {}


def _target(segments: Sequence[str], query: Mapping[str, object]) -> str:
    path = "/api/" + "/".join(quote(segment, safe="") for segment in segments)
    given = {key: value for key, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _read(response: http.client.HTTPResponse) -> Any:
    data = response.read()
    body = json.loads(data) if data else None
    if response.status >= 400:
        raise Refused(response.status, body if isinstance(body, dict) else {})
    return body


def _why(error: BaseException) -> str:
    if isinstance(error, (TimeoutError, BlockingIOError)):  # the latter: its backlog is full
        return "timeout"
    return str(error) or type(error).__name__
