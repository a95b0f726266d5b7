"""Seen and used by everybody: light and dark, a phone, the keyboard alone, both languages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import assert_accessible
from tests.browser.driver import PHONE, Visits, agent, enter, said, say
from tests.e2e.process import Supervisor

VIEWS = ("talk", "tree", "time")
TARGET = 24  # CSS pixels, WCAG 2.2 (2.5.8)
SMALL_TARGETS = """least => [...document.querySelectorAll(
    "button, a, input, textarea, summary, [role=tab]")]
  .map(node => [node, node.getBoundingClientRect()])
  .filter(([, box]) => box.width > 0 && box.bottom > 0 && Math.min(box.width, box.height) < least)
  .map(([node, box]) => `${node.outerHTML.slice(0, 100)} ${box.width}x${box.height}`)"""
FOCUS_IS_VISIBLE = """() => {
  const node = document.activeElement;
  const places = [node, node.parentElement];
  return node.matches(":focus-visible") && places.some(place => {
    const style = getComputedStyle(place);
    return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0)
      || style.boxShadow !== "none";
  });
}"""
COLOURS = """node => {
  const style = getComputedStyle(node);
  return { ink: style.color, paper: style.backgroundColor };
}"""
FOCUS_IS_IN_DIALOG = """document.activeElement === document.body
  || document.activeElement.closest("#why") !== null"""
CONTRAST = """node => {
  const parts = color => color.match(/[\\d.]+/g).map(Number);
  let behind = node;
  while (behind.parentElement && (parts(getComputedStyle(behind).backgroundColor)[3] ?? 1) === 0)
    behind = behind.parentElement;
  const light = color => {
    const [r, g, b] = parts(color).slice(0, 3).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const both = [getComputedStyle(node).color, getComputedStyle(behind).backgroundColor].map(light);
  return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
}"""


@pytest.fixture(scope="module")
def busy(home: Supervisor, url: str) -> Iterator[str]:
    """The address of a house in which something was said and something is planned."""
    home.ask("#taller", "recuérdame mañana a las 9 que llame a Luis", "luis")
    home.ask("#taller", "devops, ¿qué hora es en Tokio?", "luis")
    yield url


def colours(page: Page, selector: str) -> dict[str, Any]:
    return dict(page.locator(selector).first.evaluate(COLOURS))


def test_light_and_dark_are_two_sets_of_colours_and_everything_can_be_read_in_both(
    visit: Visits, busy: str
) -> None:
    seen = {}
    for scheme in ("light", "dark"):
        guest = visit(scheme=scheme)
        page = enter(guest, busy)
        answer = said(page, "(Asia/Tokyo)").first
        expect(answer).to_be_visible()
        expect(agent(page, "devops")).to_be_visible()
        expect(page.locator("#reminders [data-reminder]").first).to_be_visible()
        seen[scheme] = colours(page, "body")
        for selector in ("#log .text", "#log .sender", "#log time", "#connection", "#say-hint"):
            assert page.locator(selector).first.evaluate(CONTRAST) >= 4.5, (scheme, selector)
        assert_accessible(page, f"the page, {scheme}")
        guest.shoot(f"wide-{scheme}")
        answer.locator(".why").click()
        expect(page.get_by_role("dialog").locator("dl").first).to_be_visible()
        assert_accessible(page, f"why, {scheme}")
        guest.shoot(f"why-{scheme}")
    assert seen["light"]["ink"] != seen["dark"]["ink"]
    assert seen["light"]["paper"] != seen["dark"]["paper"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_reaches_every_view_without_scrolling_sideways(
    visit: Visits, busy: str, scheme: str
) -> None:
    guest = visit(scheme=scheme, size=PHONE, has_touch=True, is_mobile=True)
    page = enter(guest, busy)
    shown = {"talk": "#composer", "tree": "#tree", "time": "#reminders"}
    for view in VIEWS:
        page.locator(f'#tabs [data-view="{view}"]').tap()
        expect(page.locator(shown[view])).to_be_visible()
        for other in set(VIEWS) - {view}:
            expect(page.locator(shown[other])).to_be_hidden()
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0], view
        assert page.evaluate(SMALL_TARGETS, TARGET) == [], view
        assert_accessible(page, f"{view}, {scheme}")
        guest.shoot(f"phone-{view}-{scheme}")


def test_a_phone_shows_a_long_word_and_a_long_name_inside_its_width(
    visit: Visits, busy: str
) -> None:
    guest = visit(size=PHONE, has_touch=True, is_mobile=True)
    page = enter(guest, busy, "n" * 60, room="#patio")
    say(page, "x" * 400)
    expect(said(page, "x" * 400)).to_have_count(1)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    guest.shoot("phone-long")


def tab_to(page: Page, selector: str, key: str = "Tab") -> None:
    """Press Tab until something is focused; whatever is passed shows that it is."""
    for _ in range(80):
        page.keyboard.press(key)
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            assert page.evaluate(FOCUS_IS_VISIBLE), selector
            return
        assert page.evaluate("document.activeElement === document.body") or page.evaluate(
            FOCUS_IS_VISIBLE
        ), page.evaluate("document.activeElement.outerHTML")
    raise AssertionError(f"no way to {selector} with {key}")


def test_the_keyboard_alone_is_enough(visit: Visits, busy: str) -> None:
    guest = visit()
    page = enter(guest, busy)
    page.locator("body").press("Tab")
    tab_to(page, "#composer")
    page.keyboard.type("devops, ¿qué hora es en Lima?")
    page.keyboard.press("Enter")
    expect(said(page, "America/Lima")).to_have_count(1)
    expect(page.locator("#composer")).to_be_focused()
    expect(page.locator("#composer")).to_have_value("")
    tab_to(page, ".why", "Shift+Tab")
    asked = page.evaluate("document.activeElement.closest('[data-event]').dataset.event")
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("America/Lima")
    for _ in range(12):  # what is behind an open dialog cannot be reached
        page.keyboard.press("Tab")
        inside = (
            "document.activeElement === document.body || !!document.activeElement.closest('#why')"
        )
        assert page.evaluate(inside)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    expect(page.locator(f'[data-event="{asked}"] .why')).to_be_focused()
    tab_to(page, '[data-agent="devops"] .reload')
    before = int(agent(page, "devops").get_attribute("data-generation") or 0)
    page.keyboard.press("Enter")
    expect(page.locator("#notices")).to_contain_text(f"devops: generación {before + 1} en marcha")
    expect(agent(page, "devops").get_by_role("button", name=re.compile("Recargar"))).to_be_focused()


@pytest.mark.parametrize(
    ("language", "lang", "words"),
    [
        ("es-MX", "es", ("en directo", "Enviar", "Recordatorios", "Agentes y supervisión")),
        ("en-US", "en", ("live", "Send", "Reminders", "Agents and supervision")),
    ],
)
def test_the_page_speaks_the_browsers_language(
    visit: Visits, busy: str, language: str, lang: str, words: tuple[str, ...]
) -> None:
    guest = visit(language=language)
    page = enter(guest, busy)
    expect(page.locator("html")).to_have_attribute("lang", lang)
    for word in words:
        expect(page.get_by_text(word, exact=True).first).to_be_visible()
    guest.shoot(f"wide-{lang}")
