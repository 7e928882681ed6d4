"""Why a driver took this document: out of what listing, at what place, and who was quicker."""

from __future__ import annotations

from typing import Any

from engine.catalogue import CATALOGUE
from engine.journal.format import HEARD, SEAT, About
from engine.journal.read import Reading
from engine.labs.queuereplaylab import QueueReplayLab
from engine.labs.queuewhy import RULE, SHOWN, last_taken, why
from engine.protocols.diskqueue.operations import Done, Entry, List, Take

START = "/r/queue-start"


def a_lab(*events: Any) -> QueueReplayLab:
    """A driver that was given these, one a second."""
    seat = [SEAT, 0.0, 1, "parse.1", "parse.1", "", [[START, "/r/queue-parse", "1"], 0.0], {}]
    records = [[HEARD, float(at), 1, event, []] for at, event in enumerate(events, 1)]
    lab = QueueReplayLab(Reading(About("diskqueue", {}, 0.0, 0.0, "test"), [seat, *records], ""), CATALOGUE)
    lab.seek(lab.last)
    return lab


def listed(*names: str) -> Done:
    return Done(List(START), entries=tuple(Entry(name, age, 1) for age, name in enumerate(names)))


def take(id: str, state: str = "ready", error: Any = "") -> Done:
    return Done(Take(START, f"{id}.{state}", f"{id}.1.working"), error)


def test_the_first_of_a_listing_is_taken_first() -> None:
    lab = a_lab(listed("f.failed", "b.ready", "c.ready"), take("b"))
    assert last_taken(lab.step_at, lab.position) == 2
    assert why(lab.step_at, 2).split("\n") == [
        "parse.1 took b.ready out of start, which it had listed 1.000 s before.",
        "Of 3 that could be taken it was the first.",
        "  ▸ b.ready",
        "    c.ready",
        "    f.failed",
        RULE,
    ]


def test_what_others_were_quicker_with_was_tried_before() -> None:
    lab = a_lab(listed("a.ready", "b.ready", "f.failed"), take("a", error="gone"), take("b"), take("f", "failed"))
    words = why(lab.step_at, 4)
    assert "it was number 3; those before it came first" in words
    assert "    a.ready: another driver was quicker\n    b.ready: taken by this one before\n  ▸ f.failed" in words


def test_of_a_long_listing_the_neighbours_are_shown() -> None:
    found = [f"{number:03}.ready" for number in range(50)]
    lab = a_lab(listed(*found), take("020"))
    lines = why(lab.step_at, 2).split("\n")
    assert len(lines) == 2 + SHOWN + 2 and "  ▸ 020.ready" in lines and lines[-2] == "    and 26 more"


def test_where_it_can_not_be_told() -> None:
    lab = a_lab(take("a"), listed("b.ready"), take("x"))
    assert "no part of the recording" in why(lab.step_at, 1)
    assert "It was not in that listing." in why(lab.step_at, 3)
    assert why(lab.step_at, 2) == why(lab.step_at, 99) == "no document was taken here"
    lab.seek(1)
    assert last_taken(lab.step_at, lab.position) is None
