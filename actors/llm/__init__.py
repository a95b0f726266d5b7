"""The models an agent may think with, behind one protocol; SDKs are imported when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actors.llm.guard import Deadlines, GuardedProvider, guarded
from actors.llm.protocol import (
    NO_REPLY,
    ChatMessage,
    Finished,
    ModelError,
    ModelErrorKind,
    ModelEvent,
    ModelOutput,
    ModelRequest,
    Provider,
    TextDelta,
    ToolCall,
    ToolCallRequested,
    TurnContext,
    Usage,
    complete,
    turn_messages,
)
from actors.llm.providers import PROVIDERS, check_llm, make_provider
from actors.llm.script import ScriptError

if TYPE_CHECKING:
    from actors.llm.anthropic import AnthropicProvider
    from actors.llm.builtin import BuiltinProvider
    from actors.llm.openai import OpenAIProvider
    from actors.llm.replay import ReplayProvider

__all__ = [
    "NO_REPLY",
    "PROVIDERS",
    "AnthropicProvider",
    "BuiltinProvider",
    "ChatMessage",
    "Deadlines",
    "Finished",
    "GuardedProvider",
    "ModelError",
    "ModelErrorKind",
    "ModelEvent",
    "ModelOutput",
    "ModelRequest",
    "OpenAIProvider",
    "Provider",
    "ReplayProvider",
    "ScriptError",
    "TextDelta",
    "ToolCall",
    "ToolCallRequested",
    "TurnContext",
    "Usage",
    "check_llm",
    "complete",
    "guarded",
    "make_provider",
    "turn_messages",
]

_LAZY = {
    "AnthropicProvider": "actors.llm.anthropic",
    "BuiltinProvider": "actors.llm.builtin",
    "OpenAIProvider": "actors.llm.openai",
    "ReplayProvider": "actors.llm.replay",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        import importlib

        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
