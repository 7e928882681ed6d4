from __future__ import annotations

from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Connected, Disconnected, Note, Paused, Received, Send, Started
from engine.parts.orders import ClockSet, Leave
from engine.protocols.negotiated import (
    SYSTEM,
    Configure,
    HandBack,
    Options,
    Publish,
    Serve,
    ShowPair,
    backup,
    names,
    primary,
)
from engine.protocols.negotiated import broker as module
from engine.protocols.negotiated import messages as wire
from tests.helpers.examples import examples
from tests.helpers.negotiated import FALLBACK, HERE, One, Stage

PAIR = Options(fallback=FALLBACK)


def single() -> One:
    return One(SYSTEM.broker(Options(), (HERE,)).core)


def started(make: Any) -> One:
    it = One(make(PAIR, (HERE,)).core)
    it.do(Started())
    return it


def beat(it: One, state: str, replica: int = -1) -> list[str]:
    """The other broker says its state, having heard what was said last."""
    header = {"state": state, "sequence": 1, "echo": it.core.pair.standby.sequence, "replica": replica}
    peer = "fallback" if it.core.pair.role == "primary" else ""
    return it.told(names.BROKERSTATE, header, peer=peer, socket="peer")


def test_orders_that_it_does_not_take_are_our_own_mistake() -> None:
    with pytest.raises(TypeError, match="takes no order"):
        single().ordered(Leave())
    with pytest.raises(ValueError, match="no config_version"):
        single().ordered(Publish(-1))


def test_the_clock_can_be_set() -> None:
    it = single()
    it.ordered(ClockSet(1_000_000.0))
    it.now += 1.0
    assert it.ready("w") == ["w DISCONNECTERROR code=408"]
    assert it.ready("w", time=1_000_101.0) == ["w READYOK"]


def test_a_pause_is_nobodys_silence() -> None:
    it = single()
    it.ready("w")
    it.now = 110.0
    assert it.do(Paused(10.0)) == [] and it.notes[-1] == ("warn", "the broker was paused for 10 s")
    assert it.at(112.9) == [] and len(it.core.snapshot(112.9).workers) == 1
    assert it.at(113.0) == [] and it.core.snapshot(113.0).workers == ()


def test_a_broker_without_a_fallback_has_nothing_to_hand_back_and_no_peer() -> None:
    it = single()
    it.ordered(HandBack())
    assert it.notes == [("warn", "this broker is none of a pair: negotiated.fallback is not set where it runs")]
    frames = wire.build(names.BROKERSTATE, {"state": "active", "sequence": 1, "echo": 1, "replica": 1})
    assert it.do(Received([[b"x", *frames]], "peer")) == []
    assert it.core.service.violations.total == 1


def test_a_pending_primary_keeps_who_asks_waiting_and_tells_others_to_ask() -> None:
    it = started(primary)
    said = it.told(names.CHECKCONFIG, {"config_type": "xml"}, peer="w")
    assert [line.split(" sequence")[0] for line in said] == ["peer fallback BROKERSTATE state=primary"]
    assert it.told(names.PING, {"time": 0.0, "config_version": 1}, peer="v") == ["v FORCENEGOTIATE"]
    assert it.client() == []
    answers = beat(it, "backup")
    assert answers[:2] == [
        "w CONFIG config_type=xml config_version=1 <321 bytes>",
        "frontend c CONFIG config_type=json config_version=1",
    ]
    assert answers[2].startswith("peer fallback BROKERSTATE state=active") and it.core.serving


def test_who_waits_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 1)
    it = started(primary)
    for _ in range(2):
        it.told(names.CHECKCONFIG, {"config_type": "json"}, peer="w")
    it.told(names.CHECKCONFIG, {"config_type": "json"}, peer="v")
    assert dict(it.core.snapshot(it.now).counters)["unanswered: too many wait"] == 1
    assert sum("CONFIG" in line for line in beat(it, "backup")) == 1


def test_a_fallback_that_stands_by_names_the_primary_and_changes_nothing() -> None:
    it = started(backup)
    beat(it, "active", 5)
    at = "tcp://127.0.0.1:6717"
    moved, asks = it.ready("w")
    assert moved == f"w DISCONNECTERROR code=301 endpoint={at}" and asks.startswith("peer BROKERSTATE state=passive")
    assert it.client() == ["frontend c DISCONNECTERROR code=301 endpoint=tcp://127.0.0.1:6817"]
    assert it.told(names.NEEDBROKER, {"identity": "w"}, peer="w") == [f"w CHANGEBROKER code=301 endpoint={at}"]
    assert it.core.snapshot(it.now).workers == () and not it.core.service.dispatcher.members
    it.ordered(Publish(9))
    assert it.notes[-1] == ("warn", "the configuration comes from the broker that serves")


def test_what_comes_from_another_than_the_fallback_counts_as_wrong() -> None:
    it = started(primary)
    header = {"state": "passive", "sequence": 1, "echo": it.core.pair.standby.sequence, "replica": -1}
    assert it.told(names.BROKERSTATE, header, peer="stranger", socket="peer") == []
    assert not it.core.serving and it.core.service.violations.total == 1
    assert it.told(names.REPLICA, {"sequence": 1}, b"\x90", peer="fallback", socket="peer") == []
    assert dict(it.core.snapshot(it.now).counters)["replicas of no use"] == 1


def test_two_that_serve_meet_and_the_primary_yields() -> None:
    it = started(primary)
    beat(it, "backup")
    it.ready("w", "ping")
    it.client()
    it.ask(b"1")
    out = beat(it, "active", 7)
    assert out[:2] == [
        f"w DISCONNECTERROR code=301 endpoint={FALLBACK}",
        "frontend c DISCONNECTERROR code=301 endpoint=tcp://127.0.0.1:6827",
    ]
    assert not it.core.serving and it.core.snapshot(it.now).ledger == (0, 0, (), 0, 0, 0)
    assert dict(it.core.snapshot(it.now).counters)["handed over"] == 1


def test_a_takeover_keeps_the_wait_queue_and_waits_for_its_workers() -> None:
    """The request that a worker holds stays with it if it says so at the fallback, and goes back if it does not."""
    for holds in (True, False):
        stage = Stage(fallback=FALLBACK)
        for name in ("primary", "fallback", "p1", "q1"):
            stage.do(f"start {name}")
        stage.do("wait 1")
        stage.do("say p1 READY services=ping time=now heartbeat_interval=100 config_version=1")
        stage.do("say q1 CHECKCONFIG config_type=json")
        assert stage.do("say q1 WORKREQUEST work_request_identifier=one service=ping") == [
            "p1 < WORKREQUEST config_version=1 work_request_identifier=7131.6f6e65 service=ping"
        ]
        stage.do("kill primary")
        stage.do("start f1")
        stage.do("wait 2.6")
        stage.do("say f1 PING time=now config_version=1")
        stage.do("wait 0.5")
        core = stage.world.core("fallback")
        assert core.serving and core.service.ledger.sent == 1 and core.service.dispatcher.in_flight.held(b"p1") == 1
        stage.world.crash("p1")
        one = One(core, stage.world.now)
        extra: dict[str, Any] = {"holding": [b"7131.6f6e65"]} if holds else {}
        given = [] if holds else ["p1 WORKREQUEST config_version=1 work_request_identifier=7131.6f6e65 service=ping"]
        assert one.ready("p1", **extra) == ["p1 READYOK", *given]


@pytest.mark.parametrize("back", [True, False])
def test_after_a_takeover_each_request_has_its_owner_again_or_is_withdrawn(back: bool) -> None:
    """The copy agrees on owners; a client has twice the usual silence to find the fallback, and negotiates there."""
    stage = Stage(fallback=FALLBACK, patience=100)
    for name in ("primary", "fallback", "q1", "f1"):
        stage.do(f"start {name}")
    stage.do("wait 1")
    stage.do("say q1 CHECKCONFIG config_type=json")
    stage.do("say q1 WORKREQUEST work_request_identifier=one service=nobody")
    assert stage.world.core("fallback").service.dispatcher.owners.queued(b"q1") == 1
    stage.do("kill primary")
    stage.do("kill q1")
    stage.do("wait 2.6")
    stage.do("say f1 PING time=now config_version=1")
    stage.do("wait 0.5")
    core = stage.world.core("fallback")
    assert core.serving and core.service.ledger.sent == 1
    one = One(core, stage.world.now)
    assert one.ask(b"one", "nobody", "q1") == ["frontend q1 FORCENEGOTIATE"], "its link is with the other broker"
    if back:
        one.client("q1")
        assert one.ask(b"one", "nobody", "q1") == [] and dict(core.service.counters)["repeated requests"] == 1
        for _ in range(8):  # another worker or client keeps the fallback at it
            one.now += 1.0
            one.client("q1")
    else:
        for _ in range(8):
            one.now += 1.0
            one.client("somebody")
    view = core.snapshot(one.now)
    assert core.serving and view.ledger.queued == (1 if back else 0)
    assert dict(view.ledger.failed) == ({} if back else {"withdrawn": 1})


def counted(it: One, name: str) -> int:
    return int(dict(it.core.snapshot(it.now).counters).get(name, 0))


@pytest.mark.parametrize(("socket", "peer", "who"), [("main", b"w", "w1"), ("frontend", b"c", "client c")])
def test_a_second_live_peer_that_takes_over_an_id_gives_an_event(socket: str, peer: bytes, who: str) -> None:
    it = single()
    assert it.do(Connected(socket, peer)) == [] and it.notes == [], "nobody is known so far"
    it.ready("w")
    it.client()
    it.notes.clear()
    assert it.do(Connected(socket, peer)) == []
    words = f"a second connection has taken over the id of {who}, and is served from now on"
    assert it.notes == [("warn", words)] and counted(it, "ids taken over") == 1
    it.do(Disconnected(socket, peer))
    assert it.do(Connected(socket, peer)) == [] and len(it.notes) == 1, "it came back"


def test_a_known_peer_on_a_new_connection_negotiates() -> None:
    it = single()
    it.ready("w")
    it.do(Disconnected("main", b"w"))
    it.do(Connected("main", b"w"))
    ping = {"time": it.now, "config_version": 1}
    assert it.told(names.PING, ping, peer="w") == ["w FORCENEGOTIATE", "w PONG config_version=1"]
    assert it.told(names.PING, ping, peer="w") == ["w PONG config_version=1"], "once"
    it.do(Disconnected("main", b"w"))
    it.do(Connected("main", b"w"))
    assert it.ready("w") == ["w READYOK"], "it does so by itself"


def test_what_is_kept_of_ended_connections_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_BROKEN", 2)
    it = single()
    for name in ("a", "b", "d"):
        it.ready(name)
        it.do(Disconnected("main", name.encode()))
        it.do(Disconnected("main", b"nobody"))
    assert list(it.core._broken) == [("main", b"b"), ("main", b"d")]


COMMANDS = sorted({*wire.FROM_WORKERS, *wire.FROM_CLIENTS, *wire.BETWEEN_BROKERS})
FRAMES = st.lists(
    st.sampled_from(COMMANDS) | st.binary(max_size=12) | st.just(msgpack.packb({"time": 0.0})), max_size=5
)


@examples(150, derandomize=True, database=None)
@given(st.lists(st.tuples(st.sampled_from(("main", "frontend", "peer")), FRAMES), max_size=30), st.booleans())
def test_random_frames_change_nothing_and_all_are_counted(said: list[tuple[str, list[bytes]]], pair: bool) -> None:
    it = started(primary) if pair else single()
    if not pair:
        it.ready("w")
        it.client()
        it.ask(b"1")
    service = it.core.service
    before = it.core.snapshot(it.now)
    for socket, frames in said:
        known = {"main": wire.FROM_WORKERS, "frontend": wire.FROM_CLIENTS, "peer": wire.BETWEEN_BROKERS}[socket]
        if not isinstance(wire.parse([b"x", *frames], 1, known), str):
            continue
        total = service.violations.total
        commands = it.core.handle(Received([[b"x", *frames]], socket), it.now)
        it.core.check()
        assert service.violations.total == total + 1
        told = [command for command in commands if isinstance(command, Send) and command.socket == socket]
        assert len(told) == (0 if socket == "peer" else 1)
    after = it.core.snapshot(it.now)
    assert after.workers == before.workers and after.ledger == before.ledger and it.core.serving is not pair


def test_an_operator_serves_another_value_and_who_runs_another_version_is_told() -> None:
    """O30."""
    it = single()
    it.ready("w")
    it.notes.clear()
    it.ordered(Configure("skew", "60"))
    assert it.core.service.config.skew == 60.0 and it.core.service.config.version == 2
    assert it.notes[-1] == (
        "info",
        "skew is 60 s in configuration 2: 1 worker and all clients are told (426) and negotiate anew",
    )
    assert dict(it.core.snapshot(it.now).terms)["drifted workers"] == "1"
    ping = it.told(names.PING, {"time": it.now + 45.0, "config_version": 1}, peer="w")
    assert ping == ["w PONG config_version=2", "w DISCONNECTERROR code=426", "w FORCENEGOTIATE"]
    it.ordered(Configure("heartbeat_interval", "0.5"))
    assert it.notes[-1] == ("warn", "heartbeat_interval: 1 seconds or more: the broker takes longer ones only")
    for key, value in (("skew", "-1"), ("skew", "0"), ("colour", "red"), ("brokers", "tcp://127.0.0.1:6799")):
        it.ordered(Configure(key, value))
    assert it.notes[-1] == (
        "warn",
        "brokers: they are those of the settings negotiated.primary and negotiated.fallback",
    )
    assert it.core.service.config.version == 2
    it.ordered(Configure("heartbeat_interval", "2"))
    assert it.core.service.config.version == 3 and it.core.service.config.heartbeat_interval == 2.0


def test_the_primary_of_a_fallback_that_was_told_to_serve_comes_and_is_handed_the_service() -> None:
    """O27. Both say who serves, whenever it is another one."""
    stage = Stage(primary=HERE, fallback=FALLBACK)
    notes: list[str] = []
    stage.world.watchers.append(
        lambda _at, _name, _event, commands: notes.extend(one.text for one in commands if isinstance(one, Note))
    )

    def say(name: str, order: Any) -> str:
        notes.clear()
        stage.world.order(name, order)
        stage.world.run_for(0.2)
        return "\n".join(notes)

    stage.do("start fallback")
    stage.do("wait 2")
    assert "nobody serves" in say("fallback", ShowPair())
    assert "the fallback serves" in say("fallback", Serve())
    stage.do("start f1")

    def work(seconds: int) -> None:
        for _ in range(seconds):  # a worker at the fallback, without which it would hear nobody
            stage.do("say f1 PING time=now config_version=1")
            stage.do("wait 0.8")

    stage.do("say f1 CHECKCONFIG config_type=json")
    stage.do("say f1 READY services=ping heartbeat_interval=1 time=now config_version=1")
    work(2)
    assert stage.row("f1").startswith("ready")
    assert say("fallback", Serve()) == "the fallback serves already"
    stage.do("start primary")
    work(8)
    assert f"the fallback serves, at {FALLBACK}" in say("primary", ShowPair())
    assert say("primary", HandBack()) == f"this is the primary, which waits; tell its fallback at {FALLBACK}"
    assert "the primary is back and waits" in say("fallback", ShowPair())
    stage.world.order("fallback", HandBack())
    notes.clear()
    stage.do("wait 3")
    assert {"the primary serves again", "the fallback stands by: the primary serves again"} <= set(notes)
    assert f"the primary serves, at {HERE}" in say("fallback", ShowPair())
    assert f"the primary serves, at {HERE}" in say("primary", ShowPair())
