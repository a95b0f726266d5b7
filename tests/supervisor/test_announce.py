"""What is said to a person at the terminal never ends the supervisor, whoever listens."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from supervisor.announce import say

ROOT = Path(__file__).parent.parent.parent
SPEAKER = """
import sys
from supervisor.announce import say
for stream in (sys.stdout, sys.stderr):
    say("hola", stream)
    say("otra vez", stream)
"""


def test_nobody_at_the_other_end_is_no_error_and_spoils_no_exit_code() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-c", SPEAKER], cwd=ROOT, stdout=writer, stderr=writer, timeout=30
    )
    os.close(writer)
    assert done.returncode == 0


def test_a_closed_stream_is_no_error(tmp_path: Path) -> None:
    stream = (tmp_path / "x").open("w")
    stream.close()
    say("hola", stream)
