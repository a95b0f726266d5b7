"""One page: each promise, the tests that guard it, crash points, seeds and the last result."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import pkgutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from channels.crashpoints import all_crash_points
from tests.conftest import LEDGER

PROMISES = {
    "P1": "every message is answered or its end is said, exactly once",
    "P2": "every occurrence has one outcome, its message at most once",
    "P3": "a room of bots falls silent",
    "P4": "reload or crash of one agent costs the others nothing",
    "P5": "an ask ends in exactly one way; nothing is lost in silence",
    "P6": "a stop has two marks, and nothing follows them",
    "P7": "nothing fails silently",
    "P8": "one supervisor per workspace and store",
    "P9": "no effect is made twice for one turn",
}
PACKAGES = ("channels", "cronactor", "tools", "actors", "supervisor")
ROOT = Path(__file__).parent.parent


def load_everything() -> None:
    """Import every module, so that all crash points are declared."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        for found in pkgutil.walk_packages(module.__path__, f"{package}."):
            if not found.name.endswith(("__main__", "anthropic")):
                importlib.import_module(found.name)


def collected() -> dict[str, list[str]]:
    """Ask pytest which tests stand for which promise."""
    code = (
        "import sys, json, pytest\n"
        "class Note:\n"
        "    def pytest_collection_finish(self, session):\n"
        "        of = lambda item: dict(item.user_properties).get('promises', [])\n"
        "        found = {item.nodeid: of(item) for item in session.items}\n"
        "        sys.stderr.write(json.dumps(found))\n"
        "pytest.main(['--collect-only', '-q', '-p', 'no:cacheprovider'], plugins=[Note()])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    by_promise: dict[str, list[str]] = {name: [] for name in PROMISES}
    for nodeid, names in json.loads(done.stderr.splitlines()[-1]).items():
        for name in names:
            by_promise[name].append(nodeid)
    return by_promise


def summary(name: str, nodeids: list[str], last: dict[str, Any]) -> str:
    """Return one line: how many tests of a file or function, their last results, seeds, figures."""
    runs = [last[nodeid] for nodeid in nodeids if nodeid in last]
    outcomes = Counter(str(run["outcome"]) for run in runs)
    outcomes["not run yet"] = len(nodeids) - len(runs)
    seeds = sorted({str(run["seed"]) for run in runs if run.get("seed") is not None})
    figures = [str(run["figures"]) for run in runs if run.get("figures")]
    parts = [f"{count} {outcome}" for outcome, count in outcomes.items() if count]
    parts += [f"seeds {', '.join(seeds[:2])}{' ...' * (len(seeds) > 2)}"] * bool(seeds)
    return f"    {name.removeprefix('tests/')}: {'; '.join([*parts, *figures[:1]])}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev promises", description=__doc__)
    parser.add_argument("-v", "--verbose", action="store_true", help="name every test")
    separator = "[" if parser.parse_args().verbose else "::"
    load_everything()
    last = json.loads(LEDGER.read_text()) if LEDGER.exists() else {}
    bare = False
    for promise, nodeids in collected().items():
        bare |= not nodeids
        print(f"\n{promise}  {PROMISES[promise]}")
        for name in sorted({nodeid.split(separator)[0] for nodeid in nodeids}):
            print(summary(name, [n for n in nodeids if n.split(separator)[0] == name], last))
    floors: dict[str, list[str]] = {}
    for point in all_crash_points():
        floors.setdefault(point.split(".")[0], []).append(point.split(".")[1])
    print(f"\ncrash points ({len(all_crash_points())})")
    for floor, steps in floors.items():
        print(f"    {floor}: {', '.join(steps)}")
    return int(bare)


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main())
