"""The README names only what there is: jobs of ./dev, commands and options, scripts, Python."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from actors.llm.script import parse_script
from supervisor.commands import cli
from supervisor.desk.agentctl import agentctl
from tests.docs.checkout import ROOT, environment, make_checkout
from tests.docs.markdown import Block, blocks_of

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = blocks_of(README)
LINES = [line.strip() for block in BLOCKS if block.kind == "" for line in block.text.splitlines()]
INLINE = re.findall(r"`([^`\n]+)`", README)


def named(command: str) -> list[str]:
    """All that the README says one can type after a command, comments and synopses taken off."""
    starts = [text for text in [*LINES, *INLINE] if text.startswith(command + " ")]
    bare = [re.split(r"\s{2,}|\s#|;", text.removeprefix(command + " "))[0] for text in starts]
    return [part.strip() for text in bare for part in text.split(" | ")]


def python_blocks() -> Iterator[Block]:
    return (block for block in BLOCKS if block.kind == "python")


def test_every_block_is_of_a_kind_that_is_checked_here() -> None:
    assert {block.kind for block in BLOCKS} == {"", "python", "yaml"}
    assert LINES and INLINE


def test_every_job_of_dev_is_one() -> None:
    usage = subprocess.run([str(ROOT / "dev"), "help"], capture_output=True, text=True).stdout
    jobs = set(re.findall(r"^  (\w+)  ", usage, re.M))
    wanted = {text.split()[0] for text in named("./dev")}
    assert len(wanted) > 5 and wanted <= jobs


@pytest.mark.parametrize("text", named("agentctl"))
def test_every_agentctl_command_is_one_with_these_options(text: str) -> None:
    check(agentctl, text)


@pytest.mark.parametrize("text", named("python -m supervisor"))
def test_every_supervisor_command_is_one(text: str) -> None:
    check(cli, text)


def check(group: click.Group, text: str) -> None:
    """Follow a synopsis down the command tree; each option in it must be the command's."""
    command: click.Command = group
    words = [word.strip("[]'\"") for word in shlex.split(text.replace("'*'", "*"))]
    while isinstance(command, click.Group) and words:
        found = command.commands.get(words.pop(0))
        assert found is not None, text
        command = found
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known, text


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.kind == "yaml"], ids=lambda b: b.line)
def test_every_script_can_be_played(block: Block) -> None:
    assert parse_script(block.text, "README.md")


def test_every_python_block_runs(tmp_path: Path) -> None:
    """With what each leaves to the reader: a tracker of tickets, a folder."""
    checkout = make_checkout(tmp_path / "vivero")
    given = f"from pathlib import Path\nfolder = Path({str(tmp_path / 'w')!r})\n"
    code = given + "\n".join(block.text for block in python_blocks())
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=checkout,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "Recordatorio: riegue las plantas" in done.stdout
