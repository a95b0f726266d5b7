"""What the page's files promise before any browser opens them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
WEB = ROOT / "supervisor/desk/web"
SCRIPTS = sorted(WEB.glob("*.js"))
FILES = sorted(path for path in WEB.iterdir() if path.is_file())
MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|createContextualFragment"
    r"|\beval\(|new Function|setTimeout\(\s*[\"'`]|setAttribute\(\s*[\"'](style|on)"
)
DECIDING = [
    ROOT / name
    for name in (
        "actors/decision.py",
        "actors/turns.py",
        "actors/choice.py",
        "actors/turn.py",
        "channels/inbox.py",
    )
]
RULE = re.compile(
    r"(?:Decline|Expire|Hold|DeadLetter)\(\"(\w+)\"|\bdecline\([^)]*\"(\w+)\""
    r"|^[A-Z_]+ = \"([a-z]+(?:_[a-z]+)+)\"|return \(?[\w\[\]:, ]+\)?, \"(\w+)\"|return \"(\w+)\"$"
    r"|_when_reachable\([^\"]*\"(\w+)\"|^ {12,}\"(\w+)\",$",
    re.MULTILINE,
)


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def keys_of(name: str) -> list[str]:
    found = re.search(rf"^const {name} = {{\n(.*?)^}};", read(WEB / "texts.js"), re.M | re.S)
    assert found is not None
    return re.findall(r'^  "?([\w-]+)"?:', found[1], re.M)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_says_its_idea_first_and_stays_small(path: Path) -> None:
    lines = read(path).splitlines()
    assert lines[0].startswith("// ")
    assert len(lines) <= 310 if path.name == "texts.js" else len(lines) <= 300


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_no_script_ever_parses_markup_or_makes_code_of_text(path: Path) -> None:
    assert not MARKUP.search(read(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_is_fetched_from_elsewhere(path: Path) -> None:
    text = read(path).replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|//[a-z0-9-]+\.[a-z]{2,}|@import|url\(", text)


def test_the_page_holds_no_script_or_style_of_its_own() -> None:
    page = read(WEB / "index.html")
    assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", page)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_every_module_that_is_imported_exists_and_exports_what_is_asked(path: Path) -> None:
    for names, module in re.findall(r"import \{([^}]*)\} from \"\./([\w.]+)\"", read(path)):
        text = read(WEB / module)
        for name in filter(None, (name.strip() for name in names.split(","))):
            declared = rf"^export (?:async )?(?:const|let|class|function) {name}\b"
            listed = rf"^export (?:const )?\{{[^}}]*\b{name}\b"
            assert re.search(f"{declared}|{listed}", text, re.M), f"{module}: {name}"


def test_both_languages_have_the_same_texts_each_once() -> None:
    spanish, english = keys_of("ES"), keys_of("EN")
    assert spanish == english
    assert len(spanish) == len(set(spanish))


def test_every_text_that_is_used_exists_and_every_text_is_used() -> None:
    known = set(keys_of("ES"))
    page = read(WEB / "index.html")
    used = set(re.findall(r'data-t(?:-\w+)?="(\w+)"', page))
    assert used <= known
    scripts = "".join(read(path) for path in SCRIPTS if path.name != "texts.js")
    for key in re.findall(r'\bt\("([\w-]+)"', scripts):
        assert key in known
    for key in re.findall(r'\bcounted\("(\w+)"', scripts):
        assert {f"{key}_one", f"{key}_other"} <= known
    quoted = used | set(re.findall(r'["`]([\w-]+)(?:["`]|_\$\{)', scripts))
    stems = {key: re.sub("_(one|other)$", "", key) for key in known}
    assert [k for k in keys_of("ES") if not quoted & {k, stems[k], k.split("_")[0]}] == []


def test_every_placeholder_is_in_both_languages() -> None:
    text = read(WEB / "texts.js")
    lines = re.findall(r'^  "?([\w-]+)"?: "(.*)",$', text, re.M)
    wanted: dict[str, set[str]] = {}
    for key, value in lines:
        found = set(re.findall(r"\{(\w+)\}", value))
        assert wanted.setdefault(key, found) == found, key


def test_each_rule_of_the_runtime_is_a_sentence_on_the_page() -> None:
    rules = {name for path in DECIDING for hit in RULE.findall(read(path)) for name in hit if name}
    assert {"mention", "first", "max_bot_turns", "no_reply", "crashed", "topic"} <= rules
    told = set(re.findall(r"^  (\w+): \[", read(WEB / "rules.js"), re.M))
    assert rules - told == set()
