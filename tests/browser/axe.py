"""What axe-core finds wrong with a page for people who see, hear or move otherwise."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

GRAVE = ("serious", "critical")


def faults(page: Page) -> list[str]:
    """One line for each element with a grave fault."""
    return [
        f"{fault['id']}: {node['html'][:160]} — {node['failureSummary']}"
        for fault in Axe().run(page).response["violations"]
        if fault["impact"] in GRAVE
        for node in fault["nodes"]
    ]


def assert_accessible(page: Page, where: str) -> None:
    found = faults(page)
    assert not found, "\n".join([f"{where}:", *found])
