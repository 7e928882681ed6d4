"""Ping-pong in words: every message both ways, any frames, and the state maps walked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Connected, Disconnected, Frames, Send, Unsent
from engine.parts.explain import Decoded, Direction, Role
from engine.parts.orders import Drain, Expire, Leave, Requeue, Slow, Undrain
from engine.protocols.pingpong.broker import BACKEND, Broker
from engine.protocols.pingpong.client import Client
from engine.protocols.pingpong.durable import Durable
from engine.protocols.pingpong.explain import EXPLAIN, decode, state_maps
from engine.protocols.pingpong.frontend import FRONTEND
from engine.protocols.pingpong.messages import EXIT, PING, PONG, READY, data_job
from engine.protocols.pingpong.options import Options
from engine.protocols.pingpong.table import LOST_KEPT
from engine.protocols.pingpong.worker import Worker
from tests.helpers.explain import Scripts, Table, walk

ID = (7).to_bytes(8, "little")
W, C = b"w", b"c"
TASK = ("task", "7")

# Who sends it, over which socket of the broker's, its frames behind the routing id, and what it says.
SAID: list[tuple[Role, str, Frames, Decoded]] = [
    ("worker", BACKEND, [b"", READY], Decoded("READY")),
    ("worker", BACKEND, [b"", PING], Decoded("PING")),
    ("worker", BACKEND, [b"", b"ping"], Decoded("result", (("body", "ping"),), leg="answer")),
    ("worker", BACKEND, [b"", bytes(100)], Decoded("result", (("body", "100 bytes"),), leg="answer")),
    ("broker", BACKEND, [b"", PONG], Decoded("PONG")),
    ("broker", BACKEND, [b"", EXIT], Decoded("EXIT")),
    ("broker", BACKEND, [b"", data_job(9)], Decoded("job", (("body", "data 9"),), leg="give")),
    ("client", FRONTEND, [b"", PING], Decoded("PING")),
    (
        "client",
        FRONTEND,
        [b"", ID, b"ping"],
        Decoded("request", (TASK, ("body", "ping")), task=ID, leg="request"),
    ),
    ("broker", FRONTEND, [b"", PONG], Decoded("PONG")),
    (
        "broker",
        FRONTEND,
        [b"", ID, b"DONE", b"ping"],
        Decoded("DONE", (TASK, ("body", "ping")), task=ID, client=C, leg="reply"),
    ),
    *(
        (
            "broker",
            FRONTEND,
            [b"", ID, status, b"no"],
            Decoded(status.decode(), (TASK, ("why", "no")), task=ID, client=C, leg="denial"),
        )
        for status in (b"FULL", b"REFUSED", b"FAILED")
    ),
]


@pytest.mark.parametrize(("role", "socket", "frames", "said"), SAID)
def test_every_message_is_explained_at_both_ends(role: Role, socket: str, frames: Frames, said: Decoded) -> None:
    peer = W if socket == BACKEND else C
    here = [peer, *frames] if role == "broker" else frames
    (found,) = decode(role, "out", here, socket if role == "broker" else "main")
    assert found.rule
    assert found == said._replace(rule=found.rule, peer=peer if role == "broker" else None)
    if role == "broker":
        (there,) = decode("worker" if socket == BACKEND else "client", "in", frames, "main")
    else:
        (there,) = decode("broker", "in", [peer, *frames], socket)
    assert (there.command, there.task, there.leg, there.rule) == (found.command, found.task, found.leg, found.rule)


@given(
    st.sampled_from(("broker", "worker", "client")),
    st.sampled_from(("in", "out", "refused")),
    st.lists(st.one_of(st.binary(max_size=9), st.sampled_from([b"", READY, PING, PONG, ID, b"DONE"])), max_size=6),
    st.sampled_from((BACKEND, FRONTEND)),
)
def test_any_frames_are_explained(role: Role, direction: Direction, frames: Frames, socket: str) -> None:
    found = decode(role, direction, list(frames), socket)
    assert len(found) == 1 and all(message.command for message in found)


def test_only_the_broker_knows_whose_job_it_is() -> None:
    table = busy()
    assert EXPLAIN.whose is not None
    assert EXPLAIN.whose(table.core, Send([W, b"", b"ping"], BACKEND)) == (C, ID)
    assert EXPLAIN.whose(table.core, Send([W, b"", b"another"], BACKEND)) is None
    assert EXPLAIN.whose(table.core, Send([W, b"", PONG], BACKEND)) is None
    assert EXPLAIN.whose(table.core, Send([C, b"", ID, b"DONE", b""], FRONTEND)) is None


def test_standings() -> None:
    table = broker()
    table.hear([W, b"", READY], [b"v", b"", READY], socket=BACKEND)
    found = EXPLAIN.candidates(table.core, Decoded("job"))
    assert [(one.name, one.free) for one in found.order] == [("w", 1), ("v", 1)]


# ---- state maps --------------------------------------------------------------------------------------------------

OPTIONS = Options(worker_expiry=30.0, task_deadline=20.0, probe_deadline=10.0, ping_every=100.0)
SILENCE = OPTIONS.n_timeouts * OPTIONS.broker_timeout


def after(table: Table, act: str, *args: Any, **more: Any) -> tuple[Table, Any]:
    return table, lambda: getattr(table, act)(*args, **more)


def worker(*bodies: bytes, options: Options = OPTIONS, slow: bool = False) -> Table:
    table = Table(Worker(options), EXPLAIN, "worker").start()
    if slow:
        table.order(Slow(1.0))
    for body in bodies:
        table.hear([b"", body])
    return table


def brisk(*bodies: bytes, slow: bool = False) -> Table:
    return worker(*bodies, options=Options(ping_every=0.5), slow=slow)


EXITING = (PONG, b"one", EXIT)

WORKER: Scripts = {
    ("joining", "PONG"): lambda: after(worker(), "hear", [b"", PONG]),
    ("joining", "job"): lambda: after(worker(), "hear", [b"", b"one"]),
    ("joining", "silence"): lambda: after(worker(), "wait", SILENCE),
    ("joining", "connected anew"): lambda: after(worker().do(Disconnected()), "do", Connected()),
    ("joining", "EXIT"): lambda: after(worker(), "hear", [b"", EXIT]),
    ("joining", "told to leave"): lambda: after(worker(), "order", Leave()),
    ("ready", "a second"): lambda: after(brisk(PONG), "wait", 0.5),
    ("ready", "job"): lambda: after(worker(PONG), "hear", [b"", b"one"]),
    ("ready", "job that takes time"): lambda: after(worker(PONG, slow=True), "hear", [b"", b"one"]),
    ("ready", "job with a command as result"): lambda: after(worker(PONG), "hear", [b"", READY]),
    ("ready", "silence"): lambda: after(worker(PONG), "wait", SILENCE),
    ("ready", "connected anew"): lambda: after(worker(PONG).do(Disconnected()), "do", Connected()),
    ("ready", "EXIT"): lambda: after(worker(PONG), "hear", [b"", EXIT]),
    ("ready", "told to leave"): lambda: after(worker(PONG), "order", Leave()),
    ("working", "a second"): lambda: after(brisk(PONG, b"one", slow=True), "wait", 0.5),
    ("working", "the job is done"): lambda: after(worker(PONG, b"one", slow=True), "wait", 1.0),
    ("working", "job"): lambda: after(worker(PONG, b"one", slow=True), "hear", [b"", b"two"]),
    ("working", "EXIT"): lambda: after(worker(PONG, b"one", slow=True), "hear", [b"", EXIT]),
    ("working", "the job is done before leaving"): lambda: after(worker(*EXITING, slow=True), "wait", 1.0),
    ("working", "connected anew"): lambda: after(working_long().do(Disconnected()), "do", Connected()),
    ("working", "silence"): lambda: after(working_long(), "wait", SILENCE),
    ("ready", "PONG"): lambda: after(worker(PONG), "hear", [b"", PONG]),
    ("working", "PONG"): lambda: after(working_long(), "hear", [b"", PONG]),
    ("working", "told to leave"): lambda: after(working_long(), "order", Leave()),
    ("working", "silence before leaving"): lambda: after(working_long().order(Leave()), "wait", SILENCE),
    ("working", "the job is done with a command as result"): lambda: after(worker(PONG, READY, slow=True), "wait", 1.0),
    ("working", "the job is done with a command as result, before leaving"): lambda: after(
        worker(PONG, READY, EXIT, slow=True), "wait", 1.0
    ),
}


def working_long() -> Table:
    return worker(PONG, slow=True).order(Slow(60.0)).hear([b"", b"one"])


def broker(*bodies: bytes) -> Table:
    table = Table(Broker(OPTIONS), EXPLAIN, "broker").start()
    for body in bodies:
        table.hear([W, b"", body], socket=BACKEND)
    return table


def durable() -> Table:
    return Table(Durable(replace(OPTIONS, backlog="sqlite:")), EXPLAIN, "broker").start()


def busy() -> Table:
    return broker(READY).hear([C, b"", ID, b"ping"], socket=FRONTEND)


def owing() -> Table:
    """Its task has failed for good, so nothing waits for it."""
    table = Table(Broker(replace(OPTIONS, max_deliveries=1)), EXPLAIN, "broker").start()
    table.hear([W, b"", READY], socket=BACKEND).hear([C, b"", ID, b"ping"], socket=FRONTEND)
    table.now += 9.0
    table.hear([W, b"", PING], socket=BACKEND)
    return table.wait(2.0)


def told() -> Table:
    return broker(READY).order(Drain(W))


def leaving() -> Table:
    return busy().order(Drain(W))


def leaving_and_owing() -> Table:
    """Told to drain at work, its deadline passed while it PINGs."""
    table = Table(Broker(replace(OPTIONS, max_deliveries=1)), EXPLAIN, "broker").start()
    table.hear([W, b"", READY], socket=BACKEND).hear([C, b"", ID, b"ping"], socket=FRONTEND).order(Drain(W))
    table.now += 9.0
    table.hear([W, b"", PING], socket=BACKEND)
    return table.wait(2.0)


def silent(table: Table) -> Table:
    return table.wait(OPTIONS.worker_expiry)


def lost() -> Table:
    return silent(broker(READY))


def crowd() -> Table:
    """As many are lost as are remembered; w is the first of them."""
    others = [b"%d" % number for number in range(LOST_KEPT - 1)]
    return silent(broker().hear(*([key, b"", READY] for key in (W, *others)), socket=BACKEND))


def one_more() -> tuple[Table, Any]:
    table = crowd()
    return table, lambda: table.hear([b"x", b"", READY], socket=BACKEND).do(refused(PONG, b"x"))


def refused(body: bytes, key: bytes = W, reason: Literal["unreachable", "full"] = "unreachable") -> Unsent:
    return Unsent([key, b"", body], reason, BACKEND)


def gone(table: Table, body: bytes = PONG) -> tuple[Table, Any]:
    return after(table, "do", refused(body))


def says(table: Table, body: bytes) -> tuple[Table, Any]:
    return after(table, "hear", [W, b"", body], socket=BACKEND)


def silent_busy() -> Table:
    """Busy past its expiry with a job that may take longer."""
    options = Options(worker_expiry=3.0, task_deadline=20.0)
    table = Table(Broker(options), EXPLAIN, "broker").start().hear([W, b"", READY], socket=BACKEND)
    return table.hear([C, b"", ID, b"a long job"], socket=FRONTEND)


SEEN: Scripts = {
    ("unknown", "READY"): lambda: says(broker(), READY),
    ("unknown", "PING"): lambda: says(broker(), PING),
    ("unknown", "PING of one that owes"): lambda: says(durable(), PING),
    ("idle", "READY"): lambda: says(broker(READY), READY),
    ("idle", "PING"): lambda: says(broker(READY), PING),
    ("idle", "its connection is gone"): lambda: gone(broker(READY)),
    ("idle", "a task"): lambda: after(broker(READY), "hear", [C, b"", ID, b"ping"], socket=FRONTEND),
    ("idle", "silence"): lambda: after(broker(READY), "wait", OPTIONS.worker_expiry),
    ("idle", "an operator expires it"): lambda: after(broker(READY), "order", Expire(W)),
    ("busy", "an operator expires it"): lambda: after(busy(), "order", Expire(W)),
    ("owing", "an operator expires it"): lambda: after(owing(), "order", Expire(W)),
    ("leaving", "an operator expires it"): lambda: after(leaving(), "order", Expire(W)),
    ("busy", "an operator takes its job back"): lambda: after(busy(), "order", Requeue(W)),
    ("leaving", "an operator takes its job back"): lambda: after(leaving(), "order", Requeue(W)),
    ("leaving", "told to drain no more"): lambda: after(leaving(), "order", Undrain(W)),
    ("leaving", "told to drain no more of one that owes"): lambda: after(leaving_and_owing(), "order", Undrain(W)),
    ("idle", "told to drain"): lambda: after(broker(READY), "order", Drain(W)),
    ("busy", "PING"): lambda: says(busy(), PING),
    ("busy", "result"): lambda: says(busy(), b"ping"),
    ("busy", "READY"): lambda: says(busy(), READY),
    ("busy", "PING on a connection made anew"): lambda: says(busy().do(Disconnected(BACKEND, W)), PING),
    ("busy", "silence"): lambda: after(silent_busy(), "wait", 3.0),
    ("busy", "deadline"): lambda: after(busy(), "wait", 10.0),
    ("busy", "deadline in silence"): lambda: after(silent_busy().wait(3.0), "wait", 17.0),
    ("busy", "told to drain"): lambda: after(busy(), "order", Drain(W)),
    ("owing", "PING"): lambda: says(owing(), PING),
    ("owing", "late result"): lambda: says(owing(), b"ping"),
    ("owing", "silence"): lambda: after(owing(), "wait", OPTIONS.worker_expiry),
    ("owing", "its connection is gone"): lambda: gone(owing()),
    ("owing", "told to drain"): lambda: after(owing(), "order", Drain(W)),
    ("owing", "READY"): lambda: says(owing(), READY),
    ("busy", "its job is not sent"): lambda: gone(busy(), b"ping"),
    ("busy", "its connection is gone"): lambda: gone(busy()),
    ("leaving", "result"): lambda: says(leaving(), b"ping"),
    ("leaving", "late result"): lambda: says(leaving_and_owing(), b"ping"),
    ("leaving", "PING"): lambda: says(leaving(), PING),
    ("leaving", "PING of one that owes"): lambda: says(leaving_and_owing(), PING),
    ("leaving", "PING on a connection made anew"): lambda: says(leaving().do(Disconnected(BACKEND, W)), PING),
    ("leaving", "READY"): lambda: says(leaving(), READY),
    ("leaving", "silence"): lambda: after(silent_busy().order(Drain(W)), "wait", 3.0),
    ("leaving", "silence of one that owes"): lambda: after(leaving_and_owing(), "wait", OPTIONS.worker_expiry),
    ("leaving", "deadline"): lambda: after(leaving(), "wait", 10.0),
    ("leaving", "deadline in silence"): lambda: after(silent_busy().order(Drain(W)).wait(3.0), "wait", 17.0),
    ("leaving", "its job is not sent"): lambda: gone(leaving(), b"ping"),
    ("leaving", "its connection is gone"): lambda: gone(leaving()),
    ("told", "PING"): lambda: says(told(), PING),
    ("told", "late result"): lambda: says(owing().order(Drain(W)), b"ping"),
    ("told", "READY"): lambda: says(told(), READY),
    ("told", "silence"): lambda: after(told(), "wait", OPTIONS.worker_expiry),
    ("told", "its connection is gone"): lambda: gone(told()),
    ("lost", "too many were lost since"): one_more,
    ("lost", "PING of one that owes"): lambda: says(silent(owing()), PING),
    ("lost", "PING of one that is to leave"): lambda: says(leaving().do(refused(b"ping")), PING),
    ("lost", "PING of one that owes and is to leave"): lambda: says(silent(leaving_and_owing()), PING),
    ("lost", "late result"): lambda: says(silent(owing()), b"ping"),
    ("lost", "late result of one that is to leave"): lambda: says(silent(leaving_and_owing()), b"ping"),
    ("lost", "PING"): lambda: says(lost(), PING),
    ("lost", "READY"): lambda: says(lost(), READY),
}


def client(linked: bool = False) -> Table:
    table = Table(Client(Options(ping_every=0.5)), EXPLAIN, "client").start()
    return table.hear([b"", PONG]) if linked else table


CLIENT: Scripts = {
    ("silent", "PONG or reply"): lambda: (table := client(), lambda: table.hear([b"", PONG]).wait(0.5)),
    ("silent", "silence"): lambda: after(client(), "wait", SILENCE),
    ("silent", "connected anew"): lambda: after(client().do(Disconnected()), "do", Connected()),
    ("linked", "connected anew"): lambda: after(client(True).do(Disconnected()), "do", Connected()),
    ("linked", "PONG or reply"): lambda: after(client(True), "hear", [b"", PONG]),
    ("linked", "a second"): lambda: after(client(True), "wait", 0.5),
    ("linked", "silence"): lambda: after(client(True), "wait", SILENCE),
}


ALSO = {
    ("busy", "READY"): {("idle", "a task")},  # the next job goes to it at once
    ("silent", "PONG or reply"): {("linked", "a second")},
    ("lost", "too many were lost since"): {("unknown", "READY"), ("idle", "its connection is gone")},
}


@pytest.mark.parametrize(("at", "scripts"), [(0, WORKER), (1, SEEN), (2, CLIENT)])
def test_the_core_walks_every_edge_of_its_map(at: int, scripts: Scripts) -> None:
    walk(state_maps()[at], scripts, ALSO)
