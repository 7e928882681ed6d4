from __future__ import annotations

from console.keys import APP, BACK, IDS, JOBS, MAIN, PAIR, SYSTEM, TABLE, TYPED, bindings
from engine.catalogue import CATALOGUE

ALL = (*APP, *MAIN, *TABLE, *SYSTEM)
ELSEWHERE = (*JOBS, *PAIR)


def test_ids_are_unique_and_every_key_is_explained() -> None:
    named = [key.id for key in (*ALL, *ELSEWHERE)]
    assert sorted(named) == sorted(set(named)) and set(named) <= IDS
    assert all(key.help and key.action for key in (*ALL, *ELSEWHERE, *BACK))


def test_no_key_means_two_things_on_the_main_screen() -> None:
    used = [name for key in ALL for name in key.keys.split(",")]
    assert sorted(used) == sorted(set(used))


def test_each_system_has_its_number() -> None:
    assert [(key.keys, key.action) for key in SYSTEM][:2] == [
        ("1", "system('roundrobin')"),
        ("2", "system('conversation')"),
    ]
    assert len(SYSTEM) == len(CATALOGUE)


def test_bindings_carry_ids_and_only_lines_come_first() -> None:
    made = {binding.id: binding for binding in bindings(MAIN)}
    assert made["run.ping"].key == "p"
    assert {name for name, binding in made.items() if binding.priority} == TYPED
    assert not made["sort.reverse"].show
    assert made["sort.reverse"].description == "turn the order round"
