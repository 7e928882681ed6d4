"""What scripts may say of tasks and of documents."""

from __future__ import annotations

import pytest

from engine.catalogue import CATALOGUE
from engine.errors import Refused
from engine.faults.terms import Crew, Feed, queue_order, terms_of, words_of
from engine.labs.queuesandbox import STAGES
from engine.parts.bulk import BulkSpec
from engine.protocols.diskqueue.pipeline import Stage

TASKS, QUEUES = terms_of(CATALOGUE["roundrobin"]), terms_of(CATALOGUE["diskqueue"])


def test_who_is_there() -> None:
    assert TASKS.crew({}) == Crew(10, 10) and TASKS.crew({"workers": 3}) == Crew(3, 10)
    assert QUEUES.crew({}) == Crew(4, 1, STAGES)
    assert QUEUES.crew({"stages": ("a=2", "b")}) == Crew(3, 1, (Stage("a", 2), Stage("b", 1)))
    for wrong, words in ((("a=0",), "workers are"), ((), "1 to 50 stages"), (("a", "a"), "there twice")):
        with pytest.raises(Refused, match=words):
            QUEUES.crew({"stages": wrong})


def test_runs_are_of_tasks_or_of_documents() -> None:
    assert TASKS.run("bulkping 5", {"rate": 2.0}) == BulkSpec("ping", 5, 0, 10, 2.0, 5.0)
    assert QUEUES.run("feed 5", {}) == Feed(5, None) and QUEUES.run("feed 5", {"rate": 2.0}) == Feed(5, 2.0)
    for terms, wrong in ((TASKS, "feed 5"), (QUEUES, "bulkping 5"), (QUEUES, "feed"), (QUEUES, "feed 10001")):
        with pytest.raises(Refused):
            terms.run(wrong, {})


def test_faults_are_the_systems_own() -> None:
    TASKS.fault("cut w3 5")
    QUEUES.fault("full 5")
    for terms, wrong in ((TASKS, "full 5"), (QUEUES, "cut w3 5")):
        with pytest.raises(Refused, match="no fault"):
            terms.fault(wrong)


def test_orders() -> None:
    assert words_of("add 3", {"add": True}) == ("add", 3) and queue_order("pause parse") == ("pause", "parse")
    assert queue_order("done") == ("done", "")
    for wrong, words in (
        ("pause", "pause needs a stage"),
        ("done x", "done takes nothing after it, got 'x'"),
        ("stop", "no 'stop'; there are add, remove, pause, resume, done"),
    ):
        with pytest.raises(Refused) as refused:
            QUEUES.order(wrong)
        assert str(refused.value) == words
