"""`python -m supervisor`: signals are held before anything heavy is imported, then commands run."""

from __future__ import annotations

import gc
import sys

from supervisor.signals import hold, watch_terminal


def main() -> None:
    """Run the command line; never returns."""
    gc.disable()  # imports make no garbage; the launcher turns it on again
    watch_terminal()
    hold()
    from supervisor.commands import run_commands

    sys.exit(run_commands(sys.argv[1:]))


if __name__ == "__main__":
    main()
