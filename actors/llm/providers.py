"""From an agent's `llm:` section to a provider under its deadlines."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from actors.llm.guard import Deadlines, guarded
from actors.llm.protocol import Provider
from actors.llm.script import ScriptError
from config.loading import Loaded
from config.problems import ConfigError, Problem, did_you_mean
from config.schema import AgentConfig, LlmConfig
from config.source import Source

if TYPE_CHECKING:
    from actors.llm.wire import ModelSettings

__all__ = ["PROVIDERS", "check_llm", "make_provider"]


def make_provider(config: LlmConfig, folder: Path) -> Provider:
    """Return the configured provider; `folder` is the agent's own, where a script is looked for.

    Cheap: SDKs are imported at the first call. Raises ConfigError for a provider that does not
    exist or lacks something it needs, and ScriptError (a ConfigError) for a bad replay script, each
    with all its problems.
    """
    source = Source(str(folder / "config.yaml"))
    problems = _problems(config, source)
    if problems:
        raise ConfigError(problems)
    deadlines = Deadlines(
        connect=config.connect_seconds,
        first_token=config.first_token_seconds,
        idle=config.idle_seconds,
        total=config.total_seconds,
    )
    return guarded(_MAKERS[config.provider](config, folder), deadlines)


def check_llm(agent: Loaded[AgentConfig], folder: Path) -> list[Problem]:
    """Return what is wrong with an agent's `llm:` section, its replay script included."""
    config = agent.value.llm
    problems = _problems(config, agent.source)
    if not problems and config.provider == "replay":
        try:
            _replay(config, folder)
        except ConfigError as error:
            problems.extend(error.problems)
    return problems


def _builtin(config: LlmConfig, folder: Path) -> Provider:
    from actors.llm.builtin import BuiltinProvider

    return BuiltinProvider()


def _replay(config: LlmConfig, folder: Path) -> Provider:
    from actors.llm.replay import ReplayProvider

    path = folder / (config.script or "")
    try:
        return ReplayProvider.from_file(path)
    except (OSError, UnicodeDecodeError) as error:
        text = f"cannot be read: {error}"
        raise ScriptError([Problem(str(path), 1, 1, "", text)]) from None


def _settings(config: LlmConfig) -> ModelSettings:
    from actors.llm.wire import ModelSettings

    return ModelSettings(
        model=config.model or "",
        api_key=config.api_key.reveal() if config.api_key else None,
        base_url=config.base_url,
        temperature=config.temperature,
        max_tokens=config.max_tokens,
        connect_seconds=config.connect_seconds,
    )


def _openai(config: LlmConfig, folder: Path) -> Provider:
    from actors.llm.openai import OpenAIProvider

    return OpenAIProvider(_settings(config))


def _anthropic(config: LlmConfig, folder: Path) -> Provider:
    from actors.llm.anthropic import AnthropicProvider

    return AnthropicProvider(_settings(config))


_MAKERS: Final[dict[str, Callable[[LlmConfig, Path], Provider]]] = {
    "builtin": _builtin,
    "replay": _replay,
    "openai": _openai,
    "anthropic": _anthropic,
}
_KEYS: Final = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}

PROVIDERS: Final = tuple(_MAKERS)
"""The names that `llm.provider` may have."""


def _problems(config: LlmConfig, source: Source) -> list[Problem]:
    found: list[Problem] = []

    def bad(key: str, message: str) -> None:
        found.append(source.problem("llm", key, message=message))

    name = config.provider
    if name not in PROVIDERS:
        hint = did_you_mean(name, PROVIDERS) or f"; there are {', '.join(PROVIDERS)}"
        bad("provider", f"there is no provider {name!r}{hint}")
    if name == "replay" and config.script is None:
        bad("script", "is missing: provider replay needs `script: FILE`")
    if name in PROVIDERS and name != "replay" and config.script is not None:
        bad("script", "has a meaning only for provider replay: remove it")
    if name in _KEYS:
        if config.model is None:
            bad("model", f"is missing: provider {name} needs `model: NAME`")
        if importlib.util.find_spec(name) is None:
            bad("provider", f"needs the package {name}: install `vivero[{name}]`")
        local = name == "openai" and config.base_url is not None
        if config.api_key is None and not local and not os.environ.get(_KEYS[name]):
            bad("api_key", f"is missing: write `api_key: ${{{_KEYS[name]}}}`")
    return found
