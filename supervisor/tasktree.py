"""The tree of Trio tasks as text, for SIGUSR1: who waits where."""

from __future__ import annotations

from collections.abc import Iterator

import trio

__all__ = ["task_tree"]

DEPTH_LIMIT = 40


def task_tree() -> str:
    """Return every task of this Trio run, indented under its nursery's owner, and where it is."""
    root = trio.lowlevel.current_root_task()
    return "\n".join(_lines(root, 0)) if root is not None else ""


def _lines(task: trio.lowlevel.Task, depth: int) -> Iterator[str]:
    yield f"{'  ' * depth}{task.name}  {_where(task)}"
    if depth >= DEPTH_LIMIT:
        return
    for nursery in task.child_nurseries:
        for child in sorted(nursery.child_tasks, key=lambda each: each.name):
            yield from _lines(child, depth + 1)


def _where(task: trio.lowlevel.Task) -> str:
    """Return the innermost line that is not Trio's own."""
    frames = [frame for frame, _ in task.iter_await_frames()]
    own = [frame for frame in frames if "/trio/" not in frame.f_code.co_filename]
    if not own:
        return ""
    return f"({own[-1].f_code.co_filename.rsplit('/', 1)[-1]}:{own[-1].f_lineno})"
