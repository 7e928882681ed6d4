"""Two drivers, every order of their operations, and somebody who dies at any moment."""

from __future__ import annotations

from typing import Any

import pytest

from engine.core import Start, Woken
from engine.protocols.diskqueue import driver as drivers
from engine.protocols.diskqueue import names, transitions
from engine.protocols.diskqueue.operations import Done, List, Sync
from engine.sim.explore.documents import Actor, Documents, in_words, walk


@pytest.mark.parametrize("fault", ["", "power"])
def test_one_document_is_published_once_whatever_the_order(fault: str) -> None:
    found = walk(Documents(1, fault))
    assert not found.wrong and found.progress.transitions > found.progress.states > 700
    assert fault or walk(Documents(1, fault)) == found


def test_a_kill_at_any_moment_loses_nothing() -> None:
    found = walk(Documents(1, "kill"))
    assert (found.wrong, found.bound) == ("", "") and found.progress.states > 5_000
    bounded = walk(Documents(1, "kill"), most=2_000)
    assert bounded.bound == "2,000 states" and bounded.progress.states >= 2_000
    told = walk(Documents(1, "kill"), tell=lambda progress: "enough")
    assert told.bound == "enough" and told.progress.frontier > 0


def test_the_rows_that_were_walked_are_told() -> None:
    walked = {}
    for fault in ("", "kill"):
        model = Documents(1, fault)
        assert not walk(model, most=3_000).wrong
        item, driver = model.coverage()
        assert (item.title, driver.title) == ("A document", "A driver, and whether it has a document")
        walked[fault] = set(item.walked)
        assert ("working", "processed") in item.walked and (fault or ("taking", "all is done") in driver.walked)
        assert ("kept", "an operator retries") in item.never and ("working", "to leave") not in driver.walked
    assert ("working", "its driver dies") in walked["kill"] - walked[""]


def test_an_actor_does_the_same_after_the_same_answers() -> None:
    model = Documents(1)
    actor, state = model.actors[0], model.begin
    for _ in range(30):
        point = state.points[0]
        assert point is not None
        if point.ended:
            break
        state = model.apply(state, ("act", 0))
    assert point is not None and point.ended and not model.wrong(state)
    again = Actor("1", False)
    assert isinstance(again.first.asks, List) and repr(again.first.asks) == repr(actor.first.asks)


def test_a_look_in_vain_leaves_nothing_behind() -> None:
    model = Documents(1)
    state = model.begin
    while isinstance(asks := state.points[0].asks, List) or (asks is not None and type(asks) is not Start):  # type: ignore[union-attr]
        state = model.apply(state, ("act", 0))
    while (point := state.points[1]) is not None and point.asks is not None:
        state = model.apply(state, ("act", 1))
    assert ("act", 1) in model.moves(state) or state.seen[1] == state.disk
    waits = state.points[1]
    assert waits is not None
    again = model.actors[1].after(waits, Woken())
    while again.asks is not None:
        state = state._replace(points=(state.points[0], again, *state.points[2:]))
        state = model.apply(state, ("act", 1))
        after = state.points[1]
        assert after is not None
        again = after
    assert again is waits


def test_a_mutant_that_writes_under_the_published_name_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "writing", lambda id, number: names.ready(id))
    found = walk(Documents(1))
    assert found.wrong == "d1 is published, and incomplete"
    assert [in_words(Documents(1), move) for move in found.course] == ["driver 1 goes on"] * 5


def test_a_mutant_that_works_on_though_it_lost_the_race_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = transitions.take

    def take(*about: Any) -> Any:
        error = yield from real(*about)
        return "" if error == "gone" else error

    monkeypatch.setattr(transitions, "take", take)
    found = walk(Documents(1))
    assert found.wrong == "two drivers work on d1: 1, 2"
    assert [move for _, move in found.course] == [0, 0, 0, 1, 1, 1, 0, 1]


def test_a_mutant_that_publishes_before_all_is_on_the_disk_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    perform = drivers.Driver.handle

    def unsynced(self: Any, event: Any, now: float) -> Any:
        commands = perform(self, event, now)
        while commands and isinstance(commands[0], Sync) and commands[0].name:
            commands = perform(self, Done(commands[0]), now)
        return commands

    monkeypatch.setattr(drivers.Driver, "handle", unsynced)
    found = walk(Documents(1))
    assert found.wrong == "d1 is published before it is on the disk"
    words = [in_words(Documents(1), move) for move in found.course]
    assert set(words) <= {"driver 1 goes on", "driver 2 goes on"}
    assert in_words(Documents(1), ("kill", 0)) == "kill driver 1"
    assert in_words(Documents(1), ("act", 2)) == "the recoverer of driver 1 goes on"
    assert in_words(Documents(1), ("power", 0)) == "the power is cut"
    assert len(found.course) > 5 and {kind for kind, _ in found.course} == {"act"}
