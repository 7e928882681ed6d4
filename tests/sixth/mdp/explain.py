"""Majordomo in words. A request of our client names its task; any other is the one that its worker holds."""

from __future__ import annotations

from engine.core import Frames
from engine.parts.explain import (
    Candidate,
    Candidates,
    Decoded,
    Direction,
    Explain,
    Role,
    StateMap,
    show,
    task_name,
    to_broker,
    unknown,
)
from engine.parts.machine import maps_of
from tests.sixth.mdp import messages
from tests.sixth.mdp.broker import Broker
from tests.sixth.mdp.machine import LINK, SEEN, WORKER, Rule
from tests.sixth.mdp.messages import DONE, MMI, NAMES, READY, REPLY, REQUEST, STATUSES, Asked, Said

_CLIENT_SIDE = "RFC 7: MDP/Client"

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
        return Decoded("REQUEST" if up else "REPLY", about, peer, rule=Rule.MMI)
    task, fields = _body(asked.body)
    if up:
        return Decoded("REQUEST", (service, *fields), peer, task, peer or b"", leg="request", rule=_CLIENT_SIDE)
    denied = len(asked.body) == 3 and asked.body[1] in STATUSES - {DONE}
    leg = "denial" if denied else "reply"
    return Decoded("REPLY", (service, *fields), peer, task, peer or b"", leg=leg, rule=_CLIENT_SIDE)  # type: ignore[arg-type]


def _said(said: Said, peer: bytes | None) -> Decoded:
    name = NAMES[said.command]
    if said.command == READY:
        return Decoded(name, (("service", show(said.service)),), peer, rule=Rule.OPEN)
    if said.command not in (REQUEST, REPLY):
        return Decoded(name, (), peer, rule=Rule.BEATS if name == "HEARTBEAT" else Rule.OPEN)
    task, fields = _body(said.body)
    leg = "give" if said.command == REQUEST else "answer"
    shown = (("client", show(said.client)), *fields)
    return Decoded(name, shown, peer, task, said.client, leg=leg, rule=Rule.PROCESS)  # type: ignore[arg-type]


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
    return Candidates(order, waiting, f"{Rule.PROCESS}; ruling 3: the least recently used worker of the service")


# ---- state maps ------------------------------------------------------------------------------------------------------


def state_maps() -> tuple[StateMap, ...]:
    """The worker, a worker as the broker sees it, and the client's link."""
    return maps_of(WORKER, SEEN, LINK)


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
    "READY without the name of a service": f"{Rule.OPEN}; mmi. is the broker's own",
    "no address of a client, an empty frame and a body": Rule.PROCESS,
    "REPLY to no request": Rule.PROCESS,
    "REPLY before READY": Rule.OPEN,
    "a reply without a status": "ruling 1",
    "too many workers or services": "ours",
}

COUNTED = {
    "late replies": "ruling 6",
    "not registered": Rule.UNEXPECTED,
    "asked again": "ruling 7",
}

EXPLAIN = Explain(decode, state_maps, RULES, COUNTED, candidates)
