"""hypercorn's HTTP on one connection, with our deadlines. Import it off the loop: it is heavy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import ConnectionState

from supervisor.desk.boundary import App, Limits

__all__ = ["quiet_config", "speak"]


def quiet_config(limits: Limits) -> Config:
    """Return hypercorn's settings: quiet (the boundary logs), with our deadlines."""
    config = Config()
    config.errorlog = None
    config.include_server_header = False
    config.keep_alive_timeout = limits.header_seconds
    config.h2_max_concurrent_streams = 16
    return config


async def speak(app: App, config: Config, stream: Any, drop: Callable[[], None]) -> None:
    """Serve one connection until it ends; `drop` is in each request's `scope["state"]`."""
    wrapped = ASGIWrapper(app)  # type: ignore[arg-type]
    state = ConnectionState({"drop": drop})
    await _Server(wrapped, config, WorkerContext(None), state, stream).run()


class _Server(TCPServer):
    async def _read_data(self) -> None:
        await super()._read_data()
        await self.idle_task.stop()  # it would keep the place of a peer that has gone
