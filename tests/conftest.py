"""Shared by all tests: seeds, sizes, skips that fail in CI, the ledger behind `./dev promises`."""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

LEDGER = Path(__file__).parent.parent / ".promises" / "last.json"

settings.register_profile(
    "vivero",
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("vivero")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--seed", type=int, default=None, help="seed of the random tests (each prints its own)"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sweep: has a large figure for ./dev soak")
    config.addinivalue_line(
        "markers", "promise(*names): the promises of the design this test would see broken"
    )
    chosen = config.getoption("--seed")
    if chosen is not None and hasattr(config.option, "hypothesis_seed"):
        config.option.hypothesis_seed = chosen


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of this random test; repeat a failure with `--seed N`."""
    chosen: int | None = request.config.getoption("--seed")
    value = random.SystemRandom().randrange(2**31) if chosen is None else chosen
    print(f"seed: {value} (repeat with --seed {value})")
    request.node.user_properties.append(("seed", value))
    return value


@pytest.fixture
def size(request: pytest.FixtureRequest) -> Callable[[int, int], int]:
    """Choose the figure of a sweep: the first in `./dev test`, the second in `./dev soak`."""

    def choose(small: int, large: int) -> int:
        return large if os.environ.get("VIVERO_SOAK") else small

    return choose


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Record what a sweep covered (names to numbers) for `./dev promises` and `./dev soak`."""

    def record(**values: object) -> None:
        text = ", ".join(f"{name} {value}" for name, value in values.items())
        print(text)
        request.node.user_properties.append(("figures", text))

    return record


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        names = sorted({name for mark in item.iter_markers("promise") for name in mark.args})
        if names:
            item.user_properties.append(("promises", names))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if os.environ.get("REQUIRE_ALL") and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped under REQUIRE_ALL=1: {report.longrepr}"
    return report


class Ledger:
    """Keeps, in the process that sees all reports, the last result of each test of a promise."""

    def __init__(self) -> None:
        self.results: dict[str, dict[str, object]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        properties = dict(report.user_properties)
        if "promises" in properties and (report.when == "call" or report.outcome != "passed"):
            self.results[report.nodeid] = {
                "promises": properties["promises"],
                "seed": properties.get("seed"),
                "outcome": report.outcome,
                "figures": properties.get("figures"),
                "at": time.time(),
            }

    def pytest_sessionfinish(self) -> None:
        if not self.results:
            return
        known = json.loads(LEDGER.read_text()) if LEDGER.exists() else {}
        LEDGER.parent.mkdir(exist_ok=True)
        LEDGER.write_text(json.dumps(known | self.results, indent=1, sort_keys=True))


def pytest_sessionstart(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        session.config.pluginmanager.register(Ledger(), "vivero-ledger")
