"""Majordomo's state machines: the worker, a worker as its broker sees it, and the client's link.

The cores go through these rows, and the state maps draw them.
"""

from __future__ import annotations

from typing import Final

from engine.parts.machine import Machine, Row


class Rule:
    """Sections of the RFCs, and rulings of our README."""

    OPEN: Final = "RFC 7: opening and closing a connection"
    UNEXPECTED: Final = "RFC 7: opening and closing a connection: valid but unexpected"
    INVALID: Final = "RFC 7: opening and closing a connection: that peer is invalid"
    PROCESS: Final = "RFC 7: request and reply processing"
    BEATS: Final = "RFC 7: heartbeating"
    MMI: Final = "RFC 8: mmi.service"
    DRAIN: Final = "ruling 5"
    DEADLINE: Final = "ruling 6"
    ANEW: Final = "ruling 7"
    BROKEN: Final = "ruling 8"


class Does:
    """States of a worker."""

    REGISTERING: Final = "registering"
    READY: Final = "ready"
    WORKING: Final = "working"
    LEFT: Final = "left"


class Seen:
    """States of a worker as its broker sees it."""

    UNKNOWN: Final = "unknown"
    IDLE: Final = "idle"
    BUSY: Final = "busy"
    DRAINING: Final = "draining"


class Link:
    """States of a client's link."""

    SILENT: Final = "silent"
    LINKED: Final = "linked"


class On:
    """Events."""

    READY: Final = "READY"
    HEARTBEAT: Final = "HEARTBEAT"
    REQUEST: Final = "REQUEST"
    REPLY: Final = "REPLY"
    DISCONNECT: Final = "DISCONNECT"
    STRAY: Final = "REPLY to no request"
    INVALID: Final = "no message"
    ANSWER: Final = "a reply"
    TASK: Final = "a request"
    DONE: Final = "done"
    DUE: Final = "a heartbeat is due"
    SILENCE: Final = "silence"
    DEADLINE: Final = "deadline"
    GONE: Final = "its connection is gone"
    ANEW: Final = "connected anew"
    LEAVE: Final = "told to leave"
    DRAIN: Final = "told to drain"


LAST: Final = "before leaving"
"""The guard of a worker that is to leave when its request is done."""

_TAKE_BACK: Final = "take its request back"
_ANEW: Final = "on a new socket ask mmi.service, and again for what is out"


def _starts_over(state: str, action: str) -> tuple[Row, ...]:
    return (
        Row(state, On.DISCONNECT, action, Does.REGISTERING, Rule.OPEN),
        Row(state, On.SILENCE, action, Does.REGISTERING, Rule.BEATS),
    )


WORKER: Final = Machine(
    (Does.REGISTERING, Does.READY, Does.WORKING, Does.LEFT),
    (
        Row(Does.REGISTERING, On.HEARTBEAT, "none", Does.READY, Rule.OPEN),
        Row(Does.REGISTERING, On.REQUEST, "work", Does.WORKING, Rule.OPEN),
        Row(Does.REGISTERING, On.DUE, "send HEARTBEAT", Does.REGISTERING, Rule.BEATS),
        *_starts_over(Does.REGISTERING, "send READY on a new socket"),
        Row(Does.REGISTERING, On.ANEW, "send READY", Does.REGISTERING, Rule.BROKEN),
        Row(Does.REGISTERING, On.LEAVE, "send DISCONNECT", Does.LEFT, Rule.OPEN),
        Row(Does.READY, On.HEARTBEAT, "none", Does.READY, Rule.BEATS),
        Row(Does.READY, On.REQUEST, "work", Does.WORKING, Rule.PROCESS),
        Row(Does.READY, On.DUE, "send HEARTBEAT", Does.READY, Rule.BEATS),
        *_starts_over(Does.READY, "send READY on a new socket"),
        Row(Does.READY, On.ANEW, "send READY", Does.REGISTERING, Rule.BROKEN),
        Row(Does.READY, On.LEAVE, "send DISCONNECT", Does.LEFT, Rule.OPEN),
        Row(Does.WORKING, On.HEARTBEAT, "none", Does.WORKING, Rule.BEATS),
        Row(Does.WORKING, On.REQUEST, "abandon the first", Does.WORKING, "ruling 4"),
        Row(Does.WORKING, On.DONE, "send REPLY", Does.READY, Rule.PROCESS),
        Row(Does.WORKING, On.DONE, "send REPLY, DISCONNECT", Does.LEFT, Rule.DRAIN, LAST),
        Row(Does.WORKING, On.DUE, "send HEARTBEAT", Does.WORKING, Rule.BEATS),
        *_starts_over(Does.WORKING, "abandon the request, send READY on a new socket"),
        Row(Does.WORKING, On.DISCONNECT, "abandon the request, send DISCONNECT", Does.LEFT, Rule.DRAIN, LAST),
        Row(Does.WORKING, On.SILENCE, "abandon the request, send DISCONNECT", Does.LEFT, Rule.DRAIN, LAST),
        Row(Does.WORKING, On.ANEW, "none", Does.WORKING, Rule.BROKEN),
        Row(Does.WORKING, On.LEAVE, "go when the request is done", Does.WORKING, Rule.DRAIN),
    ),
)


def _goes(state: str, *first: str) -> tuple[Row, ...]:
    quiet, loud = "; ".join(first) or "none", ", ".join((*first, "send DISCONNECT"))
    return (
        Row(state, On.HEARTBEAT, "none", state, Rule.BEATS),
        Row(state, On.DUE, "send HEARTBEAT", state, Rule.BEATS),
        Row(state, On.READY, loud, Seen.UNKNOWN, Rule.UNEXPECTED),
        Row(state, On.STRAY, loud, Seen.UNKNOWN, Rule.UNEXPECTED),
        Row(state, On.INVALID, loud, Seen.UNKNOWN, Rule.INVALID),
        Row(state, On.DISCONNECT, quiet, Seen.UNKNOWN, Rule.OPEN),
        Row(state, On.SILENCE, loud, Seen.UNKNOWN, Rule.BEATS),
        Row(state, On.GONE, quiet, Seen.UNKNOWN, "ours"),
    )


SEEN: Final = Machine(
    (Seen.UNKNOWN, Seen.IDLE, Seen.BUSY, Seen.DRAINING),
    (
        Row(Seen.UNKNOWN, On.READY, "send HEARTBEAT", Seen.IDLE, Rule.OPEN),
        Row(Seen.UNKNOWN, On.HEARTBEAT, "send DISCONNECT", Seen.UNKNOWN, Rule.UNEXPECTED),
        Row(Seen.UNKNOWN, On.REPLY, "send DISCONNECT", Seen.UNKNOWN, Rule.UNEXPECTED),
        Row(Seen.UNKNOWN, On.DISCONNECT, "none", Seen.UNKNOWN, Rule.OPEN),
        Row(Seen.IDLE, On.TASK, "send REQUEST", Seen.BUSY, Rule.PROCESS),
        Row(Seen.IDLE, On.DRAIN, "none", Seen.DRAINING, Rule.DRAIN),
        *_goes(Seen.IDLE),
        Row(Seen.BUSY, On.REPLY, "send REPLY to the client", Seen.IDLE, Rule.PROCESS),
        Row(Seen.BUSY, On.DEADLINE, f"{_TAKE_BACK}, send DISCONNECT", Seen.UNKNOWN, Rule.DEADLINE),
        Row(Seen.BUSY, On.DRAIN, "none", Seen.DRAINING, Rule.DRAIN),
        *_goes(Seen.BUSY, _TAKE_BACK),
        Row(Seen.DRAINING, On.REPLY, "send REPLY to the client", Seen.DRAINING, Rule.DRAIN),
        Row(Seen.DRAINING, On.DEADLINE, f"{_TAKE_BACK}, send DISCONNECT", Seen.UNKNOWN, Rule.DEADLINE),
        *_goes(Seen.DRAINING, f"{_TAKE_BACK} if it has one"),
    ),
)

LINK: Final = Machine(
    (Link.SILENT, Link.LINKED),
    (
        Row(Link.SILENT, On.ANSWER, "none", Link.LINKED, Rule.MMI),
        Row(Link.SILENT, On.DUE, "ask mmi.service", Link.SILENT, Rule.MMI),
        Row(Link.SILENT, On.ANEW, "ask again for what is out", Link.SILENT, Rule.ANEW),
        Row(Link.SILENT, On.SILENCE, _ANEW, Link.SILENT, Rule.ANEW),
        Row(Link.LINKED, On.ANSWER, "none", Link.LINKED, Rule.MMI),
        Row(Link.LINKED, On.DUE, "ask mmi.service", Link.LINKED, Rule.MMI),
        Row(Link.LINKED, On.ANEW, "ask again for what is out", Link.LINKED, Rule.ANEW),
        Row(Link.LINKED, On.SILENCE, _ANEW, Link.SILENT, Rule.ANEW),
    ),
)
