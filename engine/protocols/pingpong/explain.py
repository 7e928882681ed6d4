"""Ping-pong in words. A job and its result name no task: which one it is only the broker knows (``whose``)."""

from __future__ import annotations

from engine.core import Core, Frames, Send
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
from engine.parts.inflight import TaskKey
from engine.parts.machine import maps_of
from engine.protocols.pingpong import messages
from engine.protocols.pingpong.broker import BACKEND, Broker
from engine.protocols.pingpong.frontend import FRONTEND
from engine.protocols.pingpong.machine import LINK, SEEN, WORKER, Rule
from engine.protocols.pingpong.messages import DONE, EXIT, NOT_A_JOB, PING, PONG, READY

# ---- messages ----------------------------------------------------------------------------------------------------


def decode(role: Role, direction: Direction, frames: Frames, socket: str) -> list[Decoded]:
    """What a message says."""
    up = to_broker(role, direction)
    peer = frames[0] if role == "broker" and frames else None
    own = frames[1:] if role == "broker" else frames
    if role == "client" or (role == "broker" and socket == FRONTEND):
        return [_from_client(own, peer) if up else _to_client(own, peer)]
    return [_from_worker(own, peer) if up else _from_broker(own, peer)]


def _behind(peer: bytes | None, own: Frames) -> Frames:
    return [b"?" if peer is None else peer, *own]


def _from_worker(own: Frames, peer: bytes | None) -> Decoded:
    frames = _behind(peer, own)
    body = messages.from_worker(frames)
    if isinstance(body, str):
        return unknown(body, peer, sum(map(len, own)))
    if body == READY:
        return Decoded("READY", (), peer, rule=Rule.IS_READY)
    if body == PING:
        return Decoded("PING", (), peer, rule=Rule.PINGS)
    return Decoded("result", _body(body), peer, leg="answer", rule=f"{Rule.ASSIGN}, 3")


def _from_broker(own: Frames, peer: bytes | None) -> Decoded:
    body = messages.from_broker(own)
    if isinstance(body, str):
        return unknown(body, peer, sum(map(len, own)))
    if body == PONG:
        return Decoded("PONG", (), peer, rule=Rule.ALIVE)
    if body == EXIT:
        return Decoded("EXIT", (), peer, rule=Rule.EXIT)
    return Decoded("job", _body(body), peer, leg="give", rule=f"{Rule.ASSIGN}, 1")


def _from_client(own: Frames, peer: bytes | None) -> Decoded:
    request = messages.from_client(_behind(peer, own))
    if isinstance(request, str):
        return unknown(request, peer, sum(map(len, own)))
    task, job = request
    if not task:
        return Decoded("PING", (), peer, rule=Rule.CLIENTS)
    fields = (("task", task_name(task)), *_body(job))
    return Decoded("request", fields, peer, task, peer or b"", leg="request", rule=Rule.CLIENTS)


def _to_client(own: Frames, peer: bytes | None) -> Decoded:
    reply = messages.to_client(own)
    if isinstance(reply, str):
        return unknown(reply, peer, sum(map(len, own)))
    task, status, result = reply
    if not task:
        return Decoded("PONG", (), peer, rule=Rule.CLIENTS)
    done = status == DONE
    fields = (("task", task_name(task)), *(_body(result) if done else (("why", show(result)),)))
    leg = "reply" if done else "denial"
    return Decoded(status.decode(), fields, peer, task, peer or b"", leg=leg, rule=Rule.CLIENTS)  # type: ignore[arg-type]


def _body(body: bytes) -> tuple[tuple[str, str], ...]:
    return (("body", show(body) if len(body) <= 64 else f"{len(body)} bytes"),)


def whose(core: Core, send: Send) -> TaskKey | None:
    """The task of a job that a broker has just sent: a worker holds one at a time (ruling 4)."""
    if not isinstance(core, Broker) or send.socket != BACKEND or send.frames[2] in NOT_A_JOB:
        return None
    held = core.tasks.held(send.frames[0])
    return next((task.key for task in held if task.message[0] == send.frames[2]), None)


# ---- who is next -------------------------------------------------------------------------------------------------


def candidates(core: Broker, message: Decoded) -> Candidates:
    """The ready queue as it stands."""
    table, waiting = core.table, len(core.tasks.backlog)
    order = tuple(Candidate(key, table.workers[key].name, 1, 1) for key in table.ready)
    return Candidates(order, waiting, f"{Rule.ASSIGN}, 1: the broker pops the worker from the queue")


# ---- state maps --------------------------------------------------------------------------------------------------


def state_maps() -> tuple[StateMap, ...]:
    """The worker, a worker as the broker sees it, and the client's link."""
    return maps_of(WORKER, SEEN, LINK)


# ---- rules -------------------------------------------------------------------------------------------------------

RULES = {
    "not two frames": '002: ["", body]',
    "not three frames": '002: [worker, "", body]',
    "no routing id": '002: [worker, "", body]',
    "routing id too long": "ruling 15",
    "no empty delimiter": '002: ["", body]',
    "body too large": '002: ["", body]',
    "not three or four frames": Rule.CLIENTS,
    "not two or four frames": Rule.CLIENTS,
    "not a request": Rule.CLIENTS,
    "not a reply": Rule.CLIENTS,
    "id not of 8 bytes": Rule.CLIENTS,
    "job too large": Rule.CLIENTS,
    "result too large": Rule.CLIENTS,
    "unknown status": Rule.CLIENTS,
    "id in use": f"{Rule.CLIENTS}: an id that is in use is not taken twice",
    "result without a job": "ruling 4: a result belongs to the job that its worker holds",
    "a job whose result would be a command": "ruling 3",
    "too many workers": Rule.IS_READY,
}

COUNTED = {
    "late results": Rule.LATE,
    "restarts": "ruling 6",
    "refused": "ruling 3",
    "asked again": "ruling 13",
    "taken over": "ruling 17",
}

EXPLAIN = Explain(decode, state_maps, RULES, COUNTED, candidates, whose)
