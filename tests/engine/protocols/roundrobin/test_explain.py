"""Round robin in words: every builder, any frames, and the state maps walked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Disconnected, Frames, Paused, Unsent
from engine.parts.bulk import BulkSpec
from engine.parts.explain import Decoded, Direction, Role
from engine.parts.orders import Drain, Expire, Leave, Slow, Undrain
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.client import Client
from engine.protocols.roundrobin.explain import EXPLAIN, decode, state_maps
from engine.protocols.roundrobin.options import Options
from engine.protocols.roundrobin.table import LOST_KEPT
from engine.protocols.roundrobin.worker import Worker
from tests.helpers.explain import Scripts, Table, walk
from tests.helpers.roundrobin import PACE

ID = (7).to_bytes(8, "little")
TASK = [wire.TRACKEXEC, ID, wire.APP_PING]
W, C = b"w", b"c"
PACKED = ("lane", "packed")

# Every builder: who sends it, its frames there, and what it says; a broker's frames begin with the peer.
BUILT: list[tuple[Role, Frames, list[Decoded]]] = [
    ("worker", wire.link_ping(b"12345678"), [Decoded("PING", (("id", "12345678"),))]),
    ("client", wire.link_pong(b"12345678"), [Decoded("PONG", (("id", "12345678"),))]),
    ("broker", [W, *wire.link_ping(b"12345678")], [Decoded("PING", (("id", "12345678"),), W)]),
    ("worker", wire.register(b"reg1", 10), [Decoded("REGISTER", (("slots", "10"), ("id", "reg1")))]),
    ("broker", [W, *wire.registered(b"reg1")], [Decoded("RESPONSE to REGISTER", (("id", "reg1"),), W)]),
    ("worker", wire.deregister(), [Decoded("DEREGISTER")]),
    ("worker", wire.increment(b"inc1"), [Decoded("INCREMENT", (("id", "inc1"),))]),
    ("client", wire.ping(ID, True), [Decoded("TRACKEXEC PING", (("task", "7"),), None, ID, leg="request")]),
    ("client", wire.ping(ID, False), [Decoded("EXEC PING", (("task", "7"),), None, ID, leg="request")]),
    (
        "client",
        wire.stream(ID, 1024),
        [
            Decoded(
                "TRACKEXEC STREAM",
                (("task", "7"), ("argument 1", "STREAM_ID"), ("argument 2", "1024")),
                None,
                ID,
                leg="request",
            )
        ],
    ),
    (
        "broker",
        wire.delivery(W, C, list(TASK)),
        [Decoded("TRACKEXEC PING", (("task", "7"), ("for", "c")), W, ID, C, leg="give")],
    ),
    (
        "worker",
        wire.reply(C, ID),
        [Decoded("RESPONSE", (("task", "7"), ("data", "none"), ("for", "c")), None, ID, C, leg="answer")],
    ),
    (
        "broker",
        wire.relayed(C, ID, W, b"xyz"),
        [Decoded("RESPONSE", (("task", "7"), ("data", "3 bytes"), ("by", "w")), C, ID, C, leg="reply")],
    ),
    (
        "client",
        [packed.tasks([list(TASK), [wire.EXEC, b"ab", b"\x63"]])],
        [
            Decoded("TRACKEXEC PING", (("task", "7"), PACKED), None, ID, leg="request"),
            Decoded("EXEC 0x63", (("task", "ab"), PACKED), None, b"ab", leg="request"),
        ],
    ),
    (
        "broker",
        [W, packed.deliveries([C, list(TASK)])],
        [Decoded("TRACKEXEC PING", (("task", "7"), ("for", "c"), PACKED), W, ID, C, leg="give")],
    ),
    (
        "worker",
        [packed.answers([C, ID, True, C, b"ab", None])],
        [
            Decoded("RESPONSE", (("task", "7"), ("data", "none"), ("for", "c"), PACKED), None, ID, C, leg="answer"),
            Decoded("INCREMENT", (("task", "7"), ("for", "c"), PACKED)),
            Decoded("INCREMENT", (("task", "ab"), ("for", "c"), PACKED), None, b"ab", C, leg="answer"),
        ],
    ),
    (
        "broker",
        [C, packed.results([ID, W, None])],
        [Decoded("RESPONSE", (("task", "7"), ("data", "none"), ("by", "w"), PACKED), C, ID, C, leg="reply")],
    ),
]


@pytest.mark.parametrize(("role", "frames", "said"), BUILT)
def test_every_builder_is_explained_at_both_ends(role: Role, frames: Frames, said: list[Decoded]) -> None:
    found = decode(role, "out", frames, "main")
    assert all(message.rule and not message.violation for message in found)
    assert [message._replace(rule="") for message in found] == said
    if role == "broker":
        there = decode("worker" if frames[0] == W else "client", "in", frames[1:], "main")
    else:
        there = decode("broker", "in", [b"me", *frames], "main")
    assert [(one.command, one.task, one.leg, one.rule) for one in there] == [
        (one.command, one.task, one.leg, one.rule) for one in found
    ]


@pytest.mark.parametrize(
    ("role", "frames", "why"),
    [
        ("broker", [W, b"", b"LMQv099", wire.PING, ID, b""], "wrong version"),
        ("broker", [W, *wire.register(b"reg1", 10)[:-2], b"many", b""], "bad slots"),
        ("broker", [W, packed.results([ID, W, None])], "packed frame of a wrong kind"),
        ("worker", [packed.MAGIC + b"D junk"], "unreadable packed frame"),
        ("broker", [], "wrong number of frames"),
    ],
)
def test_what_can_not_be_read_says_why(role: Role, frames: Frames, why: str) -> None:
    (message,) = decode(role, "in", frames, "main")
    assert message.violation == why


@given(
    st.sampled_from(("broker", "worker", "client")),
    st.sampled_from(("in", "out", "refused")),
    st.lists(
        st.one_of(
            st.binary(max_size=12),
            st.sampled_from([b"", wire.VERSION, wire.TRACKEXEC, wire.EXEC, wire.RESPONSE, wire.APP_REGISTER, ID]),
            st.binary(max_size=20).map(lambda tail: packed.MAGIC + tail),
        ),
        max_size=9,
    ),
)
def test_any_frames_are_explained(role: Role, direction: Direction, frames: Frames) -> None:
    found = decode(role, direction, list(frames), "main")
    assert found and all(message.command for message in found)


# ---- state maps --------------------------------------------------------------------------------------------------

OPTIONS = Options(**PACE)


def worker() -> Table:
    return Table(Worker(OPTIONS, 2, 1), EXPLAIN, "worker").start()


def pong(table: Table) -> Table:
    return table.hear(wire.link_pong(table.sent[-1][3]))


def registering() -> Table:
    return pong(worker())


def working() -> Table:
    table = registering()
    return table.hear(wire.registered(table.sent[-1][3]))


def leaving() -> Table:
    return working().order(Leave())


def denied() -> tuple[Table, Any]:
    table = working().wait(OPTIONS.heartbeat)
    denial = wire.disowned(table.sent[-1][3])
    assert denial is not None
    return table, lambda: table.hear(wire.link_pong(denial))


def after(table: Table, act: str, *args: Any) -> tuple[Table, Any]:
    return table, lambda: getattr(table, act)(*args)


def slowly(table: Table) -> Table:
    """It holds a task for a second."""
    return table.order(Slow(1.0)).hear(wire.delivery(W, C, list(TASK))[1:])


PONGED, UNHEARD = "nothing is held after the goodbye's PONG", "nothing is held after expiry without it"

WORKER: Scripts = {
    ("linking", "PONG"): lambda: (table := worker(), lambda: pong(table)),
    ("linking", "no PONG for expiry"): lambda: after(worker(), "wait", OPTIONS.expiry),
    ("linking", "its connection ended"): lambda: after(worker(), "do", Disconnected()),
    ("linking", "paused for expiry"): lambda: after(worker(), "do", Paused(OPTIONS.expiry)),
    ("linking", "task"): lambda: after(slowly(working()).do(Disconnected()), "wait", 1.0),
    ("linking", "told to leave"): lambda: after(slowly(working()).do(Disconnected()), "order", Leave()),
    ("registering", "RESPONSE to REGISTER"): lambda: (
        table := registering(),
        lambda: table.hear(wire.registered(table.sent[-1][3])),
    ),
    ("registering", "no RESPONSE for a heartbeat"): lambda: after(registering(), "wait", OPTIONS.heartbeat),
    ("registering", "PONG"): lambda: (
        table := registering().wait(OPTIONS.heartbeat),
        lambda: table.hear(wire.link_pong(table.sent[0][3])),
    ),
    ("registering", "no PONG for expiry"): lambda: after(registering(), "wait", OPTIONS.expiry),
    ("registering", "its connection ended"): lambda: after(registering(), "do", Disconnected()),
    ("registering", "paused for expiry"): lambda: after(registering(), "do", Paused(OPTIONS.expiry)),
    ("registering", "task"): lambda: after(pong(slowly(working()).do(Disconnected())), "wait", 1.0),
    ("registering", "told to leave"): lambda: after(registering(), "order", Leave()),
    ("working", "task"): lambda: after(working(), "hear", wire.delivery(W, C, list(TASK))[1:]),
    ("working", "PONG"): lambda: (table := working().wait(OPTIONS.heartbeat), lambda: pong(table)),
    ("working", "PONG that denies"): denied,
    ("working", "no PONG for expiry"): lambda: after(working(), "wait", OPTIONS.expiry),
    ("working", "its connection ended"): lambda: after(working(), "do", Disconnected()),
    ("working", "paused for expiry"): lambda: after(working(), "do", Paused(OPTIONS.expiry)),
    ("working", "told to leave"): lambda: after(working(), "order", Leave()),
    ("leaving", "task"): lambda: after(slowly(working()).order(Leave()), "wait", 1.0),
    ("leaving", "PONG"): lambda: (table := slowly(working()).order(Leave()), lambda: pong(table)),
    ("leaving", "no PONG for expiry"): lambda: after(working().wait(1.0).order(Leave()), "wait", OPTIONS.expiry - 1.0),
    ("leaving", "its connection ended"): lambda: after(leaving(), "do", Disconnected()),
    ("leaving", "nothing is held"): lambda: after(slowly(working()).do(Disconnected()).order(Leave()), "wait", 1.0),
    ("leaving", PONGED): lambda: (table := leaving(), lambda: pong(table)),
    ("leaving", UNHEARD): lambda: after(leaving(), "wait", OPTIONS.expiry),
}

# What else is walked in the same event.
WORKER_TOO: dict[tuple[str, str], set[tuple[str, str]]] = {
    ("leaving", "nothing is held"): {("leaving", "task")},
    ("leaving", PONGED): {("leaving", "PONG")},
    ("leaving", UNHEARD): {("leaving", "no PONG for expiry")},
}


SPOKE = wire.link_pong(bytes(8))  # so that it may be given tasks at once


def broker(slots: int = 0, tasks: int = 0, **options: Any) -> Table:
    table = Table(Broker(Options(**options)), EXPLAIN, "broker").start()
    if slots:
        table.hear([W, *wire.register(b"reg1", slots)], [W, *SPOKE])
    for number in range(tasks):
        table.hear([C, *wire.ping(number.to_bytes(8, "little"), True)])
    return table


def says(table: Table, *frames: Frames) -> tuple[Table, Any]:
    return table, lambda: [table.hear([W, *one]) for one in frames]


def draining() -> Table:
    return broker(1, 1).hear([W, *wire.deregister()])


def lost() -> Table:
    return broker(1).wait(OPTIONS.expiry)


UNSENT = Unsent([W, *wire.link_ping(ID)], "unreachable")
FIRST = (0).to_bytes(8, "little")
REPLY, INCREMENT, GOODBYE = wire.reply(C, FIRST), wire.increment(b"inc1"), wire.deregister()
PATIENT = {"expiry": 1000.0, "task_deadline": 10.0}

LESS = "REGISTER and no slot is free"
ANEW, ANEW_LESS = "REGISTER on a new link", "REGISTER on a new link, and no slot is free"
FULL = "INCREMENT and no slot is free"
PING = wire.link_ping(ID)


def fuller() -> Table:
    """It offers one slot less than it has in use."""
    return broker(2, 2).hear([W, *wire.register(b"reg1", 1)])


def stranger() -> Table:
    """A worker whose id another peer of ours has now."""
    return lost().hear([W, *wire.link_ping(wire.link_id(1, packs=True))])


def later(table: Table, now: float = 1.0) -> Table:
    """A link PING and, behind it, a task: that one was given over the new link."""
    return table.hear([W, *PING]).wait(now).hear([C, *wire.ping(b"later", True)])


def forgotten() -> tuple[Table, Any]:
    """As many are lost as are remembered, and then one more."""
    table = broker(1)
    table.hear(*([b"%d" % number, *wire.register(b"reg1", 1)] for number in range(LOST_KEPT - 1)))
    table.wait(OPTIONS.expiry)
    return table, lambda: table.hear([b"more", *registers(1)]).do(Disconnected(peer=b"more"))


def registers(slots: int) -> Frames:
    return wire.register(b"reg1", slots)


SEEN: Scripts = {
    ("unknown", "REGISTER"): lambda: says(broker(), registers(1)),
    ("unknown", "PING that claims"): lambda: says(broker(), wire.link_ping(wire.link_id(1, claim=True))),
    ("unknown", "RESPONSE"): lambda: says(broker(1, 1).wait(OPTIONS.expiry).wait(OPTIONS.lost_shown), REPLY),
    ("ready", "task"): lambda: after(broker(2), "hear", [C, *wire.ping(ID, True)]),
    ("ready", "task for the last slot"): lambda: after(broker(1), "hear", [C, *wire.ping(ID, True)]),
    ("ready", "RESPONSE"): lambda: says(broker(2, 1), REPLY),
    ("ready", "INCREMENT"): lambda: says(broker(2, 1).hear([W, *REPLY]), INCREMENT),
    ("ready", "PING"): lambda: says(broker(1), PING),
    ("ready", "PONG"): lambda: says(broker(1), SPOKE),
    ("ready", "REGISTER"): lambda: says(broker(2, 1), registers(2)),
    ("ready", LESS): lambda: says(broker(2, 1), registers(1)),
    ("ready", ANEW): lambda: says(broker(2, 1).hear([W, *PING]), registers(1)),
    ("ready", ANEW_LESS): lambda: says(later(broker(3, 1)), registers(1)),
    ("ready", "task_deadline"): lambda: after(broker(2, 1, **PATIENT), "wait", 10.0),
    ("ready", "DEREGISTER"): lambda: says(broker(2, 1), GOODBYE),
    ("ready", "DEREGISTER with nothing held"): lambda: says(broker(1), GOODBYE),
    ("ready", "told to drain"): lambda: after(broker(2, 1), "order", Drain(W)),
    ("ready", "silent for expiry"): lambda: after(broker(2, 1), "wait", OPTIONS.expiry),
    ("ready", "a message to it is refused"): lambda: after(broker(2, 1), "do", UNSENT),
    ("ready", "its connection ended"): lambda: after(broker(2, 1), "do", Disconnected(peer=W)),
    ("ready", "an operator expires it"): lambda: after(broker(2, 1), "order", Expire(W)),
    ("busy", "an operator expires it"): lambda: after(broker(1, 1), "order", Expire(W)),
    ("draining", "an operator expires it"): lambda: after(draining(), "order", Expire(W)),
    ("busy", "RESPONSE"): lambda: says(broker(1, 1), REPLY),
    ("busy", "INCREMENT"): lambda: says(broker(1, 1).hear([W, *REPLY]), INCREMENT),
    ("busy", FULL): lambda: says(fuller().hear([W, *REPLY]), INCREMENT),
    ("busy", "PING"): lambda: says(broker(1, 1), PING),
    ("busy", "PONG"): lambda: says(broker(1, 1), SPOKE),
    ("busy", "REGISTER"): lambda: says(broker(1, 1), registers(2)),
    ("busy", LESS): lambda: says(broker(1, 1), registers(1)),
    ("busy", ANEW): lambda: says(broker(1, 1).hear([W, *PING]), registers(2)),
    ("busy", ANEW_LESS): lambda: says(later(broker(2, 1)), registers(1)),
    ("busy", "task_deadline"): lambda: after(broker(1, 1, **PATIENT), "wait", 10.0),
    ("busy", "task_deadline and no slot is free"): lambda: after(
        broker(2, 1, **PATIENT).wait(5.0).hear([C, *wire.ping(ID, True)]).hear([W, *registers(1)]), "wait", 5.0
    ),
    ("busy", "DEREGISTER"): lambda: says(broker(1, 1), GOODBYE),
    ("busy", "told to drain"): lambda: after(broker(1, 1), "order", Drain(W)),
    ("busy", "silent for expiry"): lambda: after(broker(1, 1), "wait", OPTIONS.expiry),
    ("busy", "a message to it is refused"): lambda: after(broker(1, 1), "do", UNSENT),
    ("busy", "its connection ended"): lambda: after(broker(1, 1), "do", Disconnected(peer=W)),
    ("draining", "RESPONSE"): lambda: says(draining(), REPLY),
    ("draining", "INCREMENT"): lambda: says(broker(2, 2).hear([W, *GOODBYE]).hear([W, *REPLY]), INCREMENT),
    ("draining", "INCREMENT of all that it held"): lambda: says(draining().hear([W, *REPLY]), INCREMENT),
    ("draining", "PING"): lambda: says(draining(), PING),
    ("draining", "PONG"): lambda: says(draining(), SPOKE),
    ("draining", "REGISTER"): lambda: says(draining(), registers(2)),
    ("draining", LESS): lambda: says(draining(), registers(1)),
    ("draining", ANEW): lambda: says(draining().hear([W, *PING]), registers(1)),
    ("draining", ANEW_LESS): lambda: says(later(broker(2, 1)).hear([W, *GOODBYE]), registers(1)),
    ("draining", "task_deadline"): lambda: after(
        broker(2, 1, **PATIENT).wait(5.0).hear([C, *wire.ping(ID, True)]).hear([W, *GOODBYE]), "wait", 5.0
    ),
    ("draining", "task_deadline of all that it held"): lambda: after(
        broker(1, 1, **PATIENT).hear([W, *GOODBYE]), "wait", 10.0
    ),
    ("draining", "DEREGISTER"): lambda: says(broker(1, 1).order(Drain(W)), GOODBYE),
    ("draining", "DEREGISTER with nothing held"): lambda: says(broker(1).order(Drain(W)), GOODBYE),
    ("draining", "told to drain no more"): lambda: after(broker(1).order(Drain(W)), "order", Undrain(W)),
    ("draining", "told to drain no more and no slot is free"): lambda: after(
        broker(1, 1).order(Drain(W)), "order", Undrain(W)
    ),
    ("draining", "silent for expiry"): lambda: after(draining(), "wait", OPTIONS.expiry),
    ("draining", "a message to it is refused"): lambda: after(draining(), "do", UNSENT),
    ("draining", "its connection ended"): lambda: after(draining(), "do", Disconnected(peer=W)),
    ("lost", "PING"): lambda: says(lost(), PING),
    ("lost", "PING of another peer"): lambda: says(stranger(), PING),
    ("lost", "PONG"): lambda: says(lost(), SPOKE),
    ("lost", "PONG of another peer"): lambda: says(stranger(), SPOKE),
    ("lost", "REGISTER"): lambda: says(lost(), registers(1)),
    ("lost", "RESPONSE"): lambda: says(broker(1, 1).wait(OPTIONS.expiry), REPLY),
    ("lost", "DEREGISTER"): lambda: says(lost(), GOODBYE),
    ("lost", "told to drain"): lambda: after(lost(), "order", Drain(W)),
    ("lost", "lost_shown is over"): lambda: after(lost(), "wait", OPTIONS.lost_shown),
    ("lost", "too many were lost since"): forgotten,
}

SEEN_TOO = {("lost", "too many were lost since"): {("unknown", "REGISTER"), ("ready", "its connection ended")}}


def client(linked: bool = False) -> Table:
    table = Table(Client(OPTIONS), EXPLAIN, "client").start()
    return pong(table) if linked else table


def asking() -> tuple[Table, Any]:
    table = client(True).order(BulkSpec("ping", 2, in_flight=1))
    ident = table.sent[-1][3]
    return table, lambda: table.hear(wire.relayed(C, ident, W)[1:])


def cut_off() -> tuple[Table, Any]:
    """An answer overtakes the PONG of a link that is new."""
    table = client(True).order(BulkSpec("ping", 2, in_flight=1))
    ident = table.sent[-1][3]
    table.do(Disconnected())
    return table, lambda: table.hear(wire.relayed(C, ident, W)[1:])


CLIENT: Scripts = {
    ("linking", "PONG"): lambda: (table := client(), lambda: pong(table)),
    ("linking", "RESPONSE"): cut_off,
    ("linking", "no PONG for expiry"): lambda: after(client(), "wait", OPTIONS.expiry),
    ("linking", "its connection ended"): lambda: after(client(), "do", Disconnected()),
    ("linked", "PONG"): lambda: (table := client(True).wait(OPTIONS.heartbeat), lambda: pong(table)),
    ("linked", "RESPONSE"): asking,
    ("linked", "no PONG for expiry"): lambda: after(client(True), "wait", OPTIONS.expiry),
    ("linked", "its connection ended"): lambda: after(client(True), "do", Disconnected()),
}


def test_the_worker_walks_every_edge_of_its_map() -> None:
    walk(state_maps()[0], WORKER, WORKER_TOO)


def test_the_broker_walks_every_edge_of_its_map_of_a_worker() -> None:
    walk(state_maps()[1], SEEN, SEEN_TOO)


def test_the_client_walks_every_edge_of_its_map() -> None:
    walk(state_maps()[2], CLIENT)


def test_standings_are_in_the_order_in_which_they_would_be_given_a_task() -> None:
    table = broker(2)
    table.hear([b"v", *wire.register(b"reg1", 1)], [b"v", *SPOKE]).hear([C, *wire.ping(ID, True)])
    found = EXPLAIN.candidates(table.core, Decoded("TRACKEXEC PING"))
    assert [(one.key, one.free, one.slots) for one in found.order] == [(b"v", 1, 1), (W, 1, 2)]
    assert found.waiting == 0


def test_standings_of_a_suspect_are_those_that_hold_nothing() -> None:
    table = broker(1, 1)
    suspect = Decoded("TRACKEXEC PING", task=bytes(8), client=C)
    table.hear([b"v", *wire.register(b"reg1", 2)], [b"v", *SPOKE], [b"x", *wire.register(b"reg1", 2)], [b"x", *SPOKE])
    table.hear([C, *wire.ping(ID, True)])
    found = EXPLAIN.candidates(table.core, suspect)
    assert ([one.key for one in found.order], found.rule[:3]) == ([b"x"], "R12")
    table.hear([C, *wire.ping(b"four", True)])
    table.do(Unsent([W, *wire.link_ping(ID)], "unreachable"))
    assert EXPLAIN.candidates(table.core, suspect)._replace(rule="") == ((), 1, "")
    found = EXPLAIN.candidates(table.core, suspect._replace(task=b"five"))
    assert ([one.key for one in found.order], found.rule[-6:]) == ([b"x"], " (R12)")
