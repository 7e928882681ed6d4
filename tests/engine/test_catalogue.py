"""What every system in the list must be."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from engine.catalogue import CATALOGUE, SYSTEMS
from engine.core import Core, Seat
from engine.settings import Known, Paths, read_settings
from engine.system import QueueSystem, System


def seats(system: System) -> list[Seat]:
    options = system.options()
    return [
        system.broker(options, [system.endpoint]),
        system.worker(options, system.endpoint, 1, 10),
        system.client(options, system.endpoint, 2),
    ]


def test_round_robin_opens_where_none_is_named() -> None:
    assert next(iter(SYSTEMS)) == "roundrobin"


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_a_system_is_what_the_contract_says(system: System) -> None:
    assert is_dataclass(system.options)
    for seat in seats(system):
        core: Core = seat.core
        core.check()
        assert seat.sockets


def test_the_settings_have_a_table_for_each() -> None:
    known = Known({name: system.options for name, system in CATALOGUE.items()})
    settings = read_settings(Paths(*[Path("nowhere")] * len(fields(Paths))), known, {})
    assert dict(settings.options) == {name: system.options() for name, system in CATALOGUE.items()}


def test_each_has_a_seed_and_a_title_and_either_a_broker_or_queues() -> None:
    assert sorted(system.seed for system in CATALOGUE.values()) == ["000", "001", "002", "003", "004"]
    assert all(system.title and system.name == name for name, system in CATALOGUE.items())
    queues = [name for name, system in CATALOGUE.items() if isinstance(system, QueueSystem)]
    assert queues == ["diskqueue"]
    assert [*SYSTEMS, *queues] == list(CATALOGUE)
