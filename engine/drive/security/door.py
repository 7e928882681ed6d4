"""The door of a context: one thread that answers ZAP for all its sockets and hears who came and who was refused.

The rules of this file:

- Every socket that binds has a domain and enforces it. libzmq then asks here about every newcomer over tcp and ipc, and
  refuses peers that greet in ZMTP 1 or 2: those have no handshake that could be asked about, and the body of a web
  page's POST can speak them.
- A private socket serves only peers of this user and of those who are trusted, whichever side connects. Where it binds,
  a stranger's connection is ended as it is accepted; where it connects, its handshake is refused. Either happens before
  the question about it is answered, so nothing a stranger says arrives, and nothing is sent to one.
- Where a socket speaks CURVE, its peers' keys are looked up (``keyring``): one that is not authorized, or whose role
  may do nothing there, is answered 400. The key is the User-Id of its messages, which ``guard`` looks at.
- Each domain has one socket, so that the events of its monitor are read before a question about it is answered.
- An error here must not end the thread, for then no peer could join: it is reported, and the newcomer is refused.
- Newcomers are put off while descriptors are short (``descriptors``): the connection ends, or is answered 300 where it
  was accepted before, and they try again by themselves.
- A connection by which a message without an end comes is cut off (``intake``); its socket's owner tells which.
- Refused and cut off connections are counted, and told at most every ``AGAIN`` seconds for each socket.
- A socket has one monitor at most: other users of its events get them from here.
- The thread ends when its context is terminated, and that waits for all other sockets to be closed (``settle``): a
  connection that asks here when no thread answers any more aborts the process.
"""

from __future__ import annotations

import os
import struct
import threading
import time
from collections.abc import Callable

import zmq

from engine.core import Note
from engine.drive.inbox import Inbox
from engine.drive.security.descriptors import Descriptors, hang_up
from engine.drive.security.intake import LOOK, give_back
from engine.drive.security.keyring import POLL, Keyring, refusal
from engine.drive.security.strangers import AGAIN
from engine.drive.security.users import Trust
from engine.drive.security.watched import KEYS, MASK, Tell, Watched

ZSocket = zmq.Socket[bytes]
Say = Callable[[Note], None]

ENDPOINT = "inproc://zeromq.zap.01"  # where libzmq asks
FREED = 5.0  # seconds after which what a connection that was cut off had sent is free, and is given to the system
NO, LATER, YES = (b"500", b"not understood"), (b"300", b"try again later"), (b"200", b"OK")
REFUSED = (b"400", b"not authorized")
_EVENT = struct.Struct("=Hi")  # what a monitor tells first; zmq.utils.monitor would import asyncio


class Door:
    """Answers for one context until that is terminated. ``say`` is called on the door's thread."""

    def __init__(
        self,
        context: zmq.Context[ZSocket],
        say: Say,
        trust: Trust | None = None,
        descriptors: Descriptors | None = None,
        keys: Keyring | None = None,
    ) -> None:
        self._keys, self._keys_at = keys, float("-inf")  # and when they were looked at last
        self.trust = trust or Trust(os.geteuid())
        self.dead: str | None = None  # what ended the thread, if an error of our own did
        self.put_off = 0  # newcomers that were told to try again later
        self.say, self._descriptors = say, descriptors or Descriptors()
        self._own: zmq.Context[ZSocket] = zmq.Context.shadow(context.underlying)  # its sockets are closed here alone
        self._zap = self._own.socket(zmq.REP)
        self._zap.bind(ENDPOINT)
        self._inbox = Inbox()
        self._watched: dict[ZSocket, Watched] = {}
        self._domains: dict[bytes, Watched] = {}
        self._untold: dict[Watched, None] = {}  # those that have something to say when it is time
        self._count = 0
        self._ended = False
        self._settled: threading.Event | None = None  # set when no socket is left
        self._looked = float("-inf")  # when the connections were looked at last
        self._give_back_at = float("inf")
        self._wronged = float("-inf")  # when an error of our own was said last
        self.thread = threading.Thread(target=self._main, name="roundhouse-door", daemon=True)
        self.thread.start()

    # ---- for other threads --------------------------------------------------------------------------------------

    @property
    def refused(self) -> int:
        """Connections that were refused so far at sockets that are open: their greeting was wrong."""
        return sum(watched.greetings.refused for watched in list(self._watched.values()))

    @property
    def strangers(self) -> int:
        """Connections of other users that were refused so far at private sockets that are open."""
        return sum(it.strangers.count for it in list(self._watched.values()) if it.strangers is not None)

    @property
    def cut(self) -> int:
        """Connections that were cut off so far at sockets that are open: they sent a message without an end."""
        return sum(watched.cut for watched in list(self._watched.values()))

    @property
    def keyless(self) -> int:
        """Connections that were refused so far at sockets that are open: they had no key that may."""
        return sum(watched.keyless.count for watched in list(self._watched.values()))

    def counted(self) -> dict[str, int]:
        """Connections that were refused, ended or put off so far at sockets that are open, by reason."""
        return {
            "old_version": self.refused,
            "stranger": self.strangers,
            "no_key": self.keyless,
            "endless": self.cut,
            "put_off": self.put_off,
        }

    def cut_off(self, domain: bytes, fd: int, size: int) -> None:
        """End a connection of the socket of this domain: so many bytes of a message have come by it, and no end."""
        self._inbox.post(lambda: self._cut_off(domain, fd, size))

    def settle(self, seconds: float) -> bool:
        """Wait until all sockets at which it stands are gone; False where that takes longer.

        They have to be closed. libzmq ends their connections behind that, on threads of its own.
        """
        settled = threading.Event()
        self._inbox.post(lambda: self._settle(settled))
        return self._ended or settled.wait(seconds)

    def watch(
        self,
        socket: ZSocket,
        name: str,
        *,
        private: bool = False,
        tell: Tell = lambda event, fd: None,
        roles: tuple[str, ...] | None = None,
    ) -> None:
        """Ask about newcomers at a socket that is about to bind or to connect at ``name``. On its owner's thread.

        ``tell`` is called on the door's thread with everything that the socket's monitor tells, with GROWN and KEYS.
        ``roles``: as in ``Watched``.
        """
        self._count += 1
        domain = b"roundhouse-%d" % self._count
        address = f"inproc://door-{self._count}-{id(socket)}"
        socket.set(zmq.ZAP_DOMAIN, domain)
        socket.set(zmq.ZAP_ENFORCE_DOMAIN, 1)
        socket.monitor(address, int(MASK))
        self._inbox.post(lambda: self._attach(address, domain, name, private, tell, roles))

    # ---- the thread ---------------------------------------------------------------------------------------------

    def _main(self) -> None:
        poller = self._poller = zmq.Poller()
        bell = self._inbox.bell.fileno()
        poller.register(self._zap, zmq.POLLIN)
        poller.register(bell, zmq.POLLIN)
        try:
            while True:
                ready = dict(poller.poll(self._patience()))
                now = time.monotonic()
                if ready.pop(bell, 0):
                    self._inbox.hush()
                self._inbox.answer()  # before any question about a socket that was posted
                if ready.pop(self._zap, 0):
                    self._answer(now)
                for monitor in ready:
                    if (watched := self._watched.get(monitor)) is not None:
                        self._hear(watched, now)
                self._look(now)
                self._look_at_keys(now)
                for watched in list(self._untold):
                    self._tell(watched, now)
        except Exception as error:
            if not isinstance(error, zmq.ZMQError) or error.errno != zmq.ETERM:
                self.dead = f"{type(error).__name__}: {error}"
                self.say(Note("bad", f"nobody can join any more: the door died: {self.dead}"))
        finally:
            self._ended = True
            for monitor in self._watched:
                monitor.close(0)
            self._zap.close(0)
            self._inbox.close("the context has ended")

    def _settle(self, settled: threading.Event) -> None:
        self._settled = settled
        self._is_settled()

    def _is_settled(self) -> None:
        if self._settled is not None and not self._watched:
            self._settled.set()

    def _patience(self) -> int | None:
        """Milliseconds until there is something to do at the latest."""
        if self._give_back_at < float("inf") or any(watched.intake for watched in self._watched.values()):
            return int(LOOK * 1000)
        if self._keys is not None:
            return int(POLL * 1000)
        return 1000 if self._untold else None

    def _look(self, now: float) -> None:
        if now >= self._looked + LOOK:
            self._looked = now
            for watched in self._watched.values():
                watched.look()
        if now >= self._give_back_at:
            self._give_back_at = float("inf")
            give_back()

    def _look_at_keys(self, now: float) -> None:
        if self._keys is None or now < self._keys_at + POLL:
            return
        self._keys_at = now
        changed, notes = self._keys.refresh()
        for note in notes:
            self.say(note)
        for watched in self._watched.values():
            if changed and watched.roles is not None:
                watched.tell(KEYS, 0)

    def _cut_off(self, domain: bytes, fd: int, size: int) -> None:
        if not self._ended and (watched := self._domains.get(domain)) is not None:
            now = time.monotonic()
            self._hear(watched, now)  # whether it has ended by itself
            watched.cut_off(fd, size)
            self._give_back_at = min(self._give_back_at, now + FREED)
            if watched.untold:
                self._untold[watched] = None

    def _answer(self, now: float) -> None:
        """One question: version, number, domain, address, identity, mechanism, and more for some mechanisms."""
        asked = self._zap.recv_multipart()
        number = asked[1] if len(asked) > 1 else b""
        answer, user = NO, b""
        try:
            answer, user = self._judge(asked, now)
        except zmq.ContextTerminated:
            raise
        except Exception as error:
            if now >= self._wronged + AGAIN:
                self._wronged = now
                self.say(Note("bad", f"newcomers are refused because of an error of our own: {error!r}"))
        self._zap.send_multipart([b"1.0", number, *answer, user, b""])

    def _judge(self, asked: list[bytes], now: float) -> tuple[tuple[bytes, bytes], bytes]:
        """The answer, and the User-Id of the peer that it lets in."""
        watched = self._domains.get(asked[2]) if len(asked) >= 6 and asked[0] == b"1.0" else None
        if watched is None:
            return NO, b""
        self._hear(watched, now)
        if not watched.admits_broker():
            self._untold[watched] = None
            return LATER, b""
        if self._full(now):
            return LATER, b""
        if watched.roles is None:
            return YES, b""
        user = asked[6].hex() if asked[5] == b"CURVE" and len(asked) == 7 else ""
        self._look_at_keys(now)
        if why := refusal(self._keys, user, watched.roles):
            watched.keyless.refuse(why)
            self._untold[watched] = None
            return REFUSED, b""
        return YES, user.encode()

    def _full(self, now: float) -> bool:
        """Whether a newcomer has to be put off."""
        if not self._descriptors.short(now):
            return False
        self.put_off += 1
        if (words := self._descriptors.words(now)) is not None:
            self.say(Note("bad", words))
        return True

    def _attach(
        self, address: str, domain: bytes, name: str, private: bool, tell: Tell, roles: tuple[str, ...] | None
    ) -> None:
        if self._ended:
            return  # a socket that is closed by now
        monitor = self._own.socket(zmq.PAIR)
        monitor.connect(address)
        trust = self.trust if private else None
        self._watched[monitor] = self._domains[domain] = Watched(monitor, domain, name, trust, tell, roles)
        self._poller.register(monitor, zmq.POLLIN)

    def _hear(self, watched: Watched, now: float) -> None:
        """Everything that a monitor has to tell."""
        while watched.monitor.poll(0):
            told, address = watched.monitor.recv_multipart()
            event, fd = _EVENT.unpack(told)
            if event == zmq.EVENT_MONITOR_STOPPED:
                self._forget(watched)
                return
            watched.hear(event, fd, now)
            if event == zmq.EVENT_ACCEPTED:
                endpoint = address.decode()
                if not watched.admits_peer(fd) or self._full(now):
                    hang_up(fd, endpoint)
                else:
                    watched.intake.accepted(fd, endpoint)
        watched.greetings.settle(now)
        if watched.untold:
            self._untold[watched] = None

    def _tell(self, watched: Watched, now: float) -> None:
        for note in watched.notes(now):
            self.say(note)
        if not watched.untold:
            self._untold.pop(watched, None)

    def _forget(self, watched: Watched) -> None:
        self._poller.unregister(watched.monitor)
        del self._watched[watched.monitor], self._domains[watched.domain]
        self._untold.pop(watched, None)
        watched.monitor.close(0)
        self._is_settled()
