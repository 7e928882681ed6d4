"""What every protocol core obeys: events in, commands out, time as an argument.

The rules of this file:

- A core is a value machine. It is given what happened and ``now`` (monotonic seconds) and gives back what to do.
- It never reads a clock, a socket, a file or a random number, and it never waits.
- The same core runs on a thread with real sockets (``engine.drive``), under a virtual clock (``engine.sim``)
  and in the replay of a journal. Nothing in it knows which.
- A peer's mistake is a counted value (``engine.parts.violations``). Our own mistake raises.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol

Frames = list[bytes]
"""One message. On a ROUTER (or STREAM) socket frame 0 is the peer's routing id, in and out."""

MAIN = "main"
"""The name of a core's socket where it has only one."""

WORKERS, CLIENTS, FALLBACKS = ("worker",), ("client", "operator"), ("broker",)
"""The roles of keys that speak as a worker, as a client, and as the fallback of a pair."""

NEVER = float("inf")

# ---- events -----------------------------------------------------------------------------------------------------


class Started(NamedTuple):
    """The sockets are open; the first event of every core."""


class Received(NamedTuple):
    """Messages, at least one, in the order in which one socket yielded them: all that were there, so one call."""

    messages: list[Frames]
    socket: str = MAIN


class Woken(NamedTuple):
    """A time that ``wake_at`` named has come. It may be early, where the deadline has moved since: compare with now."""


class Unsent(NamedTuple):
    """A ``Send`` that the socket refused. ``reason``: ``unreachable`` (no such peer) or ``full`` (its queue is)."""

    frames: Frames
    reason: Literal["unreachable", "full"]
    socket: str = MAIN


class Finished(NamedTuple):
    """A task body that ``Start`` began has ended. ``ok`` is False where it raised, failed or was cancelled."""

    key: object
    ok: bool
    result: bytes


class Ordered(NamedTuple):
    """An order from an operator (or from the lab in an operator's name). Each core says which it takes."""

    order: object


class Connected(NamedTuple):
    """A connection of this socket has completed its handshake. Only on tcp and ipc: inproc tells nothing, nor a STREAM.

    On a DEALER ``peer`` is empty, and it comes as soon as the connection stands. On a ROUTER it is the routing id, and
    comes with the connection's first message, or with one soon after. Twice without a ``Disconnected`` between means
    that a second live connection took the id over: the older one gets nothing from now on, and is not told.
    """

    socket: str = MAIN
    peer: bytes = b""


class Disconnected(NamedTuple):
    """A connection that ``Connected`` told of has ended, and not by a command of this core.

    Messages under way in either direction are lost; what a ROUTER had received was delivered before. A peer that comes
    back is a new link. A line that is cut without closing gives no such event: only silence shows it.
    """

    socket: str = MAIN
    peer: bytes = b""


class Outcome(NamedTuple):
    """How a task ended: ``why`` it failed, empty where it succeeded; the answer, and the worker that gave it."""

    why: str
    data: bytes | None = None
    worker: bytes = b""


class Leased(NamedTuple):
    """A task of the store that this broker has to get done. ``token``: never given out twice.

    ``attempts``: leases before; ``lost``: workers that were lost with it; ``far``: its client is another broker's.
    """

    token: int
    client: bytes
    message: Frames
    attempts: int
    lost: int
    far: bool = False


class Stored(NamedTuple):
    """What ``Store`` of the same number asked for is done, and on the disk.

    ``fates``: of each of its tasks None where it is new and kept; its ``Outcome`` where it was kept before and has
    ended; "kept" where it was kept before and has not. Where tasks are ``refused`` now, and why, none of them is kept,
    or all but those whose fate is "refused". ``fenced``: tokens of tasks that it ended and another broker has by now.
    ``waiting``: tasks that are not leased; ``revived``: dead tasks that wait again; ``dead``: those left dead.
    """

    number: int
    fates: list[Outcome | str | None]
    leased: list[Leased]
    fenced: list[int]
    waiting: int
    refused: str = ""
    revived: int = 0
    dead: int = 0


class Unstored(NamedTuple):
    """Nothing of what ``Store`` of the same number asked for is done, and why."""

    number: int
    why: str


class Sharer(NamedTuple):
    """One of the brokers that share a store: its machine and process, its workers and their slots, what it leased."""

    name: str
    workers: int
    slots: int
    leased: int


class Shared(NamedTuple):
    """The state of a store that brokers share. ``redelivered``: tasks that are leased again; ``dead``: for an operator.

    ``leader``: the server that leads its queue, empty for none; ``copies`` of the queue, and the servers whose copy is
    ``behind``; ``used`` of ``room``: bytes of the queue, 0 where it has no bound.
    """

    place: str
    waiting: int
    leased: int
    redelivered: int
    dead: int
    leader: str
    copies: int
    behind: tuple[str, ...]
    used: int
    room: int
    brokers: tuple[Sharer, ...]


class Told(NamedTuple):
    """What others did with a store that brokers share: how many tasks wait, if known; client, id, outcome of ours.

    ``shared``: how it is now, None where that was not looked for.
    """

    waiting: int | None
    ended: list[tuple[bytes, bytes, Outcome]]
    shared: Shared | None = None


class Paused(NamedTuple):
    """The process did not run for so long (SIGSTOP, a suspended machine): silence meanwhile was our own."""

    seconds: float


FromStore = Stored | Unstored | Told
Event = Started | Received | Woken | Unsent | Finished | Ordered | Paused | Connected | Disconnected | FromStore

# ---- commands ---------------------------------------------------------------------------------------------------


class Send(NamedTuple):
    """Send one message. Ownership of the list passes to the driver."""

    frames: Frames
    socket: str = MAIN


send: Callable[[tuple[Frames, str]], Send] = partial(tuple.__new__, Send)
"""A ``Send`` of frames and a socket's name, at two thirds of its class's cost: for who makes one for each task."""


@dataclass(frozen=True, slots=True)
class Process:
    """A task body: run ``[command, argument]`` in ``cwd``, output to ``<log_dir>/<log_name>.log``.

    No shell, empty input. A log that exists is left alone: ``<log_name>-1.log``, ``-2`` … are tried in its place. The
    result is how it ended in words (UTF-8), and behind a NUL the name of the log, where there is one.
    """

    command: str
    argument: str
    cwd: str
    log_dir: str
    log_name: str


@dataclass(frozen=True, slots=True)
class Piped:
    """A task body: run the words of ``command`` with ``data`` as input; ``Finished.result`` is its output.

    No shell. Where it is not ok, the result is why in words. One word ``module:function`` or ``/path/file.py:function``
    is a Python function from bytes to bytes, which is called in a process of its own.
    """

    command: tuple[str, ...]
    data: bytes


class Start(NamedTuple):
    """Run a task body away from this thread; ``Finished`` with the same key follows exactly once.

    A node runs ``Process`` and ``Piped`` as body. A body of another type is for the driver that this core was made for.
    """

    key: object
    body: object


class Cancel(NamedTuple):
    """End the body of ``key`` now; its ``Finished`` still follows."""

    key: object


class Reopen(NamedTuple):
    """Close a socket (linger 0) and open it anew: under another routing id or to another endpoint where given."""

    socket: str = MAIN
    routing_id: bytes | None = None
    endpoint: str | None = None


Level = Literal["good", "info", "warn", "bad"]


class Note(NamedTuple):
    """A fact for the operator: rare, worded for people. Counters say how often, notes say what."""

    level: Level
    text: str
    subject: bytes = b""
    declines: bool = False  # it says why an operator's order is not carried out


class Share(NamedTuple):
    """Whether the other end of this socket takes several routing ids over one connection. Drivers may ignore it.

    Of a DEALER: what the broker has answered on this link. Of a ROUTER: a peer was told that it may, so wrapped
    messages are read from now on (``engine.drive.sharing``).
    """

    agreed: bool
    socket: str = MAIN


class Exit(NamedTuple):
    """This core has nothing more to do; its sockets are closed. ``failed`` where the reason is an error."""

    reason: str
    failed: bool = False


class Save(NamedTuple):
    """Keep these bytes under a plain word. At the next start the core's maker gets the newest ones as ``saved``."""

    name: str
    content: bytes


class Entry(NamedTuple):
    """A task that is to be kept, and the client that asks for it. Its id is ``message[1]``."""

    client: bytes
    message: Frames


class Ended(NamedTuple):
    """A leased task has ended. ``wanted``: its client waits for the outcome."""

    token: int
    outcome: Outcome
    wanted: bool = True


class Store(NamedTuple):
    """Have the store of this core do all this, in this order: ``Stored`` or ``Unstored`` of this number follows.

    ``ended``: leased tasks that have ended; ``lost``: tokens of tasks whose worker was lost; ``tasks``: to be
    kept; ``lease``: give this core so many of those that wait, oldest first, fewer where there are not so many;
    ``revive``: numbers of dead tasks that are to be tried again; ``crew``: this broker's workers and their slots.
    """

    number: int
    ended: list[Ended]
    lost: list[int]
    tasks: list[Entry]
    lease: int
    revive: tuple[int, ...] = ()
    crew: tuple[int, int] = (0, 0)


Command = Send | Start | Cancel | Reopen | Share | Note | Save | Store | Exit

# ---- the contract -----------------------------------------------------------------------------------------------


class Core(Protocol):
    """One role of one protocol."""

    def handle(self, event: Event, now: float) -> list[Command]:
        """Take one event at monotonic time ``now`` (seconds, never decreasing); return what to do, in order."""

    def wake_at(self) -> float:
        """The next deadline in monotonic seconds, ``NEVER`` if there is none. Cheap: asked after every event."""

    def check(self) -> None:
        """Assert every invariant; raises AssertionError. For tests and replays, may be slow."""

    def snapshot(self, now: float) -> Any:
        """An immutable picture for an operator (``engine.parts.view``); never shared with later mutation."""


# ---- how a core is seated ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Socket:
    """A socket that a core wants. ``kind``: router, dealer, or stream (plain TCP: frames are [peer, bytes]).

    ``private``: commands go over it, so only peers of the same user are served, and of users that this one trusts.
    Where peers have keys, the roles of those count instead: ``roles`` are those that may connect where this socket
    binds, and ``said`` tells of a message which of them may say it, none for all.

    ``shares``: of a DEALER whose core gives ``Share``: it may go by a connection that others of its node use too.
    """

    kind: Literal["router", "dealer", "stream"]
    bind: tuple[str, ...] = ()
    connect: tuple[str, ...] = ()
    routing_id: bytes = b""
    name: str = MAIN
    private: bool = False
    roles: tuple[str, ...] = ()
    said: Callable[[Frames], tuple[str, ...]] | None = None
    shares: bool = False


@dataclass(frozen=True, slots=True)
class Seat:
    """A core and its sockets. ``wall``: of a core that uses wall time, the ``wall_offset`` that it was made with.

    A driver tells it ``ClockSet`` before any other event once the wall clock is another.
    """

    core: Core
    sockets: tuple[Socket, ...]
    wall: float | None = None
