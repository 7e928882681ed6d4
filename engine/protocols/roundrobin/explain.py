"""Round robin in words: every message by the parsers of ``messages.py`` and ``packed.py``, and the state maps.

A packed frame carries many tasks or answers, and each is explained by itself, as if it had come over the seed's lane.
"""

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
    Leg,
    Role,
    StateMap,
    show,
    task_name,
    to_broker,
    unknown,
    walked,
)
from engine.parts.view import BrokerView, ClientView, WorkerView
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed
from engine.protocols.roundrobin.broker import FEWER, Broker
from engine.protocols.roundrobin.pool import OVERTAKEN
from engine.protocols.roundrobin.presence import ENDED
from engine.protocols.roundrobin.worker import State

_PASS = "000 process_round_robin_pass"
_RELAY = "000 process_round_robin_pass: address on top"
_TABLE = "000 Worker Table"
_LINK = "R3 R4: heartbeats of a link"
_REGISTER = "000 REGISTER"
_PACKED = ("lane", "packed")

_EXECUTE = {wire.EXEC: "EXEC", wire.TRACKEXEC: "TRACKEXEC"}
_APPS = {wire.APP_PING: "PING", wire.APP_STREAM: "STREAM"}

Fields = tuple[tuple[str, str], ...]

# ---- messages ----------------------------------------------------------------------------------------------------


def decode(role: Role, direction: Direction, frames: Frames, socket: str) -> list[Decoded]:
    """What a message says; a packed frame says several things."""
    peer = frames[0] if role == "broker" and frames else None
    own = frames[1:] if role == "broker" else frames
    if len(own) == 1 and packed.kind(own[0]):
        return _unpacked(own[0], peer, to_broker(role, direction))
    if to_broker(role, direction):
        return [_at_broker([peer if peer is not None else b"?", *own], peer)]
    return [_at_peer(own, peer)]


def _at_broker(frames: Frames, peer: bytes | None) -> Decoded:
    match wire.at_broker(frames):
        case wire.TASK:
            return _task(frames[3:-1], peer, peer or b"", "request", ())
        case wire.REPLY:
            data = frames[6] if len(frames) == 8 else None
            return _reply(frames[5], data, peer, frames[1], "answer", (("for", show(frames[1])),))
        case wire.JOIN:
            slots = wire.slots_of(frames)
            fields = (("slots", show(frames[6])), ("id", show(frames[4])))
            return Decoded("REGISTER", fields, peer, rule=_REGISTER, violation="" if slots else "bad slots")
        case wire.LEAVE:
            return Decoded("DEREGISTER", (), peer, rule="000 DEREGISTER")
        case wire.RETURN:
            return Decoded("INCREMENT", (("id", show(frames[4])),), peer, rule="000 INCREMENT")
        case wire.LINK_PING | wire.LINK_PONG as what:
            return _link(what, frames[4], peer)
        case wrong:
            return unknown(str(wrong), peer, sum(map(len, frames[1:])))


def _at_peer(frames: Frames, peer: bytes | None) -> Decoded:
    match wire.at_peer(frames):
        case wire.TASK:
            return _task(frames[2:-2], peer, frames[-1], "give", (("for", show(frames[-1])),))
        case wire.REPLY:
            data = frames[4] if len(frames) == 7 else None
            return _reply(frames[3], data, peer, peer or b"", "reply", (("by", show(frames[-1])),))
        case wire.JOINED:
            return Decoded("RESPONSE to REGISTER", (("id", show(frames[3])),), peer, rule=_REGISTER)
        case wire.LINK_PING | wire.LINK_PONG as what:
            return _link(what, frames[3], peer)
        case wrong:
            return unknown(str(wrong), peer, sum(map(len, frames)))


def _task(task: Frames, peer: bytes | None, client: bytes, leg: Leg, more: Fields) -> Decoded:
    """``task`` as ``messages.py`` has it: command, id, application command, arguments."""
    name = f"{_EXECUTE[task[0]]} {_APPS.get(task[2], f'0x{task[2].hex()}')}"
    arguments = tuple((f"argument {number}", show(frame)) for number, frame in enumerate(task[3:], 1))
    fields = (("task", task_name(task[1])), *arguments, *more)
    return Decoded(name, fields, peer, task[1], client, leg=leg, rule=_PASS if leg == "request" else _TABLE)


def _reply(ident: bytes, data: bytes | None, peer: bytes | None, client: bytes, leg: Leg, more: Fields) -> Decoded:
    fields = (("task", task_name(ident)), ("data", "none" if data is None else f"{len(data)} bytes"), *more)
    return Decoded("RESPONSE", fields, peer, ident, client, leg=leg, rule=_RELAY)


def _link(what: wire.Is, ident: bytes, peer: bytes | None) -> Decoded:
    return Decoded("PING" if what is wire.LINK_PING else "PONG", (("id", show(ident)),), peer, rule=_LINK)


def _unpacked(frame: bytes, peer: bytes | None, up: bool) -> list[Decoded]:
    """The parts of a packed frame, or the one reason why it is none."""
    here = peer or b""
    kind = packed.kind(frame)
    parts: list[Decoded] | str
    if kind == packed.TASKS and up:
        found = packed.read_tasks(frame)
        parts = found if isinstance(found, str) else [_task(task, peer, here, "request", (_PACKED,)) for task in found]
    elif kind == packed.DELIVERIES and not up:
        given = packed.read_deliveries(frame)
        parts = (
            given
            if isinstance(given, str)
            else [_task(task, peer, client, "give", (("for", show(client)), _PACKED)) for client, task in given]
        )
    elif kind == packed.ANSWERS and up:
        answers = packed.read_answers(frame)
        parts = answers if isinstance(answers, str) else [_answer(answer, peer) for answer in answers]
    elif kind == packed.RESULTS and not up:
        results = packed.read_results(frame)
        parts = (
            results
            if isinstance(results, str)
            else [
                _reply(ident, data, peer, here, "reply", (("by", show(worker)), _PACKED))
                for ident, worker, data in results
            ]
        )
    else:
        parts = "packed frame of a wrong kind"
    return [unknown(parts, peer, len(frame))] if isinstance(parts, str) else parts


def _answer(answer: packed.Answer, peer: bytes | None) -> Decoded:
    """A reply and its INCREMENT in one; the latter alone where no reply is wanted."""
    client, ident, data = answer
    more = (("for", show(client)), _PACKED)
    if data is None:
        fields = (("task", task_name(ident)), *more)
        return Decoded("INCREMENT", fields, peer, ident, client, leg="answer", rule="000 INCREMENT")
    return _reply(ident, None if data is True else data, peer, client, "answer", more)


# ---- who is next -------------------------------------------------------------------------------------------------


def candidates(core: Broker, message: Decoded) -> Candidates:
    """The worker table as it stands: least recently used first, nobody in it without a free slot."""
    pool = core.pool
    task = pool.tasks.get((message.client, message.task))
    suspect = task is not None and task.attempt > 0
    order = tuple(Candidate(w.key, w.name, w.slots - w.used, w.slots) for w in pool.ready if not (suspect and w.used))
    rule = "000 Worker Table: least recently used first, past those without a free slot"
    if suspect:
        rule = "R12 suspects: taken back from a lost worker, it is given alone, to one that holds nothing"
    elif pool.backlog.suspects.kept:
        rule = f"{rule} and those kept for a suspect (R12)"
    elif pool.backlog.fresh:
        rule = "000 Processing Queue: what waits goes first, oldest first"
    return Candidates(order, len(pool.backlog), rule)


# ---- state maps --------------------------------------------------------------------------------------------------

_LEFT = "left"
_LINKING, _REGISTERING, _WORKING, _LEAVING = (state.value for state in State)

_WORKER = (
    Edge(_LINKING, "PONG", "send REGISTER", _REGISTERING, "000 RR_MQ_WORKER: register before anything else"),
    Edge(_LINKING, "no PONG for expiry", "open the socket anew, send PING", _LINKING, "R4 coming back"),
    Edge(_LINKING, "told to leave", "exit", _LEFT, "R10 leaving"),
    Edge(_REGISTERING, "RESPONSE to REGISTER", "none", _WORKING, _REGISTER),
    Edge(_REGISTERING, "no RESPONSE for a heartbeat", "send REGISTER", _REGISTERING, "R4 coming back"),
    Edge(_REGISTERING, "no PONG for expiry", "open the socket anew, send PING", _LINKING, "R4 coming back"),
    Edge(_REGISTERING, "the connection ended", "send PING on the next one", _LINKING, "R4 coming back"),
    Edge(_REGISTERING, "told to leave", "send DEREGISTER, PING", _LEAVING, "000 DEREGISTER"),
    Edge(_WORKING, "task", "send RESPONSE, INCREMENT", _WORKING, "000 INCREMENT"),
    Edge(_WORKING, "PONG that denies", "send REGISTER", _REGISTERING, "R4 coming back"),
    Edge(_WORKING, "no PONG for expiry", "open the socket anew, send PING", _LINKING, "R4 coming back"),
    Edge(_WORKING, "the connection ended", "send PING on the next one", _LINKING, "R4 coming back"),
    Edge(_WORKING, "paused for expiry", "open the socket anew, send PING", _LINKING, "R4 coming back"),
    Edge(_WORKING, "told to leave", "send DEREGISTER, PING", _LEAVING, "000 DEREGISTER"),
    Edge(_LEAVING, "PONG, nothing held", "exit", _LEFT, "R10 leaving"),
    Edge(_LEAVING, "no PONG for expiry", "exit", _LEFT, "R10 leaving"),
)

_SEEN = (
    Edge("unknown", "REGISTER", "send RESPONSE", "ready", _REGISTER),
    Edge("unknown", "PING that claims", "send PONG that denies", "unknown", "R4 coming back"),
    Edge("ready", "task, slots are left", "pass it on", "ready", _TABLE),
    Edge("ready", "task, the last slot", "pass it on", "busy", _TABLE),
    Edge("ready", "RESPONSE", "relay it", "ready", _RELAY),
    Edge("ready", "DEREGISTER, nothing held", "none", "unknown", "000 DEREGISTER"),
    Edge("ready", "DEREGISTER, tasks held", "none", "draining", "R10 leaving"),
    Edge("ready", "silent for expiry", "take its tasks back", "lost", "R3 lost workers"),
    Edge("ready", ENDED, "take its tasks back", "lost", "R13 connections"),
    Edge("busy", "RESPONSE", "relay it", "busy", _RELAY),
    Edge("busy", "INCREMENT", "pass on what waits", "ready", "000 INCREMENT"),
    Edge("busy", "PING, REGISTER", "take its tasks back, send RESPONSE", "ready", "R7 a REGISTER from a known worker"),
    Edge("busy", "task_deadline", "its task has failed", "ready", "R9 deadlines"),
    Edge("busy", "DEREGISTER", "none", "draining", "R10 leaving"),
    Edge("busy", "silent for expiry", "take its tasks back", "lost", "R3 lost workers"),
    Edge("busy", ENDED, "take its tasks back", "lost", "R13 connections"),
    Edge("draining", "the last INCREMENT", "none", "unknown", "R10 leaving"),
    Edge("draining", "silent for expiry", "take its tasks back", "unknown", "R3 lost workers"),
    Edge("draining", ENDED, "take its tasks back", "unknown", "R13 connections"),
    Edge("lost", "PING", "send PONG", "ready", "R4 coming back"),
    Edge("lost", "PONG", "none", "ready", "R4 coming back"),
    Edge("lost", "REGISTER", "send RESPONSE", "ready", _REGISTER),
    Edge("lost", "DEREGISTER", "none", "unknown", "000 DEREGISTER"),
    Edge("lost", "lost_shown is over", "none", "unknown", "R4 coming back"),
)

_CLIENT = (
    Edge("linking", "PONG", "send what the run wants", "linked", "000 RR_MQ_CLIENT"),
    Edge("linking", "no PONG for expiry", "open the socket anew, send PING", "linking", "R4 coming back"),
    Edge("linked", "RESPONSE", "send the next task", "linked", "000 RR_MQ_CLIENT"),
    Edge("linked", "the connection ended", "send PING on the next one", "linking", "R4 coming back"),
    Edge("linked", "no PONG for expiry", "open the socket anew, send PING", "linking", "R4 coming back"),
)


def state_maps() -> tuple[StateMap, ...]:
    """The worker, a worker as the broker sees it, and the client's link."""
    states = (_LINKING, _REGISTERING, _WORKING, _LEAVING, _LEFT)
    return (
        StateMap("worker", "Worker", states, _WORKER, _worker_stands, walked=_worker_walked),
        StateMap(
            "broker",
            "A worker at the broker",
            ("unknown", "ready", "busy", "draining", "lost"),
            _SEEN,
            _seen,
            walked=_seen_walked,
            uncounted=frozenset({("ready", "RESPONSE"), ("busy", "RESPONSE")}),
        ),
        StateMap("client", "The client's link", ("linking", "linked"), _CLIENT, _client_stands, walked=_client_walked),
    )


def _worker_stands(picture: WorkerView) -> Counter[str]:
    return Counter([picture.state])


def _worker_walked(picture: WorkerView) -> Counter[tuple[str, str]]:
    """Tasks from before it linked anew are answered all the same, and counted as if it were working."""
    tasks = picture.done + int(dict(picture.terms)["unknown tasks"])
    found = walked(picture)
    found.update({(_WORKING, "task"): tasks})
    return found


def _client_walked(picture: ClientView) -> Counter[tuple[str, str]]:
    replies = picture.run.ledger.succeeded if picture.run is not None else 0
    found = walked(picture)
    found.update({("linked", "RESPONSE"): replies})
    return found


def _seen_walked(picture: BrokerView) -> Counter[tuple[str, str]]:
    """What was counted, and what follows from it and from the books.

    A delivery is out, or its task has ended, or it is made again. Whoever became busy is so still, or has left that
    state as was counted, or else by INCREMENT. Which of the two states a RESPONSE finds is looked at by nobody.
    """
    found, books, counted = walked(picture), picture.ledger, dict(picture.counters)
    ended = books.succeeded + sum(times for _, times in books.failed)
    given = ended + picture.in_flight + counted["redelivered"] - found[OVERTAKEN]
    full = found["ready", "task, the last slot"]
    entered = full + sum(times for (_, event), times in found.items() if event == FEWER)
    left = sum(times for (state, _), times in found.items() if state == "busy")
    found.update(
        {
            ("unknown", "PING that claims"): counted["denied"],
            ("ready", "task, slots are left"): given - full,
            ("busy", "INCREMENT"): entered - left - _seen(picture)["busy"],
        }
    )
    return found


def _client_stands(picture: ClientView) -> Counter[str]:
    return Counter(["linked" if picture.linked else "linking"])


def _seen(picture: BrokerView) -> Counter[str]:
    """A worker that is shown as late is ready or busy all the same."""
    ends = {"lost": "lost", "drain": "draining"}
    return Counter(ends.get(row.state, "ready" if row.free else "busy") for row in picture.workers)


# ---- rules -------------------------------------------------------------------------------------------------------

RULES = {
    "wrong number of frames": "R6 malformed input",
    "routing id of a wrong length": "R6 malformed input",
    "no empty frame": "R6 malformed input",
    "bad address": "R6 malformed input",
    "no address": "R6 malformed input",
    "no application command": "R6 malformed input",
    "frame too long": "R6 malformed input",
    "id of a wrong length": "R6 malformed input",
    "unknown command": "R6 malformed input",
    "wrong version": "wire: version LMQv100",
    "packed": "packed lane",
    "unreadable packed frame": "packed lane",
    "wrong number of tasks": "packed lane",
    "not a": "packed lane",
    "only a response may be relayed": _RELAY,
    "id already in use": "R1 one task, one record",
    "reply to a task that wants none": _RELAY,
    "reply to a task that it does not hold": "R8 relaying",
    "a reply to a worker": "R8 relaying",
    "INCREMENT beyond what it holds": "R5 slots, 000 INCREMENT",
    "REGISTER with bad slots": _REGISTER,
    "too many workers": _REGISTER,
    "more tasks than any worker may hold": _TABLE,
    "a client got a": "000 RR_MQ_CLIENT",
}

COUNTED = {
    "late": "R3 the first reply ends a task",
    "denied": "R4 coming back",
    "asked again": "R1 one task, one record",
    "takeovers": "R14 two peers of one name",
    "unpaid slots": "R9 deadlines",
}

EXPLAIN = Explain(decode, state_maps, RULES, COUNTED, candidates)
