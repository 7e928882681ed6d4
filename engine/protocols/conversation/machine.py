"""Conversation's state machines: a worker, a worker as its broker sees it, a job, and the client's link.

The cores go through these rows, the state maps draw them, and the README quotes them.
"""

from __future__ import annotations

from typing import Final

from engine.parts.machine import Machine, Row
from engine.parts.view import Walked
from engine.protocols.conversation.messages import CANCELLED, FINISHED, HELD, RUNNING, STATUS, WAITING


class Rule:
    """Rules of the seed, in short; or of our README."""

    ORDERED: Final = "ours: orders of an operator"
    OURS: Final = "ours: what the seed leaves to the transport"
    ASKING: Final = "ours: who asks for tasks"
    CHANGED: Final = "ours: a flipped bit changes nothing for ever"
    EXIT: Final = "001 CL_EXIT0; ruling 6"
    CROSSES: Final = "ruling 7: taken in CL_UPDATE1 too"
    ENDS: Final = "001 SV_LOOP2 on DISCONNECT; ruling 10"
    FIRST: Final = "001 server_loop: check for pending tasks"


class Cl:
    """The seed's client states. UPDATE0 is passed through; a worker in EXIT0 or EXIT1 does nothing any more."""

    INIT0: Final = "CL_INIT0"
    INIT1: Final = "CL_INIT1"
    LOOP0: Final = "CL_LOOP0"
    UPDATE0: Final = "CL_UPDATE0"
    UPDATE1: Final = "CL_UPDATE1"
    EXIT0: Final = "CL_EXIT0"
    EXIT1: Final = "CL_EXIT1"
    NAMES: Final = (INIT0, INIT1, LOOP0, UPDATE0, UPDATE1, EXIT0, EXIT1)


class Sv:
    """The seed's server states. Between two events a link is in INIT1 or LOOP2, the others are passed through."""

    INIT0: Final = "SV_INIT0"
    INIT1: Final = "SV_INIT1"
    INIT2: Final = "SV_INIT2"
    LOOP0: Final = "SV_LOOP0"
    LOOP1: Final = "SV_LOOP1"
    LOOP2: Final = "SV_LOOP2"
    LOOP3: Final = "SV_LOOP3"
    EXIT: Final = "SV_EXIT"
    NAMES: Final = (INIT0, INIT1, INIT2, LOOP0, LOOP1, LOOP2, LOOP3, EXIT)


class Does:
    """States of a job: ``NEW`` until it is queued, then in the words of its status."""

    NEW: Final = "new"
    WAITING: Final = STATUS[WAITING]
    RUNNING: Final = STATUS[RUNNING]
    HELD: Final = STATUS[HELD]
    CANCELLED: Final = STATUS[CANCELLED]
    FINISHED: Final = STATUS[FINISHED]


class Link:
    """States of a client's link."""

    SILENT: Final = "silent"
    LINKED: Final = "linked"


class On:
    """Events. ``PASS``: none, the state is passed through."""

    PASS: Final = ""
    GREETED: Final = "OK(0)"
    OK: Final = "OK(nproc)"
    OK_N: Final = "OK(n)"
    JOB: Final = "JOB"
    UPDATE: Final = "UPDATE(n)"
    STOP: Final = "STOP(n)"
    STOP_NOW: Final = "STOP(immed)"
    REFUSED: Final = "ERROR(cannot_run_job)"
    OVER: Final = "ERROR(broken)"
    JOB_QUEUED: Final = "JOB_QUEUED"
    STOP_REQ: Final = "STOP_REQ(n)"
    STOP_IMMED: Final = "STOP_IMMED"
    DISCONNECT: Final = "DISCONNECT"
    OPENING: Final = "opening"
    DONE: Final = "job done"
    OWED: Final = "an update is owed"
    LEAVE: Final = "told to leave"
    IDLE: Final = "nothing left to stop"
    BEAT: Final = "heartbeat"
    ALIVE: Final = "keep-alive"
    SILENCE: Final = "silence"
    EXPIRED: Final = "an operator expires it"
    WRONG: Final = "messages lost, changed or unreadable"
    UNSENT: Final = "a message is not sent"
    SUBMITTED: Final = "submitted"
    GIVEN: Final = "a task is given"
    BACK: Final = "a task comes back"
    ENDED: Final = "a task ends"
    HOLD: Final = "hold"
    RELEASE: Final = "release"
    CANCEL: Final = "cancel"
    HEARD: Final = "anything"
    ANSWERED: Final = "TaskEnded"
    NO_ANSWER: Final = "no answer for expiry"
    CONNECTED: Final = "connected anew"


class If:
    """Guards."""

    FITS: Final = "that fits"
    TOO_LARGE: Final = "too large"
    LAST: Final = "as the last"
    BEGUN: Final = "of one that has begun"


_NONE: Final = "none"
_ANEW: Final = "begin anew a heartbeat later"
_ASK_AGAIN: Final = "ask again for what is out"


def _held(at: str, ruling: str = "") -> tuple[Row, ...]:
    """What a worker takes while it may hold jobs."""
    job = "001 CL_LOOP0 on JOB(nproc)"
    return (
        Row(at, On.JOB, "start job", at, ruling or f"{job}; ruling 1", If.FITS),
        Row(at, On.JOB, "send ERROR(cannot_run_job)", at, ruling or job, If.TOO_LARGE),
        Row(at, On.STOP, "max_nproc = max(0,max_nproc-n)", at, ruling or "001 CL_LOOP0 on STOP(n)"),
        Row(at, On.STOP_NOW, "kill what runs", Cl.EXIT1, ruling or "001 CL_LOOP0 on STOP(n); ruling 12"),
    )


def _greeted(at: str) -> tuple[Row, ...]:
    """What befalls a worker's conversation once the broker has greeted it."""
    anew = _ANEW if at == Cl.INIT1 else f"kill what runs, {_ANEW}"
    return (
        Row(at, On.BEAT, "send keep-alive", at, Rule.OURS),
        Row(at, On.OVER, anew, Cl.INIT0, Rule.OURS),
        Row(at, On.SILENCE, anew, Cl.INIT0, Rule.OURS),
        Row(at, On.WRONG, anew, Cl.INIT0, Rule.CHANGED),
        Row(at, On.UNSENT, anew, Cl.INIT0, Rule.OURS),
        Row(at, On.LEAVE, "max_nproc = 0", at, Rule.EXIT),
    )


WORKER: Final = Machine(
    Cl.NAMES,
    (
        Row(Cl.INIT0, On.BEAT, "open the conversation", Cl.INIT0, Rule.OURS),
        Row(Cl.INIT0, On.GREETED, "send OK(nproc)", Cl.INIT1, "001 CL_INIT0 on OK(0)"),
        Row(Cl.INIT0, On.LEAVE, "max_nproc = 0", Cl.INIT0, Rule.EXIT),
        Row(Cl.INIT0, On.IDLE, _NONE, Cl.EXIT0, Rule.EXIT),
        Row(Cl.INIT1, On.GREETED, "count messages from here", Cl.INIT1, Rule.OURS),
        Row(Cl.INIT1, On.OK, _NONE, Cl.LOOP0, "001 CL_INIT1 on OK(nproc)"),
        *_greeted(Cl.INIT1),
        Row(Cl.INIT1, On.IDLE, "send ERROR(leaving)", Cl.EXIT0, Rule.EXIT),
        *_held(Cl.LOOP0),
        Row(Cl.LOOP0, On.DONE, "nproc=min(max_nproc,nproc+job_nproc)", Cl.UPDATE0, "001 CL_LOOP0 on job done"),
        Row(Cl.LOOP0, On.OWED, _NONE, Cl.UPDATE0, "ruling 7"),
        *_greeted(Cl.LOOP0),
        Row(Cl.LOOP0, On.IDLE, "send ERROR(leaving)", Cl.EXIT0, Rule.EXIT),
        Row(Cl.UPDATE0, On.PASS, "send UPDATE(nproc)", Cl.UPDATE1, "001 CL_UPDATE0"),
        *_held(Cl.UPDATE1, Rule.CROSSES),
        Row(Cl.UPDATE1, On.DONE, "its update is owed", Cl.UPDATE1, Rule.CROSSES),
        Row(Cl.UPDATE1, On.OK, _NONE, Cl.LOOP0, "001 CL_UPDATE1 on OK(nproc)"),
        *_greeted(Cl.UPDATE1),
    ),
)


def _ends(at: str, action: str, rule: str) -> tuple[Row, ...]:
    """How a link ends."""
    return (
        Row(at, On.DISCONNECT, action, Sv.EXIT, rule),
        Row(at, On.OPENING, action, Sv.EXIT, Rule.OURS),
        Row(at, On.SILENCE, action, Sv.EXIT, Rule.OURS),
        Row(at, On.EXPIRED, f"{action}, send ERROR(broken)".removeprefix("none, "), Sv.EXIT, Rule.ORDERED),
        Row(at, On.WRONG, f"{action}, send ERROR(broken)".removeprefix("none, "), Sv.EXIT, Rule.CHANGED),
        Row(at, On.UNSENT, action, Sv.EXIT, Rule.OURS),
    )


SEEN: Final = Machine(
    Sv.NAMES,
    (
        Row(Sv.INIT0, On.PASS, "send OK(0)", Sv.INIT1, "001 SV_INIT0"),
        Row(Sv.INIT1, On.OK_N, "record nproc=n", Sv.INIT2, "001 SV_INIT1 on OK(n)"),
        Row(Sv.INIT1, On.ALIVE, _NONE, Sv.INIT1, Rule.OURS),
        *_ends(Sv.INIT1, _NONE, "ours: a link may end while it greets"),
        Row(Sv.INIT2, On.PASS, "send OK(nproc)", Sv.LOOP0, "001 SV_INIT2"),
        Row(Sv.LOOP0, On.PASS, "request npending<=nproc pending tasks", Sv.LOOP1, "001 SV_LOOP0"),
        Row(Sv.LOOP1, On.PASS, "if npending > 0, send JOB(npending)", Sv.LOOP2, "001 SV_LOOP1"),
        Row(Sv.LOOP2, On.JOB_QUEUED, _NONE, Sv.LOOP0, "001 SV_LOOP2 on JOB_QUEUED"),
        Row(Sv.LOOP2, On.UPDATE, "record task status, set nproc=n", Sv.LOOP3, "001 SV_LOOP2 on UPDATE(n)"),
        Row(Sv.LOOP2, On.STOP_REQ, "send STOP(n)", Sv.LOOP0, "001 SV_LOOP2 on STOP_REQ(n)"),
        Row(Sv.LOOP2, On.STOP_IMMED, "send STOP(immed)", Sv.LOOP0, "001 SV_LOOP2 on STOP_IMMED"),
        Row(Sv.LOOP2, On.REFUSED, "queue its task again", Sv.LOOP2, "ruling 8: a refused task goes to another"),
        Row(Sv.LOOP2, On.ALIVE, "send keep-alive", Sv.LOOP2, Rule.OURS),
        *_ends(Sv.LOOP2, "queue its tasks again", Rule.ENDS),
        Row(Sv.LOOP3, On.PASS, "send OK(nproc)", Sv.LOOP0, "001 SV_LOOP3"),
    ),
)

JOB: Final = Machine(
    (Does.NEW, Does.WAITING, Does.RUNNING, Does.HELD, Does.CANCELLED, Does.FINISHED),
    (
        Row(Does.NEW, On.SUBMITTED, "queue its tasks", Does.WAITING, Rule.ASKING),
        Row(Does.WAITING, On.GIVEN, "send JOB", Does.RUNNING, Rule.FIRST),
        Row(Does.WAITING, On.HOLD, _NONE, Does.HELD, Rule.ASKING),
        Row(Does.WAITING, On.CANCEL, "drop what waits", Does.CANCELLED, Rule.ASKING),
        Row(Does.RUNNING, On.GIVEN, "send JOB", Does.RUNNING, Rule.FIRST),
        Row(Does.RUNNING, On.BACK, "queue it again", Does.RUNNING, "rulings 8 and 10"),
        Row(Does.RUNNING, On.ENDED, "tell its client", Does.RUNNING, Rule.ASKING),
        Row(Does.RUNNING, On.ENDED, "tell its client", Does.FINISHED, Rule.ASKING, If.LAST),
        Row(Does.RUNNING, On.HOLD, "give no more of it", Does.HELD, Rule.ASKING),
        Row(Does.RUNNING, On.CANCEL, "drop what waits", Does.CANCELLED, Rule.ASKING),
        Row(Does.HELD, On.BACK, "queue it again", Does.HELD, "rulings 8 and 10"),
        Row(Does.HELD, On.ENDED, "tell its client", Does.HELD, Rule.ASKING),
        Row(Does.HELD, On.ENDED, "tell its client", Does.FINISHED, Rule.ASKING, If.LAST),
        Row(Does.HELD, On.RELEASE, _NONE, Does.WAITING, Rule.ASKING),
        Row(Does.HELD, On.RELEASE, "give more of it", Does.RUNNING, Rule.ASKING, If.BEGUN),
        Row(Does.HELD, On.CANCEL, "drop what waits", Does.CANCELLED, Rule.ASKING),
        Row(Does.CANCELLED, On.ENDED, "tell its client", Does.CANCELLED, Rule.ASKING),
    ),
)

LINK: Final = Machine(
    (Link.SILENT, Link.LINKED),
    (
        Row(Link.SILENT, On.HEARD, _NONE, Link.LINKED, "ours: keep-alive"),
        Row(Link.LINKED, On.HEARD, _NONE, Link.LINKED, "ours: keep-alive"),
        Row(Link.LINKED, On.ANSWERED, "submit the next task", Link.LINKED, Rule.ASKING),
        *(Row(at, On.BEAT, "send keep-alive", at, "ours: keep-alive") for at in (Link.SILENT, Link.LINKED)),
        *(
            Row(at, On.NO_ANSWER, f"open the socket anew, {_ASK_AGAIN}", Link.SILENT, Rule.OURS)
            for at in (Link.SILENT, Link.LINKED)
        ),
        *(Row(at, On.CONNECTED, _ASK_AGAIN, at, Rule.OURS) for at in (Link.SILENT, Link.LINKED)),
    ),
)


def visits(machine: Machine, walked: Walked, begun: int = 0) -> tuple[tuple[str, str], ...]:
    """How often each state was entered. ``begun``: how many have begun in the first.

    What befalls the connection while the state stays is no entrance.
    """
    times = dict(walked)
    found = dict.fromkeys(machine.states, 0)
    found[machine.states[0]] = begun
    for edge in machine.edges:
        if edge.state != edge.next or edge.rule not in (Rule.OURS, Rule.EXIT):
            found[edge.next] += times.get((edge.state, edge.event), 0)
    return tuple((state, str(entered)) for state, entered in found.items())
