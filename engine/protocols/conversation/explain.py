"""The conversation in words. A piece of the byte stream may hold several messages, or a part of one: each is said.

A piece is read by itself, so of a message that was cut nothing is known but how many bytes of it these are. A Task
and its client's request have no common name on the wire; the broker has it while the task is out (``whose``), and an
array is one task here: the legs of its life are those of its Tasks.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from engine.core import MAIN, Core, Frames, Send
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
    to_broker,
    unknown,
    walked,
)
from engine.parts.inflight import TaskKey
from engine.parts.view import BrokerView, ClientView, WorkerView
from engine.protocols.conversation import beats, frontend, header, messages
from engine.protocols.conversation.broker import _TCP, Broker
from engine.protocols.conversation.header import JOB, OK, STOP, STOP_NOW, UPDATE
from engine.protocols.conversation.jobfrontend import FRONTEND, OPEN, id_of
from engine.protocols.conversation.links import STREAM
from engine.protocols.conversation.machine import JOB as JOB_MAP
from engine.protocols.conversation.machine import LINK, SEEN, WORKER, Cl, Does, Link, Rule, Sv

PART = "part"
"""The command of a piece that begins or goes on inside a message."""

_ERRORS = {header.CANNOT_RUN_JOB: "cannot_run_job", header.LEAVING: "leaving", header.BROKEN: "broken"}

# What a message is to whom: (at the broker, at the worker).
_RULES: dict[tuple[int, bool], tuple[str, str]] = {
    (OK, True): ("001 SV_INIT1 on OK(n): record nproc=n", "001 CL_INIT0 on OK(0): send OK(nproc)"),
    (OK, False): ("001 SV_INIT2, SV_LOOP3: send OK(nproc)", "001 CL_INIT1, CL_UPDATE1 on OK(nproc)"),
    (JOB, False): ("001 SV_LOOP1: send JOB(npending)", "001 CL_LOOP0 on JOB(nproc)"),
    (UPDATE, True): ("001 SV_LOOP2 on UPDATE(n)", "001 CL_UPDATE0: send UPDATE(nproc)"),
    (STOP, False): ("001 SV_LOOP2 on STOP_REQ(n), STOP_IMMED: send STOP", "001 CL_LOOP0 on STOP(n)"),
}
_GREETING = ("001 SV_INIT0: send OK(0)", "001 CL_INIT0 on OK(0)")
_ERROR_RULES = {
    header.CANNOT_RUN_JOB: ("ruling 8: a refused task goes to another", "001 CL_LOOP0: send ERROR(cannot_run_job)"),
    header.LEAVING: ("001 SV_LOOP2 on DISCONNECT", "001 CL_EXIT0, CL_EXIT1"),
    header.BROKEN: (Rule.OURS, Rule.OURS),
}

# ---- messages ----------------------------------------------------------------------------------------------------


def decode(role: Role, direction: Direction, frames: Frames, socket: str) -> list[Decoded]:
    """Every message that begins in these frames, in order; at least one value."""
    up = to_broker(role, direction)
    peer = frames[0] if role == "broker" and frames else None
    own = frames[1:] if role == "broker" or socket == STREAM else frames
    if role == "client" or (role == "broker" and socket in (FRONTEND, OPEN)):
        return [_at_frontend(own, peer, up)]
    match own:
        case [b""] if socket == STREAM:
            return [Decoded("connection", (("change", "opened or closed"),), peer, rule="001 SV_LOOP2 on DISCONNECT")]
        case [b""]:
            return [Decoded("opening", (), peer, rule=Rule.OURS)]
        case [b"", beat] if len(beat) in beats.SIZES:
            return [Decoded("keep-alive", (("sent so far", str(beats.fields(beat)[0])),), peer, rule=Rule.OURS)]
        case [chunk]:
            return _stream(chunk, peer, up, 0 if role == "broker" else 1, socket)
        case _:
            return [unknown("not one frame", peer, sum(map(len, own)))]


def _stream(chunk: bytes, peer: bytes | None, up: bool, side: int, socket: str) -> list[Decoded]:
    decoder = header.Decoder(2**32)
    found, read = [], 0
    for kind, padding, arg0, body in decoder.feed(chunk):
        read += len(header.pack(kind, 0)) + len(body)
        found += _message(kind, padding, arg0, body, up, side)
    if decoder.broken and (found or socket != STREAM):
        found.append(unknown(decoder.broken, size=len(chunk) - read))
    elif decoder.broken or decoder.partial:
        found.append(Decoded(PART, (("bytes", str(len(chunk) - read)),), rule="001: messages can be longer"))
    return [decoded._replace(peer=peer) for decoded in found]


def _message(kind: int, padding: int, arg0: int, body: bytes, up: bool, side: int) -> list[Decoded]:
    name, rule = header.NAMES[kind], _RULES.get((kind, up), ("", ""))[side]
    match kind:
        case header.OK:
            return [Decoded(name, (("nproc", str(arg0)),), rule=rule if arg0 or up else _GREETING[side])]
        case header.STOP:
            nproc = "immed" if arg0 == STOP_NOW else str(arg0) if arg0 else "all"
            return [Decoded(name, (("nproc", nproc),), rule=rule)]
        case header.ERROR:
            job = (("JOB", f"#{padding}"),) if padding and arg0 == header.CANNOT_RUN_JOB else ()
            rule = _ERROR_RULES.get(arg0, ("", ""))[side]
            return [Decoded(name, (("code", _ERRORS.get(arg0, str(arg0))), *job), rule=rule)]
        case header.UPDATE:
            return [_update(name, body, rule)]
        case _:
            return _jobs(name, padding, body, rule)


def _jobs(name: str, counter: int, body: bytes, rule: str) -> list[Decoded]:
    tasks = messages.tasks(body)
    if isinstance(tasks, str):
        return [Decoded(name, (("bytes", str(len(body))),), rule=rule, violation=tasks)]
    return [
        Decoded(
            name,
            (
                ("task", f"{task.job.job_id}.{task.number}"),
                ("JOB", f"#{counter}"),
                ("command", plain(task.job.command)),
                ("nproc", str(task.slots)),
            ),
            alias=_alias(task.job.job_id, task.number),
            leg="give",
            rule=rule,
        )
        for task in tasks
    ]


def _update(name: str, body: bytes, rule: str) -> Decoded:
    update = messages.update(body)
    if isinstance(update, str):
        return Decoded(name, (("bytes", str(len(body))),), rule=rule, violation=update)
    fields = [("task", f"{update.job_id}.{update.task}"), ("success", "yes" if update.success else "no")]
    fields.append(("status", plain(update.status)))
    if update.free is not None:
        fields.append(("NumProc", str(update.free)))
    if update.data is not None:
        fields.append(("data", f"{len(update.data)} bytes"))
    alias = _alias(update.job_id, update.task)
    return Decoded(name, tuple(fields), alias=alias, leg="answer", rule=rule)


def _alias(job: int, number: int) -> bytes:
    return b"%d.%d" % (job, number)


def _at_frontend(own: Frames, peer: bytes | None, up: bool) -> Decoded:
    match own:
        case [b""]:
            return Decoded("keep-alive", (), peer, rule=Rule.OURS)
        case [body] if up:
            request = frontend.request(body)
            if isinstance(request, str):
                return unknown(request, peer, len(body))
            return _said(request[0], request[1], peer)
        case [body]:
            answer = frontend.answer(body)
            return unknown(answer, peer, len(body)) if isinstance(answer, str) else _said(answer.ref, answer, peer)
        case _:
            return unknown("not one frame", peer, sum(map(len, own)))


def _said(ref: int, said: frontend.Request | frontend.Answer, peer: bytes | None) -> Decoded:
    legs: dict[type[Any], Leg] = {frontend.Submit: "request", frontend.TaskEnded: "reply", frontend.Refusal: "denial"}
    fields = (("task", str(ref)), *_fields(said))
    leg = legs.get(type(said), "")
    return Decoded(type(said).__name__, fields, peer, _task(ref), peer or b"", leg=leg, rule=Rule.ASKING)


def _fields(said: Any) -> tuple[tuple[str, str], ...]:
    """What a request or an answer says beside its Ref."""
    found = []
    for name, value in said._asdict().items():
        if isinstance(value, messages.Description):
            found += [("command", plain(value.command)), ("tasks", str(value.num_tasks))]
        elif isinstance(value, bytes | tuple):
            found.append((name, f"{len(value)} {'bytes' if isinstance(value, bytes) else 'jobs'}"))
        elif name not in ("ref", "data"):
            found.append((name, plain(str(value))))
    return tuple(found)


def _task(ref: int) -> bytes:
    return ref.to_bytes(8, "little")


def whose(core: Core, send: Send) -> TaskKey | None:
    """The request that a JOB serves which a broker has just sent; None for one of the broker's own operator."""
    if not isinstance(core, Broker) or send.socket in (FRONTEND, OPEN) or len(send.frames) != 2:
        return None
    peer, chunk = send.frames
    if len(chunk) < 8 or int.from_bytes(chunk[2:4], "little") != JOB:
        return None
    link = core.links.get(peer if send.socket == MAIN else _TCP + peer)
    task = None if link is None else link.out.get(int.from_bytes(chunk[4:8], "little"))
    return None if task is None or not task.job.client else (id_of(task.job.client), _task(task.job.ref))


# ---- who is next -------------------------------------------------------------------------------------------------


def candidates(core: Broker, message: Decoded) -> Candidates:
    """The workers that have room, the least recently used first."""
    order = tuple(Candidate(link.key, link.name, link.free, link.max_nproc) for link in core._ready)
    return Candidates(order, core.jobfrontend.jobs.ripe, "001 SV_LOOP0: request npending<=nproc pending tasks")


# ---- state maps --------------------------------------------------------------------------------------------------


def state_maps() -> tuple[StateMap, ...]:
    """The seed's two state machines under its own names, a job's, and the client's link."""
    return (
        StateMap("worker", "Worker (the seed's client)", WORKER.states, WORKER.edges, _worker, _visits, walked),
        StateMap(
            "broker", "A worker at the broker (the seed's server)", SEEN.states, SEEN.edges, _links, _visits, walked
        ),
        StateMap("broker", "A job at the broker", JOB_MAP.states, JOB_MAP.edges, _jobs_of, walked=walked),
        StateMap("client", "The client's link", LINK.states, LINK.edges, _client, walked=walked),
    )


def _worker(picture: WorkerView) -> Counter[str]:
    return Counter([picture.state])


def _links(picture: BrokerView) -> Counter[str]:
    """Between two events a link is in SV_INIT1 or SV_LOOP2."""
    found = Counter(dict(row.terms)["state"] for row in picture.workers)
    found.update({Sv.INIT1: int(dict(picture.terms)["greeting"])})
    return found


def _jobs_of(picture: BrokerView) -> Counter[str]:
    """Jobs that have not ended: they came into their state by a row, and have left it by none."""
    found, times = Counter[str](), walked(picture)
    for edge in JOB_MAP.edges:
        found[edge.next] += times[edge.state, edge.event]
        found[edge.state] -= times[edge.state, edge.event]
    return Counter({state: found[state] for state in (Does.WAITING, Does.RUNNING, Does.HELD)})


def _client(picture: ClientView) -> Counter[str]:
    return Counter([Link.LINKED if dict(picture.terms)["broker"] == "alive" else Link.SILENT])


def _visits(picture: WorkerView | BrokerView) -> dict[str, int]:
    return {name: int(times) for name, times in picture.terms if name in Cl.NAMES or name in Sv.NAMES}


# ---- rules -------------------------------------------------------------------------------------------------------

RULES = {
    "wrong magic": "001 rule 1: magic",
    "unknown message type": "001 rule 3: types",
    "body too long": "ruling 11",
    "ended inside a message": "001: messages can be longer than the header",
    "unreadable job": "001 JOB: msgpack encoded Task",
    "unreadable update": "001 UPDATE: msgpack encoded JobStatusUpdate",
    "slots out of range": "001 SV_INIT1 on OK(n)",
    "error names no job": "ruling 8",
    "error about no job": "ruling 8",
    **dict.fromkeys(("no conversation", "messages were lost", "messages were changed", "not one frame"), Rule.OURS),
    **dict.fromkeys(("routing id too long", "no room for another worker"), Rule.OURS),
    "unreadable request": Rule.ASKING,
    "unreadable answer": Rule.ASKING,
    "unexpected answer": Rule.ASKING,
    **{
        f"{kind} in {state}": f"001 {state}: no such row"
        for kind in header.NAMES.values()
        for state in (*Cl.NAMES, *Sv.NAMES)
    },
}

COUNTED = {
    "late": "ours: an UPDATE of a task that is not held",
    "refused jobs": "001 CL_LOOP0: send ERROR(cannot_run_job)",
    "refused requests": Rule.ASKING,
    "asked again": Rule.ASKING,
    "taken over": Rule.OURS,
}

EXPLAIN = Explain(decode, state_maps, RULES, COUNTED, candidates, whose)
