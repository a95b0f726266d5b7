"""The large figures: every test marked `sweep` at its soak size, then one table."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from tests.conftest import LEDGER

ROOT = Path(__file__).parent.parent


def main() -> int:
    started = time.time()
    command = [sys.executable, "-m", "pytest", "-m", "sweep", "-n", "2", "--dist", "worksteal"]
    command += ["-o", "faulthandler_timeout=0"]
    code = subprocess.run(
        [*command, *sys.argv[1:]], cwd=ROOT, env=os.environ | {"VIVERO_SOAK": "1"}
    ).returncode
    last = (
        json.loads(LEDGER.read_text())
        if LEDGER.exists() and LEDGER.stat().st_mtime >= started
        else {}
    )
    print(f"\n{'sweep':70} {'result':8} covered")
    for nodeid, run in sorted(last.items()):
        if run.get("figures") and run.get("at", 0) >= started:
            name = nodeid.split("::")[-1][:70]
            print(f"{name:70} {run['outcome']:8} {run['figures']} (seed {run.get('seed')})")
    print(f"took {time.time() - started:.0f} s")
    return code


if __name__ == "__main__":
    sys.exit(main())
