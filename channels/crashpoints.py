"""Named places where state and effect part; tests make them raise, cancel or kill."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["all_crash_points", "crash_point", "declare_crash_points", "set_crash_hook"]

_declared: dict[str, None] = {}
_hook: Callable[[str], None] | None = None


def declare_crash_points(*names: str) -> None:
    """Make names known to the sweeps. Each module declares its own at import, as `floor.step`."""
    _declared.update(dict.fromkeys(names))


def all_crash_points() -> tuple[str, ...]:
    """Return every declared name, in order of declaration."""
    return tuple(_declared)


def crash_point(name: str) -> None:
    """Pass through the named point.

    Without a hook this does nothing. With one (test kit only) it may raise, cancel a scope, or kill
    the process. Not a checkpoint; may be called from a worker thread.

    Raises KeyError for a name nobody declared, when a hook is set.
    """
    if _hook is not None:
        if name not in _declared:
            raise KeyError(f"crash point {name!r} was never declared")
        _hook(name)


def set_crash_hook(hook: Callable[[str], None] | None) -> Callable[[str], None] | None:
    """Install the hook called at every crash point (None removes it); return the previous one."""
    global _hook
    previous, _hook = _hook, hook
    return previous
