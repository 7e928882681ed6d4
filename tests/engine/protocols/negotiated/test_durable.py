"""A broker of seed 004 with a store (O31), on the dispatcher and in virtual time: what it accepts ends once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as with_
from hypothesis import strategies as st

from engine.core import Ended, Entry, Leased, Ordered, Outcome, Seat, Started, Store, Stored, Woken
from engine.labs.brokers import paired
from engine.parts.bulk import BulkSpec
from engine.parts.keeping import HIGH
from engine.parts.orders import Slow, Withdraw
from engine.parts.store import Revive
from engine.protocols.negotiated import SYSTEM, Options, names
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated.dispatcher import MAX_ASKED
from engine.sim.world import World
from tests.helpers.examples import examples
from tests.helpers.negotiated import HERE, One, counters
from tests.helpers.storedstorm import Blow, blows, ended, endured, opened

TAG = b"twelve bytes"
ONE, TWO = TAG + b"\1111", TAG + b"2222"


class Back(One):
    """A broker with a store, which is the test: ``others`` are the commands for it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(SYSTEM.broker(Options(**options, backlog="sqlite:"), (HERE,)).core)
        self.do(Started())
        self.next = 7

    @property
    def asked(self) -> list[Store]:
        return [command for command in self.others if isinstance(command, Store)]

    def stored(self, **how: Any) -> list[str]:
        """The store has done the oldest command; it leased all that it was asked for."""
        command = self.asked[0]
        self.others.remove(command)
        leased = [Leased(self.next + n, task.client, task.message, 0, 0) for n, task in enumerate(command.tasks)]
        self.next += len(leased)
        answer = Stored(command.number, [None] * len(command.tasks), leased[: command.lease], [], 0)
        return self.do(answer._replace(**how))

    def given(self, worker: str, ident: bytes, service: str = "ping") -> str:
        identifier = wire.task_identifier((b"c", ident)).decode()
        return f"{worker} WORKREQUEST config_version=1 service={service} work_request_identifier={identifier}"


def begun(**options: Any) -> Back:
    back = Back(**options)
    assert back.asked == [Store(1, [], [], [], HIGH)]
    back.stored()
    assert back.ready("w", slots=1) == ["w READYOK"]
    back.client()
    return back


def test_a_request_goes_to_a_worker_when_it_is_kept_and_its_reply_to_the_client_when_that_is() -> None:
    back = begun()
    assert back.ask(ONE) == [] and back.asked[0].tasks == [Entry(b"c", [b"ping", ONE, b""])]
    assert back.ask(ONE) == [] and len(back.asked) == 1 and counters(back)["repeated requests"] == 1
    (line,) = back.stored()
    assert line.startswith("w WORKREQUEST")
    assert back.reply("w", ONE) == [] and back.asked[0].ended == [Ended(7, Outcome("", b"", b"w"))]
    (line,) = back.stored()
    assert line.startswith("frontend c WORKREPLY")
    view = back.core.snapshot(back.now)
    assert (view.ledger.sent, view.ledger.succeeded, view.kept) == (1, 1, (0, 0, ""))
    back.client("d")
    assert back.ask(ONE, peer="d") == []
    (line,) = back.stored(fates=[Outcome("", b"", b"w")], leased=[])
    assert line.startswith("frontend d WORKREPLY")


@pytest.mark.parametrize("body", [b"", b"body", b"\xc1error", b"\xc1error\x92"])
@pytest.mark.parametrize("error", ["", "it failed"])
def test_a_reply_is_kept_with_its_error(error: str, body: bytes) -> None:
    back = begun()
    back.ask(ONE)
    back.stored()
    header: wire.Header = {names.IDENTIFIER: wire.task_identifier((b"c", ONE))}
    back.told(names.WORKREPLY, header | ({names.ERROR: error} if error else {}), body, peer="w")
    (command,) = back.core.handle(Stored(back.asked[0].number, [], [], [], 0), back.now)
    message = wire.parse(command.frames, 1, wire.TO_CLIENTS)
    assert not isinstance(message, str)
    _, sent, replied = message
    assert (sent.get(names.ERROR, ""), replied, sent[names.IDENTIFIER]) == (error, body, ONE)


def test_what_is_refused_is_429_with_the_reason() -> None:
    back = begun(max_backlog=1)
    back.ask(ONE)
    (line,) = back.ask(TWO)
    assert line.startswith("frontend c DISCONNECTERROR code=429")
    (line,) = back.stored(fates=[], leased=[], refused="the disk is full")
    assert line.startswith("frontend c DISCONNECTERROR code=429")
    assert ("bad", "tasks are refused: the disk is full") in back.notes
    view = back.core.snapshot(back.now)
    assert view.ledger.dropped == view.ledger.sent == 2 and counters(back)["denied"] == 2


def test_how_often_workers_were_lost_with_a_request_counts_over_restarts() -> None:
    back = begun(max_deliveries=3)
    back.ask(ONE)
    back.stored()
    back.at(back.now + 4.0)
    assert [command.lost for command in back.asked] == [[7]]
    back = Back(max_deliveries=3)
    back.stored(leased=[Leased(9, b"c", [b"ping", ONE, b""], 2, 2)], waiting=2)
    assert back.core.snapshot(back.now).ledger.queued == 3
    assert any("WORKREQUEST" in line for line in back.ready("w"))
    back.at(back.now + 3.5)
    assert back.asked[-1].ended == [Ended(9, Outcome("undeliverable"))]
    lines = [line for _ in list(back.asked) for line in back.stored(waiting=2)]
    assert any("DISCONNECTERROR" in line and "code=503" in line for line in lines)


def test_where_nobody_offers_a_service_its_requests_are_dead_and_can_be_revived() -> None:
    back = begun()
    back.ask(ONE, "nobody")
    back.stored()
    back.at(back.now + 2.0)
    back.at(back.now + 2.5)
    assert back.asked[0].ended == [Ended(7, Outcome("not offered", b"nobody"))]
    (line,) = back.stored(dead=1)
    assert "code=503" in line and "service=nobody" in line
    back.ordered(Revive((7,)))
    assert back.asked[0].revive == (7,)


def test_what_a_client_that_is_gone_asked_for_is_done_but_what_an_operator_withdraws_is_not() -> None:
    back = begun()
    for ident in (ONE, TWO):
        back.ask(ident)
        back.stored()
    for _ in range(9):
        back.now += 1.0
        header = {"time": back.now, "config_version": 1, "holding": [wire.task_identifier((b"c", ONE))]}
        back.told(names.PING, header, peer="w")
    back.do(Woken())
    assert counters(back)["clients expired"] == 1 and back.core.snapshot(back.now).backlog == 1
    back.do(Ordered(Withdraw(b"c")))
    assert back.asked[-1].ended == [Ended(8, Outcome("withdrawn"))]
    (line,) = back.stored()
    assert "DISCONNECTERROR" in line and "code=403" in line
    assert back.reply("w", ONE) == [] and back.asked[0].ended == [Ended(7, Outcome("", b"", b"w"))]


def test_services_that_nobody_offers_have_their_bound() -> None:
    back = begun()
    for number in range(65):
        back.ask(b"%16d" % number, f"made-up-{number}")
        while back.asked:
            back.stored()
    assert counters(back)["denied"] == 1
    back.core.service.dispatcher.queues |= {
        f"more-{n}": back.core.service.dispatcher.queues["made-up-0"] for n in range(MAX_ASKED)
    }
    back.core.check = lambda: None  # queues of no requests are not right
    back.client("d")
    assert "code=429" in back.ask(ONE, "strange", peer="d")[0]


def test_a_store_is_for_a_broker_without_a_fallback_and_not_shared() -> None:
    """O32, O33."""
    with pytest.raises(ValueError, match="backlog is for a broker without a fallback"):
        Options(backlog="sqlite:", fallback="tcp://127.0.0.1:1")
    with pytest.raises(ValueError, match="brokers of this system can not share one"):
        Options(backlog="nats://here")
    assert paired(SYSTEM, Options()) is not None and paired(SYSTEM, Options(backlog="sqlite:")) is None


# ---- in virtual time -------------------------------------------------------------------------------------------------

OPTIONS = Options(doubt=3.0, patience=60, max_deliveries=50, backlog="sqlite:")
WORKERS = {"w1": 1, "w2": 3, "w3": 10}
QUIET = 120.0


def broker() -> Seat:
    return SYSTEM.broker(OPTIONS, (HERE,))


def worker(name: str) -> Seat:
    return SYSTEM.worker(OPTIONS, HERE, int(name[1:]), WORKERS[name])


def begun_world(seed: int) -> World:
    return opened(seed, broker, worker, WORKERS, SYSTEM.client(OPTIONS, HERE, 9), 2.0)


@examples(24)
@with_(st.integers(0, 2**32), blows(WORKERS))
def test_a_broker_that_is_killed_again_and_again_loses_nothing(seed: int, faults: list[Blow]) -> None:
    endured(begun_world(seed), faults, broker, worker, TAG, 6.0, QUIET)


def test_what_a_broker_had_given_out_when_it_was_killed_is_done_by_the_next_one() -> None:
    world = begun_world(3)
    for name in WORKERS:
        world.order(name, Slow(1.2))
    world.order("client", BulkSpec("data", 40, size=50, in_flight=40, timeout=600.0, tag=TAG))
    world.run_for(0.4)
    world.restart("broker", broker())
    assert world.run_until(ended, QUIET)
    assert world.picture("client").run.passed
    assert dict(world.picture("broker").counters)["kept before"] == 40
    assert world.stores["broker"].counts()[:3] == (40, 40, ())
