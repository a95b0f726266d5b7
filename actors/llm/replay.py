"""The replay model plays a script: for tests, demos, and for trying what a broken model would do.

`llm: {provider: replay, script: script.yaml}`; the script is a list of cases, the first that fits
is played:

    - match: regar            # regular expression, anywhere in the turn's message; any case
      attempt: 1              # only this attempt of a turn; "2+" the second and all later ones
      agent: asistente        # only for this agent
      rounds:                 # one list of steps for each time the model is asked in the turn
        - - text: "Voy a mirarlo. "
          - delay: 2.5        # seconds
          - tool: {name: create_reminder, args: {message: regar, time: en 5 minutos}}
        - - text: "Hecho."
    - rounds: [[no_reply: true]]

`match`, `attempt` and `agent` may be left out. The steps of a round:

    text: "..."               streamed word by word
    delay: SECONDS
    tool: {name, args}        asks for a tool call
    error: "..."              a ModelError of kind http; or {kind: idle, message: "..."}
    crash: "..."              any other exception, as from a bug
    hang: true                says nothing more, for ever
    no_reply: true            nothing to say
    end: false                the stream ends here without a finish reason

Nothing is remembered: which round is played follows from the messages (how often the model has
spoken since the user), so a turn that is run again after a crash continues where it was.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from actors.llm.protocol import (
    Finished,
    ModelError,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolCallRequested,
    turn_messages,
)
from actors.llm.script import (
    Call,
    Case,
    Crash,
    CutOff,
    Delay,
    Fail,
    Hang,
    Say,
    Step,
    parse_script,
)

__all__ = ["ReplayCrash", "ReplayProvider"]


class ReplayCrash(RuntimeError):
    """What a `crash:` step raises."""


class ReplayProvider:
    """Plays a script of cases; stateless, so one instance serves all turns."""

    def __init__(self, cases: Sequence[Case], name: str = "script") -> None:
        self._cases = tuple(cases)
        self._name = name

    @classmethod
    def from_file(cls, path: Path) -> ReplayProvider:
        """Read a script file. Raises ScriptError with every fault and its line, and OSError."""
        return cls(parse_script(path.read_text(encoding="utf-8"), str(path)), path.name)

    @classmethod
    def from_text(cls, text: str, name: str = "script") -> ReplayProvider:
        """Read a script. Raises ScriptError with every fault and its line."""
        return cls(parse_script(text, name), name)

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        """Play the round that follows from the request's messages."""
        yield _Playing(self._steps(request), request)

    async def aclose(self) -> None:
        """Nothing is held."""

    def _steps(self, request: ModelRequest) -> tuple[Step, ...]:
        user, since = turn_messages(request)
        text = user.content if user is not None else ""
        number = sum(message.role == "assistant" for message in since)
        for case in self._cases:
            if case.fits(text, request.attempt, request.context.agent):
                if number < len(case.rounds):
                    return case.rounds[number]
                where = f"{self._name}:{case.line}"
                return (Say(f"(replay: {where} has no round {number + 1})"),)
        return (Say(f"(replay: {self._name} has no case for {text!r})"),)


class _Playing:
    """One round being played; each event is a checkpoint."""

    def __init__(self, steps: Sequence[Step], request: ModelRequest) -> None:
        _, since = turn_messages(request)
        self._round = 1 + sum(message.role == "assistant" for message in since)
        self._steps = [part for step in steps for part in _in_pieces(step)]
        self._position = 0
        self._calls = 0
        self._ended = False

    def __aiter__(self) -> _Playing:
        return self

    async def __anext__(self) -> ModelEvent:
        while not self._ended:
            event = await self._play()
            if event is not None:
                return event
        raise StopAsyncIteration

    async def _play(self) -> ModelEvent | None:
        await trio.lowlevel.checkpoint()
        if self._position == len(self._steps):
            self._ended = True
            return Finished("tool_calls" if self._calls else "stop")
        step = self._steps[self._position]
        self._position += 1
        match step:
            case Say(text=text):
                return TextDelta(text)
            case Call(name=name, arguments=arguments):
                self._calls += 1
                call_id = f"call_{self._round}_{self._calls}"
                return ToolCallRequested(ToolCall(call_id, name, arguments))
            case Delay(seconds=seconds):
                await trio.sleep(seconds)
            case Hang():
                await trio.sleep_forever()
            case Fail(kind=kind, message=message):
                raise ModelError(kind, message, retryable=kind != "refused")
            case Crash(text=text):
                raise ReplayCrash(text)
            case CutOff():
                self._ended = True
        return None


def _in_pieces(step: Step) -> list[Step]:
    if isinstance(step, Say):
        return [Say(piece) for piece in re.findall(r"\s*\S+\s*$|\s*\S+", step.text)]
    return [step]
