"""Stages, layout, surveys, log lines."""

from __future__ import annotations

import pytest

from engine.protocols.diskqueue import pipeline
from engine.protocols.diskqueue.pipeline import Counts, DocumentRow, Holder, Stage, check_stages, parse_stage, survey


def test_stages_as_the_command_line_writes_them() -> None:
    assert parse_stage("values=1") == Stage("values", 1, "copy")
    assert parse_stage("parse=3", "upper") == Stage("parse", 3, "upper")
    assert parse_stage("output") == Stage("output", 1, "copy")


@pytest.mark.parametrize("text", ["", "=1", "a=", "a=0", "a=1001", "a=-1", "a=x", "start=1", "a b=1", "a/b=1", ".a=1"])
def test_what_is_no_stage_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="stage"):
        parse_stage(text)


def test_a_pipeline_needs_stages_of_different_names() -> None:
    with pytest.raises(ValueError, match="twice"):
        check_stages([Stage("a"), Stage("a")])
    with pytest.raises(ValueError, match="1 to 50"):
        check_stages([])


def test_the_layout_is_the_originals() -> None:
    stages = check_stages([Stage("values"), Stage("parse")])
    assert [pipeline.source(stages, index) for index in range(2)] == ["start", "values"]
    assert pipeline.queue_folder("/r", "parse") == "/r/queue-parse"
    assert pipeline.worker_folder("/r", "7") == "/r/worker-7"
    assert pipeline.worker_number("worker-7") == "7"
    assert pipeline.worker_number("worker-x") is None
    assert pipeline.worker_number("queue-7") is None


def test_a_survey_counts_by_state() -> None:
    items = "a.ready b.ready .ready c.1.working d.2.writing.xml e.failed f.failed_twice f.failed_twice.input x.working"
    found = survey([*items.split(), ".f.attempts", ".1.working.lock", ".9.writing.lock", "done", "note"])
    assert found.counts == Counts(2, 1, 1, 1, 1, 2, True)
    assert found.counts.live == 5
    assert found.held == (Holder("c", "working", "1"), Holder("d", "writing", "2"))
    assert found.locks == ("1",)
    assert found.some == (
        Holder("a", "ready", ""),
        Holder("b", "ready", ""),
        Holder("e", "failed", ""),
        Holder("f", "failed_twice", ""),
    )


def test_of_many_documents_some_stand_by_name() -> None:
    found = survey([f"{i}.{state}" for i in range(300) for state in ("ready", "failed", "failed_twice")])
    assert (found.counts.ready, found.counts.failed, found.counts.failed_twice) == (300, 300, 300)
    assert len(found.some) == 3 * pipeline.SOME


def test_of_many_that_are_no_documents_some_are_named_and_all_are_counted() -> None:
    found = survey([], ((f"x{i}.ready", "a folder") for i in range(2 * pipeline.SOME)))
    assert (found.counts.strange, len(found.odd)) == (2 * pipeline.SOME, pipeline.SOME)


def test_a_log_line_comes_back_as_a_row_and_a_torn_one_as_none() -> None:
    row = pipeline.log_line("1.500\tfailed\t2\t17\tdoc.a\tno good\n", "parse", "3")
    assert row == DocumentRow(1.5, "parse", "3", "doc.a", "failed", 2, 17.0, "no good")
    for torn in ("", "1.5\tfailed", "x\tfailed\t2\t17\tdoc\t", "1\tfailed\t3\t17\tdoc\t", "1\tfailed\t1\t17\t.doc\t"):
        assert pipeline.log_line(torn, "parse", "3") is None
