"""The builtin model: rules behind the same protocol as an LLM, for a nursery that needs no account.

It uses only what a request holds and remembers nothing: what it has already done in a turn follows
from the messages. It never guesses; what it does not understand it says.
"""

from __future__ import annotations

import functools
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio

from actors.llm.changes import time_of
from actors.llm.intents import (
    AskAgent,
    Change,
    Delete,
    DeleteAll,
    Farewell,
    Greet,
    Help,
    Intent,
    Introduce,
    ListReminders,
    NeedCron,
    Remind,
    SetZone,
    Snooze,
    Speaker,
    TellTime,
    Thanks,
    Understood,
    Unknown,
)
from actors.llm.protocol import (
    NO_REPLY,
    ChatMessage,
    Finished,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolCallRequested,
    TurnContext,
    turn_messages,
)
from actors.llm.sayings import abilities, introduction, say, unclear
from actors.llm.splitting import Unclear
from actors.llm.understanding import understand
from actors.llm.utterance import core, fold
from cronactor.phrases import PhraseError, parse
from cronactor.texts import ZoneError

__all__ = ["BuiltinProvider", "Reply", "respond"]


@attrs.frozen
class Reply:
    """One round: what is said, or which tool is called with what."""

    text: str = ""
    tool: str | None = None
    arguments: dict[str, Any] = attrs.field(factory=dict)


class BuiltinProvider:
    """The rules as a provider; stateless, so one instance serves all turns."""

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        """Answer one round."""
        yield _Events(_events(respond(request), request))

    async def aclose(self) -> None:
        """Nothing is held."""


class _Events:
    def __init__(self, events: Sequence[ModelEvent]) -> None:
        self._events = deque(events)

    def __aiter__(self) -> _Events:
        return self

    async def __anext__(self) -> ModelEvent:
        await trio.lowlevel.checkpoint()
        if not self._events:
            raise StopAsyncIteration
        return self._events.popleft()


def _events(reply: Reply, request: ModelRequest) -> list[ModelEvent]:
    if reply.tool is None:
        pieces = re.findall(r"\s*\S+\s*$|\s*\S+", reply.text)
        return [*map(TextDelta, pieces), Finished("stop")]
    number = 1 + len(_rounds(request))
    arguments = json.dumps(reply.arguments, ensure_ascii=False)
    call = ToolCall(f"call_{number}_1", reply.tool, arguments)
    return [ToolCallRequested(call), Finished("tool_calls")]


def respond(request: ModelRequest) -> Reply:
    """Pure: answer one round of a turn. Never raises, whatever the message says."""
    message, _ = turn_messages(request)
    if message is None:
        return Reply(NO_REPLY)
    context = request.context
    understood = _understood(message.content, context)
    if context.sender_is_bot and not _worth_answering(context, understood.intent):
        return Reply(NO_REPLY)
    round_ = _Round(request, understood)
    return round_.after_tools() if _rounds(request) else round_.first()


def _understood(text: str, context: TurnContext) -> Understood:
    speaker, grammar = _speaker(context), _grammar(context)
    understood = understand(text, speaker, grammar)
    replied = context.reply_to is not None and context.addressed
    if not replied or not isinstance(understood.intent, Unknown):
        return understood
    time = time_of(core(text, speaker.names), grammar)  # a mere time as the reply to a reminder
    return understood if time is None else attrs.evolve(understood, intent=Snooze(time))


def _worth_answering(context: TurnContext, intent: Intent) -> bool:
    """Bots chat for ever: only a bot that asks this agent for something it can do is answered."""
    return context.addressed and not isinstance(intent, (Unknown, Greet, Thanks, Farewell))


def _speaker(context: TurnContext) -> Speaker:
    names = tuple(filter(None, (context.agent, context.display_name)))
    return Speaker(names, tuple({context.agent: "", **context.agents}), context.locale)


def _grammar(context: TurnContext) -> Callable[[str], PhraseError | None]:
    @functools.cache
    def error_of(phrase: str) -> PhraseError | None:
        try:
            parse(phrase, context.received_at, context.timezone, context.locale)
        except PhraseError as error:
            return error
        except ZoneError:
            return PhraseError("phrase_unknown", context.locale, text=phrase)
        return None

    return error_of


def _rounds(request: ModelRequest) -> list[ChatMessage]:
    _, since = turn_messages(request)
    return [message for message in since if message.role == "assistant"]


class _Round:
    """One request with what was understood of it."""

    def __init__(self, request: ModelRequest, understood: Understood) -> None:
        self._context = request.context
        self._tools = {spec.name for spec in request.tools}
        self._others = [name for name in request.context.agents if name != request.context.agent]
        self._intent = understood.intent
        self._language = understood.language
        self._rounds = _rounds(request)
        self._since = turn_messages(request)[1]

    def _say(self, key: str, **values: str) -> Reply:
        user = self._context.user
        common = {"to": f", {user}" if user else "", "me": self._context.agent}
        return Reply(say(key, self._language, **common, **values))

    def _call(self, tool: str, **arguments: Any) -> Reply:
        if tool not in self._tools:
            return self._say("cannot", tool=tool)
        given = {key: value for key, value in arguments.items() if value is not None}
        return Reply(tool=tool, arguments=given)

    def first(self) -> Reply:
        match self._intent:
            case Remind(message=message, time=time, cron=cron):
                return self._call("create_reminder", **_reminder(message, time, cron))
            case NeedCron(error=error):
                return Reply(unclear(error, self._language))
            case Unclear():
                return Reply(unclear(self._intent, self._language))
            case ListReminders():
                return self._call("list_reminders")
            case Delete(id=str(id_)):
                return self._call("delete_reminder", id=id_)
            case Delete():
                return self._look_up("delete_reminder")
            case Change():
                return self._change(self._intent)
            case Snooze(time=time):
                return self._call("snooze_reminder", time=time)
            case SetZone(place=place, whole_room=room):
                return self._call("set_timezone", zone=place, whole_room=room or None)
            case TellTime(place=place):
                return self._call("current_time", zone=place)
            case AskAgent():
                return self._ask(self._intent)
        return self._talk()

    def _look_up(self, tool: str) -> Reply:
        """List first what there is, if something can then be done with it."""
        if tool not in self._tools:
            return self._say("cannot", tool=tool)
        return self._call("list_reminders")

    def _change(self, wanted: Change) -> Reply:
        if wanted.id is not None:
            return self._call(wanted.tool, id=wanted.id, **dict(wanted.arguments))
        replied = self._context.reply_to is not None or wanted.tool == "unfollow_reminder"
        if replied and not wanted.words:
            return self._call(wanted.tool, **dict(wanted.arguments))
        return self._look_up(wanted.tool)

    def _talk(self) -> Reply:
        match self._intent:
            case DeleteAll():
                return self._say("delete_all")
            case Introduce():
                text = introduction(self._context.agent, self._context.agents, self._language)
                return Reply(text)
            case Greet():
                return self._say("greet")
            case Thanks():
                return self._say("thanks")
            case Farewell():
                return self._say("farewell")
        start = "me" if isinstance(self._intent, Help) else "unknown"
        parts = [self._say(start, what="").text, say("not_llm", self._language)]
        listed = abilities(self._tools, self._others, self._language)
        return Reply(f"{' '.join(parts)}\n{listed}")

    def _ask(self, intent: AskAgent) -> Reply:
        if not intent.known:
            names = ", ".join(self._others)
            there = say("there_are" if names else "alone", self._language, names=names)
            return self._say("unknown_agent", name=intent.agent, there=there)
        if intent.agent == self._context.agent:
            return self._say("ask_myself")
        return self._call("ask_agent", agent=intent.agent, question=intent.question)

    def after_tools(self) -> Reply:
        """Go on once all results are in: a tool's text is already written for the user."""
        last = self._rounds[-1]
        answers = {call.id for call in last.tool_calls}
        results = [m.content for m in self._since if m.tool_call_id in answers]
        text = "\n".join(result for result in results if result.strip())
        asked = [call.name for call in last.tool_calls]
        if isinstance(self._intent, Delete | Change) and asked == ["list_reminders"]:
            return self._choose(self._intent, text)
        return Reply(text or NO_REPLY)

    def _choose(self, wanted: Delete | Change, listed: str) -> Reply:
        tool = wanted.tool if isinstance(wanted, Change) else "delete_reminder"
        arguments = dict(wanted.arguments) if isinstance(wanted, Change) else {}
        items = re.findall(r"^(\d+\. \[(\w+)\] (.*))$", listed, re.MULTILINE)
        if tool == "resume_reminder":
            items = [item for item in items if _PAUSED.search(item[2])] or items
        if not items:
            return Reply(listed or NO_REPLY)
        fitting = [item for item in items if _fits(wanted.words, item[1], item[2])]
        if len(fitting) == 1 and (wanted.words or _names_the_only_one(wanted.said)):
            return self._call(tool, id=fitting[0][1], **arguments)
        which = "delete_which" if tool == "delete_reminder" else "change_which"
        head = which if fitting else "delete_none"
        lines = [line for line, _, _ in fitting or items]
        return Reply("\n".join([self._say(head, said=wanted.said).text, *lines]))


_PAUSED = re.compile(r"\([^()]*(?:en pausa|paused)\)(?: @\S+)?$")


def _reminder(message: str, time: str | None, cron: str | None) -> dict[str, Any]:
    if cron is not None:
        return {"message": message, "cron": cron, "recurring": True}
    return {"message": message, "time": time}


def _names_the_only_one(said: str) -> bool:
    """`borra el recordatorio` is clear where there is one; a bare `borra` is not."""
    return re.search(r"recordatorio|aviso|reminder", fold(said)) is not None


def _fits(words: Sequence[str], id_: str, line: str) -> bool:
    """Whether every word stands in the reminder's message (a plural counts), or is its id."""
    if list(words) == [id_]:
        return True
    message = fold(line.rpartition(" — ")[0])
    said = re.findall(r"\w+", message)
    return all(
        any(word == other or _same_stem(word, other) for other in said)
        for part in words
        for word in re.findall(r"\w+", part)
    )


def _same_stem(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= 4 and long.startswith(short) and len(long) - len(short) <= 2
