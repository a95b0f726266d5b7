"""`python -m supervisor`: signals are held before anything heavy is imported, then commands run."""

from __future__ import annotations

import sys

from supervisor.signals import hold, watch_terminal


def main() -> None:
    """Run the command line; never returns."""
    watch_terminal()
    hold()
    from supervisor.commands import run_commands

    sys.exit(run_commands(sys.argv[1:]))


if __name__ == "__main__":
    main()
