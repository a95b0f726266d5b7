"""What supervision raises: one family, each error saying in one sentence what did not happen."""

from __future__ import annotations

__all__ = [
    "ChildExists",
    "IntensityExceeded",
    "NotSupervising",
    "RestartFailed",
    "StartFailed",
    "SupervisionError",
    "UnknownChild",
]


class SupervisionError(Exception):
    """Base of the errors below."""


class UnknownChild(SupervisionError):
    """The supervisor has no child of that name."""


class ChildExists(SupervisionError):
    """The supervisor already has a child of that name."""


class NotSupervising(SupervisionError):
    """The supervisor (or the child) is stopping, stopped, or not yet running: nothing was begun."""


class StartFailed(SupervisionError):
    """The first attempt to start a child failed, or a stop came before it was ready.

    The child stays under supervision: its policy decides about further attempts.
    """

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name} did not start: {text}")
        self.name, self.text = name, text


class RestartFailed(SupervisionError):
    """A child was not restarted as asked. `restored`: the previous spec runs again."""

    def __init__(self, name: str, text: str, *, restored: bool) -> None:
        after = "the previous one runs again" if restored else "the previous one does not run"
        super().__init__(f"{name} was not restarted: {text} ({after})")
        self.name, self.text, self.restored = name, text, restored


class IntensityExceeded(SupervisionError):
    """A child has spent its restarts and its supervisor gave up, all other children stopped."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(f"{path} has spent its restarts; last error: {text}")
        self.path, self.text = path, text
