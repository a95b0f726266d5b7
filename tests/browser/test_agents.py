"""The tree: agents are reloaded and started from the page, and what is wrong is said there."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.browser.driver import PHONE, REFUSED, Visits, agent, enter, said, say
from tests.browser.houses import ACTOR
from tests.e2e.process import Supervisor, write


def config_of(home: Supervisor, name: str) -> Path:
    return home.workspace / "agents" / name / "config.yaml"


def generation(page: Page, name: str) -> int:
    return int(agent(page, name).get_attribute("data-generation") or 0)


def test_the_button_reloads_an_agent_and_the_next_generation_is_announced(
    visit: Visits, home: Supervisor, url: str
) -> None:
    guest = visit()
    page = enter(guest, url)
    expect(agent(page, "devops")).to_have_attribute("data-state", "running")
    before = generation(page, "devops")
    others = generation(page, "asistente")
    text = config_of(home, "devops").read_text()
    write(home.workspace, {"agents/devops/config.yaml": text + "\n# changed\n"})
    page.get_by_role("button", name="Recargar devops").click()
    expect(page.locator("#notices")).to_contain_text(f"devops: generación {before + 1} en marcha")
    expect(agent(page, "devops")).to_have_attribute("data-generation", str(before + 1))
    expect(agent(page, "devops")).to_have_attribute("data-state", "running")
    assert page.locator("#notices").get_attribute("aria-live") == "polite"
    assert generation(page, "asistente") == others
    guest.shoot("reloaded")


def test_a_broken_configuration_shows_where_and_the_agent_goes_on(
    visit: Visits, home: Supervisor, url: str
) -> None:
    guest = visit(language="en-GB")
    page = enter(guest, url, "eva")
    expect(agent(page, "devops")).to_have_attribute("data-state", "running")
    before = generation(page, "devops")
    good = config_of(home, "devops").read_text()
    write(home.workspace, {"agents/devops/config.yaml": "<b>displayname</b>: x\n" + good})
    guest.expect_complaints(REFUSED.format(422))
    try:
        page.get_by_role("button", name="Reload devops").click()
        notice = page.locator("#notices").get_by_role("alert")
        expect(notice).to_contain_text("agents/devops/config.yaml:1:1")
        expect(notice).to_contain_text("<b>displayname</b>")
        guest.shoot("broken-configuration")
    finally:
        write(home.workspace, {"agents/devops/config.yaml": good})
    say(page, "devops, ¿qué hora es?")
    expect(said(page, "Europe/Madrid")).to_have_count(1)
    assert generation(page, "devops") == before
    assert (notice.text_content() or "").count("could not") == 1
    page.get_by_role("button", name="Reload devops").click()
    expect(page.locator("#notices .done")).to_have_count(1)
    expect(notice).to_have_count(0)


def test_a_notice_on_a_phone_leaves_the_tabs_free(
    visit: Visits, home: Supervisor, url: str
) -> None:
    guest = visit(size=PHONE)
    page = enter(guest, url, "eva")
    page.locator('#tabs [data-view="tree"]').click()
    good = config_of(home, "devops").read_text()
    write(home.workspace, {"agents/devops/config.yaml": "turn_seconds: much\n" + good})
    guest.expect_complaints(REFUSED.format(422))
    try:
        page.get_by_role("button", name="Recargar devops").click()
        notice = page.locator("#notices").get_by_role("alert")
        expect(notice).to_contain_text("turn_seconds")
    finally:
        write(home.workspace, {"agents/devops/config.yaml": good})
    for view in ("time", "talk", "tree"):
        page.locator(f'#tabs [data-view="{view}"]').click()
    notice.get_by_role("button", name="Cerrar").click()
    expect(notice).to_have_count(0)


def test_a_stopped_agent_is_said_to_be_so_and_who_answers_instead_of_it(
    visit: Visits, home: Supervisor, url: str
) -> None:
    page = enter(visit(), url, "eva", "#patio")
    chip = page.locator("#callable").get_by_text("@devops", exact=True)
    expect(chip).to_have_count(1)
    home.client.post("agents", "devops", "stop")
    try:
        expect(chip).to_have_count(0)
        expect(page.locator("#room-people")).to_contain_text("devops (parado)")
        say(page, "@devops ¿qué hora es?").locator(".why").click()
        expect(page.locator("#why")).to_contain_text("no está en marcha: contesta otro")
    finally:
        home.client.post("agents", "devops", "start")
    expect(chip).to_have_count(1)


def test_an_agent_that_breaks_is_seen_in_quarantine_and_started_again(
    visit: Visits, home: Supervisor, url: str
) -> None:
    guest = visit()
    page = enter(guest, url, room="#teatro")
    shown = agent(page, "actor")
    expect(shown).to_have_attribute("data-state", "running")
    say(page, "colores")
    # The escape characters themselves never reach a room.
    answer = said(page, "<b>fin</b>").locator(".text")
    expect(answer).to_have_text("rojo [31mno[0m y <b>fin</b>")
    say(page, "rompe 1")
    expect(shown).to_contain_text("<img src=x onerror=alert(1)> se rompió")
    assert page.locator("#tree img").count() == 0
    # Without its script no generation can start any more.
    (home.workspace / "agents/actor/script.yaml").unlink()
    for number in range(2, 5):
        home.say("#teatro", f"actor, rompe {number}", f"luis{number}")
    expect(shown).to_have_attribute("data-state", "quarantined")
    expect(shown).to_contain_text("en cuarentena")
    expect(shown).to_contain_text("script.yaml")
    expect(said(page, "está en cuarentena")).to_have_count(1)
    guest.shoot("quarantined")
    write(home.workspace, ACTOR)
    page.get_by_role("button", name="Iniciar actor").click()
    expect(shown).to_have_attribute("data-state", "running")
    expect(page.locator("#notices")).to_contain_text("actor: generación")
    say(page, "actor, ¿estás?")
    expect(said(page, re.compile("^bien$"))).to_have_count(1)
