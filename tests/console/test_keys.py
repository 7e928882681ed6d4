from __future__ import annotations

from console.keys import APP, BACK, IDS, MAIN, TABLE, TYPED, bindings

ALL = (*APP, *MAIN, *TABLE)


def test_ids_are_unique_and_every_key_is_explained() -> None:
    assert len(IDS) == len(ALL)
    assert all(key.help and key.action for key in (*ALL, *BACK))


def test_no_key_means_two_things_on_the_main_screen() -> None:
    used = [name for key in ALL for name in key.keys.split(",")]
    assert sorted(used) == sorted(set(used))


def test_bindings_carry_ids_and_only_lines_come_first() -> None:
    made = {binding.id: binding for binding in bindings(MAIN)}
    assert made["run.ping"].key == "p"
    assert {name for name, binding in made.items() if binding.priority} == TYPED
    assert not made["sort.reverse"].show
    assert made["sort.reverse"].description == "turn the order round"
