"""Every fault in the sandbox of the sixth system: its promises hold, and every edge of its maps can be walked."""

from __future__ import annotations

import pytest

from engine.faults.faults import faults_for, plan
from engine.faults.watch import Watch
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec
from engine.parts.fault import Fault
from tests.helpers.examples import seeds
from tests.sixth.mdp import SYSTEM

CASES = [
    pytest.param(fault, kind, id=f"{fault.name}-{kind or 'its own'}")
    for fault in faults_for(SYSTEM)
    for kind in fault.targets or ("",)
]


def busy(seed: int = 0) -> Sandbox:
    """Five workers, at work."""
    sandbox = Sandbox(SYSTEM, seed=seed, workers=5, slots=3).open()
    sandbox.advance(5.0)
    sandbox.run(BulkSpec("ping", 150, rate=25.0, in_flight=100, timeout=30.0))
    sandbox.advance(2.3)
    return sandbox


def done(sandbox: Sandbox, line: str) -> Watch:
    """The fault, watched to its end."""
    watch = Watch(sandbox, plan(sandbox, line))
    watch.begin()
    for _ in range(120):
        sandbox.advance(1.0)
        if watch.done:
            return watch
    raise AssertionError([one for one in watch.results if one.kept is None])


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize(("fault", "kind"), CASES)
def test_every_promise_of_every_fault_holds(fault: Fault, kind: str, seed: int) -> None:
    sandbox = busy(seed)
    watch = done(sandbox, f"{fault.name} {'w3' if kind == 'worker' else kind}")
    assert [one.promise.text for one in watch.results if not one.kept] == []
    assert sandbox.health().dead == () and len(watch.results) >= 2


def test_a_run_without_faults() -> None:
    sandbox = busy()
    sandbox.advance(10.0)
    run = sandbox.run_view()
    assert run is not None and run.passed
