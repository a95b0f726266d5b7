"""The tool that tells the time."""

from tools.clock.clock import current_time

__all__ = ["current_time"]
