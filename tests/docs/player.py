"""Play a page: type its commands, write its files, compare what it says is printed.

The blocks a page may have:

- `bash`: commands, one a line, each of which must end 0. A title that names a terminal ("First
  terminal") is the bash it is typed in; `./dev run` stays in the foreground of its terminal.
- `text`: what the block before it printed; with a terminal's title: what is seen there next. A
  first line `^C` is Ctrl-C pressed there.
- `yaml`, `python`, `markdown`, `toml` with a path as title: the file is written. A title that ends
  in "(part)": the lines stand in that file as they are.
- `diff` with a path as title: the change is made to that file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path, PurePath

import attrs

from tests.docs.checkout import environment, write_file
from tests.docs.expected import pattern, tidy
from tests.docs.markdown import Block, blocks_of
from tests.docs.terminal import Terminal, TerminalFault, commands_of

__all__ = ["PageFault", "play"]

FILES = ("yaml", "python", "markdown", "toml")
STAYS = re.compile(r"^\./dev run\b")
DEFAULT = "Terminal"
SECONDS = 40.0


class PageFault(AssertionError):
    """A block of a page is not true; the text says which, and why."""


def play(page: Path, checkout: Path) -> int:
    """Play all blocks of a page in a fresh checkout; return how many there were."""
    player = Player(checkout)
    try:
        blocks = blocks_of(page.read_text(encoding="utf-8"))
        for block in blocks:
            player.play(block, page.name)
        player.leave()
    finally:
        player.close()
    _all_used(blocks, page.name)
    return len(blocks)


def _all_used(blocks: Sequence[Block], page: str) -> None:
    """Raise PageFault for a Python file that no command and no configuration names afterwards."""
    for index, block in enumerate(blocks):
        path = PurePath(block.title)
        names = (str(path), path.name, f"{path.parent}\n")
        later = "\n".join(b.text for b in blocks[index + 1 :] if b.kind in ("bash", "yaml"))
        earlier = "\n".join(b.text for b in blocks[:index] if b.kind == "yaml")
        known = any(name in f"{later}\n{earlier}\n" for name in names) or path.stem == "conftest"
        if block.kind == "python" and not known:
            raise PageFault(f"{page}:{block.line}: nothing runs {path}")


@attrs.define
class Player:
    """The reader: in a checkout, with the terminals that the page has opened so far."""

    checkout: Path
    terminals: dict[str, Terminal] = attrs.field(factory=dict)
    _printed: tuple[Terminal, str] | None = None  # of the block before, when it has ended

    def play(self, block: Block, page: str) -> None:
        """Do what one block says. Raises PageFault."""
        try:
            self._action(block)(block)
        except (PageFault, TerminalFault, ValueError, SyntaxError) as error:
            raise PageFault(f"{page}:{block.line}: {error}") from None

    def _action(self, block: Block) -> Callable[[Block], None]:
        if block.kind == "bash":
            return self._type
        if block.kind == "text":
            return self._read
        if block.kind == "diff" and block.title:
            return self._change
        if block.kind in FILES and block.title:
            return self._show if block.title.endswith(" (part)") else self._write
        raise PageFault(f"nobody can run a block of kind {block.kind!r} titled {block.title!r}")

    # -- terminals ---------------------------------------------------------------------------------

    def _terminal(self, title: str) -> Terminal:
        name = title or DEFAULT
        if "terminal" not in name.lower():
            raise PageFault(f"{title!r} names no terminal")
        if name not in self.terminals:
            home = self.checkout.parent
            self.terminals[name] = Terminal(self.checkout, environment(home))
        return self.terminals[name]

    def _type(self, block: Block) -> None:
        terminal = self._terminal(block.title)
        printed = ""
        for command in commands_of(block.text):
            if STAYS.match(command):
                terminal.begin(command)
            else:
                printed += terminal.type(command, SECONDS)
        self._printed = (terminal, printed)

    def _read(self, block: Block) -> None:
        if self._printed is None and not block.title:
            raise PageFault("no command was typed whose output this could be")
        terminal, printed = self._printed or (None, "")
        if block.title:
            terminal = self._terminal(block.title)
        assert terminal is not None
        text = block.text
        if text.startswith("^C\n"):
            _compare(text.removeprefix("^C\n"), terminal.interrupt(SECONDS), self.checkout)
        elif terminal.foreground is not None:
            terminal.see(pattern(text, str(self.checkout)), SECONDS)
        else:
            _compare(text, printed, self.checkout)
        self._printed = None

    def leave(self) -> None:
        """Press Ctrl-C where something still runs: the page must have left it able to stop."""
        for terminal in self.terminals.values():
            if terminal.foreground is not None:
                terminal.interrupt(SECONDS)

    def close(self) -> None:
        """Close all terminals, whatever they run."""
        for terminal in self.terminals.values():
            terminal.close()

    # -- files -------------------------------------------------------------------------------------

    def _write(self, block: Block) -> None:
        if block.kind == "python":
            compile(block.text, block.title, "exec")
        write_file(self.checkout, block.title, block.text)

    def _show(self, block: Block) -> None:
        name = block.title.removesuffix(" (part)")
        if f"\n{block.text}" not in "\n" + self._text_of(name):
            raise PageFault(f"these lines do not stand in {name}")

    def _change(self, block: Block) -> None:
        lines = block.text.splitlines()
        before = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "+")
        after = "".join(f"{line[1:]}\n" for line in lines if line[:1] != "-")
        text = "\n" + self._text_of(block.title)
        if text.count(f"\n{before}") != 1:
            raise PageFault(f"the lines to change do not stand once in {block.title}")
        changed = text.replace(f"\n{before}", f"\n{after}", 1)
        write_file(self.checkout, block.title, changed.removeprefix("\n"))

    def _text_of(self, name: str) -> str:
        path = self.checkout / name
        if not path.is_file():
            raise PageFault(f"there is no file {name}")
        return path.read_text(encoding="utf-8")


def _compare(text: str, printed: str, checkout: Path) -> None:
    if pattern(text, str(checkout)).fullmatch(tidy(printed)) is None:
        raise PageFault(f"the page says:\n{text}\nprinted was:\n{tidy(printed)}")
