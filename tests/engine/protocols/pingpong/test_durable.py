"""A ping-pong broker with a store, on the frontend and in virtual time: what it accepts ends once, whoever dies."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import (
    Ended,
    Entry,
    Frames,
    Leased,
    Note,
    Ordered,
    Outcome,
    Received,
    Send,
    Started,
    Store,
    Stored,
    Woken,
)
from engine.parts.bulk import BulkSpec
from engine.parts.keeping import HIGH, RETRY
from engine.parts.orders import Drain, Slow, Withdraw
from engine.protocols.pingpong import SYSTEM
from engine.protocols.pingpong.durable import Durable
from engine.protocols.pingpong.machine import Seen
from engine.protocols.pingpong.messages import PING, PONG, READY, naming
from engine.protocols.pingpong.options import Options
from engine.sim.world import World
from tests.helpers.examples import examples
from tests.helpers.storedstorm import Blow, blows, ended, endured, opened

TAG = b"twelve bytes"
ONE, TWO = TAG + bytes(4), TAG + b"\0\0\0\1"
KEEPS = {"backlog": "sqlite:"}


class Back:
    """A broker with a store, which is the test: ``asked`` is what it was asked for."""

    def __init__(self, **options: Any) -> None:
        self.core = Durable(Options(**{**options, **KEEPS}))
        self.now, self.asked, self.notes = 10.0, list[Store](), list[Note]()
        self.do(Started())

    def do(self, event: Any) -> list[Frames]:
        commands = self.core.handle(event, self.now)
        self.core.check()
        self.asked += [command for command in commands if isinstance(command, Store)]
        self.notes += [command for command in commands if isinstance(command, Note)]
        return [command.frames for command in commands if isinstance(command, Send)]

    def worker(self, body: bytes, key: bytes = b"w") -> list[Frames]:
        return self.do(Received([[key, b"", body]], "backend"))

    def ask(self, ident: bytes = ONE, job: bytes = b"job", client: bytes = b"c") -> list[Frames]:
        return self.do(Received([[client, b"", ident, job]], "frontend"))

    def stored(self, **how: Any) -> list[Frames]:
        """The store has done the oldest command; it leased all that it was asked for."""
        command = self.asked.pop(0)
        leased = [Leased(7 + n, task.client, task.message, 0, 0) for n, task in enumerate(command.tasks)]
        answer = Stored(command.number, [None] * len(command.tasks), leased[: command.lease], [], 0)
        return self.do(answer._replace(**how))


def begun(**options: Any) -> Back:
    back = Back(**options)
    assert back.asked == [Store(1, [], [], [], HIGH)]
    back.stored()
    assert back.worker(READY) == [[b"w", b"", PONG]]
    return back


def said(status: bytes, text: bytes, ident: bytes = ONE, client: bytes = b"c") -> Frames:
    return [client, b"", ident, status, text]


def test_a_task_goes_to_a_worker_when_it_is_kept_and_its_result_to_the_client_when_that_is() -> None:
    back = begun()
    assert back.ask() == [] and back.asked[0].tasks == [Entry(b"c", [b"", ONE, b"job"])]
    assert back.ask() == [] and len(back.asked) == 1  # asked again, on its way
    assert back.ask(job=b"another")[0][3] == b"REFUSED"
    assert back.stored() == [[b"w", b"", b"job"]]
    assert back.worker(b"result") == [] and back.asked[0].ended == [Ended(7, Outcome("", b"result", b"w"))]
    assert back.stored() == [said(b"DONE", b"result")]
    view = back.core.snapshot(back.now)
    assert (view.ledger.sent, view.ledger.succeeded, view.kept) == (1, 1, (0, 0, ""))
    assert back.ask(client=b"d") == []
    assert back.stored(fates=[Outcome("", b"result", b"w")], leased=[]) == [said(b"DONE", b"result", client=b"d")]


def test_a_client_of_the_seeds_ids_is_served_as_well() -> None:
    back = begun()
    back.ask(b"8 bytes.")
    assert back.stored() == [[b"w", b"", b"job"]]
    back.worker(b"result")
    assert back.stored() == [said(b"DONE", b"result", b"8 bytes.")]


def test_what_is_refused_is_full_with_the_reason_and_what_is_given_up_has_failed() -> None:
    back = begun(max_deliveries=1, max_backlog=1)
    back.ask()
    assert back.ask(TWO) == [said(b"FULL", b"the backlog is full", TWO)]
    assert back.stored(fates=[], leased=[], refused="the disk is full") == [said(b"FULL", b"the disk is full")]
    assert [note.text for note in back.notes if note.level == "bad"] == ["tasks are refused: the disk is full"]
    assert back.core.wake_at() <= back.now + RETRY
    back.ask()
    back.stored()
    assert back.worker(READY) == [[b"w", b"", PONG]]  # it started over: the one delivery came to nothing
    assert back.asked[0].ended == [Ended(7, Outcome("undeliverable"))]
    assert back.stored() == [said(b"FAILED", b"undeliverable")]
    assert dict(back.core.snapshot(back.now).ledger.failed) == {"undeliverable": 1}


def test_how_often_workers_were_lost_with_a_task_counts_over_restarts() -> None:
    back = begun(max_deliveries=3)
    back.ask()
    back.stored()
    back.worker(READY)
    assert back.asked[0].lost == [7]
    back = Back(max_deliveries=3)
    back.stored(leased=[Leased(9, b"c", [b"", ONE, b"job"], 2, 2)], waiting=2)
    assert back.core.snapshot(back.now).ledger.queued == 3
    assert back.worker(READY) == [[b"w", b"", PONG], [b"w", b"", b"job"]]
    back.worker(READY)
    assert back.asked[-1].ended == [Ended(9, Outcome("undeliverable"))]


def test_ruling_18_a_worker_that_may_work_for_the_broker_before_owes_and_its_result_is_nobodys() -> None:
    back = begun()
    back.do(Ordered(Drain(b"w")))
    back.ask()
    assert back.stored() == []
    assert back.worker(PING, b"v") == []  # no PONG, and no job
    states = {row.key: dict(row.terms)["state"] for row in back.core.snapshot(back.now).workers}
    assert states[b"v"] == Seen.OWING
    assert back.worker(b"an old result", b"v") == [[b"v", b"", b"job"]] and back.asked == []
    assert back.worker(b"result", b"v") == []
    assert back.asked[0].ended == [Ended(7, Outcome("", b"result", b"v"))]


def test_what_a_client_that_is_gone_asked_for_is_done_but_what_an_operator_withdraws_is_not() -> None:
    back = begun()
    back.do(Ordered(Drain(b"w")))
    back.ask()
    back.stored()
    back.now += 30.0
    back.do(Woken())
    assert back.core.snapshot(back.now).backlog == 1
    back.do(Ordered(Withdraw(b"c")))
    assert back.asked[-1].ended == [Ended(7, Outcome("withdrawn"))]
    assert back.stored() == [said(b"WITHDRAWN", b"withdrawn")]


# ---- in virtual time -------------------------------------------------------------------------------------------------

TCP = "tcp://127.0.0.1:6715"
OPTIONS = Options(task_deadline=6.0, probe_deadline=2.0, max_deliveries=50, backlog="sqlite:")
WORKERS = ("w1", "w2", "w3")
QUIET = 90.0


def broker() -> Any:
    return SYSTEM.broker(OPTIONS, (TCP,))


def worker(name: str) -> Any:
    return SYSTEM.worker(OPTIONS, TCP, int(name[1:]), 1)


def begun_world(seed: int) -> World:
    return opened(seed, broker, worker, WORKERS, SYSTEM.client(OPTIONS, TCP, 1), 1.5)


@examples(24)
@given(st.integers(0, 2**32), blows(WORKERS))
def test_a_broker_that_is_killed_again_and_again_loses_nothing(seed: int, faults: list[Blow]) -> None:
    endured(begun_world(seed), faults, broker, worker, TAG, 5.0, QUIET)


def test_what_a_broker_had_given_out_when_it_was_killed_is_done_by_the_next_one() -> None:
    world = begun_world(3)
    for name in WORKERS:
        world.order(name, Slow(1.2))
    world.order("client", BulkSpec("ping", 12, in_flight=12, timeout=600.0, tag=TAG))
    world.run_for(0.4)
    world.restart("broker", broker())
    assert world.run_until(ended, QUIET)
    assert world.picture("client").run.passed
    assert dict(world.picture("broker").counters)["kept before"] == 12


@pytest.mark.parametrize(("kind", "size"), [("ping", 0), ("data", 100)])
def test_runs_of_clients_that_name_their_tasks(kind: str, size: int) -> None:
    world = begun_world(1)
    world.order("client", BulkSpec(kind, 30, size=size, timeout=60.0, tag=TAG))  # type: ignore[arg-type]
    assert world.run_until(ended, QUIET)
    assert world.picture("client").run.passed
    assert world.stores["broker"].result(TAG + bytes(4)) == Outcome(
        "", naming(b"ping", TAG + bytes(4)) if kind == "ping" else bytes(size), b"worker-1"
    )
    world.order("client", BulkSpec("ping", 3, timeout=60.0, tag=TAG[::-1], tracked=False))
    world.run_for(1.0)
    assert world.picture("client").late == 0 and world.stores["broker"].counts().succeeded == 33
