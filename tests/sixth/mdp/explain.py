"""Majordomo in words. A request of our client names its task; any other is the one that its worker holds."""

from __future__ import annotations

from collections import Counter

from engine.core import Frames
from engine.parts.explain import (
    Candidate,
    Candidates,
    Decoded,
    Direction,
    Edge,
    Explain,
    Role,
    StateMap,
    show,
    task_name,
    to_broker,
    unknown,
    walked,
)
from engine.parts.view import BrokerView, ClientView, WorkerView
from tests.sixth.mdp import messages
from tests.sixth.mdp.broker import Broker
from tests.sixth.mdp.messages import DONE, MMI, NAMES, READY, REPLY, REQUEST, STATUSES, Asked, Said

_OPEN = "RFC 7: opening and closing a connection"
_PROCESS = "RFC 7: request and reply processing"
_BEATS = "RFC 7: heartbeating"
_CLIENT_SIDE = "RFC 7: MDP/Client"
_MMI = "RFC 8: mmi.service"

# ---- messages --------------------------------------------------------------------------------------------------------


def decode(role: Role, direction: Direction, frames: Frames, socket: str) -> list[Decoded]:
    """What a message says."""
    up = to_broker(role, direction)
    peer = frames[0] if role == "broker" and frames else None
    own = frames[1:] if role == "broker" else frames
    message: Asked | Said | str
    if up:
        message = messages.at_broker([b"?" if peer is None else peer, *own])
    elif role == "client" or own[1:2] == [messages.CLIENT]:
        message = messages.at_client(own)
    else:
        message = messages.at_worker(own)
    if isinstance(message, str):
        return [unknown(message, peer, sum(map(len, own)))]
    return [_asked(message, peer, up) if isinstance(message, Asked) else _said(message, peer)]


def _asked(asked: Asked, peer: bytes | None, up: bool) -> Decoded:
    service = ("service", show(asked.service))
    if asked.service.startswith(MMI):
        about = (service, ("body", show(asked.body[0])))
        return Decoded("REQUEST" if up else "REPLY", about, peer, rule=_MMI)
    task, fields = _body(asked.body)
    if up:
        return Decoded("REQUEST", (service, *fields), peer, task, peer or b"", leg="request", rule=_CLIENT_SIDE)
    denied = len(asked.body) == 3 and asked.body[1] in STATUSES - {DONE}
    leg = "denial" if denied else "reply"
    return Decoded("REPLY", (service, *fields), peer, task, peer or b"", leg=leg, rule=_CLIENT_SIDE)  # type: ignore[arg-type]


def _said(said: Said, peer: bytes | None) -> Decoded:
    name = NAMES[said.command]
    if said.command == READY:
        return Decoded(name, (("service", show(said.service)),), peer, rule=_OPEN)
    if said.command not in (REQUEST, REPLY):
        return Decoded(name, (), peer, rule=_BEATS if name == "HEARTBEAT" else _OPEN)
    task, fields = _body(said.body)
    leg = "give" if said.command == REQUEST else "answer"
    shown = (("client", show(said.client)), *fields)
    return Decoded(name, shown, peer, task, said.client, leg=leg, rule=_PROCESS)  # type: ignore[arg-type]


def _body(body: Frames) -> tuple[bytes, tuple[tuple[str, str], ...]]:
    task = messages.ident(body)
    rest = body[1:] if task else body
    named = (("task", task_name(task)),) if task else ()
    texts = (show(frame) if len(frame) <= 64 else f"{len(frame)} bytes" for frame in rest)
    return task, (*named, *(("body", text) for text in texts))


# ---- who is next -----------------------------------------------------------------------------------------------------


def candidates(core: Broker, message: Decoded) -> Candidates:
    """The ready queue of the service that the request was for."""
    worker = core.services.workers.get(message.peer or b"")
    services = list(core.services) if worker is None else [worker.service]
    order = tuple(Candidate(key, show(key, 24), 1, 1) for service in services for key in service.ready)
    waiting = sum(len(service.backlog) for service in services)
    return Candidates(order, waiting, f"{_PROCESS}; ruling 3: the least recently used worker of the service")


# ---- state maps ------------------------------------------------------------------------------------------------------


def _starts_over(state: str, action: str) -> tuple[Edge, ...]:
    return (
        Edge(state, "DISCONNECT", action, "registering", _OPEN),
        Edge(state, "silence", action, "registering", _BEATS),
    )


_WORKER = (
    Edge("registering", "HEARTBEAT", "none", "ready", _OPEN),
    Edge("registering", "REQUEST", "work", "working", _OPEN),
    Edge("registering", "a heartbeat is due", "send HEARTBEAT", "registering", _BEATS),
    *_starts_over("registering", "send READY on a new socket"),
    Edge("registering", "told to leave", "send DISCONNECT", "left", _OPEN),
    Edge("ready", "HEARTBEAT", "none", "ready", _BEATS),
    Edge("ready", "REQUEST", "work", "working", _PROCESS),
    Edge("ready", "a heartbeat is due", "send HEARTBEAT", "ready", _BEATS),
    *_starts_over("ready", "send READY on a new socket"),
    Edge("ready", "told to leave", "send DISCONNECT", "left", _OPEN),
    Edge("working", "HEARTBEAT", "none", "working", _BEATS),
    Edge("working", "REQUEST", "abandon the first", "working", "ruling 4"),
    Edge("working", "done", "send REPLY; DISCONNECT if it is to leave", "ready", _PROCESS),
    Edge("working", "a heartbeat is due", "send HEARTBEAT", "working", _BEATS),
    *_starts_over("working", "abandon the request, send READY on a new socket"),
    Edge("working", "told to leave", "go when the request is done", "working", _OPEN),
)


def _goes(state: str, back: str) -> tuple[Edge, ...]:
    return (
        Edge(state, "HEARTBEAT", "none", state, _BEATS),
        Edge(state, "a heartbeat is due", "send HEARTBEAT", state, _BEATS),
        Edge(state, "READY", f"{back}send DISCONNECT", "unknown", f"{_OPEN}: valid but unexpected"),
        Edge(state, "REPLY to no request", f"{back}send DISCONNECT", "unknown", f"{_OPEN}: valid but unexpected"),
        Edge(state, "no message", f"{back}send DISCONNECT", "unknown", f"{_OPEN}: that peer is invalid"),
        Edge(state, "DISCONNECT", back.rstrip(", ") or "none", "unknown", _OPEN),
        Edge(state, "silence", f"{back}send DISCONNECT", "unknown", _BEATS),
        Edge(state, "its connection is gone", back.rstrip(", ") or "none", "unknown", "ours"),
    )


_SEEN = (
    Edge("unknown", "READY", "send HEARTBEAT", "idle", _OPEN),
    Edge("unknown", "HEARTBEAT", "send DISCONNECT", "unknown", f"{_OPEN}: valid but unexpected"),
    Edge("unknown", "REPLY", "send DISCONNECT", "unknown", f"{_OPEN}: valid but unexpected"),
    Edge("unknown", "DISCONNECT", "none", "unknown", _OPEN),
    Edge("idle", "a request", "send REQUEST", "busy", _PROCESS),
    Edge("idle", "told to drain", "none", "draining", "ruling 5"),
    *_goes("idle", ""),
    Edge("busy", "REPLY", "send REPLY to the client", "idle", _PROCESS),
    Edge("busy", "deadline", "take its request back, send DISCONNECT", "unknown", "ruling 6"),
    Edge("busy", "told to drain", "none", "draining", "ruling 5"),
    *_goes("busy", "take its request back, "),
    Edge("draining", "REPLY", "send REPLY to the client", "draining", "ruling 5"),
    Edge("draining", "deadline", "take its request back, send DISCONNECT", "unknown", "ruling 6"),
    *_goes("draining", "take its request back, "),
)

_CLIENT = (
    Edge("silent", "a reply", "none", "linked", _MMI),
    Edge("silent", "a heartbeat is due", "ask mmi.service", "silent", _MMI),
    Edge("silent", "silence", "on a new socket ask mmi.service, and again for what is out", "silent", "ruling 7"),
    Edge("linked", "a heartbeat is due", "ask mmi.service", "linked", _MMI),
    Edge("linked", "silence", "on a new socket ask mmi.service, and again for what is out", "silent", "ruling 7"),
)


def state_maps() -> tuple[StateMap, ...]:
    """The worker, a worker as the broker sees it, and the client's link."""
    own = ("registering", "ready", "working", "left")
    seen = ("unknown", "idle", "busy", "draining")
    return (
        StateMap("worker", "Worker", own, _WORKER, _worker_stands, walked=walked),
        StateMap("broker", "A worker at the broker", seen, _SEEN, _seen, walked=walked),
        StateMap("client", "The client's link", ("silent", "linked"), _CLIENT, _client_stands, walked=walked),
    )


def _worker_stands(picture: WorkerView) -> Counter[str]:
    return Counter([picture.state])


def _seen(picture: BrokerView) -> Counter[str]:
    return Counter(
        "draining" if row.state == "drain" else "busy" if row.in_flight else "idle" for row in picture.workers
    )


def _client_stands(picture: ClientView) -> Counter[str]:
    return Counter(["linked" if picture.linked else "silent"])


# ---- rules -----------------------------------------------------------------------------------------------------------

RULES = {
    "no routing id": "ours",
    "routing id too long": "ours",
    "not three frames or more": "RFC 7: an empty frame, a header, and more",
    "too many frames": "ours",
    "no empty frame in front": "RFC 7: frame 0 is empty",
    "a frame too large": "ours",
    "unknown header": 'RFC 7: frame 1 is "MDPC01" or "MDPW01"',
    "no name of a service": _CLIENT_SIDE,
    "a request without a body": _CLIENT_SIDE,
    "more frames than its command has": "RFC 7: MDP/Worker",
    "unknown command": "RFC 7: MDP/Worker",
    "READY without the name of a service": f"{_OPEN}; mmi. is the broker's own",
    "no address of a client, an empty frame and a body": _PROCESS,
    "REPLY to no request": _PROCESS,
    "REPLY before READY": _OPEN,
    "a reply without a status": "ruling 1",
    "too many workers or services": "ours",
}

COUNTED = {
    "late replies": "ruling 6",
    "not registered": f"{_OPEN}: valid but unexpected",
    "asked again": "ruling 7",
}

EXPLAIN = Explain(decode, state_maps, RULES, COUNTED, candidates)
