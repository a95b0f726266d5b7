"""Shared by the tool tests: a context with a scripted bus, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, cast

import attrs

from channels.bus import Bus
from channels.chain import Stamp
from tools.tool import ToolContext

NOW = 1_796_049_842.0  # 2026-11-30 15:44:02 in Madrid


@attrs.define
class StandingClock:
    at: float = NOW

    def now(self) -> float:
        return self.at


@attrs.define
class ScriptedBus:
    """Answers asks with a function of (address, body); keeps what was asked and told."""

    answer: Callable[[str, Any], Any]
    asked: list[tuple[str, Any]] = attrs.field(factory=list)
    told: list[tuple[str, Any]] = attrs.field(factory=list)
    options: list[dict[str, Any]] = attrs.field(factory=list)

    async def ask(self, to: str, body: Any, **options: Any) -> Any:
        self.asked.append((to, body))
        self.options.append(options)
        answer = self.answer(to, body)
        if isinstance(answer, Exception):
            raise answer
        return await answer if isinstance(answer, Awaitable) else answer

    async def tell(self, to: str, body: Any) -> None:
        self.told.append((to, body))


def nobody(to: str, body: Any) -> Any:
    raise AssertionError(f"{to} was asked {body}")


def context(answer: Callable[[str, Any], Any] = nobody, **changes: Any) -> ToolContext:
    ctx = ToolContext(
        agent="asistente",
        room="#taller",
        user="@ana",
        event_id="$1",
        received_at=NOW,
        timezone="Europe/Madrid",
        locale="es",
        idempotency_key="slot-1-call-1",
        bus=cast(Bus, ScriptedBus(answer)),
        clock=StandingClock(),
        lane="asistente/#taller",
        stamp=Stamp("asistente", "$1", "$1", 1),
        agents={"asistente": "recordatorios", "devops": "servidores"},
    )
    return attrs.evolve(ctx, **changes)


def bus_of(ctx: ToolContext) -> ScriptedBus:
    return cast(ScriptedBus, ctx.bus)
