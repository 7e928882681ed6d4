"""Every message of ping-pong, both ways, and the bodies that our own peers put into jobs.

The rules of this file:

- Worker and broker speak seed 002, frame for frame: an empty delimiter and one body, at the broker behind the routing
  id.
- What is not a command is a job or a result; so a job may not be PONG or EXIT, a result not READY or PING (ruling 3).
- Client and broker speak our own messages: the seed has no client. ``["", id, job]`` asks, ``["", id, status, result]``
  answers; the number of frames tells them from PING and PONG.
- Every parser is total: a message, or the reason (text, our own fixed words) why it is none.
"""

from __future__ import annotations

from engine.core import Frames
from engine.parts.limits import MAX_FRAME, MAX_ROUTING_ID, decimal
from engine.parts.store import GLOBAL

READY, PING, PONG, EXIT = b"READY", b"PING", b"PONG", b"EXIT"

NOT_A_JOB = frozenset({PONG, EXIT})  # a worker would take them for the broker's commands
NOT_A_RESULT = frozenset({READY, PING})  # the broker would take them for a worker's

DONE = b"DONE"  # the last frame is the result
FULL = b"FULL"  # the backlog is; nothing was accepted
REFUSED = b"REFUSED"  # the job can not be carried by this protocol; nothing was accepted
FAILED = b"FAILED"  # accepted, delivered as often as is allowed, never answered
WITHDRAWN = b"WITHDRAWN"  # accepted, and not to be done any more
STATUSES = frozenset({DONE, FULL, REFUSED, FAILED, WITHDRAWN})

ID = 8  # bytes of a task's id that is its client's own
IDS = (ID, GLOBAL)

# ---- between worker and broker -----------------------------------------------------------------------------------


def from_worker(frames: Frames) -> bytes | str:
    """The body of ``[worker, "", body]``: READY, PING or a result."""
    if len(frames) != 3:
        return "not three frames"
    if wrong := _unroutable(frames[0]):
        return wrong
    return _body(frames[1], frames[2])


def from_broker(frames: Frames) -> bytes | str:
    """The body of ``["", body]``: PONG, EXIT or a job."""
    if len(frames) != 2:
        return "not two frames"
    return _body(frames[0], frames[1])


def _unroutable(peer: bytes) -> str:
    if not peer:
        return "no routing id"
    return "routing id too long" if len(peer) > MAX_ROUTING_ID else ""


def _body(delimiter: bytes, body: bytes) -> bytes | str:
    if delimiter:
        return "no empty delimiter"
    if len(body) > MAX_FRAME:
        return "body too large"
    return body


# ---- between client and broker (ours) ----------------------------------------------------------------------------


def from_client(frames: Frames) -> tuple[bytes, bytes] | str:
    """(id, job) of ``[client, "", id, job]``; (empty, PING) of ``[client, "", PING]``."""
    if len(frames) not in (3, 4):
        return "not three or four frames"
    if wrong := _unroutable(frames[0]):
        return wrong
    if frames[1]:
        return "no empty delimiter"
    if len(frames) == 3:
        return (b"", PING) if frames[2] == PING else "not a request"
    if len(frames[2]) not in IDS:
        return "id not of 8 or 16 bytes"
    if len(frames[3]) > MAX_FRAME:
        return "job too large"
    return frames[2], frames[3]


def to_client(frames: Frames) -> tuple[bytes, bytes, bytes] | str:
    """(id, status, result or reason) of ``["", id, status, result]``; (empty, PONG, empty) of ``["", PONG]``."""
    if len(frames) not in (2, 4):
        return "not two or four frames"
    if frames[0]:
        return "no empty delimiter"
    if len(frames) == 2:
        return (b"", PONG, b"") if frames[1] == PONG else "not a reply"
    if len(frames[1]) not in IDS:
        return "id not of 8 or 16 bytes"
    if frames[2] not in STATUSES:
        return "unknown status"
    if len(frames[3]) > MAX_FRAME:
        return "result too large"
    return frames[1], frames[2], frames[3]


# ---- bodies ------------------------------------------------------------------------------------------------------

PING_JOB, _DATA = b"ping", b"data "


def naming(job: bytes, task_id: bytes) -> bytes:
    """A ping or data task that names its own id: on this wire nothing else tells a worker, nor whose a result is."""
    return job + b" " + task_id.hex().encode()


def named(job: bytes) -> bytes:
    """The id that a ping or data task names; empty where it names none."""
    return _parts(job)[1]


def _parts(job: bytes) -> tuple[bytes, bytes]:
    """A job without the id that it names, and that."""
    base, _, digits = job.rpartition(b" ")
    if len(digits) != 2 * GLOBAL or not digits.isalnum() or not (base == PING_JOB or base.startswith(_DATA)):
        return job, b""
    try:
        return base, bytes.fromhex(digits.decode())
    except ValueError:
        return job, b""


def data_job(size: int) -> bytes:
    """The job of a data task: its result has so many bytes."""
    return b"data %d" % size


def kind_of(job: bytes) -> str:
    """``ping``, ``data``, or ``job`` for everything else."""
    if _parts(job)[0] == PING_JOB:
        return "ping"
    return "job" if _size(job) is None else "data"


def result_of(job: bytes) -> bytes:
    """What a worker of ours answers: a data task with its bytes, everything else with the job itself."""
    size = _size(job)
    return job if size is None else bytes(size)


def _size(job: bytes) -> int | None:
    return decimal(_parts(job)[0][5:], 0, MAX_FRAME) if job.startswith(_DATA) else None
