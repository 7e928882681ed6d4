"""What each message means at a broker that serves; the dialogues of the seed are in the transcripts."""

from __future__ import annotations

from typing import Any

import pytest

from engine.core import NEVER, Paused, Unsent
from engine.parts import limits
from engine.parts.orders import Drain
from engine.protocols.negotiated import dispatcher as dispatcher_module
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names
from engine.protocols.negotiated import service as module
from tests.helpers.negotiated import One, books, broker, busy, counters, given


def states(it: One) -> dict[str, str]:
    return {row.key.decode(): row.state for row in it.core.snapshot(it.now).workers}


def test_a_task_from_client_to_worker_and_back() -> None:
    it = busy("w")
    assert it.ask(b"1") == [given("w", b"1")]
    assert books(it) == (1, 0, {}, 1, 0) and states(it) == {"w": "busy"}
    assert it.reply("w", b"1") == ["frontend c WORKREPLY work_request_identifier=1"]
    assert books(it) == (1, 1, {}, 0, 0) and states(it) == {"w": "ready"}
    assert it.reply("w", b"1") == [] and counters(it) == {"late": 1}
    assert it.notes == [] and it.others == []


def test_the_broker_does_not_look_at_bodies() -> None:
    it = busy("w")
    body = b"\xff" * 1000
    header = {names.IDENTIFIER: b"1", "service": "ping"}
    assert it.told(names.WORKREQUEST, header, body, "c", "frontend") == [given("w", b"1") + " <1000 bytes>"]
    identifier = {names.IDENTIFIER: wire.task_identifier((b"c", b"1"))}
    assert it.told(names.WORKREPLY, identifier, body, "w") == [
        "frontend c WORKREPLY work_request_identifier=1 <1000 bytes>"
    ]


def test_a_reply_by_another_worker_than_the_one_that_holds_it_is_late() -> None:
    it = busy("a", "b")
    assert it.ask(b"1") == [given("a", b"1")]
    assert it.reply("b", b"1") == []
    assert counters(it) == {"late": 1} and books(it) == (1, 0, {}, 1, 0)


def test_requests_of_two_clients_under_one_id_are_two() -> None:
    it = busy("a", "b")
    it.client("d")
    assert it.ask(b"1") == [given("a", b"1")]
    assert it.ask(b"1", peer="d") == [given("b", b"1").replace("63.", "64.")]


def test_a_service_without_workers_waits_for_one() -> None:
    it = busy("w")
    assert it.ask(b"1", "render") == []
    assert books(it) == (1, 0, {}, 0, 1)
    assert it.ready("v", "render") == ["v READYOK", given("v", b"1").replace("=ping", "=render")]


def test_expiry_gives_tasks_to_others_in_order() -> None:
    it = busy("a")
    it.ready("a", slots=2)
    assert it.ask(b"1") == [given("a", b"1")] and it.ask(b"2") == [given("a", b"2")]
    it.now = 101.0
    it.ready("b", slots=2)
    it.client()
    assert it.at(102.9) == []
    assert it.at(103.0) == [given("b", b"1")], "alone"
    assert it.notes[-1] == ("bad", "w1 is silent: expired, 2 tasks taken back")
    assert it.reply("a", b"1") == ["a FORCENEGOTIATE"]
    assert counters(it)["redelivered"] == 2 and books(it) == (2, 0, {}, 1, 1)
    assert it.reply("b", b"1")[1:] == [given("b", b"2")]


def test_a_worker_that_can_not_be_reached_is_gone() -> None:
    it = busy("a")
    it.ask(b"1")
    it.now = 101.0
    it.ready("b")
    header = {"time": it.now, "config_version": 1, "service": "ping"}
    header[names.IDENTIFIER] = wire.task_identifier((b"c", b"1"))
    frames = [b"a", *wire.build(names.WORKREQUEST, header)]
    assert it.do(Unsent(frames, "unreachable")) == [given("b", b"1")]
    assert states(it) == {"b": "busy"}
    assert it.do(Unsent([b"a", *wire.build(names.PONG, {})], "unreachable")) == []
    assert it.do(Unsent([b"c", *wire.build(names.WORKREPLY, {})], "full", "frontend")) == []
    assert counters(it)["unsent"] == 3


def test_too_many_deliveries_fail_the_task_and_say_so() -> None:
    it = busy("w", max_deliveries=2)
    it.ask(b"1")
    assert it.ready("w") == ["w READYOK", given("w", b"1")]
    assert it.ready("w") == ["frontend c DISCONNECTERROR code=503 work_request_identifier=1", "w READYOK"]
    assert books(it) == (1, 0, {"undeliverable": 1}, 0, 0)


def test_a_long_held_task_is_asked_after_and_a_lost_one_given_again() -> None:
    it = busy("w", heartbeat=100.0, doubt=4.0)
    it.ready("w", heartbeat_interval=100.0, slots=2)
    it.ask(b"1")
    it.ask(b"2")
    assert it.core.wake_at() == 102.0
    assert it.at(102.0) == []
    assert it.at(104.0) == ["w FORCENEGOTIATE"]
    assert it.at(106.0) == [], "not asked again so soon"
    held: dict[str, Any] = {"heartbeat_interval": 100.0, "slots": 2, "holding": [wire.task_identifier((b"c", b"2"))]}
    assert it.ready("w", **held) == ["w READYOK"], "it holds another"
    assert it.reply("w", b"2")[1:] == [given("w", b"1")] and it.reply("w", b"1")
    it.at(108.0)
    it.at(110.0)
    assert it.core.service._doubt_at == NEVER, "nothing is out, nothing to look through"


def test_what_is_given_while_a_worker_negotiates_is_on_its_way_and_not_lost() -> None:
    """O21."""
    it = busy("w")
    it.ready("w", slots=3)
    it.ask(b"1")
    it.now += 0.1
    assert it.told(names.CHECKCONFIG, {"config_type": "json", "config_version": 1}, peer="w")
    it.now += 0.1
    assert it.ask(b"2") == [given("w", b"2")]
    it.now += 0.1
    assert it.ready("w", slots=3) == ["w READYOK"] and books(it) == (2, 0, {}, 1, 1)
    assert it.reply("w", b"2")[1:] == [given("w", b"1")], "what it was given before is lost"
    assert it.ready("w", slots=3) == ["w READYOK", given("w", b"1")], "a READY by itself tells of all"


def test_a_ping_tells_what_a_worker_holds_and_what_was_lost_goes_to_it_again() -> None:
    """O1. Nothing else tells where a message was lost and no connection broke."""
    it = busy("w")
    it.ready("w", slots=2)
    it.ask(b"1")
    it.ask(b"2")
    ping: dict[str, Any] = {"config_version": 1, "holding": [wire.task_identifier((b"c", b"2"))]}
    it.now = 102.0
    assert it.told(names.PING, {**ping, "time": it.now}, peer="w") == ["w PONG config_version=1"], (
        "it may be on its way"
    )
    it.client()
    it.now = 102.1
    assert it.told(names.PING, {"config_version": 1, "time": it.now}, peer="w") == ["w PONG config_version=1"]
    assert books(it) == (2, 0, {}, 2, 0), "one that does not say what it holds is believed"
    assert it.told(names.PING, {**ping, "time": it.now}, peer="w") == ["w PONG config_version=1"]
    assert books(it) == (2, 0, {}, 1, 1) and counters(it)["redelivered"] == 1
    assert it.reply("w", b"2")[1:] == [given("w", b"1")]


def test_our_own_pause_does_not_make_a_task_old() -> None:
    it = busy("w")
    it.ask(b"1")
    it.now = 110.0
    it.do(Paused(10.0))
    assert it.told(names.PING, {"config_version": 1, "time": it.now, "holding": []}, peer="w") == [
        "w PONG config_version=1"
    ]
    assert books(it) == (1, 0, {}, 1, 0)


def test_drain_at_once_where_nothing_is_held_and_unknown_workers() -> None:
    it = busy("w")
    assert it.ordered(Drain(b"w")) == ["w DISCONNECTERROR code=403"]
    assert states(it) == {}
    assert it.ordered(Drain(b"w")) == []
    assert it.notes[-1] == ("warn", "there is no such worker to drain")


def test_a_draining_worker_that_negotiates_again_stays_one() -> None:
    it = busy("w")
    it.ask(b"1")
    assert it.ordered(Drain(b"w")) == []
    it.ask(b"2")
    assert it.ready("w", holding=[wire.task_identifier((b"c", b"1"))]) == ["w READYOK"]
    assert states(it) == {"w": "drain"}
    assert it.reply("w", b"1")[-1] == "w DISCONNECTERROR code=403"
    assert states(it) == {} and books(it) == (2, 1, {}, 0, 1)


@pytest.mark.parametrize("skew", [29.9, -29.9])
def test_skew_is_measured_and_borne(skew: float) -> None:
    it = busy("w")
    assert it.told(names.PING, {"time": it.now + skew, "config_version": 1}, peer="w") == ["w PONG config_version=1"]
    (row,) = it.core.snapshot(it.now).workers
    assert dict(row.terms)["skew"] == f"{skew:+.2f} s"


@pytest.mark.parametrize("skew", [30.1, -30.1])
def test_a_client_with_a_wrong_clock_is_put_out(skew: float) -> None:
    it = busy()
    header = {"time": it.now + skew, "config_version": 1}
    assert it.told(names.PING, header, peer="c", socket="frontend") == ["frontend c DISCONNECTERROR code=408"]
    assert it.ask(b"1") == ["frontend c FORCENEGOTIATE"]
    assert it.notes == [("bad", "violation: 408 wall clock is wrong")]


def test_a_worker_put_out_for_its_clock_gives_its_tasks_back() -> None:
    it = busy("w", "v")
    it.ask(b"1")
    out = it.told(names.PING, {"time": it.now + 31.0, "config_version": 1}, peer="w")
    assert out == ["w DISCONNECTERROR code=408", given("v", b"1")]


def test_clients_that_are_silent_are_forgotten() -> None:
    it = busy()
    assert it.at(103.0) == []
    assert it.ask(b"1") == ["frontend c FORCENEGOTIATE"] and counters(it)["clients expired"] == 1


def test_too_many_are_told_429(monkeypatch: pytest.MonkeyPatch) -> None:
    it = busy("w")
    monkeypatch.setattr(module, "MAX_WORKERS", 1)
    monkeypatch.setattr(module, "MAX_CLIENTS", 1)
    assert limits.MAX_WORKERS > 1
    assert it.ready("v") == ["v DISCONNECTERROR code=429"] and it.ready("w") == ["w READYOK"]
    assert it.client("d") == ["frontend d DISCONNECTERROR code=429"] and it.client("c")[0].startswith(
        "frontend c CONFIG"
    )
    monkeypatch.setattr(module, "MAX_QUEUES", 1)
    assert it.ready("w", "ping new") == ["w DISCONNECTERROR code=429"] and it.ready("w") == ["w READYOK"]


def test_the_backlog_is_bounded_but_a_ready_worker_is_served() -> None:
    it = busy("w", max_backlog=0)
    assert it.ask(b"1") == [given("w", b"1")]
    assert it.ask(b"2") == ["frontend c DISCONNECTERROR code=429 work_request_identifier=2"]
    assert books(it) == (1, 0, {}, 1, 0) and counters(it) == {"denied": 1}


def test_fewer_slots_than_tasks_are_as_many_as_tasks() -> None:
    it = busy()
    it.ready("w", slots=2)
    it.ask(b"1")
    it.ask(b"2")
    holding = [wire.task_identifier((b"c", task_id)) for task_id in (b"1", b"2")]
    assert it.ready("w", slots=1, holding=holding) == ["w READYOK"]
    (row,) = it.core.snapshot(it.now).workers
    assert (row.slots, row.free) == (2, 0)


def test_goodbye_twice_is_once() -> None:
    it = busy("w")
    assert it.ready("w", "") == ["w READYOK"] and it.ready("w", "") == ["w READYOK"]
    assert states(it) == {} and it.notes == [("info", "w1 left")]


def test_bodies_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatcher_module, "MAX_HELD", 10)
    it = busy("w")

    def ask(task_id: bytes, size: int) -> list[str]:
        return it.told(names.WORKREQUEST, {names.IDENTIFIER: task_id, "service": "ping"}, bytes(size), "c", "frontend")

    assert ask(b"1", 6) == [given("w", b"1") + " <6 bytes>"]
    (refusal,) = ask(b"2", 5)
    assert "DISCONNECTERROR" in refusal and f"code={names.TOO_MANY}" in refusal
    assert it.reply("w", b"1") == ["frontend c WORKREPLY work_request_identifier=1"]
    assert ask(b"2", 5) == [given("w", b"2") + " <5 bytes>"]
    assert books(it) == (2, 1, {}, 1, 0)


@pytest.mark.parametrize("socket", ["main", "frontend"])
def test_a_routing_id_that_is_too_long_is_refused_at_its_first_message(socket: str) -> None:
    """O16. Our other end would refuse what is given to it; so it never has a row, nor a task."""
    it, long = busy(), "x" * 256
    if socket == "main":
        assert it.ready(long) == [f"{long} DISCONNECTERROR code=400"]
    else:
        assert it.client(long) == [f"frontend {long} DISCONNECTERROR code=400"]
        assert it.ask(b"1", peer=long) == [f"frontend {long} DISCONNECTERROR code=400"]
    assert states(it) == {} and books(it) == (0, 0, {}, 0, 0)
    assert all(len(incident.peer) == 255 for incident in it.core.snapshot(it.now).incidents)
    assert it.notes == [("bad", "violation: 400 routing id too long")]
    assert it.ready("x" * 255) == ["x" * 255 + " READYOK"]


def test_ready_before_checkconfig_gets_its_code_and_is_sent_to_the_beginning() -> None:
    """O29."""
    it = broker()
    header = {"services": ["ping"], "heartbeat_interval": 1.0, "time": it.now, "config_version": 1}
    told = it.told(names.READY, header, peer="w")
    assert told == ["w DISCONNECTERROR code=426", "w FORCENEGOTIATE"] and states(it) == {}
    it.told(names.CHECKCONFIG, {"config_type": "json"}, peer="w")
    assert it.told(names.READY, header, peer="w") == ["w READYOK"] and states(it) == {"w": "ready"}


def test_time_and_version_of_a_clients_request_are_looked_at_where_they_are_there() -> None:
    it = busy("w")
    header = {names.IDENTIFIER: b"1", "service": "ping", "time": it.now, "config_version": 2}
    told = it.told(names.WORKREQUEST, header, peer="c", socket="frontend")
    assert told == ["frontend c DISCONNECTERROR code=426", "frontend c FORCENEGOTIATE", given("w", b"1")]
    header |= {names.IDENTIFIER: b"2", "time": it.now + 3600.0}
    assert it.told(names.WORKREQUEST, header, peer="c", socket="frontend") == ["frontend c DISCONNECTERROR code=408"]
    assert b"c" not in it.core.service.clients
