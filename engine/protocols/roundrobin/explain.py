"""Round robin in words: every message by the parsers of ``messages.py`` and ``packed.py``, and the state maps.

A packed frame carries many tasks or answers, and each is explained by itself, as if it had come over the seed's lane: a
packed answer stands for a RESPONSE and an INCREMENT.
"""

from __future__ import annotations

from collections import Counter

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
    show,
    task_name,
    to_broker,
    unknown,
)
from engine.parts.machine import maps_of
from engine.parts.view import BrokerView
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.machine import LINK, SEEN, WORKER, Rule, Seen

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
            return Decoded("REGISTER", fields, peer, rule=Rule.REGISTER, violation="" if slots else "bad slots")
        case wire.LEAVE:
            return Decoded("DEREGISTER", (), peer, rule=Rule.DEREGISTER)
        case wire.RETURN:
            return Decoded("INCREMENT", (("id", show(frames[4])),), peer, rule=Rule.INCREMENT)
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
            return Decoded("RESPONSE to REGISTER", (("id", show(frames[3])),), peer, rule=Rule.REGISTER)
        case wire.LINK_PING | wire.LINK_PONG as what:
            return _link(what, frames[3], peer)
        case wrong:
            return unknown(str(wrong), peer, sum(map(len, frames)))


def _task(task: Frames, peer: bytes | None, client: bytes, leg: Leg, more: Fields) -> Decoded:
    """``task`` as ``messages.py`` has it: command, id, application command, arguments."""
    name = f"{_EXECUTE[task[0]]} {_APPS.get(task[2], f'0x{task[2].hex()}')}"
    arguments = tuple((f"argument {number}", show(frame)) for number, frame in enumerate(task[3:], 1))
    fields = (("task", task_name(task[1])), *arguments, *more)
    return Decoded(name, fields, peer, task[1], client, leg=leg, rule=Rule.PASS if leg == "request" else Rule.TABLE)


def _reply(ident: bytes, data: bytes | None, peer: bytes | None, client: bytes, leg: Leg, more: Fields) -> Decoded:
    fields = (("task", task_name(ident)), ("data", "none" if data is None else f"{len(data)} bytes"), *more)
    return Decoded("RESPONSE", fields, peer, ident, client, leg=leg, rule=Rule.RELAY)


def _link(what: wire.Is, ident: bytes, peer: bytes | None) -> Decoded:
    return Decoded("PING" if what is wire.LINK_PING else "PONG", (("id", show(ident)),), peer, rule=Rule.LINK)


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
        parts = answers if isinstance(answers, str) else [part for one in answers for part in _answer(one, peer)]
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


def _answer(answer: packed.Answer, peer: bytes | None) -> list[Decoded]:
    """The reply and the INCREMENT that it stands for; the latter alone where no reply is wanted."""
    client, ident, data = answer
    more = (("for", show(client)), _PACKED)
    fields = (("task", task_name(ident)), *more)
    if data is None:
        return [Decoded("INCREMENT", fields, peer, ident, client, leg="answer", rule=Rule.INCREMENT)]
    reply = _reply(ident, None if data is True else data, peer, client, "answer", more)
    return [reply, Decoded("INCREMENT", fields, peer, rule=Rule.INCREMENT)]


# ---- who is next -------------------------------------------------------------------------------------------------


def candidates(core: Broker, message: Decoded) -> Candidates:
    """The worker table as it is: least recently used first, only workers with a free slot."""
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


def state_maps() -> tuple[StateMap, ...]:
    """The worker, a worker as the broker sees it, and the client's link."""
    return maps_of(WORKER, SEEN, LINK, _seen)


def _seen(picture: BrokerView) -> Counter[str]:
    """A worker that is shown as late is ready or busy all the same."""
    ends = {"lost": Seen.LOST, "drain": Seen.DRAINING}
    return Counter(ends.get(row.state, Seen.READY if row.free else Seen.BUSY) for row in picture.workers)


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
    "only a response may be relayed": Rule.RELAY,
    "id already in use": "R1 one task, one record",
    "reply to a task that wants none": Rule.RELAY,
    "reply to a task that it does not hold": "R8 relaying",
    "a reply to a worker": "R8 relaying",
    "INCREMENT beyond what it holds": "R5 slots, 000 INCREMENT",
    "REGISTER with bad slots": Rule.REGISTER,
    "too many workers": Rule.REGISTER,
    "more tasks than any worker may hold": Rule.TABLE,
    "a client got a": Rule.CLIENT,
}

COUNTED = {
    "late": "R3 the first reply ends a task",
    "denied": Rule.BACK,
    "asked again": "R1 one task, one record",
    "takeovers": Rule.NAMES,
    "over share": "R17 what waits has an owner",
    "unpaid slots": Rule.DEADLINE,
}

EXPLAIN = Explain(decode, state_maps, RULES, COUNTED, candidates)
