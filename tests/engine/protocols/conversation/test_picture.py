"""The broker as an operator sees it."""

from __future__ import annotations

from engine.core import NEVER
from tests.helpers.conversation import Bench


def bench(*lines: str) -> Bench:
    made = Bench()
    for line in lines:
        made.do(line)
    return made


def test_rows_speak_the_seeds_words() -> None:
    one = bench("open p1", "say p1 OK(3)", "open t1", "say t1 OK(1)", "open p2", "ask c1 1 submit echo 2")
    view = one.broker.snapshot(one.now)
    first, second = view.workers  # p2 has not joined
    assert (first.key, first.name, first.state, first.slots, first.free, first.in_flight) == (
        b"p1",
        "p1",
        "ready",
        3,
        2,
        1,
    )
    assert first.terms == (
        ("state", "SV_LOOP2"),
        ("nproc", "3"),
        ("max_nproc", "3"),
        ("running", "1"),
        ("over", "zmq"),
    )
    assert first.lost_at == one.now + 3.0
    assert (second.key, second.name, second.state, second.free) == (b"\0stream-t1", "tcp2", "busy", 0)
    assert second.lost_at == NEVER and second.terms[-1] == ("over", "tcp")
    assert (view.backlog, view.in_flight, view.ledger.balanced) == (0, 2, True)
    terms = dict(view.terms)
    assert (terms["greeting"], terms["jobs"], terms["SV_INIT1"], terms["SV_INIT2"]) == ("1", "1", "3", "2")


def test_an_unchanged_worker_keeps_its_row() -> None:
    one = bench("open p1", "say p1 OK(3)", "open p2", "say p2 OK(3)")
    before = one.broker.snapshot(one.now).workers
    one.do("say p2 UPDATE 9/9 done free 2")
    after = one.broker.snapshot(one.now).workers
    assert after[0] is before[0] and after[1] is not before[1]
    assert dict(after[1].terms)["nproc"] == "2"


def test_late_and_drain() -> None:
    one = bench("open p1", "say p1 OK(3)")
    assert one.broker.snapshot(one.now + 2.0).workers[0].state == "ready"
    assert one.broker.snapshot(one.now + 2.1).workers[0].state == "late"
    one.do("order broker drain p1")
    assert one.broker.snapshot(one.now + 2.1).workers[0].state == "drain"
