"""`python -m benchmarks`: measure, print one table, write it down; exit 1 if a budget is missed."""

from __future__ import annotations

import argparse
import importlib
import sys

from benchmarks.base import Row
from benchmarks.report import RESULTS_MD, save, table

MODULES = (
    "wires",
    "supervision",
    "reloading",
    "startup",
    "page",
    "reminders",
)  # each has rows(quick: bool) -> list[Row]


def main(arguments: list[str] | None = None) -> int:
    """Run the named modules (all by default) and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODULES)}")
    parser.add_argument("--quick", action="store_true", help="small passes; nothing is written")
    options = parser.parse_args(arguments)
    for unknown in set(options.names) - set(MODULES):
        parser.error(f"no benchmark {unknown!r}; there are {', '.join(MODULES)}")
    measured: dict[str, list[Row]] = {}
    for name in options.names or MODULES:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        measured[name] = importlib.import_module(f"benchmarks.{name}").rows(options.quick)
    rows = [row for part in measured.values() for row in part]
    print(table(rows))
    if not options.quick:
        save(measured)
        print(f"written to {RESULTS_MD}", file=sys.stderr)
    return int(any(row.met is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
