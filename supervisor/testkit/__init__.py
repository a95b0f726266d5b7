"""The public test kit: crash points, seeded task orders, virtual time, whole houses, replay.

Sweep your own agents and tools with it; the replay model is a provider of the configuration
(`llm: {provider: replay, script: script.yaml}`, see `actors.llm.script`).
"""

from __future__ import annotations

from supervisor.testkit.calls import tool_context
from supervisor.testkit.clock import VirtualClock
from supervisor.testkit.crashes import Crash, CrashLog, all_crash_points, armed, kill_now, recorded
from supervisor.testkit.house import FakeRoom, TestHouse, make_workspace, open_house
from supervisor.testkit.orders import OrderFailure, run_in_order, seeded_order, sweep_orders

__all__ = [
    "Crash",
    "CrashLog",
    "FakeRoom",
    "OrderFailure",
    "TestHouse",
    "VirtualClock",
    "all_crash_points",
    "armed",
    "kill_now",
    "make_workspace",
    "open_house",
    "recorded",
    "run_in_order",
    "seeded_order",
    "sweep_orders",
    "tool_context",
]
