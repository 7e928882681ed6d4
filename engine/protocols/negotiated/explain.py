"""The negotiated broker in words: what each message says, the rule of the seed, and the state maps.

The map of a pair is not written down: it is what ``Standby`` does in each state when it hears each other one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

from engine.core import Frames
from engine.parts.explain import (
    Candidate,
    Candidates,
    Decoded,
    Direction,
    Edge,
    Explain,
    Leg,
    Role,
    StateMap,
    plain,
    show,
    task_name,
    to_broker,
    unknown,
    walked,
)
from engine.parts.view import BrokerView, ClientView, WorkerView
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names, standby
from engine.protocols.negotiated.broker import Broker
from engine.protocols.negotiated.pair import PEER, ROLES
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
        return f"{len(value)} tasks"
    return plain(f"{value:.3f}" if isinstance(value, float) else str(value))


# ---- who is next -------------------------------------------------------------------------------------------------


def candidates(core: Broker, message: Decoded) -> Candidates:
    """The LRU queue of the service that the request is for."""
    desk = core.service.desk
    queue = desk.queues.get(dict(message.fields).get("service", ""))
    rule = "004 LRU queue: the worker of this service that was used least recently"
    if queue is None:
        return Candidates((), 0, rule)
    members = [desk.members[key] for key in queue.ready]
    task = desk.tasks.get((message.client, message.task))
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

_STARTUP = "004 Client startup, broker up"
_DOWN = "004 Client startup, broker down"
_NEED = "004 NEEDBROKER"
_FORCE = "004 FORCENEGOTIATE"
_ERROR = "004 DISCONNECTERROR"
_STRANGER = "ours: only to members of the configured group, or on this machine"
_AGAIN = "ours: a new connection is a new link"
_TAKEN = "ours: of two peers of one id the newest is heard"
_GOODBYE = "ours: a READY without services"

_ASKED = "silence of the other, and a request"

_HALFWAY = ("checking", "asking", "joining", "out")

_BOTH = (
    Edge("new", "start", "send CHECKCONFIG", "checking", _STARTUP),
    Edge("checking", "an interval", "send CHECKCONFIG", "checking", _STARTUP),
    Edge("checking", "no answer, another broker is known", "reopen, send NEEDBROKER", "asking", _NEED),
    Edge("checking", "no answer, no broker is left", "exit with an error", "ended", _DOWN),
    Edge("checking", "CHANGEBROKER", "reopen, send CHECKCONFIG", "checking", _NEED),
    Edge("checking", "CHANGEBROKER to a stranger", "wait", "out", _STRANGER),
    Edge("checking", "DISCONNECTERROR 408", "wait", "out", _ERROR),
    Edge("checking", "DISCONNECTERROR 415", "exit with an error", "ended", _ERROR),
    Edge("asking", "an interval", "send NEEDBROKER", "asking", _NEED),
    Edge("asking", "CHANGEBROKER", "reopen if it is another, send CHECKCONFIG", "checking", _NEED),
    Edge("asking", "CHANGEBROKER to a stranger", "wait", "out", _STRANGER),
    Edge("linked", "an interval", "send PING", "linked", "004 PING"),
    Edge("linked", "FORCENEGOTIATE", "send CHECKCONFIG", "checking", _FORCE),
    Edge("linked", "DISCONNECTERROR 301", "reopen, send CHECKCONFIG", "checking", _ERROR),
    Edge("linked", "DISCONNECTERROR 301 to a stranger", "wait", "out", _STRANGER),
    Edge("linked", "DISCONNECTERROR 408", "wait", "out", _ERROR),
    Edge("linked", "DISCONNECTERROR 403", "exit", "ended", _ERROR),
    Edge("linked", "silence, another broker is known", "reopen, send NEEDBROKER", "asking", _NEED),
    Edge("linked", "connected again", "send CHECKCONFIG", "checking", _AGAIN),
    Edge("linked", "silence again, its id is another's", "reopen under another id, send NEEDBROKER", "asking", _TAKEN),
    Edge("out", "some intervals", "send CHECKCONFIG", "checking", _ERROR),
)

_WORKER = (
    *_BOTH,
    Edge("checking", "CONFIG", "keep it, send READY", "joining", _STARTUP),
    Edge("joining", "an interval", "send READY", "joining", _STARTUP),
    Edge("joining", "DISCONNECTERROR 426", "send CHECKCONFIG", "checking", _ERROR),
    Edge("joining", "READYOK", "none", "linked", "004 READYOK"),
    Edge("linked", "WORKREQUEST", "send WORKREPLY", "linked", "004 WORKREPLY"),
    Edge("linked", "told to leave", "send READY without services", "leaving", _GOODBYE),
    *(Edge(state, "told to leave", "go on", "leaving", _GOODBYE) for state in _HALFWAY),
    *(Edge(state, "told to leave, never joined", "exit", "ended", _GOODBYE) for state in _HALFWAY),
    Edge("leaving", "READYOK", "exit", "ended", _GOODBYE),
    Edge("leaving", "no READYOK for an interval", "exit", "ended", _GOODBYE),
)

_CLIENT = (
    *_BOTH,
    Edge("checking", "CONFIG", "keep it", "linked", _STARTUP),
    Edge("linked", "WORKREPLY", "send the next task", "linked", "004 WORKREPLY"),
)

_SEEN = (
    Edge("unknown", "CHECKCONFIG", "send CONFIG", "unknown", "004 CONFIG"),
    Edge("unknown", "READY", "send READYOK", "ready", "004 READY"),
    Edge("unknown", "PING", "send FORCENEGOTIATE", "unknown", _FORCE),
    Edge("ready", "PING", "send PONG", "ready", "004 PONG"),
    Edge("ready", "a task, the last slot", "send WORKREQUEST", "busy", "004 WORKREQUEST"),
    Edge("ready", "PING with a wrong clock", "send DISCONNECTERROR 408", "unknown", "004 PING: time"),
    Edge("ready", "silence", "none", "unknown", "ours: expiry"),
    Edge("ready", "told to drain", "send DISCONNECTERROR 403", "unknown", "ours: drain"),
    Edge("ready", "READY without services", "send READYOK", "unknown", _GOODBYE),
    Edge("busy", "WORKREPLY", "send it to its client", "ready", "004 WORKREPLY"),
    Edge("busy", "READY that holds nothing", "queue its tasks again, send READYOK", "ready", "ours: holding"),
    Edge("busy", "silence", "queue its tasks again", "unknown", "ours: expiry"),
    Edge("busy", "told to drain", "none", "draining", "ours: drain"),
    Edge("busy", "PING that does not hold a task", "queue it again, send PONG", "ready", "ours: holding"),
    Edge("draining", "WORKREPLY", "send it on, then DISCONNECTERROR 403", "unknown", "ours: drain"),
)


def state_maps() -> tuple[StateMap, ...]:
    """The worker's and the client's link, a worker as the broker sees it, and the pair."""
    link = ("new", "checking", "asking", "joining", "linked", "leaving", "out", "ended")
    return (
        StateMap("worker", "Worker", link, _WORKER, _worker_stands, walked=_worker_walked),
        StateMap(
            "broker", "A worker at the broker", ("unknown", "ready", "busy", "draining"), _SEEN, _seen, walked=walked
        ),
        StateMap(
            "client",
            "The client's link",
            tuple(state for state in link if state not in ("joining", "leaving")),
            _CLIENT,
            _client_stands,
            walked=_client_walked,
        ),
        StateMap(
            "broker",
            "Which broker of a pair serves",
            get_args(standby.State),
            pair_edges(),
            _pair_stands,
            walked=_pair_walked,
        ),
    )


def pair_edges() -> tuple[Edge, ...]:
    """What ``Standby`` becomes when it hears the other broker, when it hears nobody, and when it is asked to serve."""
    roles: tuple[Literal["primary", "backup"], ...] = ("primary", "backup")
    states: tuple[standby.State, ...] = get_args(standby.State)
    edges: dict[Edge, None] = {}
    for role in roles:
        who = ROLES[role]
        for state in states:
            if state in roles and state != role:
                continue  # nobody begins as the other one
            for event, happen in (
                *((f"the {who} hears {said}", _hears(said)) for said in states),
                (f"the {who} hears nobody", lambda rank: rank.tick(standby.LONE)),
                (_ASKED, _asked),
            ):
                rank = standby.Standby(role, 1.0, 0, 0.0)
                rank.state = state
                happen(rank)
                if rank.state != state:
                    action = "serve" if rank.active else "ask" if rank.state == "primary" else "stand by"
                    edges[Edge(state, event, action, rank.state, "ours: binary star")] = None
    return tuple(edges)


def _hears(said: standby.State) -> Callable[[standby.Standby], object]:
    return lambda rank: rank.heard(said, 1, rank.beat(0.0), 0.0)


def _asked(rank: standby.Standby) -> None:
    if not rank.active:
        rank.request(standby.SILENCE)
        rank.tick(2 * standby.SILENCE)  # whatever the other one may take to answer


def _worker_stands(picture: WorkerView) -> Counter[str]:
    return Counter([picture.state])


def _worker_walked(picture: WorkerView) -> Counter[tuple[str, str]]:
    """Work is taken in whatever state the link is, and counted as if it were linked."""
    found = walked(picture)
    found.update({("linked", "WORKREQUEST"): picture.done})
    return found


def _client_walked(picture: ClientView) -> Counter[tuple[str, str]]:
    replies = picture.run.ledger.succeeded if picture.run is not None else 0
    found = walked(picture)
    found.update({("linked", "WORKREPLY"): replies})
    return found


def _client_stands(picture: ClientView) -> Counter[str]:
    return Counter([dict(picture.terms).get("link", "new")])


def _seen(picture: BrokerView) -> Counter[str]:
    return Counter("draining" if row.state == "drain" else "ready" if row.free else "busy" for row in picture.workers)


def _pair_walked(picture: BrokerView) -> Counter[tuple[str, str]]:
    who = dict(picture.terms).get("role", "")
    found = {
        (state, f"the {who} {what}" if what.startswith("hears") else _ASKED): times
        for (state, what), times in picture.walked
        if what.startswith("hears") or what == "silence and a request"
    }
    return Counter(found)


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
    "sends us to a stranger": _STRANGER,
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
    "unknown peers": _FORCE,
    "negotiations forced": _FORCE,
    "repeated requests": "004 WORKREQUEST: an identifier is accepted once",
    "denied": "ours: code 429, too many",
    UNOFFERED: "ours: code 503, nobody offers the service",
    "told of our own clock": "004 PING: time way off; it is the broker's",
}

EXPLAIN = Explain(decode, state_maps, RULES, COUNTED, candidates)
