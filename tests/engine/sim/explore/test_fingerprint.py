"""Copies that are copies, and fingerprints that tell apart what will do otherwise."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest

from engine.catalogue import SYSTEMS
from engine.core import NEVER, Started
from engine.sim.explore.fingerprint import Copier
from engine.sim.explore.scene import Scene

NAMES = tuple(SYSTEMS)


def made(name: str) -> tuple[Copier, Any]:
    scene = Scene(SYSTEMS[name])
    copier = Copier(scene.settings, scene.system.explored.ignored)
    return copier, scene.system.worker(scene.settings, scene.system.endpoint, 1, 1).core


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_does_the_same_and_shares_nothing_that_changes(name: str) -> None:
    copier, core = made(name)
    before = copier.fingerprint(core)
    frozen = copier.freeze(core)
    first, second = copier.thaw(frozen), copier.thaw(frozen)
    assert copier.fingerprint(first) == copier.fingerprint(second) == before
    commands = first.handle(Started(), 10.0)
    assert copier.fingerprint(second) == before != copier.fingerprint(first)
    assert repr(second.handle(Started(), 10.0)) == repr(commands)
    assert copier.fingerprint(second) == copier.fingerprint(first)


@pytest.mark.parametrize("name", NAMES)
def test_times_tell_apart(name: str) -> None:
    copier, core = made(name)
    frozen = copier.freeze(core)
    early, late = copier.thaw(frozen), copier.thaw(frozen)
    early.handle(Started(), 1024.0)
    late.handle(Started(), 1025.0)
    assert copier.fingerprint(early) != copier.fingerprint(late)
    assert copier.shape(early) == copier.shape(late)


def test_a_shape_keeps_the_order_of_times_and_which_are_the_same() -> None:
    class Thing:
        def __init__(self, *times: float) -> None:
            self.first, self.others = times[0], {b"a": list(times[1:]), b"b": deque([(times[0], 2.5)])}

    copier = Copier(None, {})
    usual = copier.shape(Thing(1030.0, 1024.0, 1030.0))  # type: ignore[arg-type]
    for times, same in (
        ((1031.0, 1025.5, 1031.0), True),
        ((1030.0, 1024.0, 1031.0), False),
        ((1030.0, 1031.0, 1030.0), False),
        ((1030.0, 0.0, 1030.0), False),  # no time, but an interval
        ((1030.0, NEVER, 1030.0), False),
    ):
        assert (copier.shape(Thing(*times)) == usual) == same  # type: ignore[arg-type]


def test_counts_of_mistakes_do_not_tell_apart() -> None:
    scene = Scene(SYSTEMS[NAMES[0]])
    copier = Copier(scene.settings, scene.system.explored.ignored)
    core = scene.system.broker(scene.settings, [scene.system.endpoint]).core
    before = copier.fingerprint(core)
    core.violations.add(b"somebody", "something", 10.5)  # type: ignore[attr-defined]
    assert copier.fingerprint(core) == before


def test_two_of_one_kind_are_told_apart_by_their_names() -> None:
    scene = Scene(SYSTEMS[NAMES[0]])
    copier = Copier(scene.settings, scene.system.explored.ignored)
    one, two = (scene.system.client(scene.settings, scene.system.endpoint, nonce).core for nonce in (1, 2))
    assert copier.fingerprint(one) != copier.fingerprint(two)


def test_what_is_ignored_is_there() -> None:
    """A field that a class does not have would be ignored in vain, or under a name that is wrong."""
    for system in SYSTEMS.values():
        for name in system.explored.ignored:
            file, _, _ = name.partition(".")
            assert file.isidentifier() and name.count(".") == 1


def test_order_counts_in_a_dict_and_not_in_a_set() -> None:
    class Thing:
        def __init__(self, value: Any) -> None:
            self.value = value

    copier = Copier(None, {})
    values: list[Any] = [{1: 0, 2: 0}, {2: 0, 1: 0}, {2, 1}, {1, 2}, frozenset({1, 2})]
    things: list[Any] = [Thing(value) for value in values]
    prints = [copier.fingerprint(thing) for thing in things]
    assert prints[0] != prints[1] and prints[2] == prints[3] == prints[4]
    copier = Copier(None, {}, {"test_fingerprint.Thing": frozenset({"value"})})
    assert copier.fingerprint(things[0]) == copier.fingerprint(things[1]) != prints[1]
