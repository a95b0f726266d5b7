"""Two doors, one app each: sockets served through hypercorn's HTTP, where no peer can hold us up.

hypercorn shields its writes from cancellation; `_Wire` gives each write a deadline and can be shut
from outside, so that a stalled reader neither delays the stop nor keeps a connection for ever.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import socket
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import structlog
import trio

from supervisor.desk.boundary import App, Limits, Receive, Scope, Send
from supervisor.desk.security import is_loopback
from supervisor.desk.texts import Texts

if TYPE_CHECKING:
    from hypercorn.config import Config

__all__ = [
    "DEFAULT_PORT",
    "Door",
    "PortTaken",
    "bind_tcp",
    "bind_unix",
    "keep_token",
    "probe_tcp",
    "write_private",
]

DEFAULT_PORT = 8470
_PORTS_TO_TRY = 100
_BACKLOG = 1024
_SEND_BYTES = (
    128 << 10
)  # left to itself the kernel keeps megabytes for each peer that does not read

_log = structlog.get_logger("desk")


class PortTaken(Exception):
    """The TCP door cannot be opened where it should be; exits 2. The text is for people."""


def bind_tcp(host: str, port: int | None, texts: Texts) -> socket.socket:
    """Return a listening loopback socket; None tries the default port and then the next ones.

    Raises PortTaken for an address that is not loopback, a configured port in use, or none free.
    """
    if not is_loopback(host):
        raise PortTaken(texts("not_loopback", host=host))
    if port is not None:
        try:
            return _listen_tcp(host, port)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise PortTaken(texts("port_taken", host=host, port=port, why=why)) from None
    last = DEFAULT_PORT + _PORTS_TO_TRY - 1
    for candidate in range(DEFAULT_PORT, last + 1):
        with contextlib.suppress(OSError):
            return _listen_tcp(host, candidate)
    raise PortTaken(texts("no_free_port", host=host, first=DEFAULT_PORT, last=last))


def probe_tcp(host: str, port: int | None, texts: Texts) -> None:
    """Raise PortTaken when `bind_tcp` would now: for a check before anything is started."""
    bind_tcp(host, port, texts).close()


def _listen_tcp(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    door = socket.socket(family, socket.SOCK_STREAM)
    try:
        door.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        door.bind((host, port))
        door.listen(_BACKLOG)
    except BaseException:
        door.close()
        raise
    return door


def bind_unix(path: Path) -> socket.socket:
    """Return a listening unix socket, mode 0600, in place of a stale one.

    Only the owner of the workspace's lock may call this. Raises FileExistsError when something that
    is no socket lies there.
    """
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise FileExistsError(errno.EEXIST, "not a socket", str(path))
        path.unlink()
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        os.fchmod(door.fileno(), 0o600)  # on Linux the file is then born so
        door.bind(str(path))
        path.chmod(0o600)
        door.listen(_BACKLOG)
    except BaseException:
        door.close()
        raise
    return door


def keep_token(path: Path) -> str:
    """Return the token of `run/web.token`; make one where there is none, or none fit for use."""
    with contextlib.suppress(FileNotFoundError, UnicodeDecodeError):
        token = path.read_text("ascii").strip()
        if len(token) >= 32 and token.replace("-", "").replace("_", "").isalnum():
            path.chmod(0o600)
            return token
    token = secrets.token_urlsafe(32)
    write_private(path, token + "\n")
    return token


def write_private(path: Path, text: str) -> None:
    """Write a file of mode 0600 whole or not at all (rename)."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with open(draft, "x", encoding="utf-8", opener=_private) as file:
        file.write(text)
    draft.replace(path)


def _private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


class _Wire:
    """A socket stream as hypercorn's TCPServer wants it, with a deadline on each write."""

    def __init__(self, stream: trio.SocketStream, send_seconds: float) -> None:
        self._stream = stream
        self._send_seconds = send_seconds
        self.socket = stream.socket
        self.requests = 0  # that are being answered now: a stream of events is one as well
        self.idle_since = trio.current_time()

    async def send_all(self, data: bytes) -> None:
        with trio.move_on_after(self._send_seconds) as scope:
            await self._stream.send_all(data)
        if scope.cancelled_caught:
            self.shut()
            raise trio.BrokenResourceError("the peer does not read")

    async def receive_some(self, max_bytes: int) -> bytes | bytearray:
        return await self._stream.receive_some(max_bytes)

    async def send_eof(self) -> None:
        await self._stream.send_eof()

    async def aclose(self) -> None:
        self.shut()
        await trio.lowlevel.checkpoint()

    def shut(self) -> None:
        """Close at once: whatever waits on the socket ends now, shielded or not."""
        self.socket.close()

    @contextlib.contextmanager
    def busy(self) -> Iterator[None]:
        """Count one request while it is being answered."""
        self.requests += 1
        try:
            yield
        finally:
            self.requests -= 1
            self.idle_since = trio.current_time()


@attrs.define
class Door:
    """One listening socket, its app, and the connections that are open on it.

    When all places are taken, a newcomer gets that of the connection which has been idle longest,
    not being in the middle of a request. Only while all are busy is the newcomer turned away.
    """

    name: str
    listener: socket.socket
    app: App
    limits: Limits
    _live: set[_Wire] = attrs.field(factory=set, init=False)
    _config: Config | None = attrs.field(default=None, init=False)

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Accept until cancelled; a cancel closes every connection, whatever it is doing."""
        self.listener.setblocking(False)
        listener = trio.SocketListener(trio.socket.from_stdlib_socket(self.listener))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._shut_on_cancel)
            accept = partial(trio.serve_listeners, handler_nursery=nursery)
            await nursery.start(accept, self._connection, [listener])
            task_status.started()

    async def _shut_on_cancel(self) -> None:
        try:
            await trio.sleep_forever()
        finally:
            for wire in tuple(self._live):
                wire.shut()

    async def _connection(self, stream: trio.SocketStream) -> None:
        stream.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BYTES)
        wire = _Wire(stream, self.limits.send_seconds)
        if not self._make_room():
            wire.shut()
            return
        self._live.add(wire)
        try:
            with trio.CancelScope() as scope:
                await self._speak(wire, scope)
        except* (trio.BrokenResourceError, trio.ClosedResourceError, OSError):
            pass
        except* Exception:
            _log.exception("connection failed", door=self.name)
        finally:
            self._live.discard(wire)
            wire.shut()

    def _make_room(self) -> bool:
        if len(self._live) < self.limits.connections:
            return True
        idle = [wire for wire in self._live if not wire.requests]
        if not idle:
            return False
        longest = min(idle, key=lambda wire: wire.idle_since)
        self._live.discard(longest)
        longest.shut()
        return True

    async def _speak(self, wire: _Wire, scope: trio.CancelScope) -> None:
        from supervisor.desk.protocol import quiet_config, speak

        def drop() -> None:
            wire.shut()
            scope.cancel()

        async def answer(request: Scope, receive: Receive, send: Send) -> None:
            with wire.busy():
                await self.app(request, receive, send)

        self._config = self._config or quiet_config(self.limits)
        await speak(answer, self._config, wire, drop)
