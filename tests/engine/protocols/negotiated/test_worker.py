"""A worker on its own; its dialogues are in the transcripts."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Cancel, Exit, Finished, Paused, Piped, Received, Save, Start, Started, Unsent
from engine.parts.orders import ClockSet, Leave, Slow, StopRun
from engine.protocols.negotiated import SYSTEM, Options, names
from engine.protocols.negotiated import config as configs
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated.config import Config
from tests.helpers.examples import examples
from tests.helpers.negotiated import HERE, One

CONFIG = Config(1, 1.0, 30.0, ())
A, B, C = (wire.task_identifier((b"c", task_id)) for task_id in (b"a", b"b", b"c"))


def worker(slots: int = 2, **options: Any) -> One:
    return One(SYSTEM.worker(Options(**options), HERE, 7, slots).core)


def linked(slots: int = 2, **options: Any) -> One:
    it = worker(slots, **options)
    it.do(Started())
    header = {"config_type": "json", "config_version": 1, "config_hash": CONFIG.hash}
    it.told(names.CONFIG, header, configs.encode(CONFIG, "json"))
    assert it.told(names.READYOK, {"time": it.now, "heartbeat_interval": 1.0}) == []
    assert [type(command) for command in it.others] == [Save]
    it.others.clear()
    return it


def request(it: One, identifier: bytes, service: str = "ping", body: bytes = b"") -> list[str]:
    header = {"time": it.now, "config_version": 1, names.IDENTIFIER: identifier, "service": service}
    return it.told(names.WORKREQUEST, header, body)


def reply(identifier: bytes, size: int = 0) -> str:
    return f"WORKREPLY work_request_identifier={identifier.decode()}" + (f" <{size} bytes>" if size else "")


def test_what_it_says_of_itself() -> None:
    it = worker(slots=5, services="render, ping,ping")
    assert it.do(Started()) == ["CHECKCONFIG config_type=json"]
    header = {"config_type": "json", "config_version": 1, "config_hash": CONFIG.hash}
    assert it.told(names.CONFIG, header, configs.encode(CONFIG, "json")) == [
        "READY services=render,ping slots=5 holding=none config_version=1"
    ]


@pytest.mark.parametrize("services", ["", " , ", "a b", "x" * 65])
def test_services_without_names_are_refused_at_the_start(services: str) -> None:
    with pytest.raises(ValueError, match=r"negotiated\.services"):
        worker(services=services)


def test_ping_and_data_are_answered_at_once() -> None:
    """O12."""
    it = linked()
    assert request(it, A, "ping", b"abc") == [reply(A, 3)]
    assert request(it, B, "data", b"1000") == [reply(B, 1000)]
    for body in (b"", b"-1", b"x", b"99999999999"):
        assert request(it, C, "data", body) == [reply(C)]
    assert it.core.done == 6 and it.core.holding == {} and it.others == []


def error(identifier: bytes, why: str) -> str:
    return f"{reply(identifier)} error={why}"


def test_another_service_is_run_by_the_command_that_its_operator_named() -> None:
    """O28. The data is its input, never a word of it; its output is the reply."""
    it = linked(services="ping,render=draw -q 'a b'\\,c")
    assert it.core.services == ["ping", "render"]
    assert request(it, A, "render", b"; rm x") == []
    assert it.others == [Start(A, Piped(("draw", "-q", "a b,c"), b"; rm x"))]
    assert it.core.snapshot(it.now).running == 1
    assert it.do(Finished(A, True, b"yes")) == [reply(A, 3)]
    assert it.do(Finished(A, True, b"late")) == [], "and nothing else is sent"


def test_what_fails_or_is_run_by_nothing_is_answered_with_an_error() -> None:
    it = linked(services="ping,render=draw,idle")
    request(it, A, "render")
    assert it.do(Finished(A, False, b"exit\x1b status 3")) == [error(A, "exit· status 3")]
    assert request(it, B, "idle") == [error(B, "this worker runs nothing for idle")]
    assert request(it, C, "other") == [error(C, "this worker does not offer other")]
    assert ("warn", "nothing runs idle: requests get an error") in it.notes and it.core.holding == {}


def test_a_command_that_takes_too_long_is_ended_and_its_client_is_told() -> None:
    it = linked(services="render=draw", service_seconds=5.0)
    request(it, A, "render")
    assert it.core.wake_at() <= it.now + 5.0
    for _ in range(5):
        it.told(names.PONG, {"time": it.now, "echo": it.now, "config_version": 1})
        it.at(it.now + 1.0)
    assert it.others == [Start(A, Piped(("draw",), b"")), Cancel(A)]
    assert it.do(Finished(A, False, b"killed")) == [error(A, "it took longer than 5 s")]


def test_never_more_than_its_slots_and_nothing_twice() -> None:
    it = linked(slots=1)
    it.ordered(Slow(5.0))
    assert request(it, A) == [] and request(it, A) == [] and request(it, B) == []
    assert it.core.refused == 2 and list(it.core.holding) == [A]


def test_slow_answers_each_task_after_a_while_and_at_once_again() -> None:
    it = linked()
    it.ordered(Slow(0.5))
    assert request(it, A) == []
    it.now += 0.2
    assert request(it, B) == [] and it.core.wake_at() == 100.5
    assert it.at(100.5) == [reply(A)] and it.core.wake_at() == 100.7
    assert it.ordered(Slow(0.0)) == [reply(B)]
    assert request(it, C) == [reply(C)]


def test_work_goes_on_while_it_negotiates_anew() -> None:
    it = linked()
    assert it.told(names.FORCENEGOTIATE, {}) == ["CHECKCONFIG config_type=json config_version=1"]
    assert request(it, A) == [reply(A)]


def test_ready_says_what_it_holds() -> None:
    it = linked()
    it.ordered(Slow(9.0))
    request(it, A)
    request(it, B)
    it.told(names.FORCENEGOTIATE, {})
    header = {"config_type": "json", "config_version": 1, "config_hash": CONFIG.hash}
    assert it.told(names.CONFIG, header) == [
        f"READY services=ping,data slots=2 holding={A.decode()},{B.decode()} config_version=1"
    ]


def test_leaving_with_nothing_held() -> None:
    it = linked()
    assert it.ordered(Leave()) == ["READY services=none slots=2 holding=none config_version=1"]
    assert request(it, A) == [] and it.core.refused == 1, "none after the goodbye"
    assert it.ordered(Leave()) == []
    assert it.told(names.READYOK, {"time": it.now, "heartbeat_interval": 1.0}) == []
    assert it.others == [Exit("left")] and it.at(200.0) == []


def test_leaving_without_an_answer() -> None:
    it = linked()
    it.ordered(Leave())
    assert it.core.wake_at() == 101.0 and it.at(101.0) == []
    assert it.others == [Exit("left; the broker did not say READYOK")]


def test_leaving_before_it_had_joined() -> None:
    it = worker()
    it.do(Started())
    assert it.ordered(Leave()) == [] and it.others == [Exit("left before it had joined")]


def test_clock_pause_and_orders() -> None:
    it = linked()
    it.ordered(ClockSet(50.0))
    assert it.core.link.wall_offset == 50.0
    it.now = 120.0
    it.do(Paused(20.0))
    assert it.core.link.linked and it.notes[-1] == ("warn", "the worker was paused for 20 s")
    with pytest.raises(TypeError, match="takes no order"):
        it.ordered(StopRun())
    it.do(Unsent([b"x"], "full"))
    assert it.core.refused == 1


def test_what_an_operator_sees() -> None:
    it = linked()
    view = it.core.snapshot(it.now)
    assert (view.state, view.slots, view.running, view.done, view.joined) == ("linked", 2, 0, 0, True)
    assert view.terms[:3] == (("broker", HERE), ("link", "linked"), ("services", "ping, data"))
    it.told(names.DISCONNECTERROR, {"code": 408, "message": "clock"})
    view = it.core.snapshot(it.now)
    assert (view.state, view.joined, view.terms[-1]) == ("out", False, ("told", "408"))


@examples(100, derandomize=True, database=None)
@given(st.lists(st.lists(st.sampled_from(sorted(wire.TO_WORKERS)) | st.binary(max_size=12), max_size=4), max_size=20))
def test_random_frames_change_nothing_and_are_counted(said: list[list[bytes]]) -> None:
    it = linked()
    bad = [frames for frames in said if isinstance(wire.parse(frames, 0, wire.TO_WORKERS), str)]
    for frames in bad:
        assert it.do(Received([frames])) == []
    assert it.core.violations.total == len(bad)
    assert it.core.link.linked and it.core.holding == {} and it.others == []
