"""The outermost ASGI layer: every failure leaves as `{error, errors}`, every wait has an end.

What it adds around an app: a bounded body, a deadline on every send, headers that make browsers
careful, one count a request, and no traceback outside the log.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import attrs
import structlog
import trio

from channels.database_errors import DatabaseError
from supervisor.desk.encoding import encode, failure
from supervisor.desk.language import preferred
from supervisor.desk.office import OfficeError
from supervisor.desk.security import (
    bearer,
    cookie_name,
    cookie_token,
    host_is_loopback,
    origin_is_ours,
    same_token,
    site_is_ours,
)
from supervisor.desk.texts import LOCALES, Texts, reader_locale

__all__ = [
    "App",
    "Boundary",
    "Guard",
    "Limits",
    "Message",
    "Receive",
    "Scope",
    "Send",
    "TooSlow",
    "headers_of",
    "read_body",
]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_log = structlog.get_logger("desk")

_CAREFUL = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
# What is counted by name: a stranger must not be able to make up series without end.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_DEFAULTS = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)


@attrs.frozen
class Limits:
    """How much one peer may ask for: seconds, bytes and connections."""

    header_seconds: float = 5.0  # from connecting, or the last answer, to a whole request head
    body_seconds: float = 10.0
    send_seconds: float = 10.0  # one piece of an answer that the peer does not take
    linger_seconds: float = 1.0  # reading on after an early refusal, so that the peer can read it
    heartbeat_seconds: float = 15.0
    body_bytes: int = 1 << 20
    connections: int = 256  # on each of the two doors
    streams: int = 32  # event streams, on both doors together


def headers_of(scope: Scope) -> dict[str, str]:
    """Return a request's headers by lower-case name; of repeated ones the last."""
    return {
        key.decode("latin-1").lower(): value.decode("latin-1") for key, value in scope["headers"]
    }


class Guard:
    """What stands at the TCP door: loopback names, our own pages, and the token."""

    OPEN = frozenset({"/healthz", "/readyz", "/metrics"})
    SIGN_IN = "/api/session"  # checks the token of its body itself
    PAGE = "/"

    def __init__(self, app: App, token: str, port: int, texts: Texts, sign_in_page: App) -> None:
        self._app = app
        self._token = token
        self._cookie = cookie_name(port)
        self._texts = texts
        self._sign_in_page = sign_in_page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or raise OfficeError with status 401 or 403.

        From here on this request is answered in the language that its browser prefers.
        """
        headers = headers_of(scope)
        reader_locale.set(preferred(headers.get("accept-language"), LOCALES))
        if not host_is_loopback(headers.get("host")):
            raise OfficeError(self._texts("bad_host"), 403)
        if not origin_is_ours(headers.get("origin"), headers["host"]) or not site_is_ours(headers):
            raise OfficeError(self._texts("bad_origin"), 403)
        path = scope["path"]
        if path in self.OPEN or path == self.SIGN_IN or self._knows_token(headers):
            await self._app(scope, receive, send)
        elif path == self.PAGE:
            await self._sign_in_page(scope, receive, send)
        else:
            raise OfficeError(self._texts("no_token"), 401)

    def _knows_token(self, headers: dict[str, str]) -> bool:
        given = bearer(headers.get("authorization")) or cookie_token(
            headers.get("cookie"), self._cookie
        )
        return same_token(given, self._token)


class Boundary:
    """Wrap an app; call `count(method, route, status)` once when a request has ended.

    Is itself the ASGI app that the server calls. Only `http` scopes pass: web sockets are refused.
    """

    def __init__(
        self, app: App, texts: Texts, limits: Limits, count: Callable[[str, str, int], None]
    ) -> None:
        self._app = app
        self._texts = texts
        self._limits = limits
        self._count = count

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; drop the connection of a peer that does not take the answer."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        exchange = _Exchange(scope, receive, send, self._limits)
        try:
            await self._answer(scope, exchange)
        except TooSlow:
            _log.info("slow reader dropped", path=scope["path"])
            scope["state"]["drop"]()
        finally:
            route = getattr(scope.get("endpoint"), "__name__", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            self._count(method, route, exchange.status)

    async def _answer(self, scope: Scope, exchange: _Exchange) -> None:
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except TooSlow:
            raise
        except OfficeError as error:
            await exchange.fail(error.status, failure(error.said(self._texts), error.errors))
        except DatabaseError as error:
            _log.error("request_failed", path=scope["path"], error=str(error))
            await exchange.fail(503, failure(str(error)))
        except Exception:
            _log.exception("request failed", method=scope["method"], path=scope["path"])
            await exchange.fail(500, failure(self._texts("internal")))


class TooSlow(Exception):
    """The peer did not take a piece of the answer in time, or fell too far behind."""


class _Exchange:
    """One request's two directions, with their limits."""

    def __init__(self, scope: Scope, receive: Receive, send: Send, limits: Limits) -> None:
        self.status = 0  # 0 while nothing has been answered
        self._receive = receive
        self._send = send
        self._limits = limits
        self._may_close = str(scope["http_version"]).startswith("1")
        headers = headers_of(scope)
        self._unread = (
            headers.get("content-length", "0").strip("0") != "" or "transfer-encoding" in headers
        )

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.disconnect" or not message.get("more_body", False):
            self._unread = False
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = {**message, "headers": self._headers(message.get("headers", ()))}
        elif self._unread and not message.get("more_body", False):
            await self._put({**message, "more_body": True})
            await self._linger()
            message = {"type": "http.response.body", "body": b""}
        await self._put(message)

    async def fail(self, status: int, body: Any) -> None:
        """Answer with a failure; one that comes in the middle of an answer ends the connection."""
        if self.status:
            raise TooSlow
        data = encode(body)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(data)).encode()),
        ]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": data})

    def _headers(self, given: Any) -> list[tuple[bytes, bytes]]:
        headers = [*given, *_CAREFUL]
        names = {name for name, _ in headers}
        headers += [pair for pair in _DEFAULTS if pair[0] not in names]
        if self._unread and self._may_close:
            headers.append((b"connection", b"close"))
        return headers

    async def _put(self, message: Message) -> None:
        with trio.move_on_after(self._limits.send_seconds) as scope:
            await self._send(message)
        if scope.cancelled_caught:
            raise TooSlow

    async def _linger(self) -> None:
        """Read on for a moment: a close with unread bytes would destroy the answer on its way."""
        left = 16 * self._limits.body_bytes
        with trio.move_on_after(self._limits.linger_seconds):
            while self._unread and left > 0:
                left -= len((await self.receive()).get("body", b""))


async def read_body(
    receive: Receive, limits: Limits, texts: Texts, declared: str | None = None
) -> bytes:
    """Return the whole body of a request, at most `limits.body_bytes`, within `body_seconds`.

    `declared`: its Content-Length; one that is too big is not even read. Raises OfficeError: 413
    too big, 408 too slow, 400 when the peer left in the middle.
    """
    too_big = OfficeError(texts("too_big", limit=limits.body_bytes), 413)
    if (
        declared
        and declared.isdecimal()
        and len(declared) < 20
        and int(declared) > limits.body_bytes
    ):
        raise too_big
    body = bytearray()
    with trio.move_on_after(limits.body_seconds):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise OfficeError(texts("bad_request"), 400)
            body += message.get("body", b"")
            if len(body) > limits.body_bytes:
                raise too_big
            if not message.get("more_body", False):
                return bytes(body)
    raise OfficeError(texts("too_slow"), 408)
