"""Every message of MDP 0.1, both ways, and the bodies that our own peers put into requests.

The rules of this file:

- All frames are the RFC's: an empty frame, the header of the sub-protocol, and what belongs to the command. At the
  broker the peer's routing id stands in front.
- A body is one frame or more, and opaque to the broker. Our client's body is ``[id, job]``, the reply to it
  ``[id, status, result]``; only such a body names its task (ruling 1).
- Every parser is total: a message, or the reason (text, our own fixed words) why it is none.
"""

from __future__ import annotations

from typing import NamedTuple

from engine.core import Frames
from engine.parts.limits import MAX_FRAME, MAX_FRAMES, MAX_ROUTING_ID, decimal

CLIENT, WORKER = b"MDPC01", b"MDPW01"
READY, REQUEST, REPLY, HEARTBEAT, DISCONNECT = b"\x01", b"\x02", b"\x03", b"\x04", b"\x05"
NAMES = {READY: "READY", REQUEST: "REQUEST", REPLY: "REPLY", HEARTBEAT: "HEARTBEAT", DISCONNECT: "DISCONNECT"}

MMI = b"mmi."  # services that the RFC reserves for the broker itself
MMI_SERVICE = b"mmi.service"  # RFC 8: is there a worker of this service?
FOUND, NOT_FOUND, NOT_KNOWN = b"200", b"404", b"501"

ID = 8  # bytes of a task's id
DONE = b"DONE"  # the last frame is the result
FULL = b"FULL"  # no room; nothing was accepted
FAILED = b"FAILED"  # accepted, delivered as often as is allowed, never answered
WITHDRAWN = b"WITHDRAWN"  # accepted, and not to be done any more
STATUSES = frozenset({DONE, FULL, FAILED, WITHDRAWN})


class Asked(NamedTuple):
    """A client's REQUEST."""

    service: bytes
    body: Frames


class Said(NamedTuple):
    """A command between worker and broker; READY has a service, REQUEST and REPLY have a client and a body."""

    command: bytes
    service: bytes = b""
    client: bytes = b""
    body: Frames = []  # noqa: RUF012 - never changed


# ---- parsers ---------------------------------------------------------------------------------------------------------


def at_broker(frames: Frames) -> Asked | Said | str:
    """``[peer, "", header, ...]``: a client's request or a worker's command."""
    if not frames or not frames[0]:
        return "no routing id"
    if len(frames[0]) > MAX_ROUTING_ID:
        return "routing id too long"
    if wrong := _envelope(frames[1:]):
        return wrong
    if frames[2] == CLIENT:
        return _service(frames[3:])
    return _command(frames[3:], (READY, REPLY)) if frames[2] == WORKER else "unknown header"


def at_worker(frames: Frames) -> Said | str:
    """``["", MDPW01, command, ...]``."""
    if wrong := _envelope(frames):
        return wrong
    return _command(frames[2:], (REQUEST,)) if frames[1] == WORKER else "unknown header"


def at_client(frames: Frames) -> Asked | str:
    """``["", MDPC01, service, ...]``: a reply looks as its request does."""
    if wrong := _envelope(frames):
        return wrong
    return _service(frames[2:]) if frames[1] == CLIENT else "unknown header"


def _envelope(frames: Frames) -> str:
    if not 3 <= len(frames) <= MAX_FRAMES:
        return "not three frames or more" if len(frames) < 3 else "too many frames"
    if frames[0]:
        return "no empty frame in front"
    return "a frame too large" if any(len(frame) > MAX_FRAME for frame in frames) else ""


def _service(rest: Frames) -> Asked | str:
    service, *body = rest
    if not _named(service):
        return "no name of a service"
    return Asked(service, body) if body else "a request without a body"


def _command(rest: Frames, own: tuple[bytes, ...]) -> Said | str:
    """A command of those that both sides say, or of ``own``."""
    command, *rest = rest
    if command in (HEARTBEAT, DISCONNECT):
        return "more frames than its command has" if rest else Said(command)
    if command not in own:
        return "unknown command"
    if command == READY:
        good = len(rest) == 1 and _named(rest[0]) and not rest[0].startswith(MMI)
        return Said(command, rest[0]) if good else "READY without the name of a service"
    if len(rest) < 3 or not 1 <= len(rest[0]) <= MAX_ROUTING_ID or rest[1]:
        return "no address of a client, an empty frame and a body"
    return Said(command, b"", rest[0], rest[2:])


def _named(service: bytes) -> bool:
    return 1 <= len(service) <= MAX_ROUTING_ID


# ---- writers ---------------------------------------------------------------------------------------------------------


def to_worker(key: bytes, command: bytes, *rest: bytes) -> Frames:
    """A broker's command."""
    return [key, b"", WORKER, command, *rest]


def to_broker(command: bytes, *rest: bytes) -> Frames:
    """A worker's command."""
    return [b"", WORKER, command, *rest]


def ask(service: bytes, *body: bytes) -> Frames:
    """A client's request."""
    return [b"", CLIENT, service, *body]


def reply(client: bytes, service: bytes, *body: bytes) -> Frames:
    """What the broker answers a client."""
    return [client, b"", CLIENT, service, *body]


# ---- bodies of our own -----------------------------------------------------------------------------------------------

PING_JOB = b"ping"


def ident(body: Frames) -> bytes:
    """The id of the task in a request's or reply's body; empty where it is not one of ours."""
    ours = len(body) == 2 or (len(body) == 3 and body[1] in STATUSES)
    return body[0] if ours and len(body[0]) == ID else b""


def data_job(size: int) -> bytes:
    """The job of a data task: its result has so many bytes."""
    return b"data %d" % size


def kind_of(body: Frames) -> str:
    """``ping``, ``data``, or ``job`` for everything else."""
    if not ident(body):
        return "job"
    return "ping" if body[1] == PING_JOB else "job" if _size(body[1]) is None else "data"


def result_of(job: bytes) -> bytes:
    """What a worker of ours answers: a data task with its bytes, everything else with the job itself."""
    size = _size(job)
    return job if size is None else bytes(size)


def answer_to(body: Frames) -> Frames:
    """The body of a reply: a task of ours with its id, a body of anybody else as it came."""
    return [body[0], DONE, result_of(body[1])] if len(body) == 2 and ident(body) else body


def _size(job: bytes) -> int | None:
    return decimal(job[5:], 0, MAX_FRAME) if job.startswith(b"data ") else None
