"""Ping-pong in words. A job and its result name no task: which one it is only the broker knows (``whose``)."""

from __future__ import annotations

from collections import Counter

from engine.core import Core, Frames, Send
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
from engine.parts.inflight import TaskKey
from engine.parts.view import BrokerView, ClientView, WorkerRow, WorkerView
from engine.protocols.pingpong import messages
from engine.protocols.pingpong.broker import BACKEND, Broker
from engine.protocols.pingpong.desk import FRONTEND
from engine.protocols.pingpong.messages import DONE, EXIT, NOT_A_JOB, PING, PONG, READY

_IS_READY = "002 Worker is ready"
_PINGS = "002 Worker sends PING"
_ASSIGN = "002 Broker assign job to worker"
_EXIT = "002 Worker exit; ruling 5"
_CLIENTS = "ours: clients"
_ANEW = "ruling 16"
_TAKEN = "ruling 17"

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
        return Decoded("READY", (), peer, rule=_IS_READY)
    if body == PING:
        return Decoded("PING", (), peer, rule=_PINGS)
    return Decoded("result", _body(body), peer, leg="answer", rule=f"{_ASSIGN}, 3")


def _from_broker(own: Frames, peer: bytes | None) -> Decoded:
    body = messages.from_broker(own)
    if isinstance(body, str):
        return unknown(body, peer, sum(map(len, own)))
    if body == PONG:
        return Decoded("PONG", (), peer, rule="002 PONG: the broker is alive")
    if body == EXIT:
        return Decoded("EXIT", (), peer, rule=_EXIT)
    return Decoded("job", _body(body), peer, leg="give", rule=f"{_ASSIGN}, 1")


def _from_client(own: Frames, peer: bytes | None) -> Decoded:
    request = messages.from_client(_behind(peer, own))
    if isinstance(request, str):
        return unknown(request, peer, sum(map(len, own)))
    task, job = request
    if not task:
        return Decoded("PING", (), peer, rule=_CLIENTS)
    fields = (("task", task_name(task)), *_body(job))
    return Decoded("request", fields, peer, task, peer or b"", leg="request", rule=_CLIENTS)


def _to_client(own: Frames, peer: bytes | None) -> Decoded:
    reply = messages.to_client(own)
    if isinstance(reply, str):
        return unknown(reply, peer, sum(map(len, own)))
    task, status, result = reply
    if not task:
        return Decoded("PONG", (), peer, rule=_CLIENTS)
    done = status == DONE
    fields = (("task", task_name(task)), *(_body(result) if done else (("why", show(result)),)))
    leg = "reply" if done else "denial"
    return Decoded(status.decode(), fields, peer, task, peer or b"", leg=leg, rule=_CLIENTS)  # type: ignore[arg-type]


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
    return Candidates(order, waiting, f"{_ASSIGN}, 1: the broker pops the worker from the queue")


# ---- state maps --------------------------------------------------------------------------------------------------

_WORKER = (
    Edge("joining", "PONG", "none", "ready", f"{_IS_READY}, 3"),
    Edge("joining", "job", "drop it", "joining", "ruling 10"),
    Edge("joining", "silence", "open the socket anew, send READY", "joining", "002 Broker timeout"),
    Edge("joining", "connected anew", "send READY", "joining", _ANEW),
    Edge("joining", "EXIT", "exit", "left", _EXIT),
    Edge("joining", "told to leave", "exit", "left", "ruling 5"),
    Edge("ready", "a second", "send PING", "ready", f"{_PINGS}, 1"),
    Edge("ready", "job", "send result", "ready", f"{_ASSIGN}, 2 and 3"),
    Edge("ready", "job, slow", "work", "working", f"{_ASSIGN}, 2"),
    Edge("ready", "job whose result is a command", "send READY", "joining", "ruling 3"),
    Edge("ready", "silence", "open the socket anew, send READY", "joining", "002 Broker timeout"),
    Edge("ready", "connected anew", "send READY", "joining", _ANEW),
    Edge("ready", "EXIT", "exit", "left", _EXIT),
    Edge("ready", "told to leave", "exit", "left", "ruling 5"),
    Edge("working", "a second", "send PING", "working", "ruling 1"),
    Edge("working", "the job is done", "send result", "ready", f"{_ASSIGN}, 3"),
    Edge("working", "another job", "abandon the first", "working", "ruling 10"),
    Edge("working", "EXIT", "go when the job is done", "working", _EXIT),
    Edge("working", "the job is done after EXIT", "send result, exit", "left", _EXIT),
    Edge("working", "connected anew", "none", "working", _ANEW),
    Edge("working", "silence", "abandon the job, send READY on a new socket", "joining", "002 Broker timeout"),
)

_SEEN = (
    Edge("unknown", "READY", "send PONG", "idle", f"{_IS_READY}, 2"),
    Edge("unknown", "PING", "send PONG", "idle", f"{_PINGS}, 2"),
    Edge("idle", "PING", "send PONG", "idle", f"{_PINGS}, 2"),
    Edge("idle", "a task", "send job", "busy", f"{_ASSIGN}, 1"),
    Edge("idle", "silence", "none", "lost", "002 Worker timeout"),
    Edge("idle", "told to drain", "send EXIT", "leaving", "ruling 5"),
    Edge("busy", "PING", "send PONG", "busy", f"{_PINGS}, 2; ruling 2"),
    Edge("busy", "result", "send DONE", "idle", f"{_ASSIGN}, 3; ruling 4"),
    Edge("busy", "READY", "take its job back, send PONG and the next", "busy", "ruling 6"),
    Edge("busy", "PING on a connection made anew", "take its job back", "owing", _ANEW),
    Edge("busy", "silence", "send PONG, which finds a connection that is gone", "busy", "rulings 1 and 11"),
    Edge("busy", "deadline", "take its job back", "owing", "rulings 1 and 9"),
    Edge("busy", "deadline in silence", "take its job back", "lost", "rulings 1 and 9"),
    Edge("busy", "told to drain", "none", "leaving", "ruling 5"),
    Edge("owing", "PING", "none", "owing", "ruling 9"),
    Edge("owing", "result", "count it as late", "idle", "rulings 7 and 9"),
    Edge("owing", "READY", "send PONG", "idle", "ruling 9"),
    Edge("leaving", "result", "send DONE, EXIT", "leaving", "ruling 5"),
    Edge("leaving", "PING after EXIT", "send EXIT", "leaving", "ruling 5"),
    Edge("leaving", "READY after EXIT", "send PONG", "idle", "ruling 5"),
    Edge("leaving", "silence after EXIT", "none", "unknown", "ruling 5"),
    Edge("lost", "half a minute", "none", "unknown", "ours: shown no longer"),
    Edge("lost", "PING", "send PONG", "idle", f"{_PINGS}, 2"),
    Edge("lost", "READY", "send PONG", "idle", f"{_IS_READY}, 2"),
)

_CLIENT = (
    Edge("silent", "connected anew", "send PING, ask again for what is out", "silent", _ANEW),
    Edge("silent", "PONG or reply", "send PING every second", "linked", _CLIENTS),
    Edge("silent", "silence", "open the socket anew, send PING, ask again for what is out", "silent", _CLIENTS),
    Edge("linked", "a second", "send PING", "linked", _CLIENTS),
    Edge("linked", "connected anew", "send PING, ask again for what is out", "linked", _ANEW),
    Edge("linked", "silence", "open the socket anew, send PING, ask again for what is out", "silent", _CLIENTS),
)


def state_maps() -> tuple[StateMap, ...]:
    """The worker, a worker as the broker sees it, and the client's link."""
    seen = ("unknown", "idle", "busy", "owing", "leaving", "lost")
    return (
        StateMap(
            "worker",
            "Worker",
            ("joining", "ready", "working", "left"),
            _WORKER,
            _worker_stands,
            walked=_worker_walked,
        ),
        StateMap("broker", "A worker at the broker", seen, _SEEN, _seen, walked=_seen_walked),
        StateMap("client", "The client's link", ("silent", "linked"), _CLIENT, _client_stands, walked=walked),
    )


def _worker_stands(picture: WorkerView) -> Counter[str]:
    return Counter([picture.state])


def _worker_walked(picture: WorkerView) -> Counter[tuple[str, str]]:
    """What was done and did not take its time was done at once."""
    found = walked(picture)
    late = found["working", "the job is done"] + found["working", "the job is done after EXIT"]
    found.update({("ready", "job"): picture.done - late})
    return found


def _client_stands(picture: ClientView) -> Counter[str]:
    return Counter(["linked" if picture.linked else "silent"])


def _seen(picture: BrokerView) -> Counter[str]:
    return Counter(map(_standing, picture.workers))


def _seen_walked(picture: BrokerView) -> Counter[tuple[str, str]]:
    """A delivery is out, was answered, or came to nothing; whoever was lost is shown, is back, or is forgotten."""
    found, books, counted = walked(picture), picture.ledger, dict(picture.counters)
    nothing = counted["re-deliveries"] + dict(books.failed).get("undeliverable", 0)
    given = books.succeeded + picture.in_flight + nothing
    shown = sum(row.state == "lost" for row in picture.workers)
    back = sum(times for (state, _), times in found.items() if state == "lost")
    found.update(
        {
            ("idle", "a task"): given,
            ("busy", "result"): books.succeeded - found["leaving", "result"],
            ("lost", "half a minute"): counted["lost workers"] - back - shown,
        }
    )
    return found


def _standing(row: WorkerRow) -> str:
    if row.state in ("lost", "drain"):
        return "lost" if row.state == "lost" else "leaving"
    if row.in_flight:
        return "busy"
    return "idle" if row.free else "owing"


# ---- rules -------------------------------------------------------------------------------------------------------

RULES = {
    "not two frames": '002: ["", body]',
    "not three frames": '002: [worker, "", body]',
    "no routing id": '002: [worker, "", body]',
    "routing id too long": "ruling 15",
    "no empty delimiter": '002: ["", body]',
    "body too large": '002: ["", body]',
    "not three or four frames": _CLIENTS,
    "not two or four frames": _CLIENTS,
    "not a request": _CLIENTS,
    "not a reply": _CLIENTS,
    "id not of 8 bytes": _CLIENTS,
    "job too large": _CLIENTS,
    "result too large": _CLIENTS,
    "unknown status": _CLIENTS,
    "id in use": f"{_CLIENTS}: an id that is in use is not taken twice",
    "result without a job": "ruling 4: a result belongs to the job that its worker holds",
    "a job whose result would be a command": "ruling 3",
    "too many workers": _IS_READY,
}

COUNTED = {
    "late results": "rulings 7 and 9",
    "restarts": "ruling 6",
    "refused": "ruling 3",
    "asked again": "ruling 13",
    "taken over": _TAKEN,
}

EXPLAIN = Explain(decode, state_maps, RULES, COUNTED, candidates, whose)
