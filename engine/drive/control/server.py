"""The side of a control socket that answers: one thread between the socket and the functions with the answers.

The rules of this file:

- The socket is private (``engine.drive.security``): peers are of this user, and no other process is heard.
- ``hello`` is answered here: who this is. A word of ``words`` is answered by its function, at once or by a future.
- Any other is an order to the broker, where it takes orders: checked, and passed on under a number of our own; each
  answer goes back under the peer's. A request waits under its number until it is answered, ``PENDING`` of them at
  most: the oldest is forgotten first.
- Where a second one listens over tcp (``keyed``) its peers have keys, and their roles say what they may ask.
- A read-only lab answers what only looks, and refuses the rest. A function of ``words`` sees to that itself.
- The thread ends when its context is terminated.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import zmq

from engine.core import Note
from engine.core import Socket as Spec
from engine.drive.control.counts import FIELDS, FRAMES, MESSAGE, OTHER_VERSION, Counts
from engine.drive.control.keyed import Keyed
from engine.drive.control.place import make_folder
from engine.drive.control.wire import UNREADABLE_FRAME, Message, pack, read
from engine.drive.inbox import Inbox
from engine.drive.links import ZSocket
from engine.drive.security.curve import Curve
from engine.drive.security.users import name_of
from engine.drive.sockets import Context, close_socket, make_context, open_socket, receive, send
from engine.errors import Refused
from engine.parts.unpacking import UNREADABLE
from engine.system import Orders

PENDING = 10_000
AT_ONCE = 100  # requests
LOOKS = ("hello", "jobs", "tasks", "pair")
LAST = ("refused", "job")  # after which nothing more is said about a request
READONLY = "readonly is set where the broker runs"

Peer = tuple[ZSocket, bytes]
"""Who asks: the socket that it asks by, and its routing id there."""

Said = tuple[str, dict[str, Any]]
"""The word of an answer, and its other fields."""

Word = Callable[[dict[str, Any]], "Said | Future[Said]"]
"""Answers what is asked with a word, given its fields, on the control socket's thread: it must be quick.

``Who`` and ``From`` of an order are this side's own words. ``Refused`` goes to who asked, from its future too; so does
what ``UNREADABLE`` names, as fields that can not be read.
"""


Ordered = Callable[[tuple[str, str], object], Callable[[str], None]]
"""Is told who gives the broker an order, from where, and the order; what it returns is told what came of that, once."""


class Pending(NamedTuple):
    """A request that was passed on to the broker."""

    peer: Peer
    number: int  # the peer's own
    followed: bool  # one answer of many
    settle: Callable[[str], None] | None  # is told what came of it


class Control:
    """Listens at ``endpoint``. ``about``: what ``hello`` is answered; ``words``: what else is answered, and by whom.

    ``orders``: of the broker within this process that takes them at ``broker``; None where there is none. ``ordered``:
    is told of those that change something.
    """

    def __init__(
        self,
        context: Context,
        endpoint: str,
        about: dict[str, Any],
        words: Mapping[str, Word],
        orders: Orders | None = None,
        broker: str = "",
        *,
        readonly: bool = False,
        ordered: Ordered = lambda giver, order: lambda came: None,
    ) -> None:
        """Raises zmq.ZMQError where it can not listen there."""
        self.dead: str | None = None
        self.counts = Counts()
        self._context, self._orders, self._readonly = context, orders, readonly
        self._about, self._words, self._ordered = about, words, ordered
        self._door = open_socket(context, Spec("router", bind=(endpoint,), private=True))
        self._broker: ZSocket | None = None
        if orders is not None:
            self._broker = open_socket(context, Spec("dealer", connect=(broker,), routing_id=orders.client))
        self._inbox = Inbox()  # behind what may fail
        self._keyed: Keyed | None = None
        if context.curve is not None and context.curve.control:
            self._open_keyed(context.curve)
        self._asked: dict[int, Pending] = {}  # by our number
        self._last = 0
        thread = threading.Thread(target=self._main, name="roundhouse-control", daemon=True)
        context.threads = (*context.threads, thread)
        thread.start()

    def told(self) -> dict[str, Any]:
        """What it has counted, and the connections that this process has refused. Any thread."""
        return {**self.counts.told(), "connections": self._context.door.counted()}

    def _open_keyed(self, curve: Curve) -> None:
        try:
            self._keyed = Keyed(self._context, curve.control, curve, self._inbox.post)
        except zmq.ZMQError as error:
            self._context.door.say(Note("bad", f"nobody can attach or give orders over tcp: {error}"))

    def _main(self) -> None:
        poller = zmq.Poller()
        if self._keyed is not None:
            poller.register(self._keyed.socket, zmq.POLLIN)
        bell = self._inbox.bell.fileno()
        poller.register(self._door, zmq.POLLIN)
        poller.register(bell, zmq.POLLIN)
        if self._broker is not None:
            poller.register(self._broker, zmq.POLLIN)
        try:
            while True:
                ready = dict(poller.poll())
                if bell in ready:
                    self._inbox.hush()
                    self._inbox.answer()
                if self._door in ready:
                    for frames, source in _heard(self._door):
                        self._request((self._door, frames[0]), frames, partial(_process, source))
                if self._keyed is not None:
                    keyed = self._keyed
                    for frames in keyed.receive():
                        self._request((keyed.socket, frames[0]), frames, partial(keyed.giver, frames[0]))
                if self._broker is not None and self._broker in ready and self._orders is not None:
                    for frames in receive(self._broker, 100, "dealer"):
                        self._answer(self._orders, frames)
        except Exception as error:
            if not isinstance(error, zmq.ZMQError) or error.errno != zmq.ETERM:
                self.dead = f"{type(error).__name__}: {error}"
                self._context.door.say(
                    Note("bad", f"nobody can attach or give orders any more: the control socket died: {self.dead}")
                )
        finally:
            close_socket(self._context, self._door)
            if self._keyed is not None:
                close_socket(self._context, self._keyed.socket)
            if self._broker is not None:
                close_socket(self._context, self._broker)
            self._inbox.close("the control socket has ended")
            for pending in self._asked.values():
                _settle(pending, "not known: the control socket has ended")

    def _request(self, peer: Peer, frames: list[bytes], giver: Callable[[], tuple[str, str]]) -> None:
        self.counts.totals["requests"] += 1
        asked = read("ask", frames[1]) if len(frames) == 2 else UNREADABLE_FRAME
        if isinstance(asked, str):
            reason = FRAMES if len(frames) != 2 else MESSAGE if asked == UNREADABLE_FRAME else OTHER_VERSION
            self.counts.malformed[reason] += 1
            self._say(peer, Message(0, "refused", {"Why": asked}))
            return
        over_tcp = self._keyed is not None and peer[0] is self._keyed.socket
        if over_tcp and self._keyed is not None and (why := self._keyed.refusal(peer[1], asked.word)):
            self.counts.totals["refused"] += 1
            self._context.complain(f"an order over tcp is refused: {why}")
            self._say(peer, Message(asked.id, "refused", {"Why": why}))
            return
        if asked.word == "hello":
            self._say(peer, Message(asked.id, "hello", {**self._about, "counts": self.counts.flat()}))
            return
        if (word := self._words.get(asked.word)) is not None:
            if asked.word == "look":
                self.counts.looks(peer)
            if asked.word == "order":
                self.counts.totals["orders"] += 1
                who, origin = giver()
                asked = asked._replace(fields={**asked.fields, "Who": who, "From": origin})
            self._told(peer, asked, word)
            return
        if self._orders is None or self._broker is None:
            self.counts.totals["refused"] += 1
            why = f"{asked.word}: no such word here"
            self._say(peer, Message(asked.id, "refused", {"Why": why}))
            return
        if self._readonly and asked.word not in LOOKS:
            self.counts.totals["refused"] += 1
            self._ordered(giver(), asked.word)(f"refused: {READONLY}")
            self._say(peer, Message(asked.id, "refused", {"Why": READONLY}))
            return
        self._last += 1
        request = self._orders.parse({**asked.fields, "Ask": asked.word, "Ref": self._last})
        if isinstance(request, str):
            self.counts.malformed[FIELDS] += 1
            self._say(peer, Message(asked.id, "refused", {"Why": f"{asked.word}: {request}"}))
            return
        if len(self._asked) >= PENDING:
            _settle(self._asked.pop(next(iter(self._asked))), "not known: too many others were given since")
        settle = None
        if asked.word not in LOOKS:
            self.counts.totals["orders"] += 1
            settle = self._ordered(giver(), request[1])
        self._asked[self._last] = Pending(peer, asked.id, self._orders.follows(request[1]), settle)
        if send(self._broker, [self._orders.pack(*request)]):
            self.counts.totals["unsent"] += 1
            _settle(self._asked.pop(self._last), "refused: the broker is gone")
            self._say(peer, Message(asked.id, "refused", {"Why": "the broker is gone"}))

    def _told(self, peer: Peer, asked: Message, word: Word) -> None:
        """Answer a word, now or when its future is done."""

        def settle(get: Callable[[], Said | Future[Said]]) -> None:
            try:
                said = get()
            except Refused as refusal:
                self.counts.totals["refused"] += 1
                said = "refused", {"Why": str(refusal)}
            except UNREADABLE as error:
                self.counts.malformed[FIELDS] += 1
                said = "refused", {"Why": f"{asked.word}: unreadable: {error}"}
            except Exception as error:  # a mistake of ours in one word: the others go on being answered
                self.counts.totals["failed"] += 1
                why = f"{asked.word} failed: {type(error).__name__}: {error}"
                self._context.complain(f"control socket: {why}")
                said = "refused", {"Why": why}
            if isinstance(said, Future):
                said.add_done_callback(lambda done: self._inbox.post(lambda: settle(done.result)))
            else:
                self._say(peer, Message(asked.id, *said))

        settle(lambda: word(asked.fields))

    def _answer(self, orders: Orders, frames: list[bytes]) -> None:
        said = orders.load(frames[0])
        ref, word = said.pop("Ref"), said.pop("Say")
        if ref not in self._asked:
            return  # forgotten: too many others were asked since
        pending = self._asked[ref]
        _settle(pending, f"refused: {said.get('Why')}" if word == "refused" else "done")
        self._asked[ref] = pending._replace(settle=None)
        if not pending.followed or word in LAST:
            del self._asked[ref]
        self._say(pending.peer, Message(pending.number, word, said))

    def _say(self, peer: Peer, message: Message) -> None:
        door, name = peer
        cut = self._keyed is not None and door is self._keyed.socket and not self._keyed.reaches(name)
        if cut or send(door, [name, pack("say", message)]):
            self.counts.totals["unsent"] += 1  # the peer has gone, or does not read


def _settle(pending: Pending, came: str) -> None:
    if pending.settle is not None:
        pending.settle(came)


def _heard(door: ZSocket) -> Iterator[tuple[list[bytes], str]]:
    """The next requests, and what libzmq tells of the process that each came from: ``localhost:UID:GID:PID``."""
    with suppress(zmq.Again):
        for _ in range(AT_ONCE):
            frames = [door.recv(zmq.NOBLOCK)]
            frame = door.recv(copy=False)
            frames.append(frame.bytes)
            while frame.more:
                frame = door.recv(copy=False)
                frames = [*frames[:2], b""]  # none has three
            try:
                source = str(frame.get("Peer-Address"))
            except zmq.ZMQError:
                source = ""
            yield frames, source


def _process(source: str) -> tuple[str, str]:
    """Who gives an order, and from where, as the kernel tells it."""
    numbers = source.rsplit(":", 3)[1:]
    if len(numbers) != 3 or not all(number.isdigit() for number in numbers):
        return name_of(None), "this machine"
    return name_of(int(numbers[0])), f"process {numbers[2]} of this machine"


def listen(
    context: Context,
    at: Path,
    about: dict[str, Any],
    words: Mapping[str, Word],
    orders: tuple[Orders, str] | None = None,
    *,
    readonly: bool = False,
    ordered: Ordered = lambda giver, order: lambda came: None,
) -> Control | None:
    """The control socket ``at`` this path, in a folder that is made; None where there can be none, and why is told.

    ``orders``: as in ``Control``, with where the broker takes them.
    """
    try:
        make_folder(at.parent)
        return Control(context, f"ipc://{at}", about, words, *(orders or ()), readonly=readonly, ordered=ordered)
    except (OSError, zmq.ZMQError) as error:
        said = f"other processes can not attach here or give orders: no control socket: {error}"
        context.door.say(Note("bad", said))
        return None


@contextmanager
def listening(
    say: Callable[[Note], None], at: Path | None, about: dict[str, Any], words: Mapping[str, Word]
) -> Iterator[Control | None]:
    """The same, for as long as this lasts, for who has no context of its own; None ``at`` for no socket."""
    if at is None:
        yield None
        return
    context = make_context(say)
    try:
        yield listen(context, at, about, words)
    finally:
        context.term()
