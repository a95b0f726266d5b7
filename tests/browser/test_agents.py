"""The tree: agents are reloaded and started from the page, and what is wrong is said there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.driver import REFUSED, Visits, agent, enter, said, say
from tests.browser.houses import address, furnish
from tests.e2e.process import Supervisor, replaying, supervisor, write

RULES = {
    "max_restarts": 1,
    "window_seconds": 30,
    "backoff_initial_seconds": 0.05,
    "backoff_max_seconds": 0.1,
}
SCRIPT = """\
- match: rompe
  rounds: [[{crash: "<img src=x onerror=alert(1)> se rompió"}]]
- match: colores
  rounds: [[{text: "rojo \\x1b[31mno\\x1b[0m y\\x07 <b>fin</b>"}]]
- rounds: [[{text: "bien"}]]
"""


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Supervisor]:
    folder = tmp_path_factory.mktemp("casa")
    workspace = furnish(folder / "w", replaying(SCRIPT), supervision=RULES)
    with supervisor(workspace) as running:
        yield running


def config_of(house: Supervisor, name: str) -> Path:
    return house.workspace / "agents" / name / "config.yaml"


def generation(page: Page, name: str) -> int:
    return int(agent(page, name).get_attribute("data-generation") or 0)


def test_the_button_reloads_an_agent_and_the_next_generation_is_announced(
    visit: Visits, house: Supervisor
) -> None:
    guest = visit()
    page = enter(guest, address(house))
    expect(agent(page, "devops")).to_have_attribute("data-state", "running")
    before = generation(page, "devops")
    others = generation(page, "asistente")
    text = config_of(house, "devops").read_text()
    write(house.workspace, {"agents/devops/config.yaml": text + "\n# changed\n"})
    page.get_by_role("button", name="Recargar devops").click()
    expect(page.locator("#notices")).to_contain_text(f"devops: generación {before + 1} en marcha")
    expect(agent(page, "devops")).to_have_attribute("data-generation", str(before + 1))
    expect(agent(page, "devops")).to_have_attribute("data-state", "running")
    assert page.locator("#notices").get_attribute("aria-live") == "polite"
    assert generation(page, "asistente") == others
    guest.shoot("reloaded")


def test_a_broken_configuration_shows_where_and_the_agent_goes_on(
    visit: Visits, house: Supervisor
) -> None:
    guest = visit(language="en-GB")
    page = enter(guest, address(house), "eva")
    expect(agent(page, "devops")).to_have_attribute("data-state", "running")
    before = generation(page, "devops")
    good = config_of(house, "devops").read_text()
    write(house.workspace, {"agents/devops/config.yaml": "<b>displayname</b>: x\n" + good})
    guest.expect_complaints(REFUSED.format(422))
    try:
        page.get_by_role("button", name="Reload devops").click()
        notice = page.locator("#notices").get_by_role("alert")
        expect(notice).to_contain_text("agents/devops/config.yaml:1:1")
        expect(notice).to_contain_text("<b>displayname</b>")
        guest.shoot("broken-configuration")
    finally:
        write(house.workspace, {"agents/devops/config.yaml": good})
    say(page, "devops, ¿qué hora es?")
    expect(said(page, "Europe/Madrid")).to_have_count(1)
    assert generation(page, "devops") == before
    notice.get_by_role("button", name="Close").click()
    expect(notice).to_have_count(0)


def test_what_a_model_says_with_escapes_and_markup_is_shown_as_text(
    visit: Visits, house: Supervisor
) -> None:
    page = enter(visit(), address(house))
    say(page, "asistente, colores")
    answer = said(page, "<b>fin</b>").locator(".text")
    # The escape characters themselves never reach a room.
    expect(answer).to_have_text("rojo [31mno[0m y <b>fin</b>")


def test_a_quarantined_agent_is_seen_and_started_again(visit: Visits, house: Supervisor) -> None:
    guest = visit()
    page = enter(guest, address(house))
    shown = agent(page, "asistente")
    expect(shown).to_have_attribute("data-state", "running")
    say(page, "asistente, rompe 1")
    expect(shown).to_contain_text("<img src=x onerror=alert(1)> se rompió")
    assert page.locator("#tree img").count() == 0
    # Without its script no generation can start any more.
    (house.workspace / "agents/asistente/script.yaml").unlink()
    for number in range(2, 5):
        house.say("#taller", f"asistente, rompe {number}", f"luis{number}")
    expect(shown).to_have_attribute("data-state", "quarantined")
    expect(shown).to_contain_text("en cuarentena")
    expect(shown).to_contain_text("script.yaml")
    expect(said(page, "está en cuarentena")).to_have_count(1)
    guest.shoot("quarantined")
    write(house.workspace, replaying(SCRIPT))
    page.get_by_role("button", name="Iniciar asistente").click()
    expect(shown).to_have_attribute("data-state", "running")
    expect(page.locator("#notices")).to_contain_text("asistente: generación")
    say(page, "asistente, ¿estás?")
    expect(said(page, re.compile("^bien$"))).to_have_count(1)
