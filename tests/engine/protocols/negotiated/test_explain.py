"""The negotiated broker in words: every message that it knows, any frames, and the state maps walked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Connected, Disconnected, Drain, Frames, Leave
from engine.parts.bulk import BulkSpec
from engine.parts.explain import Decoded, Direction, Role
from engine.protocols.negotiated import SYSTEM, names, standby
from engine.protocols.negotiated import config as configs
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated.config import Address, Config
from engine.protocols.negotiated.explain import EXPLAIN, decode, pair_edges, state_maps
from engine.protocols.negotiated.options import Options
from engine.protocols.negotiated.pair import ROLES
from tests.helpers.explain import Scripts, Table, walk

ID = (7).to_bytes(8, "little")
W, C = b"w", b"c"
HEADERS: dict[bytes, wire.Header] = {
    names.CHECKCONFIG: {"config_type": "json", "config_version": 1},
    names.CONFIG: {"config_type": "json", "config_version": 1, "config_hash": "abc"},
    names.NEEDBROKER: {"identity": "w", "services": ["ping"]},
    names.CHANGEBROKER: {"endpoint": "tcp://127.0.0.1:1"},
    names.READY: {
        "services": ["ping", "data"],
        "heartbeat_interval": 1.0,
        "time": 2.0,
        "config_version": 1,
        "slots": 2,
        "holding": [b"63.0700"],
    },
    names.READYOK: {"time": 2.0, "heartbeat_interval": 1.0},
    names.PING: {"time": 2.0, "config_version": 1},
    names.PONG: {"time": 2.0, "echo": 1.0, "config_version": 1},
    names.WORKREPLY: {names.IDENTIFIER: ID},
    names.DISCONNECTERROR: {"code": 408, "message": "wrong clock", names.IDENTIFIER: ID},
    names.FORCENEGOTIATE: {},
    names.BROKERSTATE: {"state": "active", "sequence": 3, "echo": 2, "replica": -1},
    names.REPLICA: {"sequence": 4},
}
REQUESTS: dict[str, wire.Header] = {
    "client": {names.IDENTIFIER: ID, "service": "ping"},
    "worker": {"time": 2.0, "config_version": 1, names.IDENTIFIER: wire.task_identifier((C, ID)), "service": "ping"},
}


def spoken() -> list[tuple[str, Role, str, bytes]]:
    """(who is at the other end, who sends, over which socket of the broker, command) of everything that is known."""
    tables: list[tuple[str, Role, str, Mapping[bytes, wire.Fields]]] = [
        ("worker", "worker", "main", wire.FROM_WORKERS),
        ("worker", "broker", "main", wire.TO_WORKERS),
        ("client", "client", "frontend", wire.FROM_CLIENTS),
        ("client", "broker", "frontend", wire.TO_CLIENTS),
        ("broker", "broker", "peer", wire.BETWEEN_BROKERS),
    ]
    return [(peer, role, socket, command) for peer, role, socket, known in tables for command in known]


@pytest.mark.parametrize(("peer", "role", "socket", "command"), spoken())
def test_every_message_is_explained(peer: str, role: Role, socket: str, command: bytes) -> None:
    header = REQUESTS[peer] if command == names.WORKREQUEST else HEADERS[command]
    if peer == "worker" and command == names.WORKREPLY:
        header = {names.IDENTIFIER: wire.task_identifier((C, ID))}
    if peer == "worker" and command == names.DISCONNECTERROR:
        header = {"code": 408, "message": "wrong clock"}
    frames = wire.build(command, header, b"body")
    here = [C, *frames] if role == "broker" else frames
    (found,) = decode(role, "out", here, socket if role == "broker" else "main")
    assert (found.command, found.violation) == (command.decode(), "")
    assert {name for name, _ in found.fields} == {*header, "body"}
    assert found.rule and found.peer == (C if role == "broker" else None)
    if names.IDENTIFIER not in header:
        assert (found.task, found.leg) == (b"", "")
    else:
        client = b"" if role == "client" else C
        assert (found.task, found.client or b"") == (ID, client)


def test_fields_are_words() -> None:
    (found,) = decode("worker", "out", wire.build(names.READY, HEADERS[names.READY]), "main")
    assert dict(found.fields) == {
        "services": "ping, data",
        "heartbeat_interval": "1.000",
        "time": "2.000",
        "config_version": "1",
        "slots": "2",
        "holding": "1 tasks",
    }


def test_the_fallbacks_end_has_no_routing_id_in_front() -> None:
    frames = wire.build(names.REPLICA, {"sequence": 4}, b"x")
    assert decode("broker", "in", [b"fallback", *frames], "peer")[0].peer == b"fallback"
    assert decode("broker", "in", frames, "peer")[0].peer is None


@given(
    st.sampled_from(("broker", "worker", "client")),
    st.sampled_from(("in", "out", "refused")),
    st.lists(st.one_of(st.binary(max_size=9), st.sampled_from([b"", b"w", *HEADERS, b"\x80", b"{}"])), max_size=6),
    st.sampled_from(("main", "frontend", "peer")),
)
def test_any_frames_are_explained(role: Role, direction: Direction, frames: Frames, socket: str) -> None:
    found = decode(role, direction, list(frames), socket)
    assert len(found) == 1 and all(message.command for message in found)


# ---- state maps --------------------------------------------------------------------------------------------------

HERE, STRANGER = "tcp://127.0.0.1:1", "tcp://192.0.2.1:1"
OPTIONS = Options(services="ping, data")
SILENCE = OPTIONS.silence * OPTIONS.heartbeat
GROUP = Config(
    1,
    OPTIONS.heartbeat,
    OPTIONS.skew,
    (Address(HERE, "tcp://127.0.0.1:101"), Address("tcp://127.0.0.1:2", "tcp://127.0.0.1:102")),
)
CONFIG = wire.build(
    names.CONFIG,
    {"config_type": OPTIONS.config_type, "config_version": 1, "config_hash": GROUP.hash},
    configs.encode(GROUP, OPTIONS.config_type),
)
READYOK = wire.build(names.READYOK, {"time": 100.0, "heartbeat_interval": OPTIONS.heartbeat})
FORCE = wire.build(names.FORCENEGOTIATE, {})


def error(code: int, **more: Any) -> Frames:
    return wire.build(names.DISCONNECTERROR, {"code": code, "message": "no", **more})


def change(endpoint: str) -> Frames:
    return wire.build(names.CHANGEBROKER, {"endpoint": endpoint})


def peer(role: Role, saved: bool = False) -> Table:
    kept = configs.encode(GROUP, "json") if saved else None
    make = SYSTEM.worker if role == "worker" else SYSTEM.client
    args = (OPTIONS, HERE, 1, 2) if role == "worker" else (OPTIONS, HERE, 1)
    return Table(make(*args, wall_offset=0.0, saved=kept).core, EXPLAIN, role)


def checking(role: Role, saved: bool = False) -> Table:
    return peer(role, saved).start()


def asking(role: Role) -> Table:
    return checking(role, True).wait(SILENCE)


def linked(role: Role) -> Table:
    table = checking(role).hear(CONFIG)
    return table.hear(READYOK) if role == "worker" else table


def out(role: Role) -> Table:
    return checking(role).hear(error(408))


def after(table: Table, act: str, *args: Any) -> tuple[Table, Any]:
    return table, lambda: getattr(table, act)(*args)


def broken(role: Role) -> Table:
    table = linked(role)
    table.do(Disconnected())
    return table


def deaf(role: Role, other: str) -> Table:
    """It has been silent, and is linked again on a new connection at once."""
    table = linked(role).wait(SILENCE).hear(change(other)).hear(CONFIG)
    return table.hear(READYOK) if role == "worker" else table


def both(role: Role) -> Scripts:
    other = f"tcp://127.0.0.1:{2 if role == 'worker' else 102}"
    beat = OPTIONS.heartbeat
    return {
        ("new", "start"): lambda: after(peer(role), "start"),
        ("checking", "an interval"): lambda: after(checking(role), "wait", beat),
        ("checking", "no answer, another broker is known"): lambda: after(checking(role, True), "wait", SILENCE),
        ("checking", "no answer, no broker is left"): lambda: after(checking(role), "wait", SILENCE),
        ("checking", "CHANGEBROKER"): lambda: after(checking(role), "hear", change(other)),
        ("checking", "CHANGEBROKER to a stranger"): lambda: after(checking(role), "hear", change(STRANGER)),
        ("asking", "CHANGEBROKER to a stranger"): lambda: after(asking(role), "hear", change(STRANGER)),
        ("linked", "DISCONNECTERROR 301 to a stranger"): lambda: after(
            linked(role), "hear", error(301, endpoint=STRANGER)
        ),
        ("checking", "DISCONNECTERROR 408"): lambda: after(checking(role), "hear", error(408)),
        ("checking", "DISCONNECTERROR 415"): lambda: after(checking(role), "hear", error(415)),
        ("asking", "an interval"): lambda: after(asking(role), "wait", beat),
        ("asking", "CHANGEBROKER"): lambda: after(asking(role), "hear", change(other)),
        ("linked", "an interval"): lambda: after(linked(role), "wait", beat),
        ("linked", "FORCENEGOTIATE"): lambda: after(linked(role), "hear", FORCE),
        ("linked", "DISCONNECTERROR 301"): lambda: after(linked(role), "hear", error(301, endpoint=other)),
        ("linked", "DISCONNECTERROR 403"): lambda: after(linked(role), "hear", error(403)),
        ("linked", "DISCONNECTERROR 408"): lambda: after(linked(role), "hear", error(408)),
        ("linked", "silence, another broker is known"): lambda: after(linked(role), "wait", SILENCE),
        ("linked", "connected again"): lambda: after(broken(role), "do", Connected()),
        ("linked", "silence again, its id is another's"): lambda: after(deaf(role, other), "wait", SILENCE),
        ("out", "some intervals"): lambda: after(out(role), "wait", SILENCE),
    }


REQUEST = wire.build(names.WORKREQUEST, REQUESTS["worker"])


def leaving() -> Table:
    return linked("worker").order(Leave())


# On their way to a link: for the first time, and again.
HALFWAY: dict[str, tuple[Callable[[], Table], Callable[[], Table]]] = {
    "checking": (lambda: checking("worker"), lambda: linked("worker").hear(FORCE)),
    "asking": (lambda: asking("worker"), lambda: linked("worker").wait(SILENCE)),
    "joining": (lambda: checking("worker").hear(CONFIG), lambda: linked("worker").hear(FORCE).hear(CONFIG)),
    "out": (lambda: out("worker"), lambda: linked("worker").hear(error(408))),
}


def told_to_leave(state: str, again: int) -> Callable[[], tuple[Table, Any]]:
    return lambda: after(HALFWAY[state][again](), "order", Leave())


WORKER: Scripts = {
    **both("worker"),
    **{(state, "told to leave, never joined"): told_to_leave(state, 0) for state in HALFWAY},
    **{(state, "told to leave"): told_to_leave(state, 1) for state in HALFWAY},
    ("checking", "CONFIG"): lambda: after(checking("worker"), "hear", CONFIG),
    ("joining", "an interval"): lambda: after(checking("worker").hear(CONFIG), "wait", OPTIONS.heartbeat),
    ("joining", "DISCONNECTERROR 426"): lambda: after(checking("worker").hear(CONFIG), "hear", error(426)),
    ("joining", "READYOK"): lambda: after(checking("worker").hear(CONFIG), "hear", READYOK),
    ("linked", "WORKREQUEST"): lambda: after(linked("worker"), "hear", REQUEST),
    ("linked", "told to leave"): lambda: after(linked("worker"), "order", Leave()),
    ("leaving", "READYOK"): lambda: after(leaving(), "hear", READYOK),
    ("leaving", "no READYOK for an interval"): lambda: after(leaving(), "wait", OPTIONS.heartbeat),
}


def replied() -> tuple[Table, Any]:
    table = linked("client").order(BulkSpec("ping", 2, in_flight=1))
    (message,) = decode("client", "out", table.sent[-1], "main")
    return after(table, "hear", wire.build(names.WORKREPLY, {names.IDENTIFIER: message.task}))


CLIENT: Scripts = {
    **both("client"),
    ("checking", "CONFIG"): lambda: after(checking("client"), "hear", CONFIG),
    ("linked", "WORKREPLY"): replied,
}


def ready(services: tuple[str, ...] = ("ping",), at: float = 100.0, **more: Any) -> Frames:
    header = {"services": list(services), "heartbeat_interval": 1.0, "time": at, "config_version": 1, **more}
    return [W, *wire.build(names.READY, header)]


def ping(at: float) -> Frames:
    return [W, *wire.build(names.PING, {"time": at, "config_version": 1})]


def broker(joined: bool = False, busy: bool = False) -> Table:
    table = Table(SYSTEM.broker(OPTIONS, [HERE], wall_offset=0.0).core, EXPLAIN, "broker").start()
    check = wire.build(names.CHECKCONFIG, {"config_type": "json"})
    table.hear([C, *check], socket="frontend")
    if joined:
        table.hear(ready())
    return table if not busy else ask(table)


def ask(table: Table) -> Table:
    return table.hear([C, *wire.build(names.WORKREQUEST, REQUESTS["client"])], socket="frontend")


REPLY = [W, *wire.build(names.WORKREPLY, {names.IDENTIFIER: wire.task_identifier((C, ID))})]
GOODBYE = ready(())


def emptied(table: Table) -> tuple[Table, Any]:
    """READY that holds nothing, with a second slot: its task comes back to it at once."""
    return after(table, "hear", ready(slots=2))


def forgotten() -> tuple[Table, Any]:
    """The other one it holds, so the first waits until it is empty."""
    table = ask(broker().hear(ready(slots=2)))
    table.hear([C, *wire.build(names.WORKREQUEST, {names.IDENTIFIER: b"other", "service": "ping"})], socket="frontend")
    table.now += 2.5
    holding = [wire.task_identifier((C, b"other"))]
    return after(table, "hear", [W, *wire.build(names.PING, {"time": 102.5, "config_version": 1, "holding": holding})])


SEEN: Scripts = {
    ("unknown", "CHECKCONFIG"): lambda: after(
        broker(), "hear", [W, *wire.build(names.CHECKCONFIG, {"config_type": "json"})]
    ),
    ("unknown", "READY"): lambda: after(broker(), "hear", ready()),
    ("unknown", "PING"): lambda: after(broker(), "hear", ping(100.0)),
    ("ready", "PING"): lambda: after(broker(True), "hear", ping(100.0)),
    ("ready", "a task, the last slot"): lambda: (table := broker(True), lambda: ask(table)),
    ("ready", "PING with a wrong clock"): lambda: after(broker(True), "hear", ping(900.0)),
    ("ready", "silence"): lambda: after(broker(True), "wait", SILENCE),
    ("ready", "told to drain"): lambda: after(broker(True), "order", Drain(W)),
    ("ready", "READY without services"): lambda: after(broker(True), "hear", GOODBYE),
    ("busy", "WORKREPLY"): lambda: after(broker(True, True), "hear", REPLY),
    ("busy", "READY that holds nothing"): lambda: emptied(broker(True, True)),
    ("busy", "PING that does not hold a task"): forgotten,
    ("busy", "silence"): lambda: after(broker(True, True), "wait", SILENCE),
    ("busy", "told to drain"): lambda: after(broker(True, True), "order", Drain(W)),
    ("draining", "WORKREPLY"): lambda: after(broker(True, True).order(Drain(W)), "hear", REPLY),
}


@pytest.mark.parametrize(("at", "scripts"), [(0, WORKER), (1, SEEN), (2, CLIENT)])
def test_the_core_walks_every_edge_of_its_map(at: int, scripts: Scripts) -> None:
    walk(state_maps()[at], scripts)


def test_the_pairs_map_is_the_table_that_the_rules_of_the_standby_show() -> None:
    """The table in the text of ``standby.py``, of which the map is made by asking ``Standby`` itself."""
    text = standby.__doc__ or ""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    said = {(row[0], head) for row in rows[2:] for head, cell in zip(rows[0][1:], row[1:], strict=True) if cell}
    heard = {"primary": "peer primary", "backup": "peer backup", "active": "peer active", "passive": "peer passive"}
    found = set()
    for edge in pair_edges():
        last = edge.event.split()[-1]
        found.add((edge.state, {"nobody": "alone", "request": "silence + request"}.get(last) or heard[last]))
    assert found == said


def test_every_turn_of_a_pair_is_counted_on_its_edge() -> None:
    pair = state_maps()[3]
    assert pair.walked is not None
    for edge in pair.edges:
        role: Literal["primary", "backup"] = "backup" if "the fallback hears" in edge.event else "primary"
        if edge.state == "backup":
            role = "backup"
        rank = standby.Standby(role, 1.0, 0, 0.0)
        rank.state = get_args(standby.State)[pair.states.index(edge.state)]
        match edge.event.split()[-1]:
            case "nobody":
                rank.tick(standby.LONE)
            case "request":
                rank.request(standby.SILENCE)
                rank.tick(2 * standby.SILENCE)
            case said:
                rank.heard(get_args(standby.State)[pair.states.index(said)], 1, rank.beat(0.0), 0.0)
        view = (
            broker()
            .core.snapshot(100.0)
            ._replace(terms=(("role", ROLES[role]),), walked=(*rank.walked.items(), (("ready", "silence"), 5)))
        )
        assert pair.walked(view) == {(edge.state, edge.event): 1}, edge


def test_standings_are_those_of_the_service() -> None:
    table = broker(True)
    found = EXPLAIN.candidates(table.core, Decoded("WORKREQUEST", (("service", "ping"),)))
    assert [(one.key, one.free) for one in found.order] == [(W, 1)]
    assert EXPLAIN.candidates(table.core, Decoded("WORKREQUEST", (("service", "data"),))).order == ()


def test_standings_of_a_suspect_are_those_that_hold_nothing() -> None:
    table, fields = broker(True, True), (("service", "ping"),)
    suspect, other = Decoded("WORKREQUEST", fields, task=ID, client=C), {names.IDENTIFIER: b"other", "service": "ping"}
    table.hear([b"v", *ready(slots=2)[1:]])
    found = EXPLAIN.candidates(table.core, suspect)
    assert ([one.key for one in found.order], found.rule[:15]) == ([b"v"], "ours: a suspect")
    table.hear([C, *wire.build(names.WORKREQUEST, other)], socket="frontend")
    table.hear(GOODBYE)
    assert EXPLAIN.candidates(table.core, suspect)._replace(rule="") == ((), 1, "")
    assert EXPLAIN.candidates(table.core, suspect._replace(task=b"new")).rule.endswith("is passed over")
