"""Pictures of a pipeline: books that agree or say why not, badges, the documents of a stage."""

from __future__ import annotations

from typing import Any

import pytest

from console.pictures.queuebridge import OUTCOMES, SETTLED, QueueBridge, badge, documents_of
from engine.labs.health import Health
from engine.protocols.diskqueue.books import Entry
from engine.protocols.diskqueue.pipeline import Counts, DocumentRow, QueueRow
from tests.helpers.fake_queues import EPOCH, EVIL, FakeQueues, a_view


def test_a_picture_holds_books_backlogs_and_events() -> None:
    lab = FakeQueues()
    bridge = QueueBridge(lab)
    bridge.poll(1000.0)
    picture = bridge.poll(1000.25)
    assert picture.books == Entry(43, 1, 15, 3)
    assert (picture.fed, picture.balanced, picture.difference) == (62, True, 0)
    assert (picture.waiting[0], picture.up, picture.hertz) == ((12, 12), 100.25, 4.0)
    assert len(picture.events) == 1


def test_books_that_differ_are_told_only_when_that_lasts() -> None:
    lab = FakeQueues()
    bridge = QueueBridge(lab)
    lab.documents = 65
    pictures = [bridge.poll(1000.0 + step) for step in range(SETTLED)]
    assert [(picture.difference, picture.balanced) for picture in pictures] == [(0, False)] * (SETTLED - 1) + [
        (3, True)
    ]
    lab.documents = 66
    picture = bridge.poll(2000.0)
    assert (picture.difference, picture.balanced) == (3, False), "a fourth has not lasted yet"
    lab.documents = 61
    assert bridge.poll(2001.0).difference == 0
    lab.documents = 60
    assert [bridge.poll(3000.0 + step).difference for step in range(SETTLED)] == [0] * (SETTLED - 2) + [-1, -2]


def view_with(**stage: Any) -> FakeQueues:
    view = a_view()
    return FakeQueues(view._replace(stages=(view.stages[0]._replace(**stage), *view.stages[1:])))


@pytest.mark.parametrize(
    ("lab", "word"),
    [
        (FakeQueues(), "RUNNING"),
        (view_with(state="paused"), "PAUSED"),
        (view_with(state="stopped"), "STOPPED"),
        (FakeQueues(a_view(state="absent")), "STARTING"),
        (FakeQueues(a_view(state="stopping")), "STOPPING"),
        (FakeQueues(a_view(state="ended")), "ENDED"),
        (FakeQueues(a_view(queues=(QueueRow("start", "", Counts(), "gone"), *a_view().queues[1:]))), "STOPPED"),
    ],
)
def test_the_state_of_everything_in_one_word(lab: FakeQueues, word: str) -> None:
    picture = QueueBridge(lab).poll(1000.0)
    assert badge(picture, False)[0] == word
    assert badge(picture, True)[0] == "FROZEN"
    lab.state = Health(("watchdog: boom",), 0.0)
    assert badge(QueueBridge(lab).poll(1000.0), False)[0] == "FAULT"


def test_what_nobody_watches_over_says_so() -> None:
    lab = FakeQueues(a_view(state="absent"))
    lab.watches = True
    assert badge(QueueBridge(lab).poll(1.0), False) == ("NO WATCHDOG", "warn")
    lab.picture = a_view(state="absent", stages=tuple(stage._replace(state="done") for stage in a_view().stages))
    assert badge(QueueBridge(lab).poll(1.0), False) == ("DONE", "good")
    lab.picture = a_view()
    assert badge(QueueBridge(lab).poll(1.0), False) == ("RUNNING", "good"), "others watch over it"


def test_all_done_and_nothing_to_do_have_words_of_their_own() -> None:
    view = a_view()
    done = tuple(stage._replace(state="done", rate=0.0) for stage in view.stages)
    assert badge(QueueBridge(FakeQueues(a_view(state="ended", stages=done))).poll(1.0), False)[0] == "DONE"
    idle = tuple(stage._replace(rate=0.0) for stage in view.stages)
    queues = tuple(queue._replace(counts=Counts()) for queue in view.queues)
    assert badge(QueueBridge(FakeQueues(a_view(stages=idle, queues=queues))).poll(1.0), False)[0] == "READY"


def test_what_needs_looking_after_comes_first() -> None:
    rows = documents_of(a_view(), 1)
    assert [(row.id, row.state) for row in rows] == [
        ("doc-09", "failed twice"),
        ("doc-25", "failed"),
        ("doc-30", "working"),
        ("doc-31", "working"),
        ("doc-29", "published"),
        ("doc-28", "published"),
        ("doc-33", "ready"),
        (EVIL, "ready"),
    ]
    given_up, failed, first, second, *_ = rows
    assert (given_up.queue, given_up.number, given_up.attempt, given_up.text) == ("values", "3", 2, "no good at all")
    assert (failed.attempt, failed.at) == (1, EPOCH - 6)
    assert (first.attempt, second.attempt) == (1, 2), "the second has failed before"
    assert rows[4].queue == ""


def test_a_failure_that_no_log_tells_of_is_shown_all_the_same() -> None:
    (row,) = [row for row in documents_of(a_view(documents=()), 1) if row.state == "failed twice"]
    assert (row.id, row.number, row.attempt, row.at, row.text) == ("doc-09", "", 2, 0.0, "")


def test_of_what_went_through_the_newest_are_shown() -> None:
    gone = tuple(DocumentRow(float(n), "parse", "2", f"d{n}", "published", 1, 1.0, "") for n in range(500))
    rows = [row for row in documents_of(a_view(documents=gone), 1) if row.state == "published"]
    assert [row.id for row in rows] == [f"d{n}" for n in range(499, 499 - OUTCOMES, -1)]
