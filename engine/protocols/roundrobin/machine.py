"""Round robin's state machines: the worker, a worker as its broker sees it, and the client's link.

The cores go through these rows, the state maps draw them, and the README quotes them.
"""

from __future__ import annotations

from typing import Final

from engine.parts.machine import Machine, Row


class Rule:
    """Rules of the seed, by name; or of our README."""

    PASS: Final = "000 process_round_robin_pass"
    RELAY: Final = "000 process_round_robin_pass: address on top"
    TABLE: Final = "000 Worker Table"
    REGISTER: Final = "000 REGISTER"
    DEREGISTER: Final = "000 DEREGISTER"
    INCREMENT: Final = "000 INCREMENT"
    WORKER: Final = "000 RR_MQ_WORKER: register before anything else"
    CLIENT: Final = "000 RR_MQ_CLIENT"
    LINK: Final = "R3 R4: heartbeats of a link"
    LOST: Final = "R3 lost workers"
    BACK: Final = "R4 coming back"
    AGAIN: Final = "R7 a REGISTER from a known worker"
    DEADLINE: Final = "R9 deadlines"
    LEAVING: Final = "R10 leaving"
    OPERATED: Final = "R19 orders"
    CONNECTIONS: Final = "R13 connections"
    NAMES: Final = "R14 two peers of one name"


_REOPEN: Final = "open the socket anew, send PING"
_NEXT: Final = "send PING on the next one"
_GOODBYE: Final = "send DEREGISTER, PING"
_TAKE_BACK: Final = "take its tasks back"
_AGAIN: Final = "take its tasks back, send RESPONSE"
_ANSWER: Final = "send RESPONSE, INCREMENT"


class Does:
    """States of a worker."""

    LINKING: Final = "linking"
    REGISTERING: Final = "registering"
    WORKING: Final = "working"
    LEAVING: Final = "leaving"
    LEFT: Final = "left"


class Seen:
    """States of a worker as its broker sees it. Ready: a slot is free; draining: it is to go, and holds something."""

    UNKNOWN: Final = "unknown"
    READY: Final = "ready"
    BUSY: Final = "busy"
    DRAINING: Final = "draining"
    LOST: Final = "lost"


class Link:
    """States of a client's link."""

    LINKING: Final = "linking"
    LINKED: Final = "linked"


class On:
    """Events."""

    PING: Final = "PING"
    PONG: Final = "PONG"
    REGISTER: Final = "REGISTER"
    REGISTERED: Final = "RESPONSE to REGISTER"
    DEREGISTER: Final = "DEREGISTER"
    TASK: Final = "task"
    RESPONSE: Final = "RESPONSE"
    INCREMENT: Final = "INCREMENT"
    NO_PONG: Final = "no PONG for expiry"
    NO_RESPONSE: Final = "no RESPONSE for a heartbeat"
    ENDED: Final = "its connection ended"
    PAUSED: Final = "paused for expiry"
    LEAVE: Final = "told to leave"
    DRAIN: Final = "told to drain"
    UNDRAIN: Final = "told to drain no more"
    DONE: Final = "nothing is held"
    SILENT: Final = "silent for expiry"
    EXPIRED: Final = "an operator expires it"
    REFUSED: Final = "a message to it is refused"
    DEADLINE: Final = "task_deadline"
    FORGOTTEN: Final = "lost_shown is over"
    TOO_MANY: Final = "too many were lost since"


class If:
    """Guards."""

    DENIES: Final = "that denies"
    PONGED: Final = "after the goodbye's PONG"
    UNHEARD: Final = "after expiry without it"
    CLAIMS: Final = "that claims"
    STRANGER: Final = "of another peer"
    LAST: Final = "for the last slot"
    EMPTY: Final = "with nothing held"
    OF_ALL: Final = "of all that it held"
    FULL: Final = "and no slot is free"
    ANEW: Final = "on a new link"
    ANEW_FULL: Final = "on a new link, and no slot is free"


WORKER: Final = Machine(
    (Does.LINKING, Does.REGISTERING, Does.WORKING, Does.LEAVING, Does.LEFT),
    (
        Row(Does.LINKING, On.PONG, "send REGISTER", Does.REGISTERING, Rule.WORKER),
        Row(Does.LINKING, On.NO_PONG, _REOPEN, Does.LINKING, Rule.BACK),
        Row(Does.LINKING, On.ENDED, _NEXT, Does.LINKING, Rule.BACK),
        Row(Does.LINKING, On.PAUSED, _REOPEN, Does.LINKING, Rule.BACK),
        Row(Does.LINKING, On.TASK, _ANSWER, Does.LINKING, Rule.BACK),
        Row(Does.LINKING, On.LEAVE, "none", Does.LEAVING, Rule.LEAVING),
        Row(Does.REGISTERING, On.REGISTERED, "none", Does.WORKING, Rule.REGISTER),
        Row(Does.REGISTERING, On.NO_RESPONSE, "send REGISTER", Does.REGISTERING, Rule.BACK),
        Row(Does.REGISTERING, On.PONG, "none", Does.REGISTERING, Rule.LINK),
        Row(Does.REGISTERING, On.NO_PONG, _REOPEN, Does.LINKING, Rule.BACK),
        Row(Does.REGISTERING, On.ENDED, _NEXT, Does.LINKING, Rule.BACK),
        Row(Does.REGISTERING, On.PAUSED, _REOPEN, Does.LINKING, Rule.BACK),
        Row(Does.REGISTERING, On.TASK, "send RESPONSE", Does.REGISTERING, Rule.BACK),
        Row(Does.REGISTERING, On.LEAVE, _GOODBYE, Does.LEAVING, Rule.DEREGISTER),
        Row(Does.WORKING, On.TASK, _ANSWER, Does.WORKING, Rule.INCREMENT),
        Row(Does.WORKING, On.PONG, "none", Does.WORKING, Rule.LINK),
        Row(Does.WORKING, On.PONG, "send REGISTER", Does.REGISTERING, Rule.BACK, If.DENIES),
        Row(Does.WORKING, On.NO_PONG, _REOPEN, Does.LINKING, Rule.BACK),
        Row(Does.WORKING, On.ENDED, _NEXT, Does.LINKING, Rule.BACK),
        Row(Does.WORKING, On.PAUSED, _REOPEN, Does.LINKING, Rule.BACK),
        Row(Does.WORKING, On.LEAVE, _GOODBYE, Does.LEAVING, Rule.DEREGISTER),
        Row(Does.LEAVING, On.TASK, _ANSWER, Does.LEAVING, Rule.LEAVING),
        Row(Does.LEAVING, On.PONG, "none", Does.LEAVING, Rule.LEAVING),
        Row(Does.LEAVING, On.NO_PONG, _REOPEN, Does.LEAVING, Rule.BACK),
        Row(Does.LEAVING, On.ENDED, _GOODBYE, Does.LEAVING, Rule.LEAVING),
        Row(Does.LEAVING, On.DONE, "exit", Does.LEFT, Rule.LEAVING),
        Row(Does.LEAVING, On.DONE, "exit", Does.LEFT, Rule.LEAVING, If.PONGED),
        Row(Does.LEAVING, On.DONE, "exit", Does.LEFT, Rule.LEAVING, If.UNHEARD),
    ),
)

SEEN: Final = Machine(
    (Seen.UNKNOWN, Seen.READY, Seen.BUSY, Seen.DRAINING, Seen.LOST),
    (
        Row(Seen.UNKNOWN, On.REGISTER, "send RESPONSE", Seen.READY, Rule.REGISTER),
        Row(Seen.UNKNOWN, On.PING, "send PONG that denies", Seen.UNKNOWN, Rule.BACK, If.CLAIMS),
        Row(Seen.UNKNOWN, On.RESPONSE, "relay it", Seen.UNKNOWN, Rule.LOST),
        Row(Seen.READY, On.TASK, "pass it on", Seen.READY, Rule.TABLE),
        Row(Seen.READY, On.TASK, "pass it on", Seen.BUSY, Rule.TABLE, If.LAST),
        Row(Seen.READY, On.RESPONSE, "relay it", Seen.READY, Rule.RELAY),
        Row(Seen.READY, On.INCREMENT, "pass on what waits", Seen.READY, Rule.INCREMENT),
        Row(Seen.READY, On.PING, "send PONG", Seen.READY, Rule.LINK),
        Row(Seen.READY, On.PONG, "none", Seen.READY, Rule.LINK),
        Row(Seen.READY, On.REGISTER, "send RESPONSE", Seen.READY, Rule.REGISTER),
        Row(Seen.READY, On.REGISTER, "send RESPONSE", Seen.BUSY, Rule.REGISTER, If.FULL),
        Row(Seen.READY, On.REGISTER, _AGAIN, Seen.READY, Rule.AGAIN, If.ANEW),
        Row(Seen.READY, On.REGISTER, _AGAIN, Seen.BUSY, Rule.AGAIN, If.ANEW_FULL),
        Row(Seen.READY, On.DEADLINE, "its task has failed", Seen.READY, Rule.DEADLINE),
        Row(Seen.READY, On.DEREGISTER, "none", Seen.DRAINING, Rule.LEAVING),
        Row(Seen.READY, On.DEREGISTER, "none", Seen.UNKNOWN, Rule.DEREGISTER, If.EMPTY),
        Row(Seen.READY, On.DRAIN, "none", Seen.DRAINING, Rule.LEAVING),
        Row(Seen.READY, On.SILENT, _TAKE_BACK, Seen.LOST, Rule.LOST),
        Row(Seen.READY, On.REFUSED, _TAKE_BACK, Seen.LOST, Rule.LOST),
        Row(Seen.READY, On.EXPIRED, _TAKE_BACK, Seen.LOST, Rule.OPERATED),
        Row(Seen.READY, On.ENDED, _TAKE_BACK, Seen.LOST, Rule.CONNECTIONS),
        Row(Seen.BUSY, On.RESPONSE, "relay it", Seen.BUSY, Rule.RELAY),
        Row(Seen.BUSY, On.INCREMENT, "pass on what waits", Seen.READY, Rule.INCREMENT),
        Row(Seen.BUSY, On.INCREMENT, "none", Seen.BUSY, Rule.AGAIN, If.FULL),
        Row(Seen.BUSY, On.PING, "send PONG", Seen.BUSY, Rule.LINK),
        Row(Seen.BUSY, On.PONG, "none", Seen.BUSY, Rule.LINK),
        Row(Seen.BUSY, On.REGISTER, "send RESPONSE", Seen.READY, Rule.REGISTER),
        Row(Seen.BUSY, On.REGISTER, "send RESPONSE", Seen.BUSY, Rule.REGISTER, If.FULL),
        Row(Seen.BUSY, On.REGISTER, _AGAIN, Seen.READY, Rule.AGAIN, If.ANEW),
        Row(Seen.BUSY, On.REGISTER, _AGAIN, Seen.BUSY, Rule.AGAIN, If.ANEW_FULL),
        Row(Seen.BUSY, On.DEADLINE, "its task has failed", Seen.READY, Rule.DEADLINE),
        Row(Seen.BUSY, On.DEADLINE, "its task has failed", Seen.BUSY, Rule.DEADLINE, If.FULL),
        Row(Seen.BUSY, On.DEREGISTER, "none", Seen.DRAINING, Rule.LEAVING),
        Row(Seen.BUSY, On.DRAIN, "none", Seen.DRAINING, Rule.LEAVING),
        Row(Seen.BUSY, On.SILENT, _TAKE_BACK, Seen.LOST, Rule.LOST),
        Row(Seen.BUSY, On.REFUSED, _TAKE_BACK, Seen.LOST, Rule.LOST),
        Row(Seen.BUSY, On.EXPIRED, _TAKE_BACK, Seen.LOST, Rule.OPERATED),
        Row(Seen.BUSY, On.ENDED, _TAKE_BACK, Seen.LOST, Rule.CONNECTIONS),
        Row(Seen.DRAINING, On.RESPONSE, "relay it", Seen.DRAINING, Rule.RELAY),
        Row(Seen.DRAINING, On.INCREMENT, "none", Seen.DRAINING, Rule.LEAVING),
        Row(Seen.DRAINING, On.INCREMENT, "none", Seen.UNKNOWN, Rule.LEAVING, If.OF_ALL),
        Row(Seen.DRAINING, On.PING, "send PONG", Seen.DRAINING, Rule.LINK),
        Row(Seen.DRAINING, On.PONG, "none", Seen.DRAINING, Rule.LINK),
        Row(Seen.DRAINING, On.REGISTER, "send RESPONSE", Seen.READY, Rule.REGISTER),
        Row(Seen.DRAINING, On.REGISTER, "send RESPONSE", Seen.BUSY, Rule.REGISTER, If.FULL),
        Row(Seen.DRAINING, On.REGISTER, _AGAIN, Seen.READY, Rule.AGAIN, If.ANEW),
        Row(Seen.DRAINING, On.REGISTER, _AGAIN, Seen.BUSY, Rule.AGAIN, If.ANEW_FULL),
        Row(Seen.DRAINING, On.DEADLINE, "its task has failed", Seen.DRAINING, Rule.DEADLINE),
        Row(Seen.DRAINING, On.DEADLINE, "its task has failed", Seen.UNKNOWN, Rule.DEADLINE, If.OF_ALL),
        Row(Seen.DRAINING, On.DEREGISTER, "none", Seen.DRAINING, Rule.LEAVING),
        Row(Seen.DRAINING, On.DEREGISTER, "none", Seen.UNKNOWN, Rule.LEAVING, If.EMPTY),
        Row(Seen.DRAINING, On.UNDRAIN, "pass on what waits", Seen.READY, Rule.LEAVING),
        Row(Seen.DRAINING, On.UNDRAIN, "none", Seen.BUSY, Rule.LEAVING, If.FULL),
        Row(Seen.DRAINING, On.SILENT, _TAKE_BACK, Seen.UNKNOWN, Rule.LOST),
        Row(Seen.DRAINING, On.REFUSED, _TAKE_BACK, Seen.UNKNOWN, Rule.LOST),
        Row(Seen.DRAINING, On.EXPIRED, _TAKE_BACK, Seen.UNKNOWN, Rule.OPERATED),
        Row(Seen.DRAINING, On.ENDED, _TAKE_BACK, Seen.UNKNOWN, Rule.CONNECTIONS),
        Row(Seen.LOST, On.PING, "send PONG", Seen.READY, Rule.BACK),
        Row(Seen.LOST, On.PING, "send PONG", Seen.LOST, Rule.NAMES, If.STRANGER),
        Row(Seen.LOST, On.PONG, "none", Seen.READY, Rule.BACK),
        Row(Seen.LOST, On.PONG, "none", Seen.LOST, Rule.NAMES, If.STRANGER),
        Row(Seen.LOST, On.REGISTER, "send RESPONSE", Seen.READY, Rule.REGISTER),
        Row(Seen.LOST, On.RESPONSE, "relay it", Seen.LOST, Rule.LOST),
        Row(Seen.LOST, On.DEREGISTER, "none", Seen.UNKNOWN, Rule.DEREGISTER),
        Row(Seen.LOST, On.DRAIN, "none", Seen.UNKNOWN, Rule.LEAVING),
        Row(Seen.LOST, On.FORGOTTEN, "none", Seen.UNKNOWN, Rule.BACK),
        Row(Seen.LOST, On.TOO_MANY, "none", Seen.UNKNOWN, Rule.BACK),
    ),
)

LINK: Final = Machine(
    (Link.LINKING, Link.LINKED),
    (
        Row(Link.LINKING, On.PONG, "send what the run wants", Link.LINKED, Rule.CLIENT),
        Row(Link.LINKING, On.RESPONSE, "count it", Link.LINKING, Rule.CLIENT),
        Row(Link.LINKING, On.NO_PONG, _REOPEN, Link.LINKING, Rule.BACK),
        Row(Link.LINKING, On.ENDED, _NEXT, Link.LINKING, Rule.BACK),
        Row(Link.LINKED, On.PONG, "none", Link.LINKED, Rule.LINK),
        Row(Link.LINKED, On.RESPONSE, "send the next task", Link.LINKED, Rule.CLIENT),
        Row(Link.LINKED, On.NO_PONG, _REOPEN, Link.LINKING, Rule.BACK),
        Row(Link.LINKED, On.ENDED, _NEXT, Link.LINKING, Rule.BACK),
    ),
)
