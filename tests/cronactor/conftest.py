"""Fixtures of the scheduler's tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs
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

    fields = {field.name for field in attrs.fields(ScheduleConfig)}
    own = fields - {"name", "cron", "action"}

    def make(name: str = "diario", cron: str | None = "0 18 * * *", **given: Any) -> ScheduleConfig:
        config: Mapping[str, Any] = {key: given.pop(key) for key in own & given.keys()}
        action = ActionConfig(**({"kind": "send_message", "message": "hola"} | given))
        return ScheduleConfig(
            name=name,
            cron=None if "every" in config else cron,
            action=action,
            **({"output_room": ROOM} | dict(config)),
        )

    return make
