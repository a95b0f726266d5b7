"""The `api` child: one app behind two doors, a private unix socket and loopback TCP."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import attrs
import trio

from supervisor.desk.boundary import App, Boundary, Guard, Limits
from supervisor.desk.feed import Feed
from supervisor.desk.office import Office
from supervisor.desk.page import read_assets, sign_in_page
from supervisor.desk.server import Door, bind_tcp, bind_unix, keep_token, write_private
from supervisor.desk.texts import Texts
from supervisor.logs import hide

if TYPE_CHECKING:
    from supervisor.desk.api import Desk

__all__ = ["Api", "Drains", "Places"]

_APP, _PROTOCOL = "supervisor.desk.api", "supervisor.desk.protocol"


@attrs.frozen
class Places:
    """The files of a workspace's `run/` that the API keeps."""

    socket: Path
    url: Path
    token: Path


class Api:
    """The actor: both doors, from `started()` on, until it is drained or cancelled.

    `port` None tries 8470 and the next ones, 0 any. `announce` is called with the URL, its token in
    the fragment, once both doors listen. `count` gets (method, route, status) of every request.
    """

    def __init__(
        self,
        office: Office,
        places: Places,
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        locale: str = "es",
        limits: Limits | None = None,
        count: Callable[[str, str, int], None] = lambda method, route, status: None,
        announce: Callable[[str], None] = lambda url: None,
    ) -> None:
        self._office = office
        self._places = places
        self._host = host
        self._port = port
        self._texts = Texts(locale)
        self._limits = limits or Limits()
        self._count = count
        self._announce = announce
        self._feed = Feed()

    def streams(self) -> int:
        """Return how many event streams are open now."""
        return self._feed.readers

    async def run(
        self, inbox: Drains, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Serve until `inbox` drains. Raises PortTaken, or OSError when the socket cannot be bound.

        A cancel, like a drain, ends every connection at once: streams, idle ones and stalled ones.
        """
        token = keep_token(self._places.token)
        hide(token)
        self._feed = feed = Feed()
        with ExitStack() as stack:
            tcp = stack.enter_context(bind_tcp(self._host, self._port, self._texts))
            unix = stack.enter_context(bind_unix(self._places.socket))
            stack.callback(_forget, self._places.socket)
            stack.callback(_forget, self._places.url)
            port = tcp.getsockname()[1]
            async with trio.open_nursery() as nursery:
                await nursery.start(feed.run, self._office)
                self._tell_url(token, port)
                task_status.started()
                make_desk = await _load()
                assets = await trio.to_thread.run_sync(read_assets)
                desk = make_desk(self._office, feed, self._texts, self._limits, token, port, assets)
                guard = Guard(desk, token, port, self._texts, sign_in_page(self._texts))
                nursery.start_soon(self._door("socket", unix, desk).serve)
                nursery.start_soon(self._door("tcp", tcp, guard).serve)
                await inbox.wait_draining()
                nursery.cancel_scope.cancel()

    def _door(self, name: str, listener: socket.socket, app: App) -> Door:
        return Door(
            name, listener, Boundary(app, self._texts, self._limits, self._count), self._limits
        )

    def _tell_url(self, token: str, port: int) -> None:
        host = f"[{self._host}]" if ":" in self._host else self._host
        url = f"http://{host}:{port}/#token={token}"
        write_private(self._places.url, url + "\n")
        self._announce(url)


async def _load() -> type[Desk]:
    """Import starlette and hypercorn off the loop: both doors listen already, and callers queue."""
    if not all(module in sys.modules for module in (_APP, _PROTOCOL)):
        for module in (_APP, _PROTOCOL):
            await trio.to_thread.run_sync(import_module, module)
    from supervisor.desk.api import Desk

    return Desk


class Drains(Protocol):
    """The one thing the API wants of its inbox."""

    async def wait_draining(self) -> None:
        """Wait until a drain was asked."""
        ...


def _forget(path: Path) -> None:
    path.unlink(missing_ok=True)
