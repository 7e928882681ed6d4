"""Promises are ticked or crossed off when they are decided, and not before."""

from __future__ import annotations

import pytest

from engine.catalogue import SYSTEMS
from engine.faults.watch import Plan, Verdict, Watch
from engine.labs.sandbox import Sandbox
from engine.parts.promise import Observation, Promise
from engine.protocols.roundrobin.pool import Pool


@pytest.fixture
def stage() -> Sandbox:
    stage = Sandbox(SYSTEMS["roundrobin"], workers=2).open()
    stage.advance(3.0)
    return stage


def watched(stage: Sandbox, *promises: Promise) -> Watch:
    return Watch(stage, Plan("test", "nothing", promises, lambda: None))


def test_before_the_injection_everything_is_open(stage: Sandbox) -> None:
    done: list[str] = []
    promise = Promise("p", 1.0, lambda before, now: True)
    watch = Watch(stage, Plan("test", "nothing", (promise,), lambda: done.append("injected")))
    stage.advance(5.0)
    assert (watch.began, watch.elapsed, watch.done, watch.held) == (None, 0.0, False, False)
    assert watch.results == (Verdict(promise, None, None),) and done == []
    watch.begin()
    watch.begin()
    stage.advance(0.5)
    assert (watch.began, watch.elapsed, done) == (8.0, 0.5, ["injected"])
    assert watch.done and watch.held


def test_each_kind_of_promise_kept_and_broken_with_its_time(stage: Sandbox) -> None:
    watch = watched(
        stage,
        Promise("comes", 2.0, lambda before, now: now.at >= before.at + 1.5),
        Promise("does not come in time", 1.0, lambda before, now: now.at >= before.at + 1.5),
        Promise("stays", 2.0, lambda before, now: now.at < before.at + 2.5, always=True),
        Promise("does not stay", 2.0, lambda before, now: now.at < before.at + 0.5, always=True),
        Promise("counts from later", 2.0, lambda before, now: True, since=1.0),
        Promise("need not hold before", 2.0, lambda before, now: now.at > before.at + 0.9, since=1.0, always=True),
    )
    watch.begin()
    stage.advance(0.9)
    assert [one.kept for one in watch.results] == [None, None, None, False, None, None]
    stage.advance(2.0)
    assert [one.kept for one in watch.results] == [True, False, True, False, True, True]
    assert [one.after for one in watch.results] == pytest.approx([1.5, 1.0, 2.0, 0.5, 1.0, 2.0], abs=0.051)
    assert watch.done and not watch.held


def test_times_do_not_depend_on_how_a_screen_advances(stage: Sandbox) -> None:
    first = watched(stage, Promise("comes", 2.0, lambda before, now: now.at >= before.at + 0.73))
    first.begin()
    stage.advance(5.0)
    second = watched(stage, Promise("comes", 2.0, lambda before, now: now.at >= before.at + 0.73))
    second.begin()
    for _ in range(500):
        stage.advance(0.01)
    assert [one.after for one in first.results] == pytest.approx([one.after for one in second.results])


def test_what_was_seen_just_before_is_compared_not_what_was_seen_when_it_was_planned(stage: Sandbox) -> None:
    seen: list[float] = []

    def check(before: Observation, now: Observation) -> bool:
        seen.append(before.at)
        return True

    watch = watched(stage, Promise("p", 1.0, check))
    stage.advance(2.0)
    watch.begin()
    stage.advance(1.0)
    assert seen == [5.0]


def test_a_world_that_stands_still_keeps_no_promise(stage: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = watched(stage, Promise("kept", 5.0, lambda *_: True), Promise("open", 5.0, lambda *_: True, always=True))
    watch.begin()
    stage.advance(0.5)

    def broken(self: Pool) -> None:
        raise AssertionError("broken")

    monkeypatch.setattr(Pool, "check", broken)
    stage.advance(9.0)
    assert [one.kept for one in watch.results] == [True, False]
    assert watch.done and not watch.held
