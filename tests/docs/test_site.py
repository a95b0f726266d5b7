"""The site builds without a warning, its links lead somewhere, and it fetches nothing elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import attrs
import pytest

from config.schema import RoomConfig
from tests.docs.checkout import ROOT

FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
NO_FETCH = {"canonical", "next", "prev", "alternate", "edit"}
ELSEWHERE = re.compile(r"(?:https?:)?//", re.I)


@attrs.define
class Page(HTMLParser):
    """What an HTML page links to, fetches and can be linked to."""

    links: list[str] = attrs.field(factory=list)
    fetched: list[str] = attrs.field(factory=list)
    anchors: set[str] = attrs.field(factory=set)

    def __attrs_pre_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attributes}
        self.anchors.add(given.get("id", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in FETCHED and FETCHED[tag] in given and given.get("rel") not in NO_FETCH:
            self.fetched.append(given[FETCHED[tag]])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The built site. A warning of the build (a bad link, a page in no menu) is an error."""
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    yield folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    """Every page of the site by its path."""
    found = {}
    for path in sorted(site.rglob("*.html")):
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        found[path.relative_to(site).as_posix()] = page
    return found


def test_every_page_of_docs_is_in_the_site(pages: dict[str, Page]) -> None:
    written = {path.stem for path in (ROOT / "docs").glob("*.md")}
    assert written and written <= {Path(name).stem for name in pages}


def test_no_page_fetches_anything_from_elsewhere(site: Path, pages: dict[str, Page]) -> None:
    """Styles too. The theme's script knows two addresses, for diagrams and for old browsers."""
    for name, page in pages.items():
        assert page.fetched, name
        assert [url for url in page.fetched if ELSEWHERE.match(url)] == [], name
        assert "mermaid" not in (site / name).read_text(encoding="utf-8")
    for style in site.rglob("*.css"):
        text = style.read_text(encoding="utf-8")
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", text), style


def test_what_the_pages_fetch_and_link_to_is_there(site: Path, pages: dict[str, Page]) -> None:
    for name, page in pages.items():
        if name == "404.html":  # its addresses are those of a site at the root of a host
            continue
        for url in [*page.links, *page.fetched]:
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (site / name).parent / unquote(parts.path) if parts.path else site / name
            assert target.exists(), f"{name}: {url}"
            if parts.fragment and target.suffix == ".html":
                there = pages[target.resolve().relative_to(site.resolve()).as_posix()]
                assert unquote(parts.fragment) in there.anchors, f"{name}: {url}"


def test_every_link_elsewhere_is_meant(pages: dict[str, Page]) -> None:
    hosts = {urlsplit(url).netloc for page in pages.values() for url in page.links}
    assert hosts - {""} <= {"trio.readthedocs.io"}


def test_the_table_of_a_rooms_keys_is_complete_and_its_defaults_are_right() -> None:
    text = (ROOT / "docs" / "example.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", text, re.M))
    fields = {field.name: field.default for field in attrs.fields(RoomConfig)}
    assert rows.keys() == fields.keys()
    for name, default in fields.items():
        written = rows[name].strip("`")
        if written not in ("needed", "none", "that of the workspace"):
            shown = "[]" if default == () else str(default)
            assert written == (shown.lower() if isinstance(default, bool) else shown), name


def test_what_the_page_shows_is_called_as_the_page_calls_it() -> None:
    """The bold words about the web page are its English texts."""
    text = (ROOT / "docs" / "getting-started.md").read_text(encoding="utf-8")
    section = text.split("\n## The same on the web page\n")[1].split("\n## ")[0]
    words = re.findall(r"\*\*(.+?)\*\*", section)
    texts = (ROOT / "supervisor" / "desk" / "web" / "texts.js").read_text(encoding="utf-8")
    assert words
    assert [word for word in words if f'"{word}"' not in texts] == []
