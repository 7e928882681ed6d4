"""Negotiated's state machines: a peer's link, a worker's work, a worker as its broker sees it, and a broker of a pair.

The cores go through these rows, the state maps draw them, and the README quotes them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.parts.machine import Machine, Row
from engine.protocols.negotiated import names


class Rule:
    """Rules of the seed, in short; or of our README."""

    STARTUP: Final = "004 Client startup, broker up"
    DOWN: Final = "004 Client startup, broker down"
    CONFIG: Final = "004 CONFIG"
    NEED: Final = "004 NEEDBROKER"
    READY: Final = "004 READY"
    READYOK: Final = "004 READYOK"
    FORCE: Final = "004 FORCENEGOTIATE"
    ERROR: Final = "004 DISCONNECTERROR"
    PING: Final = "004 PING"
    PONG: Final = "004 PONG"
    CLOCK: Final = "004 PING: time"
    VERSION: Final = "004 PING: config_version"
    REQUEST: Final = "004 WORKREQUEST"
    REPLY: Final = "004 WORKREPLY"
    STRANGER: Final = "ours: only to members of the configured group, or on this machine"
    ROUND: Final = "ours: brokers that send a peer in a circle"
    AGAIN: Final = "ours: a new connection is a new link"
    TAKEN: Final = "ours: of two peers of one id the newest is heard"
    HASH: Final = "ours: config_hash"
    GOODBYE: Final = "ours: a READY without services"
    HOLDING: Final = "ours: holding"
    DOUBT: Final = "ours: a task in doubt"
    EXPIRY: Final = "ours: expiry"
    DRAIN: Final = "ours: drain"
    UNSENT: Final = "ours: a delivery is what the socket took"
    TOO_MANY: Final = "ours: code 429, too many"
    TYPE: Final = "004 CHECKCONFIG: config_type is JSON, XML or ZFL"
    STAR: Final = "ours: binary star"


_CHECK: Final = "send CHECKCONFIG"
_ANEW: Final = "reopen, send CHECKCONFIG"
_ASK: Final = "reopen, send NEEDBROKER"
_NEW_ID: Final = "reopen under another id"
_FORCED: Final = "send FORCENEGOTIATE"
_DRIFTED: Final = "send DISCONNECTERROR 426, FORCENEGOTIATE"
_AGAIN: Final = "queue its tasks again"
_ONE_AGAIN: Final = "queue it again, send PONG"
_PUT_OUT: Final = "send DISCONNECTERROR 408, queue its tasks again"


class At:
    """States of a peer's link. Asking: NEEDBROKER is out; joining: READY is; out: it was put out, for a while."""

    NEW: Final = "new"
    CHECKING: Final = "checking"
    ASKING: Final = "asking"
    JOINING: Final = "joining"
    LINKED: Final = "linked"
    OUT: Final = "out"
    ENDED: Final = "ended"


class Does:
    """States of a worker, whatever its link is."""

    WORKING: Final = "working"
    LEAVING: Final = "leaving"
    LEFT: Final = "left"


class Seen:
    """States of a worker as its broker sees it. Unknown: also one that only the other broker of a pair has heard."""

    UNKNOWN: Final = "unknown"
    READY: Final = "ready"
    BUSY: Final = "busy"
    DRAINING: Final = "draining"


class Rank:
    """States of a broker of a pair. Primary, backup: has not made up its mind; passive: the other one serves."""

    PRIMARY: Final = "primary"
    BACKUP: Final = "backup"
    ACTIVE: Final = "active"
    PASSIVE: Final = "passive"


class On:
    """Events."""

    START: Final = "start"
    CONNECTED: Final = "connected again"
    INTERVAL: Final = "an interval"
    INTERVALS: Final = "some intervals"
    NO_ANSWER: Final = "no answer"
    SILENCE: Final = "silence"
    CHECKCONFIG: Final = "CHECKCONFIG"
    CONFIG: Final = "CONFIG"
    NEEDBROKER: Final = "NEEDBROKER"
    CHANGEBROKER: Final = "CHANGEBROKER"
    READY: Final = "READY"
    READYOK: Final = "READYOK"
    PING: Final = "PING"
    PONG: Final = "PONG"
    FORCENEGOTIATE: Final = "FORCENEGOTIATE"
    WORKREQUEST: Final = "WORKREQUEST"
    WORKREPLY: Final = "WORKREPLY"
    REFUSAL: Final = "DISCONNECTERROR of a request"
    ERROR: Final = "another DISCONNECTERROR"
    OFFERS: Final = "it offers nothing any more"
    LEFT: Final = "it has left"
    LEAVE: Final = "told to leave"
    IDLE: Final = "nothing is held"
    LATE: Final = "no READYOK for an interval"
    ENDED: Final = "its link has ended"
    TASK: Final = "a task"
    LAST_SLOT: Final = "a task, the last slot"
    DOUBT: Final = "a task for too long"
    UNSENT: Final = "it can not be reached"
    DRAIN: Final = "told to drain"
    UNDRAIN: Final = "told to drain no more"
    EXPIRED: Final = "an operator expires it"
    REQUEUED: Final = "an operator takes a task back"
    LONE: Final = "hears nobody"
    ASKED: Final = "silence of the other, and a request"
    BACK: Final = "handed back"
    TOLD: Final = "told to serve"

    @staticmethod
    def error(code: int) -> str:
        """DISCONNECTERROR with this code."""
        return f"DISCONNECTERROR {code}" if code in _HEEDED else On.ERROR

    @staticmethod
    def hears(state: str) -> str:
        """The other broker says its state."""
        return f"hears {state}"


_HEEDED: Final = names.CODES - {names.MALFORMED, names.UNKNOWN_COMMAND}  # the others inform, and change nothing


class If:
    """Guards."""

    STRANGER: Final = "to a stranger"
    ROUND: Final = "once too often"
    UNFIT: Final = "that is not what its header says"
    OTHERS: Final = "of another broker under the version that is kept"
    ANOTHER: Final = "while another broker is known"
    PREFERRED: Final = "with the preferred broker next"
    NOBODY: Final = "and no broker is left"
    TAKEN: Final = "again, its id is another's"
    TAKEN_PREFERRED: Final = "again, its id is another's, with the preferred broker next"
    NEVER_LINKED: Final = "before it was ever linked"
    NEVER_JOINED: Final = "before it ever joined"
    NO_SLOT: Final = "beyond its slots"
    FORM: Final = "of another form"
    CLOCK: Final = "with a wrong clock"
    UNCHECKED: Final = "before CHECKCONFIG"
    VERSION: Final = "of another version"
    BOUNDS: Final = "beyond what the broker takes"
    FULL: Final = "with all slots in use"
    LEAVES: Final = "of one that is to leave"
    LOST: Final = "that does not hold a task"
    LOST_LAST: Final = "that does not hold its last task"
    NO_SERVICE: Final = "without services"
    GOES: Final = "without services, with tasks"
    LATE: Final = "of a task that it does not hold"
    LAST: Final = "of its last task"
    HOLDS: Final = "with tasks"
    PRIMARY: Final = "at the primary"
    FALLBACK: Final = "at the fallback"


# ---- a peer's link ---------------------------------------------------------------------------------------------------

PUTS_OUT: Final = (names.CLOCK, names.TOO_MANY)  # codes that put a peer out for a while

_HALFWAY = (At.CHECKING, At.ASKING, At.JOINING)
_SAYS = {At.CHECKING: _CHECK, At.ASKING: "send NEEDBROKER", At.JOINING: "send READY", At.LINKED: "send PING"}


def _errors(state: str) -> Iterator[Row]:
    """DISCONNECTERROR, which may come in every state."""
    moved = On.error(names.MOVED)
    yield Row(state, moved, _ANEW, At.CHECKING, Rule.ERROR)
    yield Row(state, moved, "wait", At.OUT, Rule.STRANGER, If.STRANGER)
    if state != At.LINKED:
        yield Row(state, moved, "wait", At.OUT, Rule.ROUND, If.ROUND)
        yield Row(state, On.error(names.REFUSED), "exit with an error", At.ENDED, Rule.ERROR, If.NEVER_LINKED)
    yield from (Row(state, On.error(code), "wait", At.OUT, Rule.ERROR) for code in PUTS_OUT)
    yield Row(state, On.error(names.REFUSED), "exit", At.ENDED, Rule.ERROR)
    for code in (names.CONFIG_TYPE, names.NO_BROKER):
        yield Row(state, On.error(code), "exit with an error", At.ENDED, Rule.ERROR)
    done, after = (_CHECK, At.CHECKING) if state == At.JOINING else ("none", state)
    yield Row(state, On.error(names.CONFIG_VERSION), done, after, Rule.ERROR)
    yield Row(state, On.ERROR, "none", state, Rule.ERROR)


def _moves(state: str) -> Iterator[Row]:
    yield Row(state, On.CHANGEBROKER, "reopen if it is another, send CHECKCONFIG", At.CHECKING, Rule.NEED)
    yield Row(state, On.CHANGEBROKER, "wait", At.OUT, Rule.STRANGER, If.STRANGER)
    yield Row(state, On.CHANGEBROKER, "wait", At.OUT, Rule.ROUND, If.ROUND)


def _unanswered(state: str) -> Iterator[Row]:
    yield Row(state, On.INTERVAL, _SAYS[state], state, Rule.NEED if state == At.ASKING else Rule.STARTUP)
    yield Row(state, On.NO_ANSWER, _ASK, At.ASKING, Rule.NEED, If.ANOTHER)
    yield Row(state, On.NO_ANSWER, _ANEW, At.CHECKING, Rule.NEED, If.PREFERRED)
    yield Row(state, On.NO_ANSWER, "exit with an error", At.ENDED, Rule.DOWN, If.NOBODY)


def _link(first: tuple[Row, ...], *, joins: bool) -> Machine:
    """A link that is up after CONFIG, or after READYOK where it ``joins``; with the rows of its role alone."""
    halfway = _HALFWAY if joins else _HALFWAY[:2]
    alive = (*halfway, At.LINKED, At.OUT)
    rows = (
        Row(At.NEW, On.START, _CHECK, At.CHECKING, Rule.STARTUP),
        *(row for state in halfway for row in _unanswered(state)),
        Row(At.CHECKING, On.CONFIG, "none", At.CHECKING, Rule.HASH, If.UNFIT),
        Row(At.CHECKING, On.CONFIG, _CHECK, At.CHECKING, Rule.HASH, If.OTHERS),
        *(row for state in (At.CHECKING, At.ASKING) for row in _moves(state)),
        Row(At.LINKED, On.INTERVAL, "send PING", At.LINKED, Rule.PING),
        Row(At.LINKED, On.PONG, "none", At.LINKED, Rule.PONG),
        Row(At.LINKED, On.PONG, _CHECK, At.CHECKING, Rule.VERSION, If.VERSION),
        Row(At.LINKED, On.PONG, "wait", At.OUT, Rule.CLOCK, If.CLOCK),
        Row(At.LINKED, On.FORCENEGOTIATE, _CHECK, At.CHECKING, Rule.FORCE),
        Row(At.LINKED, On.CONNECTED, _CHECK, At.CHECKING, Rule.AGAIN),
        Row(At.LINKED, On.SILENCE, _ASK, At.ASKING, Rule.NEED, If.ANOTHER),
        Row(At.LINKED, On.SILENCE, _ANEW, At.CHECKING, Rule.NEED, If.PREFERRED),
        Row(At.LINKED, On.SILENCE, f"{_NEW_ID}, send NEEDBROKER", At.ASKING, Rule.TAKEN, If.TAKEN),
        Row(At.LINKED, On.SILENCE, f"{_NEW_ID}, {_CHECK}", At.CHECKING, Rule.TAKEN, If.TAKEN_PREFERRED),
        *(row for state in alive for row in _errors(state)),
        Row(At.OUT, On.INTERVALS, _CHECK, At.CHECKING, Rule.ERROR),
    )
    return Machine((At.NEW, *alive, At.ENDED), (*first, *rows))


WORKER_LINK: Final = _link(
    (
        Row(At.CHECKING, On.CONFIG, "keep it, send READY", At.JOINING, Rule.STARTUP),
        Row(At.JOINING, On.READYOK, "none", At.LINKED, Rule.READYOK),
        Row(At.JOINING, On.READYOK, "wait", At.OUT, Rule.CLOCK, If.CLOCK),
        Row(At.LINKED, On.WORKREQUEST, f"do it, {_CHECK}", At.CHECKING, Rule.VERSION, If.VERSION),
        Row(At.LINKED, On.WORKREQUEST, "drop it, wait", At.OUT, Rule.CLOCK, If.CLOCK),
        Row(At.LINKED, On.OFFERS, "send READY", At.JOINING, Rule.GOODBYE),
        Row(At.JOINING, On.OFFERS, "send READY", At.JOINING, Rule.GOODBYE),
        *(Row(state, On.LEFT, "exit", At.ENDED, Rule.GOODBYE) for state in (At.NEW, *_HALFWAY, At.OUT)),
    ),
    joins=True,
)

CLIENT_LINK: Final = _link(
    (
        Row(At.CHECKING, On.CONFIG, "keep it, ask again for what is out", At.LINKED, Rule.STARTUP),
        Row(At.LINKED, On.WORKREPLY, "send the next task", At.LINKED, Rule.REPLY),
        *(Row(state, On.WORKREPLY, "none", state, Rule.REPLY) for state in (*_HALFWAY[:2], At.OUT)),
        *(Row(state, On.REFUSAL, "none", state, Rule.ERROR) for state in (*_HALFWAY[:2], At.LINKED, At.OUT)),
    ),
    joins=False,
)

# ---- a worker --------------------------------------------------------------------------------------------------------

WORK: Final = Machine(
    (Does.WORKING, Does.LEAVING, Does.LEFT),
    (
        Row(Does.WORKING, On.WORKREQUEST, "do it, send WORKREPLY", Does.WORKING, Rule.REPLY),
        Row(Does.WORKING, On.WORKREQUEST, "drop it", Does.WORKING, Rule.HOLDING, If.NO_SLOT),
        Row(Does.WORKING, On.LEAVE, "send READY without services", Does.LEAVING, Rule.GOODBYE),
        Row(Does.WORKING, On.LEAVE, "exit", Does.LEFT, Rule.GOODBYE, If.NEVER_JOINED),
        Row(Does.WORKING, On.ENDED, "exit", Does.LEFT, Rule.ERROR),
        Row(Does.LEAVING, On.WORKREQUEST, "drop it", Does.LEAVING, Rule.GOODBYE),
        Row(Does.LEAVING, On.LEAVE, "none", Does.LEAVING, Rule.GOODBYE),
        Row(Does.LEAVING, On.IDLE, "send READY that holds nothing", Does.LEAVING, Rule.GOODBYE),
        Row(Does.LEAVING, On.READYOK, "exit", Does.LEFT, Rule.GOODBYE),
        Row(Does.LEAVING, On.LATE, "exit", Does.LEFT, Rule.GOODBYE),
        Row(Does.LEAVING, On.ENDED, "exit", Does.LEFT, Rule.ERROR),
    ),
)

# ---- a worker at its broker ------------------------------------------------------------------------------------------


def _anyhow(state: str) -> Iterator[Row]:
    """What a worker that says this is told in any state, and stays in it."""
    yield Row(state, On.CHECKCONFIG, "send CONFIG", state, Rule.CONFIG)
    yield Row(state, On.CHECKCONFIG, "send DISCONNECTERROR 415", state, Rule.TYPE, If.FORM)
    yield Row(state, On.NEEDBROKER, "send CHANGEBROKER", state, Rule.NEED)
    yield Row(state, On.READY, _DRIFTED, state, Rule.VERSION, If.VERSION)
    yield Row(state, On.READY, "send DISCONNECTERROR 429", state, Rule.TOO_MANY, If.BOUNDS)


def _joins(state: str) -> Iterator[Row]:
    """READY, wherever it leads."""
    yield Row(state, On.READY, "send READYOK", Seen.READY, Rule.READY)
    yield Row(state, On.READY, "send READYOK", Seen.BUSY, Rule.READY, If.FULL)
    if state in (Seen.UNKNOWN, Seen.DRAINING):
        yield Row(state, On.READY, "send READYOK", Seen.DRAINING, Rule.DRAIN, If.LEAVES)
        yield Row(state, On.READY, "queue it again, send DISCONNECTERROR 403", Seen.UNKNOWN, Rule.DRAIN, If.LOST_LAST)
    yield Row(state, On.READY, "send READYOK", Seen.UNKNOWN, Rule.GOODBYE, If.NO_SERVICE)
    yield Row(state, On.READY, "send READYOK", Seen.DRAINING, Rule.GOODBYE, If.GOES)
    yield Row(state, On.READY, _PUT_OUT, Seen.UNKNOWN, Rule.CLOCK, If.CLOCK)


def _known(state: str) -> Iterator[Row]:
    """What befalls each worker that was heard here."""
    yield Row(state, On.PING, "send PONG", state, Rule.PONG)
    yield Row(state, On.PING, "send PONG, FORCENEGOTIATE", state, Rule.VERSION, If.VERSION)
    yield Row(state, On.PING, _PUT_OUT, Seen.UNKNOWN, Rule.CLOCK, If.CLOCK)
    yield Row(state, On.WORKREPLY, "count it", state, Rule.REPLY, If.LATE)
    yield Row(state, On.DOUBT, _FORCED, state, Rule.DOUBT)
    yield Row(state, On.UNSENT, _AGAIN, Seen.UNKNOWN, Rule.UNSENT)
    yield Row(state, On.SILENCE, _AGAIN, Seen.UNKNOWN, Rule.EXPIRY)
    yield Row(state, On.EXPIRED, _AGAIN, Seen.UNKNOWN, Rule.EXPIRY)
    if state != Seen.BUSY:
        yield Row(state, On.DRAIN, "send DISCONNECTERROR 403", Seen.UNKNOWN, Rule.DRAIN)
    yield Row(state, On.DRAIN, "none", Seen.DRAINING, Rule.DRAIN, If.HOLDS)


_KNOWN = (Seen.READY, Seen.BUSY, Seen.DRAINING)

SEEN: Final = Machine(
    (Seen.UNKNOWN, *_KNOWN),
    (
        *(row for state in (Seen.UNKNOWN, *_KNOWN) for row in (*_anyhow(state), *_joins(state))),
        *(row for state in _KNOWN for row in _known(state)),
        Row(Seen.UNKNOWN, On.READY, _DRIFTED, Seen.UNKNOWN, Rule.STARTUP, If.UNCHECKED),
        *(Row(Seen.UNKNOWN, said, _FORCED, Seen.UNKNOWN, Rule.FORCE) for said in (On.PING, On.WORKREPLY)),
        Row(Seen.UNKNOWN, On.SILENCE, _AGAIN, Seen.UNKNOWN, Rule.EXPIRY),
        Row(Seen.UNKNOWN, On.DRAIN, "send DISCONNECTERROR 403", Seen.UNKNOWN, Rule.DRAIN),
        Row(Seen.UNKNOWN, On.DRAIN, "none", Seen.UNKNOWN, Rule.DRAIN, If.HOLDS),
        Row(Seen.READY, On.TASK, "send WORKREQUEST", Seen.READY, Rule.REQUEST),
        Row(Seen.READY, On.LAST_SLOT, "send WORKREQUEST", Seen.BUSY, Rule.REQUEST),
        *(Row(at, On.WORKREPLY, "send it to its client", Seen.READY, Rule.REPLY) for at in (Seen.READY, Seen.BUSY)),
        *(Row(at, On.PING, _ONE_AGAIN, Seen.READY, Rule.HOLDING, If.LOST) for at in (Seen.READY, Seen.BUSY)),
        *(Row(at, On.REQUEUED, "queue it again", Seen.READY, Rule.DOUBT) for at in (Seen.READY, Seen.BUSY)),
        Row(Seen.DRAINING, On.WORKREPLY, "send it to its client", Seen.DRAINING, Rule.REPLY),
        Row(Seen.DRAINING, On.WORKREPLY, "send it on, then DISCONNECTERROR 403", Seen.UNKNOWN, Rule.DRAIN, If.LAST),
        Row(Seen.DRAINING, On.PING, _ONE_AGAIN, Seen.DRAINING, Rule.HOLDING, If.LOST),
        Row(Seen.DRAINING, On.PING, f"{_ONE_AGAIN}, DISCONNECTERROR 403", Seen.UNKNOWN, Rule.DRAIN, If.LOST_LAST),
        Row(Seen.DRAINING, On.REQUEUED, "queue it again", Seen.DRAINING, Rule.DOUBT),
        Row(Seen.DRAINING, On.UNDRAIN, "none", Seen.READY, Rule.DRAIN),
        Row(Seen.DRAINING, On.UNDRAIN, "none", Seen.BUSY, Rule.DRAIN, If.FULL),
    ),
)

# ---- a broker of a pair ----------------------------------------------------------------------------------------------

_SERVE, _WAIT = "serve", "stand by"


def _hearing(guard: str, moves: dict[tuple[str, str], tuple[str, str]], mine: str) -> Iterator[Row]:
    """What each state makes of each state of the other broker; one that has no move here stays as it is."""
    for state in (mine, Rank.ACTIVE, Rank.PASSIVE):
        for said in (Rank.PRIMARY, Rank.BACKUP, Rank.ACTIVE, Rank.PASSIVE):
            done, after = moves.get((state, said), ("none", state))
            yield Row(state, On.hears(said), done, after, Rule.STAR, guard)


PAIR: Final = Machine(
    (Rank.PRIMARY, Rank.BACKUP, Rank.ACTIVE, Rank.PASSIVE),
    (
        *_hearing(
            If.PRIMARY,
            {
                (Rank.PRIMARY, Rank.BACKUP): (_SERVE, Rank.ACTIVE),
                (Rank.PRIMARY, Rank.PASSIVE): (_SERVE, Rank.ACTIVE),
                (Rank.PRIMARY, Rank.ACTIVE): (_WAIT, Rank.PASSIVE),
                (Rank.ACTIVE, Rank.ACTIVE): ("yield", Rank.PASSIVE),
                (Rank.PASSIVE, Rank.BACKUP): (_SERVE, Rank.ACTIVE),
                (Rank.PASSIVE, Rank.PASSIVE): (_SERVE, Rank.ACTIVE),
            },
            Rank.PRIMARY,
        ),
        *_hearing(
            If.FALLBACK,
            {
                (Rank.BACKUP, Rank.ACTIVE): (_WAIT, Rank.PASSIVE),
                (Rank.PASSIVE, Rank.BACKUP): (_SERVE, Rank.ACTIVE),
            },
            Rank.BACKUP,
        ),
        Row(Rank.PRIMARY, On.ASKED, _SERVE, Rank.ACTIVE, Rule.STAR, If.PRIMARY),
        *(Row(Rank.PASSIVE, On.ASKED, _SERVE, Rank.ACTIVE, Rule.STAR, at) for at in (If.PRIMARY, If.FALLBACK)),
        Row(Rank.ACTIVE, On.LONE, "ask", Rank.PRIMARY, Rule.STAR, If.PRIMARY),
        *(Row(Rank.ACTIVE, event, _WAIT, Rank.PASSIVE, Rule.STAR, If.FALLBACK) for event in (On.LONE, On.BACK)),
        Row(Rank.BACKUP, On.TOLD, _SERVE, Rank.ACTIVE, Rule.STAR, If.FALLBACK),
    ),
)
