"""A course as a ladder."""

from __future__ import annotations

import pytest

from console.pictures import course
from console.pictures.course import drawn, drawn_documents
from engine.catalogue import SYSTEMS
from engine.protocols.roundrobin.pool import Pool
from engine.sim.explore.documents import Documents
from engine.sim.explore.scene import Scene

ANSWERED = ["! client is asked", "! client > broker", "! broker > worker-1", "! worker-1 > broker", "! broker > client"]


def scene(**more: object) -> Scene:
    return Scene(SYSTEMS["pingpong"], tasks=1, **more)  # type: ignore[arg-type]


def cells(line: str) -> list[str]:
    return [cell.strip(" ─▶◀┄✗") for cell in line.split("│")]


def test_every_message_is_an_arrow_and_nothing_is_drawn_of_the_joining() -> None:
    lines = drawn(scene(), ANSWERED, 100)
    assert lines[0].split() == ["seconds", "client", "broker", "w1"]
    assert [cells(line) for line in lines[2:]] == [
        ["0.0000", "request 0", "", ""],
        ["0.0000", "", "job 0", ""],
        ["0.0000", "", "result 0", ""],
        ["0.0000", "DONE 0", "", ""],
    ]


def test_what_goes_wrong_stands_in_its_lane_and_what_was_lost_does_not_arrive() -> None:
    lines = drawn(scene(faults=("kill",)), [*ANSWERED[:3], "! kill worker-1, 1 messages lost"], 100)
    assert "· kill worker-1, 1 messages lost" in lines[-1]
    assert "result 0" in lines[-2] and "┄" in lines[-2]
    assert "." in drawn(scene(faults=("kill",)), ANSWERED[:3], 100, unicode=False)[-1]


def test_what_is_wrong_stands_in_the_lane_of_whom_it_is_wrong_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Pool, "accept", lambda self, *task: 1 / 0)
    lines = drawn(Scene(SYSTEMS["roundrobin"], tasks=1), ANSWERED[:2], 100)
    assert "· broker: ZeroDivisionError: division by zero" in lines[-1]


def test_a_long_course_is_cut_and_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(course, "MOST", 3)
    assert drawn(scene(), ANSWERED, 100)[-1] == "and 1 arrows more"


def test_disk_queues_have_a_lane_for_each_queue_and_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Documents(1, "kill")
    monkeypatch.setattr(Documents, "wrong", lambda self, state: "gone" * (state.left == 0))
    lines = drawn_documents(model, ["! driver 1 goes on"] * 4 + ["! kill driver 1"], 100)
    assert lines[0].split() == ["seconds", "src", "dst.1", "dst"]
    assert [cells(line)[1:] for line in lines[2:6]] == [
        ["LIST", "", ""],
        ["", "THROTTLE", ""],
        ["LIST", "", ""],
        ["TAKE d1", "", ""],
    ]
    assert "· kill driver 1" in lines[-2] and "· gone" in lines[-1]
