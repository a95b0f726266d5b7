"""A browser for each test process, and a house that tests share when they leave it as it was."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.driver import MISSING, Driver, Visits, find_chromium
from tests.browser.houses import address, furnish
from tests.e2e.process import Supervisor, supervisor


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that visits in the browser's own thread."""
    visits = pyfuncitem.funcargs.get("visit")
    if not isinstance(visits, Visits):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    arguments = {name: pyfuncitem.funcargs[name] for name in names}

    def test() -> None:
        with visits.checked(pyfuncitem.name):
            pyfuncitem.obj(**arguments)

    driver: Driver = pyfuncitem.funcargs["driver"]
    driver.run(test)
    return True


@pytest.fixture(scope="session")
def driver() -> Iterator[Driver]:
    if find_chromium() is None:
        pytest.skip(MISSING)
    driver = Driver()
    yield driver
    driver.end()


@pytest.fixture
def visit(driver: Driver, tmp_path: Path) -> Iterator[Visits]:
    """Open visits; their pictures go to $VIVERO_SCREENSHOTS, else to the test's own folder."""
    pictures = Path(os.environ.get("VIVERO_SCREENSHOTS") or tmp_path / "pictures")
    pictures.mkdir(parents=True, exist_ok=True)
    visits = Visits(driver, pictures)
    yield visits
    driver.run(visits.close)


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    """A house for tests that only look and talk; each says what nobody else says."""
    with supervisor(furnish(tmp_path_factory.mktemp("casa") / "w")) as running:
        yield running


@pytest.fixture(scope="session")
def url(home: Supervisor) -> str:
    """The address that `home` printed."""
    return address(home)
