"""The tools' own check of an agent's configuration."""

from __future__ import annotations

from config.loading import Loaded
from config.schema import AgentConfig
from config.source import Source
from tools.checking import check


def test_a_config_of_the_right_shape_has_nothing_wrong_with_its_tools() -> None:
    assert check(Loaded(AgentConfig(id="a"), Source("config.yaml"))) == []
