"""Asking another agent: counted, bounded, and honest about what went wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from channels.chain import Stamp
from channels.errors import (
    ActorDied,
    AskCycle,
    AskTimeout,
    BusError,
    MailboxFull,
    RemoteError,
    Stopped,
    UnknownAddress,
)
from channels.messages import GiveBackHop, ReserveHop, Task, TaskResult
from tests.tools.callers import bus_of, context
from tools.delegate.delegate import ask_agent
from tools.tool import ToolContext, ToolFailure, ToolResult

pytestmark = pytest.mark.promise("P3", "P9")


def house(*answers: Any, hop: Any = 2) -> Callable[[str, Any], Any]:
    left = list(answers)

    def answer(to: str, body: Any) -> Any:
        if to == "orchestrator":
            return hop
        return left.pop(0)

    return answer


async def ask(ctx: ToolContext, agent: str = "devops") -> ToolResult:
    return await ask_agent.call(ctx, f'{{"agent": "{agent}", "question": "qué hora es"}}')


async def test_the_answer_comes_back_under_its_name() -> None:
    ctx = context(house(TaskResult("Son las 3.", "devops")))
    result = await ask(ctx)
    assert (result.ok, result.text) == (True, "devops: Son las 3.")


async def test_the_turn_is_reserved_in_the_same_chain_before_anything_is_asked() -> None:
    ctx = context(house(TaskResult("x", "devops")))
    await ask(ctx)
    (first, reserve), (second, task) = bus_of(ctx).asked
    assert (first, second) == ("orchestrator", "devops")
    assert reserve == ReserveHop(room="#taller", chain="$1", key="slot-1-call-1")
    assert task == Task(
        task_id="slot-1-call-1",
        text="qué hora es",
        sender="asistente",
        room="#taller",
        user="@ana",
        stamp=Stamp("asistente", "$1", "$1", 2),
        timeout=120.0,
    )
    assert bus_of(ctx).options[1] == {"timeout": 120.0, "lane": "slot-1-call-1"}


async def test_a_chain_that_is_used_up_asks_nobody() -> None:
    ctx = context(house(hop=None))
    result = await ask(ctx)
    assert (result.ok, result.failure) == (False, ToolFailure.REFUSED)
    assert "ya han hablado bastante" in result.text
    assert [to for to, _ in bus_of(ctx).asked] == ["orchestrator"]


async def test_who_cannot_be_counted_is_not_asked() -> None:
    ctx = context(house(hop=AskTimeout("orchestrator", 5)))
    assert "quien cuenta los turnos no responde" in (await ask(ctx)).text
    assert len(bus_of(ctx).asked) == 1


@pytest.mark.parametrize("silence", ["", " ", "NO_REPLY"])
async def test_silence_is_told_and_its_turn_given_back(silence: str) -> None:
    ctx = context(house(TaskResult(silence, "devops")))
    assert (await ask(ctx)).text == "devops no tiene nada que decir a eso."
    assert bus_of(ctx).told == [("orchestrator", GiveBackHop("#taller", "$1", "slot-1-call-1"))]


async def test_an_agent_that_was_reloaded_is_asked_once_more_under_the_same_task() -> None:
    ctx = context(house(ActorDied("devops", "reload"), TaskResult("ok", "devops")))
    assert (await ask(ctx)).text == "devops: ok"
    _, (_, one), (_, two) = bus_of(ctx).asked
    assert one == two


@pytest.mark.parametrize(
    ("error", "told", "given_back"),
    [
        (AskTimeout("devops", 120), "devops no contestó en 120 s; puede que siga", False),
        (AskCycle(("a", "b")), "está esperando justamente esta respuesta", True),
        (MailboxFull("devops", 64), "demasiado pendiente", True),
        (UnknownAddress("devops"), "no está en marcha", True),
        (Stopped("devops"), "no está en marcha", True),
        (RemoteError("boom"), "falló al contestar", False),
    ],
)
async def test_each_failure_is_one_sentence(error: BusError, told: str, given_back: bool) -> None:
    ctx = context(house(error))
    result = await ask(ctx)
    assert result.failure is ToolFailure.REFUSED
    assert told in result.text
    assert bool(bus_of(ctx).told) is given_back


async def test_an_agent_that_dies_twice_is_given_up() -> None:
    ctx = context(house(ActorDied("devops", "crash"), ActorDied("devops", "crash")))
    assert "falló al contestar" in (await ask(ctx)).text


@pytest.mark.parametrize("name", ["devops", "DevOps", "@devops", " devops "])
async def test_names_are_taken_as_people_write_them(name: str) -> None:
    assert (await ask(context(house(TaskResult("x", "devops"))), name)).ok


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("luis", "No hay ningún agente «luis». Los hay: devops."),
        ("orchestrator", "No hay ningún agente"),
        ("scheduler", "No hay ningún agente"),
        ("asistente", "asistente eres tú"),
    ],
)
async def test_only_other_agents_can_be_asked(name: str, told: str) -> None:
    ctx = context(house())
    assert told in (await ask(ctx, name)).text
    assert bus_of(ctx).asked == []


async def test_a_turn_without_a_stamp_begins_its_own_chain() -> None:
    ctx = context(house(TaskResult("x", "devops")), stamp=None, event_id=None, room=None)
    await ask(ctx)
    (_, reserve), (_, task) = bus_of(ctx).asked
    assert reserve == ReserveHop(room="", chain="slot-1-call-1", key="slot-1-call-1")
    assert task.stamp == Stamp("asistente", "slot-1-call-1", "slot-1-call-1", 2)


async def test_it_speaks_english_too() -> None:
    ctx = context(house(hop=None), locale="en")
    assert (await ask(ctx)).text.startswith("I do not ask devops")
