"""Ping-pong's state machines: the worker, a worker as its broker sees it, and the client's link.

The cores go through these rows, the state maps draw them, and the README quotes them.
"""

from __future__ import annotations

from typing import Final

from engine.parts.machine import Machine, Row


class Rule:
    """Rules of the seed, by number and in short; or of our README."""

    IS_READY: Final = "002 Worker is ready"
    PINGS: Final = "002 Worker sends PING"
    ASSIGN: Final = "002 Broker assign job to worker"
    EXIT: Final = "002 Worker exit; ruling 5"
    ALIVE: Final = "002 PONG: the broker is alive"
    NO_BROKER: Final = "002 Broker timeout"
    NO_WORKER: Final = "002 Worker timeout"
    CLIENTS: Final = "ours: clients"
    LEAVE: Final = "ruling 5"
    LATE: Final = "rulings 7 and 9"
    OWES: Final = "ruling 9"
    ANEW: Final = "ruling 16"
    OPERATED: Final = "ruling 20"


_REOPEN: Final = "open the socket anew, send READY"
_ASK_AGAIN: Final = "send PING, ask again for what is out"
_FINISH: Final = "go when the job is done"
_TAKE_BACK: Final = "take its job back"


class Does:
    """States of a worker."""

    JOINING: Final = "joining"
    READY: Final = "ready"
    WORKING: Final = "working"
    LEFT: Final = "left"


class Seen:
    """States of a worker as its broker sees it. Leaving: it is to go, and has something to do; told: EXIT was sent."""

    UNKNOWN: Final = "unknown"
    IDLE: Final = "idle"
    BUSY: Final = "busy"
    OWING: Final = "owing"
    LEAVING: Final = "leaving"
    TOLD: Final = "told"
    LOST: Final = "lost"


class Link:
    """States of a client's link."""

    SILENT: Final = "silent"
    LINKED: Final = "linked"


class On:
    """Events."""

    PONG: Final = "PONG"
    PING: Final = "PING"
    READY: Final = "READY"
    EXIT: Final = "EXIT"
    JOB: Final = "job"
    RESULT: Final = "result"
    LATE: Final = "late result"
    HEARD: Final = "PONG or reply"
    TASK: Final = "a task"
    DONE: Final = "the job is done"
    SECOND: Final = "a second"
    SILENCE: Final = "silence"
    DEADLINE: Final = "deadline"
    CONNECTED: Final = "connected anew"
    UNSENT: Final = "its job is not sent"
    GONE: Final = "its connection is gone"
    LEAVE: Final = "told to leave"
    DRAIN: Final = "told to drain"
    UNDRAIN: Final = "told to drain no more"
    EXPIRED: Final = "an operator expires it"
    REQUEUED: Final = "an operator takes its job back"
    FORGOTTEN: Final = "too many were lost since"


class If:
    """Guards."""

    TAKES_TIME: Final = "that takes time"
    COMMAND: Final = "with a command as result"
    LAST: Final = "before leaving"
    LAST_COMMAND: Final = "with a command as result, before leaving"
    ANEW: Final = "on a connection made anew"
    SILENT: Final = "in silence"
    OWES: Final = "of one that owes"
    LEAVES: Final = "of one that is to leave"
    OWES_AND_LEAVES: Final = "of one that owes and is to leave"


WORKER: Final = Machine(
    (Does.JOINING, Does.READY, Does.WORKING, Does.LEFT),
    (
        Row(Does.JOINING, On.PONG, "none", Does.READY, f"{Rule.IS_READY}, 3"),
        Row(Does.JOINING, On.JOB, "drop it", Does.JOINING, "ruling 10"),
        Row(Does.JOINING, On.SILENCE, _REOPEN, Does.JOINING, Rule.NO_BROKER),
        Row(Does.JOINING, On.CONNECTED, "send READY", Does.JOINING, Rule.ANEW),
        Row(Does.JOINING, On.EXIT, "exit", Does.LEFT, Rule.EXIT),
        Row(Does.JOINING, On.LEAVE, "exit", Does.LEFT, Rule.LEAVE),
        Row(Does.READY, On.SECOND, "send PING", Does.READY, f"{Rule.PINGS}, 1"),
        Row(Does.READY, On.PONG, "none", Does.READY, Rule.ALIVE),
        Row(Does.READY, On.JOB, "send result", Does.READY, f"{Rule.ASSIGN}, 2 and 3"),
        Row(Does.READY, On.JOB, "work", Does.WORKING, f"{Rule.ASSIGN}, 2", If.TAKES_TIME),
        Row(Does.READY, On.JOB, "send READY", Does.JOINING, "ruling 3", If.COMMAND),
        Row(Does.READY, On.SILENCE, _REOPEN, Does.JOINING, Rule.NO_BROKER),
        Row(Does.READY, On.CONNECTED, "send READY", Does.JOINING, Rule.ANEW),
        Row(Does.READY, On.EXIT, "exit", Does.LEFT, Rule.EXIT),
        Row(Does.READY, On.LEAVE, "exit", Does.LEFT, Rule.LEAVE),
        Row(Does.WORKING, On.SECOND, "send PING", Does.WORKING, "ruling 1"),
        Row(Does.WORKING, On.PONG, "none", Does.WORKING, Rule.ALIVE),
        Row(Does.WORKING, On.DONE, "send result", Does.READY, f"{Rule.ASSIGN}, 3"),
        Row(Does.WORKING, On.DONE, "send READY", Does.JOINING, "ruling 3", If.COMMAND),
        Row(Does.WORKING, On.DONE, "send result, exit", Does.LEFT, Rule.EXIT, If.LAST),
        Row(Does.WORKING, On.DONE, "send READY, exit", Does.LEFT, "rulings 3 and 5", If.LAST_COMMAND),
        Row(Does.WORKING, On.JOB, "abandon the first", Does.WORKING, "ruling 10"),
        Row(Does.WORKING, On.EXIT, _FINISH, Does.WORKING, Rule.EXIT),
        Row(Does.WORKING, On.LEAVE, _FINISH, Does.WORKING, Rule.LEAVE),
        Row(Does.WORKING, On.CONNECTED, "none", Does.WORKING, Rule.ANEW),
        Row(Does.WORKING, On.SILENCE, "abandon the job, send READY on a new socket", Does.JOINING, Rule.NO_BROKER),
        Row(Does.WORKING, On.SILENCE, "abandon the job, exit", Does.LEFT, Rule.LEAVE, If.LAST),
    ),
)

SEEN: Final = Machine(
    (Seen.UNKNOWN, Seen.IDLE, Seen.BUSY, Seen.OWING, Seen.LEAVING, Seen.TOLD, Seen.LOST),
    (
        Row(Seen.UNKNOWN, On.READY, "send PONG", Seen.IDLE, f"{Rule.IS_READY}, 2"),
        Row(Seen.UNKNOWN, On.PING, "send PONG", Seen.IDLE, f"{Rule.PINGS}, 2"),
        Row(Seen.UNKNOWN, On.PING, "none", Seen.OWING, "ruling 18", If.OWES),
        Row(Seen.IDLE, On.READY, "send PONG", Seen.IDLE, f"{Rule.IS_READY}, 2"),
        Row(Seen.IDLE, On.PING, "send PONG", Seen.IDLE, f"{Rule.PINGS}, 2"),
        Row(Seen.IDLE, On.TASK, "send job", Seen.BUSY, f"{Rule.ASSIGN}, 1"),
        Row(Seen.IDLE, On.SILENCE, "none", Seen.LOST, Rule.NO_WORKER),
        Row(Seen.IDLE, On.GONE, "none", Seen.LOST, "ruling 8"),
        Row(Seen.IDLE, On.EXPIRED, "none", Seen.LOST, Rule.OPERATED),
        Row(Seen.IDLE, On.DRAIN, "send EXIT", Seen.TOLD, Rule.LEAVE),
        Row(Seen.BUSY, On.PING, "send PONG", Seen.BUSY, f"{Rule.PINGS}, 2; ruling 2"),
        Row(Seen.BUSY, On.PING, _TAKE_BACK, Seen.OWING, Rule.ANEW, If.ANEW),
        Row(Seen.BUSY, On.RESULT, "send DONE", Seen.IDLE, f"{Rule.ASSIGN}, 3; ruling 4"),
        Row(Seen.BUSY, On.READY, f"{_TAKE_BACK}, send PONG", Seen.IDLE, "ruling 6"),
        Row(Seen.BUSY, On.SILENCE, "send PONG, which finds a connection that is gone", Seen.BUSY, "rulings 1 and 11"),
        Row(Seen.BUSY, On.DEADLINE, _TAKE_BACK, Seen.OWING, "rulings 1 and 9"),
        Row(Seen.BUSY, On.DEADLINE, _TAKE_BACK, Seen.LOST, "rulings 1 and 9", If.SILENT),
        Row(Seen.BUSY, On.UNSENT, _TAKE_BACK, Seen.LOST, "ruling 7"),
        Row(Seen.BUSY, On.GONE, _TAKE_BACK, Seen.LOST, "rulings 8 and 11"),
        Row(Seen.BUSY, On.EXPIRED, _TAKE_BACK, Seen.LOST, Rule.OPERATED),
        Row(Seen.BUSY, On.REQUEUED, _TAKE_BACK, Seen.OWING, Rule.OPERATED),
        Row(Seen.BUSY, On.DRAIN, "none", Seen.LEAVING, Rule.LEAVE),
        Row(Seen.OWING, On.PING, "none", Seen.OWING, Rule.OWES),
        Row(Seen.OWING, On.LATE, "count it", Seen.IDLE, Rule.LATE),
        Row(Seen.OWING, On.READY, "send PONG", Seen.IDLE, Rule.OWES),
        Row(Seen.OWING, On.SILENCE, "none", Seen.LOST, Rule.NO_WORKER),
        Row(Seen.OWING, On.GONE, "none", Seen.LOST, "ruling 8"),
        Row(Seen.OWING, On.EXPIRED, "none", Seen.LOST, Rule.OPERATED),
        Row(Seen.OWING, On.DRAIN, "send EXIT", Seen.TOLD, Rule.LEAVE),
        Row(Seen.LEAVING, On.PING, "send PONG", Seen.LEAVING, f"{Rule.PINGS}, 2"),
        Row(Seen.LEAVING, On.PING, "none", Seen.LEAVING, Rule.OWES, If.OWES),
        Row(Seen.LEAVING, On.PING, _TAKE_BACK, Seen.LEAVING, Rule.ANEW, If.ANEW),
        Row(Seen.LEAVING, On.RESULT, "send DONE, EXIT", Seen.TOLD, Rule.LEAVE),
        Row(Seen.LEAVING, On.LATE, "count it, send EXIT", Seen.TOLD, "rulings 5 and 9"),
        Row(Seen.LEAVING, On.READY, "take back what it has, send PONG, EXIT", Seen.TOLD, "rulings 5 and 6"),
        Row(Seen.LEAVING, On.SILENCE, "send PONG, which finds a connection that is gone", Seen.LEAVING, "ruling 11"),
        Row(Seen.LEAVING, On.SILENCE, "none", Seen.LOST, Rule.NO_WORKER, If.OWES),
        Row(Seen.LEAVING, On.DEADLINE, _TAKE_BACK, Seen.LEAVING, "rulings 1 and 9"),
        Row(Seen.LEAVING, On.DEADLINE, _TAKE_BACK, Seen.LOST, "rulings 1 and 9", If.SILENT),
        Row(Seen.LEAVING, On.UNSENT, _TAKE_BACK, Seen.LOST, "ruling 7"),
        Row(Seen.LEAVING, On.GONE, "take back what it has", Seen.LOST, "rulings 8 and 11"),
        Row(Seen.LEAVING, On.EXPIRED, "take back what it has", Seen.LOST, Rule.OPERATED),
        Row(Seen.LEAVING, On.REQUEUED, _TAKE_BACK, Seen.LEAVING, Rule.OPERATED),
        Row(Seen.LEAVING, On.UNDRAIN, "none", Seen.BUSY, Rule.OPERATED),
        Row(Seen.LEAVING, On.UNDRAIN, "none", Seen.OWING, Rule.OPERATED, If.OWES),
        Row(Seen.TOLD, On.PING, "send EXIT", Seen.TOLD, Rule.LEAVE),
        Row(Seen.TOLD, On.LATE, "count it, send EXIT", Seen.TOLD, "rulings 5 and 9"),
        Row(Seen.TOLD, On.READY, "send PONG", Seen.IDLE, Rule.LEAVE),
        Row(Seen.TOLD, On.SILENCE, "none", Seen.UNKNOWN, Rule.LEAVE),
        Row(Seen.TOLD, On.GONE, "none", Seen.UNKNOWN, Rule.LEAVE),
        Row(Seen.LOST, On.PING, "send PONG", Seen.IDLE, f"{Rule.PINGS}, 2"),
        Row(Seen.LOST, On.PING, "none", Seen.OWING, Rule.OWES, If.OWES),
        Row(Seen.LOST, On.PING, "send PONG, EXIT", Seen.TOLD, Rule.LEAVE, If.LEAVES),
        Row(Seen.LOST, On.PING, "none", Seen.LEAVING, "rulings 5 and 9", If.OWES_AND_LEAVES),
        Row(Seen.LOST, On.LATE, "count it", Seen.IDLE, Rule.LATE),
        Row(Seen.LOST, On.LATE, "count it, send EXIT", Seen.TOLD, "rulings 5 and 9", If.LEAVES),
        Row(Seen.LOST, On.READY, "send PONG", Seen.IDLE, f"{Rule.IS_READY}, 2"),
        Row(Seen.LOST, On.FORGOTTEN, "none", Seen.UNKNOWN, "ours: so many are remembered"),
    ),
)

LINK: Final = Machine(
    (Link.SILENT, Link.LINKED),
    (
        Row(Link.SILENT, On.CONNECTED, _ASK_AGAIN, Link.SILENT, Rule.ANEW),
        Row(Link.SILENT, On.HEARD, "send PING every second", Link.LINKED, Rule.CLIENTS),
        Row(Link.SILENT, On.SILENCE, f"open the socket anew, {_ASK_AGAIN}", Link.SILENT, Rule.CLIENTS),
        Row(Link.LINKED, On.HEARD, "none", Link.LINKED, Rule.CLIENTS),
        Row(Link.LINKED, On.SECOND, "send PING", Link.LINKED, Rule.CLIENTS),
        Row(Link.LINKED, On.CONNECTED, _ASK_AGAIN, Link.LINKED, Rule.ANEW),
        Row(Link.LINKED, On.SILENCE, f"open the socket anew, {_ASK_AGAIN}", Link.SILENT, Rule.CLIENTS),
    ),
)
