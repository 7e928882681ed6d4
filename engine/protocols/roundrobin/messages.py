"""The wire of round robin: constants, builders, and parsers that take any list of frames.

The rules of this file (README.md has the whole table):

- A message starts with the address that it is to be relayed to, or with an empty frame when it is for its receiver.
- ROUTER puts the sender's routing id in front of it. A broker that passes a message on moves that frame to the end, so
  an answer finds its way back. Frames below are named by their place as the broker sees them, sender's id at 0.
- What a task says, ``command id application-command argument…``, is the same at every station: frames 3 to the last but
  one at the broker, 2 to the last but two at a worker. That part alone is kept, in memory and on the packed lane.
- The parsers look at shape and bounds only. They return what a message is, or in words of ours what is wrong with it;
  they build no object, because the broker asks three times a task. Whoever asked then reads the frames by place.

Numbers are little endian; ids are opaque to everyone but their maker.
"""

from __future__ import annotations

from enum import Enum

from engine.core import Frames
from engine.parts.limits import MAX_FRAME, MAX_FRAMES, MAX_ID, MAX_ROUTING_ID, MAX_SLOTS, decimal
from engine.parts.plain import clean

VERSION = b"LMQv100"

# commands of the link and of execution
PING = b"\x01"
PONG = b"\x02"
EXEC = b"\x03"  # wants no response
TRACKEXEC = b"\x04"  # wants one
RESPONSE = b"\x06"

# application commands; whatever is not one of the broker's own three is a task for a worker
APP_PING = b"\x01"
APP_INCREMENT = b"\x07"
APP_REGISTER = b"\x08"
APP_DEREGISTER = b"\x09"
APP_STREAM = b"\x0a"

STREAM_NAME = b"STREAM_ID"

KINDS = {APP_PING: "ping", APP_STREAM: "data"}  # in our words, for show
OTHER = "other"

PLAIN = 3  # frames of a task without arguments


class Is(Enum):
    """What a well-formed message is to its receiver."""

    LINK_PING = "link PING"
    LINK_PONG = "link PONG"
    TASK = "task"
    REPLY = "reply to a task"
    JOIN = "REGISTER"
    JOINED = "reply to REGISTER"
    LEAVE = "DEREGISTER"
    RETURN = "INCREMENT"


# What ``is`` costs least: names of this module.
LINK_PING, LINK_PONG, TASK, REPLY = Is.LINK_PING, Is.LINK_PONG, Is.TASK, Is.REPLY
JOIN, JOINED, LEAVE, RETURN = Is.JOIN, Is.JOINED, Is.LEAVE, Is.RETURN

EXECUTE = (EXEC, TRACKEXEC)
BROKERS_OWN = {APP_INCREMENT: RETURN, APP_REGISTER: JOIN, APP_DEREGISTER: LEAVE}
_BROKERS_OWN_FRAMES = {APP_INCREMENT: 7, APP_REGISTER: 8, APP_DEREGISTER: 7}  # not by ``Is``, whose hash is slow


def at_broker(frames: Frames) -> Is | str:
    """What arrived at a broker, routing id at 0; a string says what is wrong with it.

    ``[peer] "" V command id …`` is for the broker: the id at 4, an application command at 5, its arguments from 6 to
    the empty frame that ends the message. ``[worker] client "" V 06 id (DATA) ""`` is a reply: the client at 1, the
    id at 5.
    """
    n = len(frames)
    if n == 7:  # the usual task, reply or INCREMENT, in one look; of all others the rest says what they are
        peer, to, version, command, ident, app, end = frames
        if end or not 0 < len(peer) <= MAX_ROUTING_ID:
            pass
        elif to:  # of a reply the version is a frame further on, and so is all behind it
            short = 0 < len(app) <= MAX_ID and len(to) <= MAX_ROUTING_ID
            if command == VERSION and ident == RESPONSE and not version and short:
                return REPLY
        elif version == VERSION and command in EXECUTE and len(app) == 1 and 0 < len(ident) <= MAX_ID:
            what = BROKERS_OWN.get(app, TASK)
            if what is not JOIN:  # which has a frame more
                return what
    if not 6 <= n <= MAX_FRAMES:
        return "wrong number of frames"
    if not 0 < len(frames[0]) <= MAX_ROUTING_ID:
        return "routing id of a wrong length"
    if frames[-1]:
        return "no empty frame at the end"
    if frames[1]:
        return _reply_at_broker(frames, n)
    if frames[2] != VERSION:
        return "wrong version"
    if not 0 < len(frames[4]) <= MAX_ID:
        return "id of a wrong length"
    command = frames[3]
    if command in EXECUTE:
        if n == 6 or len(frames[5]) != 1:
            return "no application command"
        own = BROKERS_OWN.get(frames[5])
        if own is not None:
            return own if n == _BROKERS_OWN_FRAMES[frames[5]] else "wrong number of frames"
        if n > 7 and max(map(len, frames)) > MAX_FRAME:
            return "frame too long"
        return TASK
    if n != 6:
        return "wrong number of frames" if command in (PING, PONG) else "unknown command"
    if command == PING:
        return LINK_PING
    return LINK_PONG if command == PONG else "unknown command"


def _reply_at_broker(frames: Frames, n: int) -> Is | str:
    if not 7 <= n <= 8:
        return "wrong number of frames"
    if frames[2] or len(frames[1]) > MAX_ROUTING_ID:
        return "bad address in front"
    if frames[3] != VERSION:
        return "wrong version"
    if frames[4] != RESPONSE:
        return "only a response may be relayed"
    if not 0 < len(frames[5]) <= MAX_ID:
        return "id of a wrong length"
    if n == 8 and len(frames[6]) > MAX_FRAME:
        return "frame too long"
    return REPLY


def at_peer(frames: Frames) -> Is | str:
    """What arrived at a worker or a client on its DEALER, no routing id; a string says what is wrong with it.

    ``"" V command id …``: the id at 3. A task has its application command at 4, its arguments from 5 and ends in
    ``"" client``; a reply is ``"" V 06 id (DATA) "" worker``.
    """
    n = len(frames)
    if not 5 <= n <= MAX_FRAMES:
        return "wrong number of frames"
    if frames[0]:
        return "no empty frame in front"
    if frames[1] != VERSION:
        return "wrong version"
    if not 0 < len(frames[3]) <= MAX_ID:
        return "id of a wrong length"
    command = frames[2]
    if n == 5:
        if frames[4]:
            return "no empty frame at the end"
        return {PING: LINK_PING, PONG: LINK_PONG, RESPONSE: JOINED}.get(command, "unknown command")
    if frames[-2] or not 0 < len(frames[-1]) <= MAX_ROUTING_ID:
        return "no address at the end"
    if max(map(len, frames)) > MAX_FRAME:
        return "frame too long"
    if command == RESPONSE:
        return REPLY if 6 <= n <= 7 else "wrong number of frames"
    if command not in EXECUTE:
        return "unknown command"
    return TASK if n >= 7 and len(frames[4]) == 1 else "no application command"


def slots_of(frames: Frames) -> int | None:
    """The slots that a REGISTER at the broker offers, 1..MAX_SLOTS; None for anything else.

    The original reads the number unterminated, so some peers send a NUL after it.
    """
    return decimal(frames[6].removesuffix(b"\0"), 1, MAX_SLOTS)


def stream_size(task: Frames, most: int) -> int | None:
    """The bytes that a stream request (the task alone) asks for, 1..most; None for anything else."""
    return decimal(task[4].removesuffix(b"\0"), 1, most) if len(task) == 5 else None


# ---- ids of link PINGs: what peers of ours ask, and a broker of ours answers (README.md, R4 and the packed lane) ---
# Eight bytes: a number of three, a word of four, a last one. The original counts up from 0 and never gets to either.

_CLAIM = b"\x80"  # the last byte: the sender takes itself for registered
_PACKS, _PACK = b"pack", b"PACK"  # the word of a peer of ours: may we speak packed, and yes
_SHARES, _SHARE = b"seat", b"SEAT"  # may we speak packed, and over one connection with others; yes to both
_OURS = b"seed"  # the word of one that does not ask
_AGREES = {_PACKS: _PACK, _SHARES: _SHARE}


def link_id(number: int, claim: bool = False, packs: bool = False, shares: bool = False) -> bytes:
    """The id of a peer's own link PING; ``claim``: it takes itself for registered; ``packs``: it asks for that lane;
    ``shares``: for that, and to share its connection.
    """
    word = _SHARES if shares else _PACKS if packs else _OURS
    return (number & (1 << 24) - 1).to_bytes(3, "little") + word + (_CLAIM if claim else b"\0")


def is_ours(ident: bytes) -> bool:
    """Whether a PING is of a peer of ours: only their ids have such a word."""
    return len(ident) == 8 and (ident[3:7] == _OURS or ident[3:7] in _AGREES)


def measures(ident: bytes) -> bool:
    """Whether a PING of a peer of ours is one of eight, behind which its broker measures the round trip."""
    return ident[0] & 7 == 2 and is_ours(ident)  # its second is its first as a worker


def disowned(ident: bytes) -> bytes | None:
    """The id of the PONG that denies a claim; None where the PING makes none."""
    return ident[:7] + b"\0" if len(ident) == 8 and ident[7:] == _CLAIM else None


def unclaimed(ident: bytes) -> bool:
    """Whether a PING is of a peer of ours that says that it is not registered."""
    return is_ours(ident) and ident[7:] != _CLAIM


def agreed(ident: bytes) -> bytes | None:
    """The id of the PONG that agrees to all that the PING asks for; None where it asks for nothing."""
    word = _AGREES.get(ident[3:7]) if len(ident) == 8 else None
    return None if word is None else ident[:3] + word + ident[7:]


def agreement(ident: bytes) -> tuple[bool, bool]:
    """Whether a PONG agrees to the packed lane, and to a connection that is shared."""
    word = ident[3:7] if len(ident) == 8 else b""
    return word in (_PACK, _SHARE), word == _SHARE


def answers(ident: bytes, question: bytes) -> bool:
    """Whether a PONG is to this PING: it has its id, or agrees to what that asks for or to the packed lane alone."""
    if ident == question:
        return True
    agrees = (_AGREES.get(question[3:7]), _PACK) if question[3:7] in _AGREES else ()
    return ident[3:7] in agrees and ident[:3] + ident[7:] == question[:3] + question[7:] and len(ident) == len(question)


# ---- how a task failed, to a client of ours: DATA of no stream, under an id that an original does not have -----------

_FAILED = b"\x15RHX1"
_MOST_WHY = 200  # bytes


def failure(why: str) -> bytes:
    """DATA that says why a task failed."""
    return _FAILED + why.encode()[:_MOST_WHY]


def failed(data: bytes | None) -> str:
    """Why a task failed; empty where the DATA does not say that it did."""
    if data is None or not data.startswith(_FAILED):
        return ""
    return clean(data[len(_FAILED) :][:_MOST_WHY].decode("utf-8", "replace"), _MOST_WHY) or "failed"


# ---- builders ----------------------------------------------------------------------------------------------------
# What a broker sends starts with the peer's routing id; what a peer sends on its DEALER does not.


def link_ping(ident: bytes) -> Frames:
    """Peer → broker, and behind a routing id broker → worker."""
    return [b"", VERSION, PING, ident, b""]


def link_pong(ident: bytes) -> Frames:
    """The answer to a link PING, same id."""
    return [b"", VERSION, PONG, ident, b""]


def register(ident: bytes, slots: int) -> Frames:
    """Worker → broker; answered by ``registered``."""
    return [b"", VERSION, TRACKEXEC, ident, APP_REGISTER, b"%d" % slots, b""]


def registered(ident: bytes) -> Frames:
    """Broker → worker, behind its routing id."""
    return [b"", VERSION, RESPONSE, ident, b""]


def deregister() -> Frames:
    """Worker → broker, no answer."""
    return [b"", VERSION, EXEC, b"WORKER", APP_DEREGISTER, b""]


def increment(ident: bytes) -> Frames:
    """Worker → broker after every task and after its response, no answer."""
    return [b"", VERSION, EXEC, ident, APP_INCREMENT, b""]


def ping(ident: bytes, tracked: bool) -> Frames:
    """Client → broker: the seed's ``pingt`` when tracked, else ``ping``."""
    return [b"", VERSION, TRACKEXEC if tracked else EXEC, ident, APP_PING, b""]


def stream(ident: bytes, size: int, tracked: bool = True) -> Frames:
    """Client → broker: send me so many bytes."""
    return [b"", VERSION, TRACKEXEC if tracked else EXEC, ident, APP_STREAM, STREAM_NAME, b"%d" % size, b""]


def delivery(worker: bytes, client: bytes, task: Frames) -> Frames:
    """Broker → worker: a task, with the address of who wants it at the end."""
    return [worker, b"", VERSION, *task, b"", client]


def reply(client: bytes, ident: bytes, data: bytes | None = None) -> Frames:
    """Worker → broker: the answer to a task, with the address that it is to be relayed to in front."""
    if data is None:
        return [client, b"", VERSION, RESPONSE, ident, b""]
    return [client, b"", VERSION, RESPONSE, ident, data, b""]


def relayed(client: bytes, ident: bytes, worker: bytes, data: bytes | None = None) -> Frames:
    """Broker → client: the answer to a task, with the address of who gave it at the end."""
    if data is None:
        return [client, b"", VERSION, RESPONSE, ident, b"", worker]
    return [client, b"", VERSION, RESPONSE, ident, data, b"", worker]
