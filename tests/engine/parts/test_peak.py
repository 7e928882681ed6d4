from __future__ import annotations

import pytest

from engine.catalogue import SYSTEMS
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec
from engine.parts.peak import KEPT, STEP, Peak, most
from engine.system import System


def test_the_highest_since_any_time_is_known() -> None:
    peak = Peak()
    for at, waiting in ((1.0, 3), (1.1, 7), (1.2, 2), (1.3, 5), (1.4, 1)):
        peak.mark(waiting, at)
    assert peak.view() == ((1.1, 7), (1.3, 5), (1.4, 1))
    assert [most(peak.view(), since, 0) for since in (0.0, 1.1, 1.3, 1.4)] == [7, 5, 1, 0]


def test_lower_ones_in_quick_succession_push_out_no_higher_one() -> None:
    peak = Peak()
    for n in range(10 * KEPT):
        peak.mark(9999 - n, 5.0 + n * STEP / KEPT)
    assert peak.view()[0] == (5.0, 9999)
    assert len(peak.view()) <= KEPT


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=list(SYSTEMS))
def test_a_run_that_is_over_between_two_pictures_leaves_its_peak(system: System) -> None:
    with Sandbox(system, workers=1, slots=1) as sandbox:
        sandbox.settle()
        sandbox.run(BulkSpec("ping", 40, in_flight=30))
        sandbox.advance(60.0)
        run, broker = sandbox.run_view(), sandbox.sight().broker
        assert run is not None and run.ledger.succeeded == 40
        assert broker is not None and broker.backlog == 0
        assert broker.peaks[0][1] == 29  # one of the thirty is with the worker at once
