"""Services of negotiated that nobody offers, or nobody offers yet: who is told so, when, and who is served."""

from __future__ import annotations

from functools import partial

import pytest

from engine.core import Seat
from engine.parts.bulk import BulkSpec
from engine.protocols.negotiated import SYSTEM, Options, backup, primary
from engine.protocols.negotiated.tasks import UNOFFERED
from engine.sim.wire import Link
from engine.sim.world import World
from tests.helpers.negotiated import FALLBACK, Stage

HERE = SYSTEM.endpoint
OPTIONS = Options()
PATIENCE = OPTIONS.patience * OPTIONS.heartbeat
LATEST = PATIENCE + 0.2  # seconds: looks are an eighth of an interval apart
PAIR = Options(fallback=FALLBACK)


def world(seed: int, options: Options = OPTIONS, worker: Options | None = None) -> World:
    made = World(seed)
    made.add("broker", SYSTEM.broker(options, (HERE,)))
    made.add("w1", SYSTEM.worker(worker or options, HERE, 1, 5))
    made.add("c1", SYSTEM.client(options, HERE, 9))
    made.run(2.0)
    return made


def check_nothing_is_left(it: World, broker: str = "broker") -> None:
    view = it.picture(broker)
    assert view.ledger.balanced and not view.backlog and not view.in_flight
    assert all(row.free == row.slots for row in view.workers) and len(view.workers) >= 1


def test_a_flipped_bit_in_a_services_name_is_told_503_and_the_link_stays() -> None:
    stage = Stage()
    for name in ("broker", "w1", "q1"):
        stage.do(f"start {name}")
    stage.do("say q1 CHECKCONFIG config_type=json config_version=1")
    stage.do("say q1 WORKREQUEST work_request_identifier=one service=qing")
    asked = stage.world.now
    said: list[str] = []
    while not any("503" in line for line in said) and stage.world.now < asked + 9.0:
        said = [line for line in stage.do("say q1 PING time=now config_version=1") if line.startswith("q1 <")]
    assert "q1 < DISCONNECTERROR code=503 work_request_identifier=one service=qing" in said
    assert PATIENCE - 0.4 <= stage.world.now - asked <= LATEST + 0.2
    assert "q1 < PONG config_version=1" in stage.do("say q1 PING time=now config_version=1")
    check_nothing_is_left(stage.world)


@pytest.mark.parametrize("seed", range(3))
def test_a_run_for_what_nobody_offers_ends_with_a_kind_that_says_so(seed: int) -> None:
    it = world(seed, worker=Options(services="data"))
    it.order("c1", BulkSpec("ping", 30, in_flight=30, timeout=60.0))
    it.run_for(PATIENCE - 0.1)
    assert it.picture("c1").run.ledger.in_flight == 30
    assert it.run_until(lambda it: it.picture("c1").run.state == "ended", LATEST)
    assert dict(it.picture("c1").run.ledger.failed) == {UNOFFERED: 30}
    assert dict(it.picture("broker").counters)[UNOFFERED] == 30
    notes = [said.note.text for said in it.notes if "nobody offers" in said.note.text]
    assert [note for note in notes if note.startswith("the broker says")] == [
        "the broker says 503: nobody offers ping"
    ], notes
    it.order("c1", BulkSpec("data", 30, size=10))
    assert it.run_until(lambda it: it.picture("c1").run.passed, 5.0)
    check_nothing_is_left(it)


@pytest.mark.parametrize("seed", range(5))
def test_a_broker_that_restarts_tells_nobody_that_its_workers_are_not_back_yet(seed: int) -> None:
    """The line of the worker is dead, so it comes as late as it can: by its own silence. The client is new."""
    it = world(seed)
    it.link(Link(loss=1.0), "w1", "broker")
    it.crash("c1")
    it.restart("broker", SYSTEM.broker(OPTIONS, (HERE,)))
    it.add("c1", SYSTEM.client(OPTIONS, HERE, 9))
    it.order("c1", BulkSpec("ping", 50, in_flight=50, timeout=60.0))
    it.run_for(1.0)
    it.link(Link(), "w1", "broker")
    assert it.run_until(lambda it: it.picture("c1").run.state == "ended", 30.0)
    assert it.picture("c1").run.passed, it.picture("c1").run.ledger
    check_nothing_is_left(it)


@pytest.mark.parametrize("seed", range(5))
def test_after_a_failover_every_request_is_answered(seed: int) -> None:
    it = World(seed)
    seats: dict[str, partial[Seat]] = {
        "primary": partial(primary, PAIR, (HERE,)),
        "fallback": partial(backup, PAIR, (FALLBACK,)),
        "w1": partial(SYSTEM.worker, PAIR, HERE, 1, 5),
        "c1": partial(SYSTEM.client, PAIR, HERE, 9),
    }
    for name, seat in seats.items():
        it.add(name, seat())
    it.run(2.0)
    it.order("c1", BulkSpec("ping", 400, in_flight=50, rate=40.0, timeout=60.0))
    it.run_for(1.0)
    it.crash("primary")
    assert it.run_until(lambda it: it.picture("c1").run.state == "ended", 60.0)
    assert it.picture("c1").run.passed and it.core("fallback").serving, it.picture("c1").run.ledger
    it.run_for(1.0)
    check_nothing_is_left(it, "fallback")


@pytest.mark.parametrize("away", [2.0, 3.5])
def test_all_workers_are_gone_for_a_while(away: float) -> None:
    """No longer than the patience."""
    it = world(1)
    it.order("c1", BulkSpec("ping", 40, in_flight=40, rate=1000.0, timeout=60.0))
    it.crash("w1")
    it.run_for(away)
    it.add("w2", SYSTEM.worker(OPTIONS, HERE, 2, 5))
    assert it.run_until(lambda it: it.picture("c1").run.state == "ended", 30.0)
    ledger = it.picture("c1").run.ledger
    assert ledger.succeeded == 40, ledger
    check_nothing_is_left(it)
