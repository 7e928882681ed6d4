"""A stage's record; what its watchdog makes of it: test_watchdog.py, test_machine.py."""

from __future__ import annotations

from engine.protocols.diskqueue.machine import On
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.stages import StageRecord

OPTIONS = Options(restart_first=1.0, restart_most=3.0)


def test_done_comes_before_stopped_before_paused_and_none_is_forgotten() -> None:
    stage, states = StageRecord(2), []
    stage.pause()
    states.append(stage.state)
    stage.stop("why", On.VAIN)
    states.append(stage.state)
    said = [stage.look(True), stage.look(True)]
    states.append(stage.state)
    said.append(stage.look(False))
    states.append(stage.state)
    stage.want(3)
    states.append(stage.state)
    stage.resume()
    states.append(stage.state)
    stage.check()
    assert states == ["paused", "stopped", "done", "stopped", "paused", "running"]
    assert said == [True, False, False], "that it is done is said once"
    assert (stage.stopped, stage.wanted) == ("", 3)


def test_the_pause_doubles_and_work_ends_that() -> None:
    stage = StageRecord(1)
    waits = []
    for _ in range(3):
        stage.put_off(10.0, OPTIONS)
        waits.append(stage.not_before - 10.0)
    assert waits == [1.0, 2.0, 3.0]
    stage.worked()
    stage.put_off(10.0, OPTIONS)
    assert stage.not_before == 11.0
