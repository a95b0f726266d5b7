"""What every agentctl command shares: the workspace, the client, how to print, and how to fail."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from config.problems import Problem
from config.workspace import Workspace, default_workspace
from supervisor.desk.client import Client, NoAnswer, NoSupervisor, Refused
from supervisor.desk.render import clean
from supervisor.desk.texts import LOCALES, Texts

if TYPE_CHECKING:
    from supervisor.desk.offline import Clockwork

__all__ = ["Caller", "Command", "Front", "Section", "caller"]

FAILED, BAD_USAGE, NOT_RUNNING, INTERRUPTED = 1, 2, 4, 130

_F = TypeVar("_F", bound=Callable[..., Any])


class Caller:
    """One run of agentctl."""

    def __init__(self) -> None:
        self.folder: str | None = None
        self.json = False

    @cached_property
    def workspace(self) -> Workspace:
        """The workspace that the options or the environment name; it need not exist."""
        return default_workspace(self.folder)

    @cached_property
    def client(self) -> Client:
        """The client of its control socket."""
        return Client(self.workspace.find_socket())

    @cached_property
    def texts(self) -> Texts:
        """The texts in the workspace's language; read without a YAML parser, to start fast."""
        try:
            text = self.workspace.supervisor_yaml.read_text("utf-8", "replace")
        except OSError:
            text = ""
        found = re.search(r"^locale:\s*[\"']?(\w+)", text, re.M)
        return Texts(found[1] if found else "es")

    def clockwork(self, zone: str | None, locale: str | None) -> Clockwork:
        """Return the reader of phrases and cron expressions for these options."""
        from supervisor.desk.offline import Clockwork, workspace_zone

        language = re.split("[-_.]", locale or self.texts.locale)[0].lower()
        if language not in LOCALES:
            raise click.BadParameter(f"{locale!r}: {', '.join(LOCALES)}", param_hint="--locale")
        return Clockwork(zone or workspace_zone(self.workspace), language)

    def say(self, text: str) -> None:
        """Print for people, at once: a pipe may be waiting."""
        print(text, flush=True)

    def complain(self, text: str) -> None:
        """Print one sentence to standard error."""
        print(clean(text), file=sys.stderr, flush=True)

    def put_json(self, value: Any) -> None:
        """Print one JSON value on one line; no control character leaves, not even a C1 one."""
        text = json.dumps(value, ensure_ascii=False)
        self.say("".join(c if c.isprintable() else _escaped(c) for c in text))

    def print_json(self, value: Any) -> bool:
        """With --json, print the value; return whether that was so."""
        if self.json:
            self.put_json(value)
        return self.json

    def show(self, value: Any, view: Callable[[Any], str]) -> None:
        """Print an answer as JSON, or as the view shows it to people."""
        if not self.print_json(value):
            self.say(view(value))

    def fail(self, text: str, code: int, errors: Any = ()) -> int:
        """Tell a failure in the form that was asked for; return the exit code."""
        if not self.print_json({"error": text, "errors": list(errors)}):
            self.complain(f"agentctl: {text}")
            for problem in errors:
                if problem.get("file"):
                    self.complain(f"  {Problem(**problem)}")
        return code


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1]


def caller(function: _F) -> _F:
    """Hand the command its Caller as the first argument."""
    return click.pass_obj(function)  # type: ignore[return-value]


def _common() -> list[click.Parameter]:
    """The two options that are taken before and after the command's name."""

    def set_json(context: click.Context, _: click.Parameter, value: bool) -> None:
        if value:
            context.obj.json = True

    def set_folder(context: click.Context, _: click.Parameter, value: str | None) -> None:
        if value is not None:
            context.obj.folder = value

    return [
        click.Option(["--json"], is_flag=True, expose_value=False, callback=set_json),
        click.Option(["--workspace"], metavar="DIR", expose_value=False, callback=set_folder),
    ]


class Command(click.Command):
    """A command that also takes the common options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _common()


class Section(click.Group):
    """A group of commands that also takes the common options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _common()


class Front(Section):
    """The outermost group: whatever happens, one sentence and the right exit code."""

    def main(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Run and exit; the arguments are click's."""
        for stream in (sys.stdout, sys.stderr):
            if reconfigure := getattr(stream, "reconfigure", None):
                reconfigure(errors="backslashreplace")
        kwargs.update(standalone_mode=False, obj=Caller())
        sys.exit(self._guarded(kwargs["obj"], args, kwargs))

    def _guarded(self, me: Caller, args: Any, kwargs: Mapping[str, Any]) -> int:
        try:
            return self._run(me, args, kwargs)
        except (click.Abort, KeyboardInterrupt):
            return INTERRUPTED
        except BrokenPipeError:
            _mute()
            return FAILED
        except Exception as error:
            if os.environ.get("VIVERO_DEBUG") == "1":
                raise
            why = f"{type(error).__name__}: {error}"
            return me.fail(me.texts("unexpected", why=clean(why)[:300]), FAILED)

    def _run(self, me: Caller, args: Any, kwargs: Mapping[str, Any]) -> int:
        _translate(self, Caller().texts)
        try:
            code = super().main(*args, **kwargs)
            sys.stdout.flush()
            return code if isinstance(code, int) else 0
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except NoSupervisor:
            where = me.workspace.shown(me.workspace.root)
            return me.fail(me.texts("no_supervisor", workspace=where), NOT_RUNNING)
        except NoAnswer as error:
            return me.fail(me.texts("no_answer", why=error), FAILED)
        except Refused as error:
            return me.fail(str(error), FAILED, error.body.get("errors", ()))


def _translate(command: click.Command, texts: Texts, path: str = "help") -> None:
    """Give a command, and those below it, its help in the workspace's language."""
    command.help = texts(path)
    for name, below in getattr(command, "commands", {}).items():
        _translate(below, texts, f"{path} {name}")


def _mute() -> None:
    """Let the interpreter's last flush go nowhere: whoever read us has left."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
