"""Whose the tasks of a broker are, and how each of them ends; what messages mean is tested in ``test_service``."""

from __future__ import annotations

from typing import Literal

import pytest

from engine.core import NEVER, Paused, Received, Unsent
from engine.parts.orders import Withdraw
from engine.protocols.negotiated import Options, names, owners
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated.dispatcher import MAX_ASKED
from engine.protocols.negotiated.tasks import UNOFFERED
from tests.helpers.negotiated import One, books, busy, counters, given

FULL = 10_000  # tasks that may wait
PATIENCE = Options().patience * Options().heartbeat


# ---- owners ---------------------------------------------------------------------------------------------------------


def asks(it: One, peer: str, n: int, service: str = "ping", first: int = 0) -> list[str]:
    """The codes that so many requests of a client are told."""
    told = [line for i in range(first, first + n) for line in it.ask(b"%d" % i, service, peer)]
    return [line.split("code=")[1].split()[0] for line in told if "DISCONNECTERROR" in line]


def test_services_that_a_client_makes_up_keep_no_worker_out() -> None:
    """1,024 made-up services left no room for a worker's own."""
    it = busy()
    for i in range(2000):
        it.ask(b"%d" % i, f"made-up-{i}")
    assert books(it)[4] == owners.SERVICES and counters(it)["denied"] == 2000 - owners.SERVICES
    assert it.ready("w", "ping") == ["w READYOK"]
    assert it.ask(b"x", peer="c") == ["frontend c DISCONNECTERROR code=429 work_request_identifier=x"]
    it.client("d")
    assert it.ask(b"1", peer="d") == [given("w", b"1").replace("=63.", "=64.")]


def test_services_that_many_clients_make_up_keep_no_worker_out() -> None:
    it = busy()
    for i in range(40):
        it.client(f"c{i}")
        wanted = [request(f"c{i}", b"%d" % j, f"service-{i}") for j in range(64)]
        wanted += [request(f"c{i}", b"more-%d" % j, f"of-{i}-{j}") for j in range(64)]
        it.core.handle(Received(wanted, "frontend"), it.now)
        it.core.check()
    assert len(it.core.service.dispatcher.queues) == MAX_ASKED
    services = " ".join(f"own-{i}" for i in range(32))
    assert it.ready("w", services) == ["w READYOK"]
    asked = it.ask(b"1", "own-7")
    assert asked == [given("w", b"1").replace("=ping", "=own-7")]


def test_a_client_that_floods_one_service_leaves_room_for_honest_ones() -> None:
    """O18. As many requests as may wait, for a service that nobody offers: 159 of 200 honest ones were refused."""
    it = busy(max_backlog=FULL)
    it.client("flood")
    it.core.handle(Received([request("flood", b"%d" % i, "nobody") for i in range(FULL)], "frontend"), it.now)
    share = owners.share(FULL)
    assert books(it) == (share, 0, {}, 0, share) and counters(it)["denied"] == FULL - share
    assert asks(it, "c", 200) == []
    assert it.ready("w", slots=200) and books(it)[3] == 200


def request(peer: str, task_id: bytes, service: str) -> list[bytes]:
    return [peer.encode(), *wire.build(names.WORKREQUEST, {names.IDENTIFIER: task_id, "service": service})]


def test_what_a_client_asked_for_is_withdrawn_when_it_is_silent() -> None:
    """O17. What a worker has of it is done all the same."""
    it = busy("w")
    it.ask(b"1")
    it.ask(b"2")
    it.ask(b"3", "nobody")
    it.client("d")
    for at in (101.0, 102.0):
        it.now = at
        it.told(names.PING, {"time": at, "config_version": 1}, peer="w")
        it.client("d")
    it.ask(b"4", peer="d")
    assert it.at(103.0) == []
    assert it.notes == [("warn", "2 requests that waited are withdrawn, for their clients are silent")]
    assert books(it) == (4, 0, {"withdrawn": 2}, 1, 1) and set(it.core.service.dispatcher.queues) == {
        "ping",
        "data",
    } - {"data"}
    answer, next_one = it.reply("w", b"1")
    assert answer == "frontend c WORKREPLY work_request_identifier=1" and next_one.startswith("w WORKREQUEST")
    assert books(it) == (4, 1, {"withdrawn": 2}, 1, 0)


def test_what_comes_back_from_a_worker_has_no_owner_any_more() -> None:
    it = busy("w")
    it.ask(b"1")
    for at in (101.0, 102.0, 103.0):
        it.now = at
        it.told(names.PING, {"time": at, "config_version": 1}, peer="w")
    assert counters(it)["clients expired"] == 1 and books(it) == (1, 0, {}, 1, 0)
    assert it.ready("w") == ["w READYOK"]
    assert books(it) == (1, 0, {"withdrawn": 1}, 0, 0) and it.core.service.dispatcher.owners.queued(b"c") == 0


def test_a_client_that_is_back_asks_again_and_is_answered_once() -> None:
    it = busy("w")
    it.ask(b"1")
    it.ask(b"2")
    for at in (101.0, 102.0, 103.0):
        it.now = at
        it.told(names.PING, {"time": at, "config_version": 1}, peer="w")
    it.client()
    assert it.ask(b"1") == [] and it.ask(b"2") == [], "one is with the worker, one waits again"
    assert it.reply("w", b"1")[0] == "frontend c WORKREPLY work_request_identifier=1"
    assert it.reply("w", b"2") == ["frontend c WORKREPLY work_request_identifier=2"]
    assert books(it) == (3, 2, {"withdrawn": 1}, 0, 0)


def test_an_operator_sees_and_withdraws_what_waits_of_a_client() -> None:
    it = busy()
    it.ask(b"1", "nobody")
    it.ask(b"2", "nobody")
    assert dict(it.core.snapshot(it.now).terms)["client c"] == "2 wait, of 2 for 1 services, 0 bytes"
    assert it.ordered(Withdraw(b"c")) == [
        f"frontend c DISCONNECTERROR code=403 work_request_identifier={i}" for i in (1, 2)
    ]
    assert it.notes == [("info", "2 requests that waited are withdrawn")]
    assert books(it) == (2, 0, {"withdrawn": 2}, 0, 0) and not it.core.service.dispatcher.queues
    it.ordered(Withdraw(b"c"))
    assert it.notes[-1] == ("warn", "no request of this client waits")


def test_a_worker_kept_for_a_suspect_that_is_withdrawn_goes_on() -> None:
    it = busy("v")
    it.client("d")
    it.ask(b"1", peer="d")
    it.ready("w", slots=2)
    assert it.ask(b"2") == [given("w", b"2")]
    assert it.ready("v", "") == ["v READYOK"] and it.ask(b"3") == [], "w is kept for the suspect"
    next_one, told = it.ordered(Withdraw(b"d"))
    assert told.startswith("frontend d DISCONNECTERROR code=403") and next_one == given("w", b"3")


# ---- services that nobody offers ------------------------------------------------------------------------------------


def told(task_id: str, service: str, peer: str = "c") -> str:
    return f"frontend {peer} DISCONNECTERROR code=503 work_request_identifier={task_id} service={service}"


def passes(it: One, seconds: float, *workers: str, clients: str = "c") -> list[str]:
    """So much time, in which these peers are heard; what the broker says of its own accord."""
    said, end = list[str](), it.now + seconds
    while it.now < end - 1e-6:
        said += it.at(min(it.now + 0.25, end))
        for worker in workers:
            it.told(names.PING, {"time": it.now, "config_version": 1}, peer=worker)
        for client in clients.split():
            it.client(client)
    return said


def test_a_request_for_a_service_that_nobody_offers_is_told_503_when_patience_ends() -> None:
    """O23. It waited until its client went: a flipped bit in a service's name left a backlog that nobody could take."""
    it = busy("w")
    it.client("d")
    it.ask(b"1", "pinf")
    it.ask(b"2", "pinf", "d")
    assert passes(it, PATIENCE - 0.25, "w", clients="c d") == [] and books(it) == (2, 0, {}, 0, 2)
    it.ask(b"3", "pinf")
    assert passes(it, 0.5, "w", clients="c d") == [told("1", "pinf"), told("2", "pinf", "d")]
    assert it.notes == [("warn", "nobody offers pinf: 2 requests of 2 clients told 503")]
    assert books(it) == (3, 0, {UNOFFERED: 2}, 0, 1), "each has its own patience"
    assert passes(it, PATIENCE, "w") == [told("3", "pinf")]
    assert books(it) == (3, 0, {UNOFFERED: 3}, 0, 0) and counters(it)[UNOFFERED] == 3
    assert "pinf" not in it.core.service.dispatcher.queues and it.core.service._vain_at == NEVER


def test_patience_begins_when_the_last_worker_that_offered_it_is_gone() -> None:
    it = busy("w", doubt=100.0)
    it.ask(b"1")
    it.ask(b"2")
    assert passes(it, 9.0, "w") == [], "a busy worker is waited for as long as it takes"
    gone = passes(it, 2.75)
    assert gone == [] and passes(it, 0.5) == [] and books(it) == (2, 0, {}, 0, 2), "w is silent: both go back"
    assert passes(it, PATIENCE - 0.5) == []
    assert passes(it, 0.5) == [told("1", "ping"), told("2", "ping")]


def test_a_look_for_another_service_ends_nothing_that_was_offered_a_moment_ago() -> None:
    it = busy("w", doubt=100.0)
    it.ask(b"1")
    it.ask(b"2")
    passes(it, 5.0, "w")
    it.ask(b"3", "pinf")
    assert passes(it, PATIENCE - 1.0, "w") == []
    assert it.ready("w", "data", holding=[wire.task_identifier((b"c", b"1"))]) == ["w READYOK"]
    assert passes(it, 1.5, "w") == [told("3", "pinf")], "the other one waits for the first worker to come"
    assert passes(it, PATIENCE - 1.5, "w") == [told("2", "ping")]


def test_a_worker_that_comes_within_the_patience_gets_it() -> None:
    it = busy()
    it.ask(b"1")
    it.ask(b"2", "data")
    assert passes(it, PATIENCE - 0.1) == []
    assert it.ready("w") == ["w READYOK", given("w", b"1")]
    assert passes(it, 1.0, "w") == [told("2", "data")] and books(it) == (2, 0, {UNOFFERED: 1}, 1, 0)


def test_a_worker_that_offers_something_else_from_now_on_leaves_requests_that_nobody_takes() -> None:
    it = busy("w")
    it.ask(b"1")
    it.ask(b"2")
    it.ready("w", "data", holding=[wire.task_identifier((b"c", b"1"))])
    assert passes(it, PATIENCE - 0.5, "w") == [] and passes(it, 0.75, "w") == [told("2", "ping")]
    assert it.reply("w", b"1") == ["frontend c WORKREPLY work_request_identifier=1"]


def test_what_comes_back_for_a_service_that_nobody_offers_any_more_waits_as_long() -> None:
    it = busy("w")
    it.ask(b"1")
    it.ready("w", "data", holding=[wire.task_identifier((b"c", b"1"))])
    assert passes(it, 2 * PATIENCE, "w") == [], "w has it"
    assert it.ready("w", "data") == ["w READYOK"] and books(it) == (1, 0, {}, 0, 1)
    assert passes(it, PATIENCE - 0.25, "w") == []
    assert passes(it, 0.5, "w") == [told("1", "ping")]


def test_nobody_can_come_while_the_broker_does_not_run() -> None:
    it = busy()
    it.ask(b"1")
    it.now += 60.0
    it.do(Paused(60.0))
    assert passes(it, PATIENCE - 0.25) == [] and passes(it, 0.5) == [told("1", "ping")]


def test_services_that_nobody_offers_are_not_looked_through_at_each_moment() -> None:
    it = busy()
    for _ in range(64):
        it.now += 0.001
        it.ask(b"%d" % it.now, f"made-up-{it.now}")
    looks, end = 0, it.now + 2 * PATIENCE
    while (at := it.core.service._vain_at) < end:
        it.at(at)
        it.client()
        looks += 1
    assert books(it)[4] == 0 and looks <= 3


# ---- deliveries that were none --------------------------------------------------------------------------------------


def unsent(it: One, line: str, reason: Literal["unreachable", "full"] = "unreachable") -> list[str]:
    """A delivery that the broker has just made comes back from the socket."""
    worker, _, rest = line.partition(" ")
    identifier = rest.split("work_request_identifier=")[1].split()[0].encode()
    header = {"time": it.now, "config_version": 1, names.IDENTIFIER: identifier, "service": "ping"}
    return it.do(Unsent([worker.encode(), *wire.build(names.WORKREQUEST, header)], reason))


@pytest.mark.parametrize("reason", ["unreachable", "full"])
def test_dead_workers_spend_no_attempts(reason: Literal["unreachable", "full"]) -> None:
    """O25. A task was given to three dead workers in a moment, and had failed then beside a living one."""
    it = busy("d1", "d2", "d3", "w", max_deliveries=1)
    assert it.ask(b"1") == [given("d1", b"1")]
    assert unsent(it, given("d1", b"1"), reason) == [given("d2", b"1")]
    assert unsent(it, given("d2", b"1"), reason) == [given("d3", b"1")]
    assert unsent(it, given("d3", b"1"), reason) == [given("w", b"1")]
    assert it.reply("w", b"1") == ["frontend c WORKREPLY work_request_identifier=1"]
    assert books(it) == (1, 1, {}, 0, 0) and counters(it) == {"unsent": 3}


def test_what_was_given_before_the_one_that_comes_back_was_delivered() -> None:
    it = busy("w")
    it.ready("w", slots=3)
    for task_id in (b"1", b"2", b"3"):
        assert it.ask(task_id) == [given("w", task_id)]
    assert unsent(it, given("w", b"2")) == []
    attempts = {task.key[1]: task.attempt for task in it.core.service.dispatcher.tasks.values()}
    assert attempts == {b"1": 1, b"2": 0, b"3": 0} and counters(it)["redelivered"] == 1
    assert unsent(it, given("w", b"3")) == [] and books(it) == (3, 0, {}, 0, 3)
    it.core.check()
    assert it.ready("v", slots=3) == ["v READYOK", given("v", b"1")], "a suspect is tried alone, the others are none"
    assert it.reply("v", b"1")[1:] == [given("v", b"2"), given("v", b"3")]


def test_what_comes_back_of_an_earlier_link_of_a_worker_does_not_end_the_present_one() -> None:
    it = busy("w")
    it.ask(b"1")
    it.reply("w", b"1")
    assert unsent(it, given("w", b"1")) == [] and [row.key for row in it.core.snapshot(it.now).workers] == [b"w"]
