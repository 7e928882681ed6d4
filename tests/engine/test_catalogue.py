"""What every system in the list must be."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

from engine.catalogue import CATALOGUE, LANES, PAIRS, STORED, SYSTEMS, TAKERS
from engine.core import Core, Seat
from engine.labs.binding import beside
from engine.settings.paths import Paths
from engine.settings.settings import Known, read_settings
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


def test_the_default_ports_of_all_systems_are_apart() -> None:
    """A broker's own and those beside it, and those to which each of them moves where another program has one."""
    taken: dict[str, str] = {}
    for name, system in SYSTEMS.items():
        bound = [
            at
            for endpoint in beside(system.endpoint)
            for socket in system.broker(system.options(), [endpoint]).sockets
            for at in socket.bind
        ]
        assert len(bound) == len(set(bound)), f"{name} binds one of its ports twice"
        assert not taken.keys() & set(bound), f"{name} binds a port of another system"
        taken |= dict.fromkeys(bound, name)


def test_the_settings_have_a_table_for_each() -> None:
    known = Known({name: system.options for name, system in CATALOGUE.items()})
    settings = read_settings(Paths(*[Path("nowhere")] * len(fields(Paths))), known, {})
    assert dict(settings.options) == {name: system.options() for name, system in CATALOGUE.items()}


def test_those_that_take_jobs_are_named() -> None:
    assert set(TAKERS) <= {name for name, system in SYSTEMS.items() if system.orders is not None}


def test_those_that_have_pairs_are_named() -> None:
    operated = [name for name, system in SYSTEMS.items() if system.paired is not None and system.orders is not None]
    assert list(PAIRS) == operated


def test_those_with_a_store_and_those_with_a_second_lane_are_named() -> None:
    assert {name: system.store for name, system in SYSTEMS.items() if system.store} == STORED
    assert {name: system.lane for name, system in SYSTEMS.items() if system.lane} == LANES


def test_neither_names_alone_nor_the_arguments_import_a_system() -> None:
    code = (
        "import sys; from console.cli import arguments; arguments.make_parsers(arguments.keeper([]));"
        "from engine.catalogue import CATALOGUE, SYSTEMS, TAKERS, QUEUES;"
        "assert 'pingpong' in SYSTEMS and 'x' not in SYSTEMS and len(CATALOGUE) == len(SYSTEMS) + len(QUEUES);"
        "print([name for name in sys.modules if name.startswith('engine.protocols.')], SYSTEMS['pingpong'].name)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[] pingpong\n"


def test_each_has_a_seed_and_a_title_and_either_a_broker_or_queues() -> None:
    assert sorted(system.seed for system in CATALOGUE.values()) == ["000", "001", "002", "003", "004"]
    assert all(system.title and system.name == name for name, system in CATALOGUE.items())
    queues = [name for name, system in CATALOGUE.items() if isinstance(system, QueueSystem)]
    assert queues == ["diskqueue"]
    assert [*SYSTEMS, *queues] == list(CATALOGUE)
