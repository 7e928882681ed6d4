"""One worker as the broker knows it: the seed's server loop has one of these for each client.

- A link is one conversation, from the opening to SV_EXIT; whoever comes back afterwards has a new one.
- The broker's own count decides what a worker is given; what the worker says of itself is shown, and 0 shuts it.
"""

from __future__ import annotations

from collections.abc import Iterable

from engine.core import Command, Note, Send
from engine.parts.served import Served
from engine.parts.view import WorkerRow
from engine.protocols.conversation import header
from engine.protocols.conversation.beats import Sent
from engine.protocols.conversation.header import JOB, Decoder
from engine.protocols.conversation.job import JobTask
from engine.protocols.conversation.machine import Sv

WRAP = 0xFFFF_FFFF
STREAM = "stream"
DOUBT = 3  # keep-alives of a worker: one that crosses a STOP, and two more over a slow line
REMEMBERED = 1000  # workers that were stopped and are gone


class Link:
    """``max_nproc`` less ``used`` is what may be given. ``out``: tasks by the counter of their JOB (ruling 8).

    ``key`` is the link's name among all links, ``peer`` its routing id on ``socket``. ``said``: the nproc that the
    worker last named; ``offered``: how many processors it came with. ``doubt``: keep-alives of the worker that must
    come before its STOP has arrived for certain. ``shut``: it wants nothing now. ``row``: its picture, None once it is
    out of date.
    """

    __slots__ = (
        "connected", "counter", "decoder", "done", "doubt", "failed", "joined", "key", "max_nproc", "name", "offered",
        "opened", "out", "peer", "row", "said", "sent", "served", "shut", "socket", "state", "used",
    )  # fmt: skip

    def __init__(self, key: bytes, peer: bytes, socket: str, name: str, limit: int, now: float) -> None:
        self.key, self.peer, self.socket, self.name = key, peer, socket, name
        self.decoder = Decoder(limit)
        self.state: str = Sv.INIT0
        self.opened = self.joined = now
        self.sent = Sent()
        self.counter = 0
        self.max_nproc = self.offered = self.used = self.said = 0
        self.doubt = 0
        self.shut = False
        self.connected = True
        self.out: dict[int, JobTask] = {}
        self.done = self.failed = 0
        self.served = Served()
        self.row: WorkerRow | None = None

    @property
    def free(self) -> int:
        """Processors that may be given now (ruling 5)."""
        return 0 if self.shut else max(0, self.max_nproc - self.used)

    def changed(self, connected: bool, lively: bool) -> list[Command]:
        """A connection of this peer came or ended. ``lively``: it was heard a moment ago. What there is to say."""
        taken = connected and self.connected and lively
        self.connected = connected
        words = f"{self.name}: its name was taken over by another connection while it was alive"
        return [Note("warn", words, self.key)] if taken else []

    def hold(self, task: JobTask) -> int:
        """Count a task in; the counter of the JOB that carries it, never 0."""
        self.counter = self.counter % WRAP + 1
        task.counter, task.holder = self.counter, self.name
        self.out[task.counter] = task
        self.used += task.job.slots
        self.row = None
        return task.counter

    def unsent(self, message: bytes) -> None:
        """A message never left for the worker: the task of its JOB, if it is one, was not tried."""
        for kind, counter, _, _ in Decoder(len(message)).feed(message):
            if kind == JOB and counter in self.out:
                self.out[counter].attempt -= 1

    def yield_(self, task: JobTask) -> None:
        """Count a task out."""
        del self.out[task.counter]
        self.used -= task.job.slots
        self.row = None


def largest(found: Iterable[Link]) -> int:
    """The most processors that one of these workers has; 0 where none is there."""
    return max((link.max_nproc for link in found if link.state == Sv.LOOP2), default=0)


def processors(found: Iterable[Link]) -> int:
    """How many these workers have together."""
    return sum(link.max_nproc for link in found if link.state == Sv.LOOP2)


def shares(found: Iterable[Link], nproc: int) -> list[tuple[Link, int]]:
    """Which workers are told to stop how many of ``nproc`` processors, the newest first. All: every one."""
    here = [link for link in found if link.state == Sv.LOOP2][::-1]
    if nproc == header.STOP_NOW:
        return [(link, nproc) for link in here]
    if nproc == header.STOP_ALL:
        return [(link, link.max_nproc) for link in here if link.max_nproc]
    told = []
    for link in here:
        taken = min(nproc, link.max_nproc)
        nproc -= taken
        told += [(link, taken)] * bool(taken)
    return told


def name_of(peer: bytes) -> str:
    """A routing id for people: its own letters where it has only those, else hexadecimal digits."""
    if len(peer) <= 24 and peer.isascii() and peer.decode("ascii").isprintable():
        return peer.decode("ascii")
    return peer[:12].hex()


def hang_up(peer: bytes, socket: str) -> Send:
    """The end of a conversation in the words of its transport."""
    return Send([peer, b"" if socket == STREAM else header.OVER], socket)


class Stopped:
    """To how many processors workers were stopped whose conversation ended before their STOP had arrived for certain.

    It may have been lost with the conversation, so a worker that comes back with more is told again. A worker goes on
    with its keep-alives only where those of the broker speak of what it has received: the STOP as well. One that comes
    later than a lost conversation takes is another process.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience  # seconds in which a worker that lost its conversation comes back
        self._left: dict[bytes, tuple[int, float]] = {}  # by routing id, oldest first: how many, and when it ended

    def ended(self, link: Link, left: bool, now: float) -> None:
        """A conversation has ended. ``left``: by the worker's own word, so it does not come back."""
        self._left.pop(link.peer, None)
        if link.socket != STREAM and not left and link.doubt:
            self._left[link.peer] = link.max_nproc, now
            if len(self._left) > REMEMBERED:
                del self._left[next(iter(self._left))]

    def excess(self, link: Link, now: float) -> int:
        """How many processors a worker that has just come still has, though they were stopped."""
        nproc, ended = self._left.pop(link.peer, (link.max_nproc, now))
        return max(0, link.max_nproc - nproc) if now <= ended + self._patience else 0
