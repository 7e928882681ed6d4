"""The negotiated broker in words: what each message says, the rule of the seed, and the state maps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from engine.core import Frames
from engine.parts.explain import (
    Candidate,
    Candidates,
    Decoded,
    Direction,
    Explain,
    Leg,
    Role,
    StateMap,
    plain,
    show,
    task_name,
    to_broker,
    unknown,
)
from engine.parts.machine import Machine, row_states
from engine.parts.plain import several
from engine.parts.view import BrokerView, ClientView, WorkerView
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names
from engine.protocols.negotiated.broker import Broker
from engine.protocols.negotiated.machine import (
    CLIENT_LINK,
    PAIR,
    SEEN,
    WORK,
    WORKER_LINK,
    At,
    Does,
    Rule,
)
from engine.protocols.negotiated.pair import PEER
from engine.protocols.negotiated.tasks import FRONTEND, UNOFFERED

_RULES: dict[bytes, str] = {
    names.CHECKCONFIG: "004 CHECKCONFIG: a peer validates its configuration first",
    names.CONFIG: "004 CONFIG: the configuration, in the type that was asked for",
    names.NEEDBROKER: "004 NEEDBROKER: the preferred broker does not answer",
    names.CHANGEBROKER: "ours: the answer to NEEDBROKER",
    names.READY: "004 READY: into the LRU queue",
    names.READYOK: "004 READYOK: the broker works",
    names.PING: "004 PING: heartbeat, with time and config_version",
    names.PONG: "004 PONG: the answer to PING",
    names.WORKREQUEST: "004 WORKREQUEST: from the LRU queue to the wait queue",
    names.WORKREPLY: "004 WORKREPLY: the broker does not care about errors",
    names.DISCONNECTERROR: "004 DISCONNECTERROR: code and message",
    names.FORCENEGOTIATE: "004 FORCENEGOTIATE: begin at CHECKCONFIG",
    names.BROKERSTATE: "ours: binary star, a beat between brokers",
    names.REPLICA: "ours: binary star, the fallback is kept up to date",
}

# ---- messages ----------------------------------------------------------------------------------------------------


def decode(role: Role, direction: Direction, frames: Frames, socket: str) -> list[Decoded]:
    """What a message says. Between brokers both directions are read alike."""
    between = role == "broker" and socket == PEER
    routed = role == "broker" and not (between and frames and frames[0] in wire.BETWEEN_BROKERS)
    peer = frames[0] if routed and frames else None
    start = 0 if peer is None else 1
    known = wire.BETWEEN_BROKERS if between else _known(role, direction, socket)
    message = wire.parse(frames, start, known)
    if isinstance(message, str):
        return [unknown(message, peer, sum(map(len, frames[start:])))]
    command, header, body = message
    decoded = Decoded(command.decode(), _fields(header, body), peer, rule=_RULES[command])
    return [_with_task(decoded, command, header, known)]


def _known(role: Role, direction: Direction, socket: str) -> Mapping[bytes, wire.Fields]:
    client = role == "client" or (role == "broker" and socket == FRONTEND)
    if to_broker(role, direction):
        return wire.FROM_CLIENTS if client else wire.FROM_WORKERS
    return wire.TO_CLIENTS if client else wire.TO_WORKERS


def _with_task(decoded: Decoded, command: bytes, header: wire.Header, known: Mapping[bytes, wire.Fields]) -> Decoded:
    """Workers are told a task as ``HEX.HEX``, which says the client; a client says its own id only."""
    identifier = header.get(names.IDENTIFIER)
    if identifier is None:
        return decoded
    if known is wire.TO_WORKERS or known is wire.FROM_WORKERS:
        key = wire.task_key(identifier)
        leg: Leg = "give" if command == names.WORKREQUEST else "answer"
        return decoded if key is None else decoded._replace(client=key[0], task=key[1], leg=leg)
    legs: dict[bytes, Leg] = {names.WORKREQUEST: "request", names.WORKREPLY: "reply"}
    return decoded._replace(client=decoded.peer or b"", task=identifier, leg=legs.get(command, "denial"))


def _fields(header: wire.Header, body: bytes) -> tuple[tuple[str, str], ...]:
    fields = [(key, _words(key, value)) for key, value in header.items()]
    return (*fields, ("body", f"{len(body)} bytes")) if body else tuple(fields)


def _words(key: str, value: Any) -> str:
    if isinstance(value, bytes):
        return task_name(value) if key == names.IDENTIFIER else show(value)
    if isinstance(value, tuple):
        return plain(", ".join(value) or "none")
    if isinstance(value, frozenset):
        return f"{several(len(value), 'task')}"
    return plain(f"{value:.3f}" if isinstance(value, float) else str(value))


# ---- who is next -------------------------------------------------------------------------------------------------


def candidates(core: Broker, message: Decoded) -> Candidates:
    """The LRU queue of the service that the request is for."""
    dispatcher = core.service.dispatcher
    queue = dispatcher.queues.get(dict(message.fields).get("service", ""))
    rule = "004 LRU queue: the worker of this service that was used least recently"
    if queue is None:
        return Candidates((), 0, rule)
    members = [dispatcher.members[key] for key in queue.ready]
    task = dispatcher.tasks.get((message.client, message.task))
    if task is not None and task.attempt:
        members = [member for member in members if member.free == member.slots]
        rule = "ours: a suspect came back from a worker, and is given alone, to one that holds nothing"
    elif queue.suspects.kept:
        rule += "; who is kept for a suspect is passed over"
    return Candidates(
        tuple(Candidate(member.key, member.name, member.free, member.slots) for member in members),
        queue.queued,
        rule,
    )


# ---- state maps --------------------------------------------------------------------------------------------------


def state_maps() -> tuple[StateMap, ...]:
    """The links of worker and client, what a worker does, a worker as the broker sees it, and a pair."""
    return (
        _map("worker", "Worker", WORKER_LINK, _link_stands),
        _map("worker", "A worker's work", WORK, _work_stands),
        _map("broker", "A worker at the broker", SEEN, row_states),
        _map("client", "The client's link", CLIENT_LINK, _link_stands),
        _map("broker", "Which broker of a pair serves", PAIR, _pair_stands),
    )


def _map(role: Role, title: str, machine: Machine, stands: Callable[[Any], Counter[str]]) -> StateMap:
    """Two machines of one role have no state in common, so a row of one is none of the other."""

    def walked(picture: BrokerView | WorkerView | ClientView) -> Counter[tuple[str, str]]:
        return Counter({edge: times for edge, times in picture.walked if edge[0] in machine.states})

    return StateMap(role, title, machine.states, machine.edges, stands, walked=walked)


def _link_stands(picture: WorkerView | ClientView) -> Counter[str]:
    return Counter([dict(picture.terms).get("link", At.NEW)])


def _work_stands(picture: WorkerView) -> Counter[str]:
    if picture.state == At.ENDED:
        return Counter([Does.LEFT])
    return Counter([Does.LEAVING if picture.state == Does.LEAVING else Does.WORKING])


def _pair_stands(picture: BrokerView) -> Counter[str]:
    return Counter([dict(picture.terms)["state"]] if "state" in dict(picture.terms) else [])


# ---- rules -------------------------------------------------------------------------------------------------------

RULES = {
    "400": "ours: code 400, malformed",
    "403": "ours: code 403, drained by an operator",
    "408": "004 PING: time way off, the peer is disconnected",
    "415": "004 CHECKCONFIG: config_type is JSON, XML or ZFL",
    "426": "004 PING: config_version must be the current one",
    "429": "ours: code 429, too many",
    "501": "ours: code 501, unknown command",
    "503": "ours: code 503, no broker or worker",
    "sends us to a stranger": Rule.STRANGER,
    "between brokers": "ours: binary star",
    "wrong number of frames": "ours: code 400, malformed",
    "routing id too long": "ours: code 400, malformed",
    "header is no map": "ours: code 400, malformed",
    "body too large": "ours: code 400, malformed",
    "check does not agree": "ours: a sealed message in which a bit is wrong",
    "no ": "ours: code 400, malformed",
    "bad ": "ours: code 400, malformed",
    "unknown command": "ours: code 501, unknown command",
}

COUNTED = {
    "late": "004 WORKREPLY: of a task that is not out",
    "unknown peers": Rule.FORCE,
    "negotiations forced": Rule.FORCE,
    "repeated requests": "004 WORKREQUEST: an identifier is accepted once",
    "denied": "ours: code 429, too many",
    UNOFFERED: "ours: code 503, nobody offers the service",
    "told of our own clock": "004 PING: time way off; it is the broker's",
}

EXPLAIN = Explain(decode, state_maps, RULES, COUNTED, candidates)
