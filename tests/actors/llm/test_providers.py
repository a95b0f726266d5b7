"""From configuration to a provider, and what is wrong with one."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import actors.llm
from actors.llm.guard import GuardedProvider
from actors.llm.protocol import complete
from actors.llm.providers import PROVIDERS, check_llm, make_provider
from actors.llm.script import ScriptError
from config.document import parse
from config.loading import Loaded
from config.problems import ConfigError
from config.schema import AgentConfig, LlmConfig
from config.secrets import Secret
from config.source import Source
from tests.actors.llm.requests import request

GOOD: dict[str, dict[str, Any]] = {
    "builtin": {},
    "replay": {"script": "script.yaml"},
    "openai": {"model": "m", "api_key": Secret("k")},
    "anthropic": {"model": "m", "api_key": Secret("k")},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "script.yaml").write_text("- rounds: [[text: hola]]\n")
    return tmp_path


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("name", PROVIDERS)
async def test_every_provider_can_be_made_and_closed(name: str, folder: Path) -> None:
    if name in ("openai", "anthropic"):
        pytest.importorskip(name)
    provider = make_provider(LlmConfig(name, **GOOD[name]), folder)
    assert isinstance(provider, GuardedProvider)
    await provider.aclose()


async def test_a_replay_script_is_found_beside_the_config(folder: Path) -> None:
    provider = make_provider(LlmConfig("replay", script="script.yaml"), folder)
    assert (await complete(provider, request("x"))).text == "hola"


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (LlmConfig("openia", model="m"), ["llm.provider", "did you mean 'openai'?"]),
        (LlmConfig("mars"), ["there are builtin, replay, openai, anthropic"]),
        (LlmConfig("replay"), ["llm.script", "needs `script: FILE`"]),
        (LlmConfig("builtin", script="s.yaml"), ["only for provider replay"]),
        (LlmConfig("openai"), ["llm.model", "llm.api_key", "${OPENAI_API_KEY}"]),
        (LlmConfig("anthropic", base_url="http://x"), ["llm.model", "llm.api_key"]),
    ],
)
def test_what_is_missing_is_said_all_at_once(
    config: LlmConfig, told: list[str], folder: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        make_provider(config, folder)
    for part in told:
        assert part in str(caught.value)


def test_a_local_server_needs_no_key(folder: Path) -> None:
    pytest.importorskip("openai")
    make_provider(LlmConfig("openai", model="m", base_url="http://127.0.0.1:1"), folder)


def test_a_key_of_the_environment_will_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    make_provider(LlmConfig("openai", model="m"), folder)


def test_a_missing_package_is_said_with_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=r"install `vivero\[openai\]`"):
        make_provider(LlmConfig("openai", model="m", base_url="http://x"), folder)


def test_a_bad_script_is_told_with_its_lines(folder: Path) -> None:
    (folder / "script.yaml").write_text("- rounds: [[txt: hola]]\n- rounds: 3\n")
    config = LlmConfig("replay", script="script.yaml")
    with pytest.raises(ScriptError) as caught:
        make_provider(config, folder)
    assert [problem.line for problem in caught.value.problems] == [1, 2]
    agent = Loaded(AgentConfig(id="a", llm=config), Source("config.yaml"))
    assert check_llm(agent, folder) == list(caught.value.problems)


def test_a_script_that_is_not_there_is_told(folder: Path) -> None:
    with pytest.raises(ScriptError, match="cannot be read"):
        make_provider(LlmConfig("replay", script="nada.yaml"), folder)


def test_the_check_points_into_the_file(folder: Path) -> None:
    document = parse("llm:\n  provider: openia\n", "config.yaml")
    agent = AgentConfig(id="a", llm=LlmConfig("openia"))
    (problem,) = check_llm(Loaded(agent, Source("config.yaml", document.root)), folder)
    assert str(problem).startswith("config.yaml:2:13: llm.provider: there is no provider 'openia'")


def test_a_good_config_has_no_problems(folder: Path) -> None:
    for name in ("builtin", "replay"):
        agent = AgentConfig(id="a", llm=LlmConfig(name, **GOOD[name]))
        assert check_llm(Loaded(agent, Source("config.yaml")), folder) == []


def test_making_a_builtin_or_replay_model_imports_no_sdk() -> None:
    code = (
        "import sys; from pathlib import Path; from config.schema import LlmConfig;"
        "from actors.llm import make_provider; import tools;"
        "make_provider(LlmConfig(), Path('.'));"
        "make_provider(LlmConfig('openai', model='m', base_url='http://x'), Path('.'));"
        "print(sorted({m.split('.')[0] for m in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    for heavy in ("openai.", "anthropic", "httpx2", "pydantic", "mcp", "nio"):
        assert f"'{heavy}'" not in done.stdout


def test_the_package_exports_what_it_says() -> None:
    assert actors.llm.__all__ == sorted(actors.llm.__all__, key=lambda n: (not n.isupper(), n))
    for name in actors.llm.__all__:
        assert getattr(actors.llm, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Mars'"):
        actors.llm.Mars
