from __future__ import annotations

from console.keys import APP, BACK, IDS, JOBS, MAIN, OLD_IDS, PAIR, QUEUES, SEE, SYSTEM, TABLE, TYPED, bindings, current
from engine.catalogue import CATALOGUE

ALL = (*APP, *MAIN, *TABLE, *SYSTEM)
ELSEWHERE = (*(key for key in JOBS if key not in MAIN), *PAIR)


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
    assert made["sort.reverse"].description == "reverse the sort order"


def test_a_keymap_of_an_earlier_version_names_keys_by_their_old_ids() -> None:
    assert current({"stage": "f7", "quit": "Q"}) == {"sandbox": "f7", "quit": "Q"}
    assert current({"stage": "f7", "sandbox": "f8"}) == current({"sandbox": "f8", "stage": "f7"}) == {"sandbox": "f8"}
    assert set(OLD_IDS.values()) <= IDS and not OLD_IDS.keys() & IDS


def test_a_letter_means_the_same_on_every_main_screen_and_protocol_screen() -> None:
    """Orders of disk queues and of protocol screens take no letter that means something else on a main screen."""
    here = {name: key for key in (*MAIN, *APP, *SEE) for name in key.keys.split(",")}
    alike = {
        "enter",
        "plus",
        "minus",
        "equals_sign",
        "escape",
        "p",
    }  # open, more, less, back; p: a run, or documents fed
    for key in (*JOBS, *PAIR, *QUEUES):
        for name in key.keys.split(","):
            assert name in alike or here.get(name, key).id == key.id or name == "ctrl+k", key
    assert {key.keys for key in (*MAIN, *JOBS, *QUEUES) if "stop" in key.id or "kill" in key.id} == {"x", "ctrl+k"}
