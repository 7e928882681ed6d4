"""The walk of a small scene on the screen: its progress, its end, what is wrong, and why it broke off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from threading import Thread
from threading import enumerate as enumerate_threads
from typing import Any, get_args

import pytest

from console.screens import explored
from console.screens.explored import BOUNDS, DOES, Exploration, Explored, chart, coverage_lines, scene_of, walk_lines
from console.screens.sandbox import SandboxScreen
from console.widgets.ink import Parts
from engine.catalogue import SYSTEMS
from engine.labs.brokers import fallback
from engine.protocols.conversation.jobs import Jobs
from engine.protocols.pingpong.tasks import Tasks
from engine.sim.explore.report import explore
from engine.sim.explore.scene import Fault
from engine.sim.explore.walk import Progress, Walk
from tests.helpers.protocols import User, on, running_sandbox

WALK = "roundhouse-explore"


def words(lines: list[Parts]) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in lines]


def walks() -> list[str]:
    return [thread.name for thread in enumerate_threads() if thread.name == WALK]


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explored, "WORKERS", 1)
    monkeypatch.setattr(explored, "TASKS", 1)
    monkeypatch.setattr(explored, "BOUNDS", replace(BOUNDS, rounds=1))


def walked(system: str = "conversation", *faults: Fault, bounds: dict[str, Any] | None = None) -> Exploration:
    scene = scene_of(SYSTEMS[system], SYSTEMS[system].options(), faults)
    walk = Exploration(replace(scene, bounds=replace(scene.bounds, **(bounds or {}))), lambda: 0.0)
    walk.join()
    return walk


LOOKS = 100  # at a screen, at most


async def ended(user: User, what: str = "kill once, at any moment") -> Exploration:
    """The walk on the screen of ``what`` goes wrong, after its end was shown. A slow screen is drawn less often."""
    screen = user.app.screen
    assert isinstance(screen, Explored) and screen.exploration is not None
    screen.exploration.join()
    for _ in range(LOOKS):
        await user.pass_time(0.25)
        if user.shows(f"goes wrong: {what}") and not user.shows("walking: "):
            break
    return screen.exploration


def given_and_kept(real: Callable[..., Any]) -> Callable[..., Any]:
    def back(self: Jobs, *given: Any) -> Any:
        task = real(self, *given)
        if task is not None:
            self.queued += 1
        return task

    return back


def test_the_scene_has_the_options_that_are_given_and_every_fault_is_explained() -> None:
    assert set(DOES) == set(get_args(Fault))
    for system in SYSTEMS.values():
        options = system.options()
        scene = scene_of(system, options, ("kill",))
        assert (scene.settings, scene.workers, scene.clients, scene.tasks) == (options, 2, 1, 2) and not scene.pair
        if system.paired is not None:
            assert scene_of(system, system.paired(options, system.endpoint, fallback(system)), ()).pair


def test_the_chart_has_a_column_for_each_depth_and_lights_what_is_wrong() -> None:
    lines = chart((1, 4, 8), 3, 20)
    assert words(lines) == [
        "states by depth  8 in the highest column", "  █", "  █", "  █", " ██", " ██", "▆██▁", "───×", "depth 0 to 3",
    ]  # fmt: skip
    assert ("▁", "bad") in lines[6] and lines[7][-1] == ("×", "bad bold")
    grouped = chart(tuple(range(1, 31)), -1, 10)
    assert all(len(line) <= 10 for line in words(grouped)[1:8]) and words(grouped)[-1] == "depth 0 to 29, 3 in a column"
    assert chart((), -1, 20) == []


@pytest.mark.usefixtures("tiny")
def test_only_a_report_says_that_it_held(monkeypatch: pytest.MonkeyPatch) -> None:
    held = walked()
    assert held.report is not None and held.report.complete and sum(held.progress.layers) == held.progress.states
    assert any("✓ HELD complete" in line for line in words(walk_lines(held, 100)))
    bounded = words(walk_lines(walked(bounds={"states": 20}), 100))
    assert any("HELD SO FAR bounded: ended by 20 states" in line for line in bounded)

    def broken(self: Walk, state: object) -> bytes:
        raise ZeroDivisionError("no \x1b[31m key")

    monkeypatch.setattr(Walk, "key", broken)
    broke = words(walk_lines(walked(), 100))
    assert any("the walk broke off: ZeroDivisionError: no" in line and "\x1b" not in line for line in broke)
    assert not any("HELD" in line for line in broke)


def test_the_walk_is_watched_stopped_and_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explored, "TASKS", 6)  # so that it goes on for long

    async def scenario(user: User) -> None:
        await user.press("Z", "X")
        screen = user.app.screen
        assert isinstance(screen, Explored) and walks() == [WALK]
        assert user.shows("walking: nothing is wrong so far") and user.shows("goes wrong: kill once, at any moment")
        await user.press("escape")
        assert isinstance(user.app.screen, SandboxScreen) and walks() == []
        walk = screen.exploration
        assert walk is not None and walk.ended and walk.report is not None and walk.report.bound == "the operator"

        monkeypatch.setattr(explored, "WORKERS", 1)
        monkeypatch.setattr(explored, "TASKS", 1)
        monkeypatch.setattr(explored, "BOUNDS", replace(BOUNDS, rounds=1))
        await user.press("X")
        first = await ended(user)
        assert user.shows("✓ HELD complete") and user.shows("states by depth") and user.shows("█")
        assert user.shows(f"states {first.progress.states:,}  transitions {first.progress.transitions:,}")
        assert user.shows(" rows") and user.shows("  ✓ ")
        await user.press("G")
        assert user.shows("  never")
        await user.press("M")
        assert user.shows("walked with  kill") and user.shows("rows were walked") and not user.shows("▐")
        await user.press("escape")
        await user.press("f", "home", "enter")
        second = await ended(user, "nothing")
        assert user.shows("goes wrong: nothing") and second is not first
        assert second.progress.states < first.progress.states and walks() == []
        await user.press("M")
        assert user.shows("walked with  kill; nothing")
        await user.press("escape")
        await user.press("f", "escape", "escape")
        assert isinstance(user.app.screen, SandboxScreen)

    on(running_sandbox("conversation", tasks=0), scenario, tmp_path)


@pytest.mark.usefixtures("tiny")
def test_a_new_walk_is_shown_from_its_top_however_quickly_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class AtOnce(Thread):
        def start(self) -> None:
            super().start()
            self.join()

    monkeypatch.setattr(explored, "Thread", AtOnce)

    async def scenario(user: User) -> None:
        await user.press("Z", "X", "G")
        assert not user.shows("goes wrong:")
        await user.press("f", "home", "enter")
        assert user.shows("goes wrong: nothing")

    on(running_sandbox("conversation", tasks=0), scenario, tmp_path)


def test_the_maps_sum_up_the_walks_and_light_where_something_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    system = SYSTEMS["pingpong"]
    assert "no walk has ended yet" in words(coverage_lines(system, [], 100))[0]
    small = replace(scene_of(system, system.options(), ()), tasks=1, workers=1, bounds=replace(BOUNDS, rounds=1))
    nothing, leave = (explore(replace(small, faults=faults), lambda: 0.0) for faults in ((), ("leave",)))
    titles = {
        rows.title: len(set(rows.walked) | set(other.walked))
        for rows, other in zip(nothing.coverage, leave.coverage, strict=True)
    }
    text = words(coverage_lines(system, [nothing, leave], 100))
    for title, walked in titles.items():
        assert any(line.startswith(f"{title}  {walked} of ") for line in text)
    assert sum(line.startswith("    ✓ ") for line in text) == sum(titles.values())
    assert len(leave.coverage[0].walked) > len(nothing.coverage[0].walked), "of a worker: it leaves"

    monkeypatch.setattr(Tasks, "done", lambda self, *about: 1 / 0)
    wrong = explore(small, lambda: 0.0)
    lines = coverage_lines(system, [wrong], 100)
    boxes = [text for line in lines for text, ink in line if ink == "bad bold reverse"]
    assert "▐ idle 1 ▌" in boxes and "  × idle" in words(lines)


@pytest.mark.usefixtures("tiny")
def test_what_is_wrong_is_lit_with_its_course_and_a_broken_walk_is_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario(user: User) -> None:
        await user.press("Z")
        monkeypatch.setattr(Jobs, "next", given_and_kept(Jobs.next))
        await user.press("X")
        walk = await ended(user)
        assert walk.report is not None and len(walk.report.found) == 1
        assert user.shows("× VIOLATED broker: check: assert self.queued == sum(job.queued")
        assert user.shows("×") and user.shows("after 2 moves, from where all had joined:")
        assert user.shows("! client is asked") and user.shows("! client > broker") and not user.shows("HELD")
        assert any("client" in line and "broker" in line for line in words(walk_lines(walk, 100))), "the ladder"
        await user.press("M")
        assert user.shows("× kill: broker: check: assert self.queued") and user.shows("▐")
        await user.press("escape")
        lit = [line for line in walk_lines(walk, 100) if ("×", "bad bold") in line]
        assert len(lit) == 1, "the column of the violation"

        def broken(self: Walk) -> Progress:
            raise MemoryError("no room")

        monkeypatch.setattr(Walk, "run", broken)
        await user.press("f", "enter")
        await ended(user)
        assert user.shows("× the walk broke off: MemoryError: no room")
        assert not user.shows("HELD") and not user.shows("VIOLATED")

    on(running_sandbox("conversation", tasks=0), scenario, tmp_path)
