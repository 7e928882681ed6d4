"""A client on its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Paused, Received, Started, Unsent
from engine.parts.bulk import BulkSpec
from engine.parts.orders import ClockSet, Leave, StopRun
from engine.protocols.negotiated import SYSTEM, Options, names
from engine.protocols.negotiated import config as configs
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated.client import FIRST_ASK, Answered, Ask
from engine.protocols.negotiated.config import Config
from engine.protocols.negotiated.messages import MAX_BODY
from tests.helpers.examples import examples
from tests.helpers.negotiated import HERE, One

CONFIG = Config(1, 1.0, 30.0, ())
HEADER = {"config_type": "json", "config_version": 1, "config_hash": CONFIG.hash}


def linked() -> One:
    it = One(SYSTEM.client(Options(), HERE, 7).core)
    assert it.do(Started()) == ["CHECKCONFIG config_type=json"]
    assert it.told(names.CONFIG, HEADER, configs.encode(CONFIG, "json")) == []
    it.others.clear()
    return it


def ident(number: int) -> bytes:
    return number.to_bytes(8, "little")


def asked(number: int, service: str = "ping", body: int = 0) -> str:
    line = f"WORKREQUEST work_request_identifier={ident(number).hex()} service={service}"
    return f"{line} <{body} bytes>" if body else line


def reply(it: One, number: int, body: bytes = b"") -> list[str]:
    return it.told(names.WORKREPLY, {names.IDENTIFIER: ident(number)}, body)


def test_a_run_of_pings() -> None:
    it = linked()
    assert it.ordered(BulkSpec("ping", 3, in_flight=2)) == [asked(0), asked(1)]
    it.now += 0.25
    assert reply(it, 0) == [asked(2)]
    assert reply(it, 2) == [] and reply(it, 1) == []
    view = it.core.snapshot(it.now)
    assert view.run.passed and view.linked and view.late == 0 and it.others == []
    assert [(leg.id, leg.sent, leg.received) for leg in view.legs] == [(ident(0), 100.0, 100.25)]


def test_a_run_of_data_checks_the_size() -> None:
    it = linked()
    assert it.ordered(BulkSpec("data", 2, size=10)) == [asked(0, "data", 2), asked(1, "data", 2)]
    reply(it, 0, b"x" * 10)
    reply(it, 1, b"x" * 9)
    ledger = it.core.snapshot(it.now).run.ledger
    assert (ledger.succeeded, ledger.failed) == (1, (("wrong data", 1),))


def test_ids_go_on_from_run_to_run() -> None:
    it = linked()
    it.ordered(BulkSpec("ping", 1, timeout=1.0))
    it.at(101.0)
    assert it.core.snapshot(it.now).run.ledger.failed == (("timeout", 1),)
    assert asked(1) in it.ordered(BulkSpec("ping", 1))
    assert reply(it, 0) == [] and it.core.snapshot(it.now).late == 1
    reply(it, 1)
    assert it.core.snapshot(it.now).run.passed


def test_one_run_at_a_time_and_no_larger_data_than_a_frame() -> None:
    it = linked()
    it.ordered(BulkSpec("ping", 1))
    assert it.ordered(BulkSpec("ping", 1)) == [] and it.notes[-1] == ("warn", "a run is going on: stop it first")
    reply(it, 0)
    assert it.ordered(BulkSpec("data", 1, size=MAX_BODY + 1)) == []
    assert it.notes[-1] == ("warn", f"a task has 0 to {MAX_BODY:,} bytes of data: no run")


def test_stop_and_fire_and_forget() -> None:
    it = linked()
    it.ordered(BulkSpec("ping", 9, in_flight=1))
    it.ordered(StopRun())
    assert reply(it, 0) == [] and it.core.snapshot(it.now).run.stopped
    assert len(it.ordered(BulkSpec("ping", 2, tracked=False))) == 2
    assert reply(it, 9) == [] and it.core.snapshot(it.now).late == 0, "nobody asked for it"


def test_what_is_out_is_sent_again_when_the_link_comes_up_anew() -> None:
    it = linked()
    it.ordered(BulkSpec("ping", 5, in_flight=3))
    reply(it, 1)
    assert it.told(names.FORCENEGOTIATE, {}) == ["CHECKCONFIG config_type=json config_version=1"]
    assert reply(it, 0) == [], "nothing new is sent while it negotiates"
    assert it.told(names.CONFIG, HEADER) == [asked(2), asked(3), asked(4)]
    assert it.core.runs.again == 2


def test_a_run_waits_for_the_link_and_its_clock_does_not() -> None:
    it = One(SYSTEM.client(Options(), HERE, 7).core)
    it.do(Started())
    assert it.ordered(BulkSpec("ping", 2, rate=10.0)) == []
    assert it.core.wake_at() == 101.0, "not the run's, which can not be met"
    assert len(it.at(101.0)) == 1
    assert it.told(names.CONFIG, HEADER, configs.encode(CONFIG, "json")) == [asked(0), asked(1)]


@pytest.mark.parametrize(("code", "kind"), [(429, "refused"), (503, "undeliverable")])
def test_a_request_that_is_refused_has_failed_and_the_link_stays(code: int, kind: str) -> None:
    it = linked()
    it.ordered(BulkSpec("ping", 1))
    assert it.told(names.DISCONNECTERROR, {"code": code, "message": "", names.IDENTIFIER: ident(0)}) == []
    view = it.core.snapshot(it.now)
    assert view.linked and view.run.ledger.failed == ((kind, 1),)
    it.told(names.DISCONNECTERROR, {"code": code, "message": "", names.IDENTIFIER: ident(0)})
    assert it.core.snapshot(it.now).late == 1


def test_clock_pause_and_orders() -> None:
    it = linked()
    it.ordered(ClockSet(50.0))
    it.now = 120.0
    it.do(Paused(20.0))
    it.do(Unsent([b"x"], "full"))
    assert it.core.link.linked and it.core.link.wall_offset == 50.0 and it.core.undelivered == 1
    with pytest.raises(TypeError, match="takes no order"):
        it.ordered(Leave())


def test_what_an_operator_sees() -> None:
    it = linked()
    assert it.core.snapshot(it.now).terms == (
        ("broker", "tcp://127.0.0.1:6817"),
        ("link", "linked"),
        ("config_version", "1"),
        ("skew", "+0.00 s"),
        ("repeated", "0"),
    )
    it.told(names.DISCONNECTERROR, {"code": 408, "message": "clock"})
    view = it.core.snapshot(it.now)
    assert not view.linked and view.terms[-1] == ("told", "408")


@examples(100, derandomize=True, database=None)
@given(st.lists(st.lists(st.sampled_from(sorted(wire.TO_CLIENTS)) | st.binary(max_size=12), max_size=4), max_size=20))
def test_random_frames_change_nothing_and_are_counted(said: list[list[bytes]]) -> None:
    it = linked()
    it.ordered(BulkSpec("ping", 2))
    bad = [frames for frames in said if isinstance(wire.parse(frames, 0, wire.TO_CLIENTS), str)]
    for frames in bad:
        assert it.do(Received([frames])) == []
    assert it.core.violations.total == len(bad) and it.core.link.linked
    assert it.core.snapshot(it.now).run.ledger.in_flight == 2


def test_a_request_for_what_nobody_offers_has_a_kind_of_its_own_and_is_said_once() -> None:
    """O23. The broker names the service."""
    it = linked()
    it.ordered(BulkSpec("ping", 2))
    it.notes.clear()
    for task in (0, 1):
        header = {"code": 503, "message": "nobody offers ping", names.IDENTIFIER: ident(task), "service": "ping"}
        assert it.told(names.DISCONNECTERROR, header) == []
    view = it.core.snapshot(it.now)
    assert view.linked and view.run.ledger.failed == (("not offered", 2),)
    assert it.notes == [("bad", "the broker says 503: nobody offers ping")]


def test_a_request_of_an_order_is_answered_or_refused_beside_any_run() -> None:
    it = linked()
    assert it.ordered(Ask("upper", b"x")) == [asked(FIRST_ASK + 1, "upper", 1)]
    assert reply(it, FIRST_ASK + 1, b"X") == []
    assert it.core.snapshot(it.now).answers == (Answered("upper", b"X", ""),)
    it.ordered(Ask("upper", b"y"))
    refused = {"code": 503, "message": "nobody offers upper", names.IDENTIFIER: ident(FIRST_ASK + 2)}
    it.told(names.DISCONNECTERROR, {**refused, "service": "upper"})
    assert it.core.snapshot(it.now).answers[-1] == Answered("upper", b"", "nobody offers upper")
    it.ordered(Ask("a b", b""))
    assert it.core.snapshot(it.now).answers[-1].error == "no such request can be sent"
    assert it.core.undelivered == 0 and it.core.snapshot(it.now).late == 0


def test_an_error_in_a_reply_is_a_failure_of_that_task_alone() -> None:
    it = linked()
    it.ordered(BulkSpec("ping", 2, in_flight=2))
    it.told(names.WORKREPLY, {names.IDENTIFIER: ident(0), names.ERROR: "no"})
    reply(it, 1)
    ledger = it.core.snapshot(it.now).run.ledger
    assert (ledger.succeeded, ledger.failed) == (1, (("error reply", 1),))


def test_a_request_that_is_out_is_asked_again_on_a_new_link() -> None:
    it = linked()
    it.ordered(Ask("upper", b"x"))
    assert it.told(names.FORCENEGOTIATE, {}) == ["CHECKCONFIG config_type=json config_version=1"]
    assert it.told(names.CONFIG, HEADER) == [asked(FIRST_ASK + 1, "upper", 1)]
