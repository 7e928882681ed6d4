"""Who takes over has a proof; ``tests/sim/test_explore_mutants.py`` has brokers of a pair that have none."""

from __future__ import annotations

from typing import Any

import pytest

from engine.catalogue import SYSTEMS
from engine.protocols.negotiated.explored import EXPLORED
from engine.protocols.negotiated.machine import Rank
from engine.protocols.negotiated.standby import SILENCE
from tests.engine.sim.explore.scenes import fields_are_there

OPENED = 100.0


def broker(role: str) -> Any:
    system = SYSTEMS["negotiated"]
    assert system.paired is not None
    first, second = "tcp://127.0.0.1:6000", "tcp://127.0.0.1:6010"
    options = system.paired(system.options(heartbeat=2.0), first, second)
    core: Any = system.broker(options, [second if role == "backup" else first]).core
    core.pair.start(OPENED, 0.0)
    assert core.pair.role == role
    return core


@pytest.mark.parametrize(("role", "name"), [("primary", "primary"), ("backup", "fallback")])
def test_a_silence_that_is_too_short_proves_nothing(role: str, name: str) -> None:
    core = broker(role)
    mark = EXPLORED.mark(core, OPENED)
    core.pair.standby.state = Rank.ACTIVE
    wrong = f"the {name} takes over, and heard the other 4.5 s ago: under 5 s proves nothing"
    assert EXPLORED.step(mark, core, OPENED + 4.5) == wrong
    assert not EXPLORED.step(mark, core, OPENED + SILENCE * 2.0)
    assert not EXPLORED.step(EXPLORED.mark(core, OPENED), core, OPENED + 4.5), "it has served before"


def test_what_the_other_says_is_a_proof() -> None:
    core = broker("primary")
    mark = EXPLORED.mark(core, OPENED)
    assert core.pair.standby.heard(Rank.BACKUP, 7, core.pair.standby.beat(OPENED), OPENED)
    assert core.pair.standby.active and not EXPLORED.step(mark, core, OPENED)


def test_a_broker_of_its_own_is_not_asked() -> None:
    system = SYSTEMS["negotiated"]
    core = system.broker(system.options(), [system.endpoint]).core
    assert EXPLORED.mark(core, 0.0) is None and not EXPLORED.step(None, core, 0.0)


def test_each_field_that_is_ignored_is_one() -> None:
    fields_are_there("negotiated")
