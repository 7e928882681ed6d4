"""Disk queues under everything at once: each document is there exactly once in the end.

With ``ROUNDHOUSE_SLOW`` at its real scale, 1,000 documents; ``python -m tests.chaos.diskqueue`` plays other ones.
"""

from __future__ import annotations

import os

import pytest

from tests.chaos.diskqueue import DRIVERS, Figures, play, why_not

slow = pytest.mark.skipif(not os.environ.get("ROUNDHOUSE_SLOW"), reason="1,000 documents: set ROUNDHOUSE_SLOW")


def judged(figures: Figures) -> None:
    assert not figures.wrong, str(figures)
    assert figures.published + figures.failed_twice.total() == figures.documents
    assert figures.watchdogs["status 0"] == 1
    assert 0 < figures.most_drivers <= 2 * DRIVERS


@pytest.mark.parametrize(("documents", "faults"), [(100, 12), pytest.param(1000, 100, marks=slow)])
def test_kills_collisions_full_and_forbidden_folders_leave_each_document_exactly_once(
    documents: int, faults: int
) -> None:
    if reason := why_not():
        pytest.skip(reason)
    judged(play(documents, seed=documents, faults=faults))


def test_what_is_wrong_is_told_by_the_documents_name() -> None:
    figures = Figures(3, published=1, wrong=["doc-1.txt: LOST", "doc-2.txt: published and failed twice in parse"])
    assert str(figures).endswith("wrong: 2\ndoc-1.txt: LOST\ndoc-2.txt: published and failed twice in parse")
    with pytest.raises(AssertionError, match="LOST"):
        judged(figures)
