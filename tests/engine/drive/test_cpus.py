"""Engine threads share a processor; nobody else is moved."""

from __future__ import annotations

import os
import threading

import pytest

from engine.drive import cpus


@pytest.mark.skipif(len(cpus.ALL) < 2, reason="one processor, or a system that does not tell")
def test_a_thread_shares_one_processor_and_the_others_keep_theirs() -> None:
    seen: list[set[int]] = []

    def engine() -> None:
        cpus.share_one()
        seen.append(os.sched_getaffinity(0))

    thread = threading.Thread(target=engine)
    thread.start()
    thread.join()
    assert seen == [{max(cpus.ALL)}]
    assert os.sched_getaffinity(0) == cpus.ALL


def test_where_nothing_is_known_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpus, "ALL", frozenset())
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    cpus.share_one()
    assert before is None or os.sched_getaffinity(0) == before
