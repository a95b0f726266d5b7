"""Several tabs of one browser: each hears and speaks, however few connections they share."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.driver import Visits, choose, enter, said, say, wait_live
from tests.browser.houses import origin
from tests.e2e.process import Supervisor


def test_eight_tabs_side_by_side_all_talk(visit: Visits, home: Supervisor, url: str) -> None:
    """A browser opens six connections a host; each tab wants one for good and one to speak with."""
    guest = visit()
    tabs = [enter(guest, url, room="#teatro")]
    for _ in range(7):
        tabs.append(guest.another())
        tabs[-1].goto(origin(home))
        wait_live(tabs[-1])
    for number, tab in enumerate(tabs):
        say(tab, f"callad, soy la pestaña {number}")
    for tab in tabs:
        expect(said(tab, re.compile(r"soy la pestaña \d"))).to_have_count(8)
        wait_live(tab)


def test_tabs_hear_each_other_and_outlive_the_one_that_reads_for_all(
    visit: Visits, home: Supervisor, url: str
) -> None:
    guest = visit()
    reader = enter(guest, url)
    other = guest.another()
    other.goto(origin(home))
    wait_live(other)
    choose(other, "#taller")
    say(reader, "desde la primera pestaña")
    expect(said(other, "desde la primera pestaña")).to_have_count(1)
    say(other, "desde la segunda pestaña")
    expect(said(reader, "desde la segunda pestaña")).to_have_count(1)
    home.say("#taller", "antes de cerrar", "luis")
    reader.close()
    home.say("#taller", "después de cerrar", "luis")
    for text in ("antes de cerrar", "después de cerrar"):
        expect(said(other, text)).to_have_count(1)
    wait_live(other)
