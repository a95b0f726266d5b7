"""The same work done by others: bare Trio channels, a channel per ask, pykka, triotp."""

from __future__ import annotations

import importlib
import threading
import time
from types import ModuleType
from typing import Any

import trio
from trio.testing import wait_all_tasks_blocked

RUN = 64  # how many messages a sender sends before it lets the reader run


def bare_tell(messages: int, *, nowait: bool) -> float:
    """Messages a second through one channel whose reader takes all there is when it wakes."""

    async def main() -> float:
        send, receive = trio.open_memory_channel[int](1024)

        async def reader() -> None:
            seen = 0
            while seen < messages:
                await receive.receive()
                seen += 1
                try:
                    while True:
                        receive.receive_nowait()
                        seen += 1
                except trio.WouldBlock:
                    pass

        async with trio.open_nursery() as nursery:
            nursery.start_soon(reader)
            start = time.perf_counter()
            if nowait:
                for number in range(messages):
                    send.send_nowait(number)
                    if number % RUN == RUN - 1:
                        await trio.lowlevel.checkpoint()
            else:
                for number in range(messages):
                    await send.send(number)
        return messages / (time.perf_counter() - start)

    return trio.run(main)


def channel_asks(asks: int, askers: int) -> float:
    """Asks a second when each makes a channel for its answer and sets a `fail_after`."""

    async def main() -> float:
        requests, served = trio.open_memory_channel[tuple[int, Any]](1024)

        async def echo() -> None:
            async for body, answer in served:
                answer.send_nowait(body)

        async def asker() -> None:
            for number in range(asks // askers):
                with trio.fail_after(5):
                    answer, answered = trio.open_memory_channel[int](1)
                    await requests.send((number, answer))
                    await answered.receive()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(echo)
            start = time.perf_counter()
            async with trio.open_nursery() as asking:
                for _ in range(askers):
                    asking.start_soon(asker)
            took = time.perf_counter() - start
            nursery.cancel_scope.cancel()
        return asks // askers * askers / took

    return trio.run(main)


def pykka_tell(messages: int) -> float:
    """Messages a second from this thread to a ThreadingActor."""
    actor = _pykka_echo()
    start = time.perf_counter()
    for number in range(messages):
        actor.tell(number)
    actor.ask(None)
    took = time.perf_counter() - start
    actor.stop()
    return messages / took


def pykka_asks(asks: int, askers: int) -> float:
    """Asks a second from so many threads to a ThreadingActor, each with a timeout."""
    actor = _pykka_echo()

    def asker() -> None:
        for number in range(asks // askers):
            actor.ask(number, timeout=5)

    threads = [threading.Thread(target=asker) for _ in range(askers)]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    took = time.perf_counter() - start
    actor.stop()
    return asks // askers * askers / took


def triotp_installed() -> bool:
    """Whether triotp can be imported (`./dev bench` puts it into `.venv-bench`, on PYTHONPATH)."""
    try:
        importlib.import_module("triotp.node")
    except ImportError:
        return False
    return True


def triotp_cast(messages: int) -> float:
    """Casts a second to a supervised gen_server."""
    node = importlib.import_module("triotp.node")
    application = importlib.import_module("triotp.application")
    gen_server = importlib.import_module("triotp.gen_server")
    supervisor = importlib.import_module("triotp.supervisor")
    done, rates = trio.Event(), []

    async def init(_: Any) -> int:
        return 0

    async def handle_cast(_: Any, seen: int) -> tuple[Any, int]:
        if seen + 1 == messages:
            done.set()
        return gen_server.NoReply(), seen + 1

    async def serve() -> None:
        await gen_server.start(_module("sink", init=init, handle_cast=handle_cast), name="sink")

    async def start(_: Any) -> None:
        child = supervisor.child_spec(
            id="sink", task=serve, args=[], restart=supervisor.restart_strategy.TRANSIENT
        )
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervisor.start, [child], supervisor.options())
            await wait_all_tasks_blocked()
            begin = time.perf_counter()
            for number in range(messages):
                await gen_server.cast("sink", number)
            await done.wait()
            rates.append(messages / (time.perf_counter() - begin))
            nursery.cancel_scope.cancel()

    app = application.app_spec(module=_module("app", start=start), start_arg=None, permanent=False)
    node.run([app])
    return rates[0]


def _module(name: str, **functions: Any) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(functions)
    return module


def _pykka_echo() -> Any:
    pykka = importlib.import_module("pykka")

    class Echo(pykka.ThreadingActor):  # type: ignore[name-defined, misc]
        def on_receive(self, message: Any) -> Any:
            return message

    return Echo.start()
