"""One page: each promise, the tests that guard it, crash points, seeds and the last result."""

from __future__ import annotations

import importlib
import json
import pkgutil
import subprocess
import sys
from pathlib import Path

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


def main() -> int:
    load_everything()
    last = json.loads(LEDGER.read_text()) if LEDGER.exists() else {}
    bare = False
    for name, nodeids in collected().items():
        bare |= not nodeids
        print(f"\n{name}  {PROMISES[name]}")
        for function in sorted({nodeid.split("[")[0] for nodeid in nodeids}):
            runs = [last[n] for n in nodeids if n.split("[")[0] == function and n in last]
            outcomes = sorted({str(run["outcome"]) for run in runs}) or ["not run yet"]
            seeds = sorted({str(run["seed"]) for run in runs if run.get("seed") is not None})
            figures = [str(run["figures"]) for run in runs if run.get("figures")]
            note = "; ".join([*outcomes, *(f"seed {s}" for s in seeds[:2]), *figures[:1]])
            print(f"    {function.removeprefix('tests/')}: {note}")
    points = all_crash_points()
    print(f"\ncrash points ({len(points)}): {', '.join(points)}")
    return int(bare)


if __name__ == "__main__":
    sys.exit(main())
