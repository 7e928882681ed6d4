"""Where the documents of a pipeline are."""

from __future__ import annotations

from engine.protocols.diskqueue.books import Account, Entry, account, entries, whole
from engine.protocols.diskqueue.pipeline import Counts


def test_what_a_stage_published_is_all_that_is_beyond_it() -> None:
    start, values, end = (
        Counts(ready=5, working=1),
        Counts(ready=2, failed=1, failed_twice=1, writing=3),
        Counts(ready=7),
    )
    stages = entries([start, values, end])
    assert stages == (Entry(11, 0, 5, 1), Entry(7, 1, 3, 0))
    assert whole(stages) == Entry(7, 1, 8, 1)
    assert stages[0].total == whole(stages).total == 17


def test_an_account_by_names() -> None:
    found = account(
        [
            ["a.ready", "b.1.working", "c.failed", "d.failed_twice", "d.failed_twice.input", ".c.attempts", "done"],
            ["e.ready", "f.3.writing.xml", "x.working", "g.failed_twice"],
            ["h.ready", "i.ready", "done", "b.1.writing.xml"],
        ]
    )
    assert found.stages == (Entry(4, 1, 2, 1), Entry(2, 1, 1, 0))
    assert found.failed_twice == (("d",), ("g",))
    assert (found.documents, found.twice) == (8, ())


def test_a_document_in_two_places_counts_where_it_is_last() -> None:
    assert account([["a.1.working", "b.ready"], ["a.ready"]]) == Account((Entry(1, 0, 1, 0),), ((),), ("a",))
    again = account([["a.ready", "a.failed_twice"], []])
    assert (again.documents, again.twice) == (1, ("a",))
