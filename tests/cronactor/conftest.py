"""Fixtures of the scheduler's tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from config.schema import ActionConfig, ScheduleConfig
from tests.cronactor.world import ROOM, World


@pytest.fixture
def autojump_clock() -> MockClock:
    return MockClock(autojump_threshold=0)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def schedule() -> Callable[..., ScheduleConfig]:
    """Make a ScheduleConfig; the rest of the arguments is its action."""

    def make(name: str = "diario", cron: str = "0 18 * * *", **given: Any) -> ScheduleConfig:
        own = {"timezone", "enabled", "output_room"}
        config: Mapping[str, Any] = {key: given.pop(key) for key in own & given.keys()}
        action = ActionConfig(**({"kind": "send_message", "message": "hola"} | given))
        return ScheduleConfig(
            name=name, cron=cron, action=action, **({"output_room": ROOM} | dict(config))
        )

    return make
