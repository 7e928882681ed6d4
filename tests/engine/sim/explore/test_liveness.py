"""All tasks end, from everywhere."""

from __future__ import annotations

from array import array
from collections.abc import Callable

import pytest

from engine.catalogue import SYSTEMS
from engine.sim.explore.liveness import Courses, stranded
from engine.sim.explore.model import Model
from engine.sim.explore.walk import Walk
from tests.engine.sim.explore.scenes import begun, scene, went


def test_a_course_ends_where_all_is_settled() -> None:
    model, state = begun()
    walk = Walk(model)
    courses = Courses(model, walk.key)
    horizon = model.horizon
    assert not courses.is_settled(state) and not courses.wrong(state)
    assert model.horizon == horizon
    assert not courses.wrong(went(model, state, "ask"))


def broken(monkeypatch: pytest.MonkeyPatch, name: str, patch: Callable[..., None]) -> str:
    """What a walk says of workers on the packed lane with a method that is not what it should be."""
    packed = scene("roundrobin", options=SYSTEMS["roundrobin"].options(packed=True))
    made = Model(packed)
    monkeypatch.setattr(type(made.seats[made.workers[0]].core), name, patch)
    found = Walk(Model(packed)).run()
    return "" if found.violation is None else found.violation.text


def test_who_never_answers_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    text = broken(monkeypatch, "_flush", lambda self, out: self._answers.clear())
    assert text == "0 of 2 tasks of client succeeded (2 timeout)"


def test_tasks_may_wait_where_the_only_worker_was_drained() -> None:
    small = scene("roundrobin", workers=1, tasks=1, faults=("drain",))
    assert Walk(Model(small)).run().complete


def test_who_wants_to_be_woken_for_ever_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert broken(monkeypatch, "_serve", lambda self, now, out: None) == "time never goes on from here"


def test_a_state_that_leads_nowhere_is_found() -> None:
    good = bytearray((0, 0, 0, 1))
    assert stranded(array("Q", (0, 2, 3, 3, 3)), array("I", (1, 2, 3)), good) == 2
    good = bytearray((0, 0, 0, 1))
    assert stranded(array("Q", (0, 1, 2, 3, 3)), array("I", (1, 2, 3)), good) == -1
    circle = bytearray((0, 0))
    assert stranded(array("Q", (0, 1, 2)), array("I", (1, 0)), circle) == 0
