"""What every system says of itself, whatever it is."""

from __future__ import annotations

import pytest

from engine.catalogue import CATALOGUE, SYSTEMS
from engine.system import System

EACH = pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)


@EACH
def test_its_times_are_in_order(system: System) -> None:
    times = system.times(system.options())
    assert 0.0 < times.kept < times.lost
    assert 0.0 < times.back < times.repair


@EACH
def test_each_hostile_message_has_words_and_frames(system: System) -> None:
    for words, frames in (*system.garbage, *system.overclaims):
        assert words
        assert frames
        assert all(type(frame) is bytes for frame in frames)


@EACH
def test_its_own_faults_have_names_of_their_own(system: System) -> None:
    names = [fault.name for fault in system.faults]
    assert len(names) == len(set(names))


def test_a_system_is_listed_under_its_own_name() -> None:
    assert {name: system.name for name, system in CATALOGUE.items()} == {name: name for name in CATALOGUE}
