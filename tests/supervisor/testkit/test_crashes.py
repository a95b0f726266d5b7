"""Armed crash points strike once, at the pass that was asked for, and only while armed."""

from __future__ import annotations

import os
import signal

import pytest

from channels.crashpoints import crash_point, declare_crash_points
from supervisor.testkit.crashes import Crash, armed, kill_now, recorded

declare_crash_points("testkit.here", "testkit.there")


def test_an_armed_point_raises_at_its_nth_pass_only() -> None:
    with armed("testkit.here", nth=2) as log:
        crash_point("testkit.here")
        crash_point("testkit.there")
        with pytest.raises(Crash):
            crash_point("testkit.here")
        crash_point("testkit.here")
    assert log.passes["testkit.here"] == 3
    crash_point("testkit.here")


def test_recording_tells_which_points_were_never_passed() -> None:
    with recorded() as log:
        crash_point("testkit.here")
    assert "testkit.there" in log.missed()
    assert "testkit.here" not in log.missed()


def test_a_point_nobody_declared_cannot_be_armed_or_passed_unseen() -> None:
    with pytest.raises(KeyError), armed("testkit.nowhere"):
        pass
    with recorded(), pytest.raises(KeyError):
        crash_point("testkit.nowhere")


def test_a_killing_point_ends_the_process_like_kill_9() -> None:
    child = os.fork()
    if child == 0:
        with armed("testkit.here", act=kill_now):
            crash_point("testkit.here")
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
