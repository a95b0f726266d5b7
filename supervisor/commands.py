"""The command line of `python -m supervisor`: run, init, check; exact exit codes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from config.problems import ConfigError
from config.workspace import default_workspace
from supervisor.signals import release

__all__ = ["BAD_USAGE", "run_commands"]

BAD_USAGE = 2
COMMANDS = ("run", "init", "check", "import-reminders")

WORKSPACE = click.option(
    "--workspace",
    type=click.Path(path_type=Path),
    help="The workspace folder [default: $VIVERO_WORKSPACE, else ./workspace].",
)


@click.group(help="Run and prepare a vivero workspace. Without a command: run.")
@click.version_option(package_name="vivero", prog_name="vivero")
def cli() -> None:
    """Group of the commands."""


@cli.command("run", help="Run the supervisor until SIGTERM or Ctrl-C.")
@WORKSPACE
@click.option(
    "--log-format", type=click.Choice(("text", "json")), default="text", show_default=True
)
def run_command(workspace: Path | None, log_format: str) -> int:
    """Run the supervisor; the exit code is the launcher's."""
    from supervisor.launcher import launch

    return launch(default_workspace(workspace), log_format=log_format)


@cli.command("init", help="Write the example workspace into DIR.")
@click.argument("directory", type=click.Path(path_type=Path))
def init_command(directory: Path) -> int:
    """Write the example; refuse to touch a workspace that is there."""
    release()
    from config.starter import init_workspace

    workspace = init_workspace(directory)
    click.echo(f"A workspace with two example agents is in {workspace.shown(workspace.root)}.")
    click.echo(f"Start it: python -m supervisor --workspace {workspace.shown(workspace.root)}")
    return 0


@cli.command("check", help="Check the configuration of the workspace DIR; exit 2 when it is bad.")
@click.argument("directory", required=False, type=click.Path(path_type=Path))
@WORKSPACE
def check_command(directory: Path | None, workspace: Path | None) -> int:
    """Print every problem of every file."""
    release()
    from supervisor.plan import read_workspace

    place = default_workspace(directory or workspace)
    if not place.supervisor_yaml.exists():
        click.echo(f"error: no workspace is in {place.shown(place.root)}", err=True)
        return BAD_USAGE
    plan = read_workspace(place)
    problems = [problem for found in plan.broken.values() for problem in found]
    print_problems(problems)
    if problems:
        return BAD_USAGE
    click.echo(f"{place.shown(place.root)}: {len(plan.agents)} agents, no problem found")
    return 0


@cli.command(
    "import-reminders",
    help="Take in the reminders of matrix-reminder-bot or maubot from their SQLite FILE, while no "
    "supervisor runs. Doing it twice changes nothing.",
)
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--room", help="The room that takes all of them [default: their own].")
@click.option("--agent", help="Who says them [default: the room's first agent with reminders].")
@WORKSPACE
def import_command(file: Path, room: str | None, agent: str | None, workspace: Path | None) -> int:
    """Take in another bot's reminders; say of each what became of it."""
    release()
    from supervisor.imports import import_reminders

    place = default_workspace(workspace)
    if not place.supervisor_yaml.exists():
        click.echo(f"error: no workspace is in {place.shown(place.root)}", err=True)
        return BAD_USAGE
    return import_reminders(place, file, room, agent)


def print_problems(problems: Sequence[object]) -> None:
    """Write problems to standard error, one a line."""
    for problem in problems:
        click.echo(str(problem), err=True)


def with_default(arguments: Sequence[str]) -> list[str]:
    """Put `run` in front when no command is named, so that options alone work."""
    first = next(iter(arguments), "")
    if first in COMMANDS or first in ("--help", "-h", "--version"):
        return list(arguments)
    if first.startswith("-") or not first:
        return ["run", *arguments]
    return list(arguments)


def run_commands(arguments: Sequence[str]) -> int:
    """Run one command line; return its exit code. Bad input gives sentences, never a traceback."""
    try:
        code = cli.main(
            with_default(arguments), prog_name="python -m supervisor", standalone_mode=False
        )
    except ConfigError as error:
        print_problems(error.problems)
        return BAD_USAGE
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return BAD_USAGE
    except (click.Abort, KeyboardInterrupt):
        return 130
    except OSError as error:
        if os.environ.get("VIVERO_DEBUG"):
            raise
        where = f" {error.filename}" if error.filename else ""
        click.echo(f"error:{where}: {error.strerror or error}", err=True)
        return 1
    return int(code or 0)
