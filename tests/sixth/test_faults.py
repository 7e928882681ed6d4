"""Every fault in the sandbox of the sixth system: its promises hold, and every edge of its maps can be walked."""

from __future__ import annotations

import pytest

from engine.faults.faults import faults_for, plan
from engine.faults.watch import Watch
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec
from engine.parts.fault import Fault
from tests.sixth.mdp import SYSTEM

CASES = [
    pytest.param(fault, kind, id=f"{fault.name}-{kind or 'its own'}")
    for fault in faults_for(SYSTEM)
    for kind in fault.targets or ("",)
]


def busy(seed: int = 0) -> Sandbox:
    """Five workers, at work."""
    stage = Sandbox(SYSTEM, seed=seed, workers=5, slots=3).open()
    stage.advance(5.0)
    stage.run(BulkSpec("ping", 150, rate=25.0, in_flight=100, timeout=30.0))
    stage.advance(2.3)
    return stage


def done(stage: Sandbox, line: str) -> Watch:
    """The fault, watched to its end."""
    watch = Watch(stage, plan(stage, line))
    watch.begin()
    for _ in range(120):
        stage.advance(1.0)
        if watch.done:
            return watch
    raise AssertionError([one for one in watch.results if one.kept is None])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("fault", "kind"), CASES)
def test_every_promise_of_every_fault_holds(fault: Fault, kind: str, seed: int) -> None:
    stage = busy(seed)
    watch = done(stage, f"{fault.name} {'w3' if kind == 'worker' else kind}")
    assert [one.promise.text for one in watch.results if not one.kept] == []
    assert stage.health().dead == () and len(watch.results) >= 2


def test_a_run_without_faults() -> None:
    stage = busy()
    stage.advance(10.0)
    run = stage.run_view()
    assert run is not None and run.passed
