"""The negotiated broker in words: every message that it knows, any frames, and the state maps walked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Connected, Disconnected, Frames, Unsent, Woken
from engine.parts.explain import Decoded, Direction, Role
from engine.parts.machine import Machine, Row
from engine.parts.orders import Drain, Expire, Leave, Requeue, Slow, Throttle, Undrain
from engine.protocols.negotiated import SYSTEM, names
from engine.protocols.negotiated import config as configs
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import service as service_module
from engine.protocols.negotiated.config import Address, Config
from engine.protocols.negotiated.explain import EXPLAIN, decode, state_maps
from engine.protocols.negotiated.machine import CLIENT_LINK, PAIR, SEEN, WORK, WORKER_LINK, At, Does, If, On, Rank, Seen
from engine.protocols.negotiated.options import Options
from tests.helpers.explain import Scripts, Table, walk
from tests.helpers.negotiated import introduce

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
        "holding": "1 task",
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
OTHER, THIRD = "tcp://127.0.0.1:2", "tcp://127.0.0.1:3"
OPTIONS = Options(services="ping, data")
SILENCE, BEAT = OPTIONS.silence * OPTIONS.heartbeat, OPTIONS.heartbeat


def group(role: Role, *workers: str, version: int = 1) -> Config:
    """Brokers as a configuration names them. A client looks for the frontends, so it is told other endpoints."""
    pairs = [Address(end, end) if role == "client" and end != HERE else Address(end, end + "01") for end in workers]
    return Config(version, OPTIONS.heartbeat, OPTIONS.skew, tuple(pairs))


def taught(config: Config, **more: Any) -> Frames:
    header = {"config_type": OPTIONS.config_type, "config_version": config.version, "config_hash": config.hash, **more}
    return wire.build(names.CONFIG, header, configs.encode(config, OPTIONS.config_type))


READYOK = wire.build(names.READYOK, {"time": 100.0, "heartbeat_interval": OPTIONS.heartbeat})
FORCE = wire.build(names.FORCENEGOTIATE, {})


def error(code: int, **more: Any) -> Frames:
    return wire.build(names.DISCONNECTERROR, {"code": code, "message": "no", **more})


def change(endpoint: str) -> Frames:
    return wire.build(names.CHANGEBROKER, {"endpoint": endpoint})


class End:
    """A worker or client on a table, brought into a state: for the first time, or after it was linked (``again``).

    ``brokers``: how many it knows of.
    """

    def __init__(self, role: Role, brokers: int = 1) -> None:
        self.role: Role = role
        self.config = group(role, *(HERE, OTHER, THIRD)[:brokers])
        saved = configs.encode(self.config, "json") if brokers > 1 else None
        make = SYSTEM.worker if role == "worker" else SYSTEM.client
        args = (OPTIONS, HERE, 1, 2) if role == "worker" else (OPTIONS, HERE, 1)
        self.table = Table(make(*args, wall_offset=0.0, saved=saved).core, EXPLAIN, role)

    def linked(self) -> Table:
        """Up to its link."""
        table = self.table.start() if self.table.core.link.state == At.NEW else self.table
        table.hear(taught(self.config))
        return table.hear(READYOK) if self.role == "worker" else table

    def at(self, state: str, again: bool = False) -> Table:
        """In this state."""
        if state == At.NEW:
            return self.table
        if state == At.LINKED:
            return self.linked()
        table = self.linked() if again else self.table.start()
        if state == At.OUT:
            return table.hear(error(408))
        if state == At.ASKING:
            return table.wait(SILENCE)
        if again:
            table.hear(FORCE)
        return table.hear(taught(self.config)) if state == At.JOINING else table


def after(table: Table, act: str, *args: Any) -> tuple[Table, Any]:
    return table, lambda: getattr(table, act)(*args)


def known(state: str) -> int:
    """Of how many brokers it must know to be in this state for the first time."""
    return 2 if state == At.ASKING else 1


def round_about(role: Role, state: str, event: str) -> tuple[Table, Any]:
    """It was sent on four times before it is in this state."""
    end = End(role, known(state))
    table = end.table.start()
    for number in range(4):
        table.hear(error(301, endpoint=(OTHER, THIRD)[number % 2]))
    if state == At.ASKING:
        table.wait(SILENCE)
    elif state == At.JOINING:
        table.hear(taught(end.config))
    elif state == At.OUT:
        table.hear(error(408))
    assert table.core.link.state == state
    return after(table, "hear", change(OTHER) if event == On.CHANGEBROKER else error(301, endpoint=OTHER))


def deaf(role: Role, brokers: int) -> tuple[Table, Any]:
    """It has been silent, and is linked again on a new connection at once; then it is silent again."""
    end = End(role, brokers)
    end.linked().wait(SILENCE)
    if brokers > 1:
        end.table.hear(change(HERE))
    end.linked()
    return after(end.table, "wait", SILENCE)


def link_script(role: Role, row: Row) -> tuple[Table, Any]:
    """What makes the row of a link happen, by its event; some guards need more than that."""
    state, event, guard = row.key
    if guard == If.ROUND:
        return round_about(role, state, event)
    again = guard in (If.PREFERRED, If.ANOTHER, If.TAKEN, If.TAKEN_PREFERRED) or event in (
        On.OFFERS,
        On.error(names.REFUSED),
    )
    again = again and guard != If.NEVER_LINKED
    brokers = {If.ANOTHER: 3, If.PREFERRED: 1, If.OTHERS: 2}.get(guard, known(state))
    if guard in (If.TAKEN, If.TAKEN_PREFERRED):
        return deaf(role, 2 if guard == If.TAKEN else 1)
    if (state, guard) == (At.ASKING, If.PREFERRED):
        brokers = 2
    table = End(role, brokers).at(state, again)
    if event.startswith("DISCONNECTERROR ") and event[-3:].isdigit():
        more = {"endpoint": STRANGER if guard == If.STRANGER else OTHER} if event == On.error(names.MOVED) else {}
        return after(table, "hear", error(int(event[-3:]), **more))
    waits = {On.INTERVAL: BEAT, On.INTERVALS: SILENCE, On.NO_ANSWER: SILENCE, On.SILENCE: SILENCE}
    if event in waits:
        return after(table, "wait", waits[event])
    config = End(role, brokers).config
    skewed: wire.Header = {"time": table.now + 900.0}
    wrong = {If.CLOCK: skewed, If.VERSION: {"config_version": 2}}.get(guard, {})
    pong = {**HEADERS[names.PONG], "time": table.now, "echo": table.now, **wrong}
    work = {**REQUESTS["worker"], "time": table.now, **wrong}
    joined = wire.build(names.READYOK, {"time": table.now, "heartbeat_interval": OPTIONS.heartbeat, **wrong})
    acts: dict[str, Callable[[], tuple[Table, Any]]] = {
        On.START: lambda: after(table, "start"),
        On.CONNECTED: lambda: after(table.do(Disconnected()), "do", Connected()),
        On.CHANGEBROKER: lambda: after(table, "hear", change(STRANGER if guard == If.STRANGER else OTHER)),
        On.READYOK: lambda: after(table, "hear", joined),
        On.WORKREQUEST: lambda: after(table, "hear", wire.build(names.WORKREQUEST, work)),
        On.FORCENEGOTIATE: lambda: after(table, "hear", FORCE),
        On.PONG: lambda: after(table, "hear", wire.build(names.PONG, pong)),
        On.ERROR: lambda: after(table, "hear", error(names.MALFORMED)),
        On.REFUSAL: lambda: after(table, "hear", error(503, **{names.IDENTIFIER: ID})),
        On.WORKREPLY: lambda: after(table, "hear", wire.build(names.WORKREPLY, {names.IDENTIFIER: ID})),
        On.OFFERS: lambda: after(table, "order", Leave()),
        On.LEFT: lambda: after(table, "order", Leave()),
    }
    if event == On.CONFIG:
        if guard == If.UNFIT:
            return after(table, "hear", taught(config, config_hash="none"))
        if guard == If.OTHERS:
            header = {"config_type": "json", "config_version": 1, "config_hash": "another"}
            return after(table, "hear", wire.build(names.CONFIG, header))
        return after(table, "hear", taught(config))
    return acts[event]()


def worker_script(row: Row) -> tuple[Table, Any]:
    """What makes the row of a worker happen."""
    table = End("worker").linked() if row.guard != If.NEVER_JOINED else End("worker").at(At.CHECKING)
    state, event, guard = row.key
    ask = [wire.build(names.WORKREQUEST, {**REQUESTS["worker"], names.IDENTIFIER: b"%d" % i}) for i in range(3)]
    if event == On.IDLE:
        table.order(Slow(5.0)).hear(ask[0]).order(Leave())
        return table, lambda: table.wait(5.0)
    if guard == If.NO_SLOT:
        return after(table.order(Slow(5.0)).hear(*ask[:2]), "hear", ask[2])
    if state == Does.LEAVING:
        table.order(Leave())
    acts: dict[str, tuple[str, Any]] = {
        On.WORKREQUEST: ("hear", ask[0]),
        On.LEAVE: ("order", Leave()),
        On.ENDED: ("hear", error(403)),
        On.READYOK: ("hear", READYOK),
        On.LATE: ("wait", BEAT),
    }
    return after(table, *acts[event])


def ready(services: tuple[str, ...] = ("ping",), at: float = 100.0, **more: Any) -> Frames:
    header = {"services": list(services), "heartbeat_interval": 1.0, "time": at, "config_version": 1, **more}
    return [W, *wire.build(names.READY, header)]


def ping(at: float, **more: Any) -> Frames:
    return [W, *wire.build(names.PING, {"time": at, "config_version": 1, **more})]


def broker(joined: bool = False, busy: bool = False) -> Table:
    table = Table(SYSTEM.broker(OPTIONS, [HERE], wall_offset=0.0).core, EXPLAIN, "broker").start()
    check = wire.build(names.CHECKCONFIG, {"config_type": "json"})
    table.hear([C, *check], socket="frontend")
    for peer in (W, b"v"):
        introduce(table.core, peer.decode())
    if joined:
        table.hear(ready())
    return table if not busy else ask(table)


def ask(table: Table, task: bytes = ID) -> Table:
    request = {**REQUESTS["client"], names.IDENTIFIER: task}
    return table.hear([C, *wire.build(names.WORKREQUEST, request)], socket="frontend")


def holds(*tasks: bytes) -> list[bytes]:
    return [wire.task_identifier((C, task)) for task in tasks]


def reply(task: bytes = ID) -> Frames:
    return [W, *wire.build(names.WORKREPLY, {names.IDENTIFIER: holds(task)[0]})]


GOODBYE = ready(())
TWO = b"two"


def away(table: Table) -> Table:
    """As if the other broker had known everybody, and this one began to serve."""
    service = table.core.service
    service.retire(None)
    service.adopt(table.now)
    service.clients.heard(C, table.now)
    return table


def seen_table(row: Row) -> Table:
    """A broker at which the worker is in the row's state, with as many tasks and slots as its guard needs."""
    state, event, guard = row.key
    more = event in (On.UNSENT, On.DOUBT) or (event, guard) == (On.DRAIN, If.HOLDS)
    if state == Seen.UNKNOWN:
        if guard in (If.FULL, If.HOLDS, If.GOES, If.LEAVES, If.LOST_LAST):
            table = away(broker(True, True))
        elif event in (On.SILENCE, On.DRAIN):
            table = away(broker(True))
        else:
            return broker()
        return table.order(Drain(W)) if guard in (If.LEAVES, If.LOST_LAST) else table
    if (event, guard) == (On.PING, If.LOST):
        table = ask(ask(broker().hear(ready(slots=3 if state == Seen.READY else 2)), ID), TWO)
        return table.order(Drain(W)) if state == Seen.DRAINING else table
    if state == Seen.READY:
        table = broker().hear(ready(slots=2))
        holding = more or guard in (If.FULL, If.GOES) or event in (On.WORKREPLY, On.REQUEUED)
        if event == On.LAST_SLOT:
            table = broker(True)
        return ask(table) if holding else table
    if state == Seen.BUSY:
        return broker(True, True)
    if (event, guard) == (On.UNDRAIN, ""):
        return ask(broker().hear(ready(slots=2)), ID).order(Drain(W))
    two = (event, guard) in ((On.WORKREPLY, ""), (On.REQUEUED, ""))
    table = ask(ask(broker().hear(ready(slots=2)), ID), TWO) if two else broker(True, True)
    if event == On.READY and guard in ("", If.FULL, If.NO_SERVICE, If.GOES):
        return table.hear(ready((), holding=holds(ID)))
    if (event, guard) == (On.DRAIN, ""):
        return table.hear(ready((), holding=holds(ID))).hear(reply())
    return table.order(Drain(W))


def seen_script(row: Row) -> tuple[Table, Any]:
    """What makes the row of a worker at its broker happen."""
    _, event, guard = row.key
    table = seen_table(row)
    check = wire.build(names.CHECKCONFIG, {"config_type": "json"})
    need = wire.build(names.NEEDBROKER, {"identity": "w"})
    frames: dict[tuple[str, str], Frames] = {
        (On.CHECKCONFIG, ""): [W, *check],
        (On.CHECKCONFIG, If.FORM): [W, *wire.build(names.CHECKCONFIG, {"config_type": "yaml"})],
        (On.NEEDBROKER, ""): [W, *need],
        (On.READY, ""): ready(slots=2, holding=holds(ID)),
        (On.READY, If.FULL): ready(holding=holds(ID)),
        (On.READY, If.LEAVES): ready(holding=holds(ID)),
        (On.READY, If.LOST_LAST): ready(),
        (On.READY, If.NO_SERVICE): GOODBYE,
        (On.READY, If.GOES): ready((), holding=holds(ID)),
        (On.READY, If.CLOCK): ready(at=900.0),
        (On.READY, If.VERSION): ready(config_version=2),
        (On.READY, If.UNCHECKED): ready(),
        (On.READY, If.BOUNDS): ready(("one", "more", "service")),
        (On.PING, ""): ping(table.now),
        (On.PING, If.VERSION): ping(table.now, config_version=2),
        (On.PING, If.CLOCK): ping(900.0),
        (On.WORKREPLY, ""): reply(),
        (On.WORKREPLY, If.LAST): reply(),
        (On.WORKREPLY, If.LATE): reply(b"other"),
    }
    if guard == If.UNCHECKED:
        table.core.service._configured.clear()
    if guard in (If.LOST, If.LOST_LAST) and event == On.PING:
        table.now += 2.5
        return after(table, "hear", ping(table.now, holding=holds(TWO) if guard == If.LOST else []))
    if event == On.TASK:
        return table, lambda: ask(table)
    if event == On.LAST_SLOT:
        return table, lambda: ask(table)
    if event == On.DOUBT:
        for _ in range(9):
            table.now += 1.0
            table.hear(ping(table.now, holding=holds(ID)))
        table.now += 1.0
        return after(table, "do", Woken())
    if event == On.UNSENT:
        request = [W, *wire.build(names.WORKREQUEST, REQUESTS["worker"])]
        return after(table, "do", Unsent(request, "unreachable"))
    if event == On.SILENCE:
        return after(table, "wait", SILENCE)
    if event == On.REQUEUED:
        one = Requeue(b"", C, ID) if (row.state, guard) == (Seen.DRAINING, "") else Requeue(W)
        return after(table.order(Throttle(0.0)), "order", one)
    if event in (On.UNDRAIN, On.EXPIRED):
        return after(table, "order", Undrain(W) if event == On.UNDRAIN else Expire(W))
    if event == On.DRAIN:
        return after(table, "order", Drain(W))
    return after(table, "hear", frames[event, guard])


def scripts_of(machine: Machine, script: Callable[[Row], tuple[Table, Any]]) -> Scripts:
    return {(row.edge.state, row.edge.event): partial(script, row) for row in machine.rows}


def test_a_workers_link_walks_every_row() -> None:
    walk(state_maps()[0], scripts_of(WORKER_LINK, partial(link_script, "worker")))


def test_a_worker_walks_every_row() -> None:
    idle, left = (Does.LEAVING, On.IDLE), (Does.WORKING, On.LEAVE)
    walk(state_maps()[1], scripts_of(WORK, worker_script), {left: {idle}})


def test_a_worker_at_the_broker_walks_every_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_module, "MAX_QUEUES", 2)
    walk(state_maps()[2], scripts_of(SEEN, seen_script))


def test_a_clients_link_walks_every_row() -> None:
    walk(state_maps()[3], scripts_of(CLIENT_LINK, partial(link_script, "client")))


def test_the_map_of_a_pair_shows_who_serves() -> None:
    pair = state_maps()[4]
    assert pair.edges == PAIR.edges and pair.walked is not None
    view = broker().core.snapshot(100.0)
    assert pair.current(view) == {}
    walked = (((Rank.ACTIVE, "hears nobody at the primary"), 2), ((Seen.READY, On.SILENCE), 5))
    view = view._replace(terms=(("state", Rank.PASSIVE),), walked=walked)
    assert (pair.current(view), pair.walked(view)) == ({Rank.PASSIVE: 1}, {walked[0][0]: 2})


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
