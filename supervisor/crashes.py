"""What a crash leaves behind: bounded text, never the exception, whose frames hold memory."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from types import FrameType, TracebackType

import attrs
import trio

__all__ = ["CrashRecord", "crash_record", "describe", "sort_out", "stack_text", "traceback_text"]

LINE = 300
TEXT = 4000
FRAMES = 12
LEAVES = 4

_PASSING = (trio.Cancelled, KeyboardInterrupt, SystemExit, GeneratorExit)


@attrs.frozen
class CrashRecord:
    """One crash as text: `text` is one line, `traceback` many, `at` the Unix time."""

    text: str
    at: float
    generation: int
    traceback: str = ""


def crash_record(exc: BaseException, at: float, generation: int, prefix: str = "") -> CrashRecord:
    """Turn an exception into a record; `prefix` says in which circumstance it came."""
    return CrashRecord(prefix + describe(exc), at, generation, traceback_text(exc))


def sort_out(exc: BaseException) -> tuple[BaseException | None, BaseException | None]:
    """Split what left an actor: (its crash, what must pass on up: cancels, interrupts, exits)."""
    if isinstance(exc, BaseExceptionGroup):
        passing, crash = exc.split(_PASSING)
        return crash, passing
    return (None, exc) if isinstance(exc, _PASSING) else (exc, None)


def describe(exc: BaseException) -> str:
    """Return one bounded line for people; nested groups are flattened to their leaves."""
    leaves = list(_leaves(exc))
    told = "; ".join(_one_line(leaf) for leaf in leaves[:LEAVES])
    if len(leaves) > LEAVES:
        told += f"; and {len(leaves) - LEAVES} more"
    return _bounded(told, LINE)


def traceback_text(exc: BaseException) -> str:
    """Return the leaves' tracebacks, innermost frames and first causes, bounded in size."""
    told = "\n".join(_leaf_text(leaf, exc) for leaf in list(_leaves(exc))[:LEAVES])
    return _bounded(told, TEXT)


def stack_text(task: trio.lowlevel.Task) -> str:
    """Return where a task and all tasks below it wait just now, bounded in size."""
    return _bounded("\n".join(_task_lines(task, "")), TEXT)


def _leaves(exc: BaseException) -> Iterator[BaseException]:
    waiting = [exc]
    while waiting:
        found = waiting.pop()
        if isinstance(found, BaseExceptionGroup):
            waiting.extend(reversed(found.exceptions))
        else:
            yield found


def _one_line(exc: BaseException) -> str:
    try:
        said = " ".join(str(exc).split())
    except Exception:
        said = "(its text cannot be shown)"
    name = type(exc).__qualname__
    return _bounded(f"{name}: {said}" if said else name, LINE)


def _leaf_text(exc: BaseException, whole: BaseException) -> str:
    lines = [_one_line(exc), *_frames(exc.__traceback__ or whole.__traceback__)]
    for cause in _causes(exc):
        lines += [f"caused by {describe(cause)}", *_frames(cause.__traceback__)]
    return "\n".join(lines)


def _causes(exc: BaseException) -> Iterator[BaseException]:
    for _ in range(LEAVES):  # chains can be long, or circular
        cause = exc.__cause__ or (None if exc.__suppress_context__ else exc.__context__)
        if cause is None or isinstance(cause, trio.Cancelled):
            return
        yield cause
        exc = cause


def _frames(traceback: TracebackType | None) -> list[str]:
    found: list[tuple[FrameType, int]] = []
    while traceback is not None:
        found.append((traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return [_frame(frame, line) for frame, line in found[-FRAMES:]]


def _frame(frame: FrameType, line: int) -> str:
    code = frame.f_code
    # linecache without its per-file stat: a crash loop must stay cheap.
    source = linecache.getline(code.co_filename, line, frame.f_globals).strip()
    return f'  File "{code.co_filename}", line {line}, in {code.co_qualname}\n    {source}'


def _task_lines(task: trio.lowlevel.Task, indent: str) -> Iterator[str]:
    yield f"{indent}task {task.name}"
    for frame, line in list(task.iter_await_frames())[-FRAMES:]:
        yield indent + _frame(frame, line)
    for nursery in task.child_nurseries:
        for child in nursery.child_tasks:
            yield from _task_lines(child, indent + "  ")


def _bounded(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    half = (limit - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"
