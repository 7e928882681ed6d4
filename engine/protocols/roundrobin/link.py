"""A worker's or client's end of its link to the broker: link PING, PONG, silence, and a new try.

- A link opens with a PING; until the PONG with the same id is there, nothing else may be sent.
- An open link is PINGed every ``heartbeat``. While a PING is unanswered it is repeated under the same id, so at most
  one question is ever open, and a round trip longer than a heartbeat still counts.
- A PING may claim that we are registered. A broker that knows nothing of it (it was restarted, it forgot us) denies it
  with the PONG's id; the original echoes every id, and so denies nothing.
- A PING may ask for the packed lane, and to share its connection. Each PONG says anew whether the broker agrees; the
  original's echo does not.
- Only PONGs prove that the broker hears us. After ``expiry`` without one the socket is opened anew under the same
  routing id and the handshake begins again, for as long as it takes.
- A connection that ended took with it what was under way: the link begins anew, on the one that libzmq makes by itself.
- Where another peer lives under our routing id (``engine.parts.taken``) the socket is opened under another one.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.core import NEVER, Command, Note, Reopen, Send
from engine.parts.limits import NONCES
from engine.parts.taken import Taken
from engine.protocols.roundrobin import messages as wire

MICRO = 1_000_000  # a second


Name = Callable[[float], bytes]


class Another:
    """How a peer at this endpoint names itself where its name is taken; others of that name go elsewhere, or later."""

    __slots__ = ("_endpoint", "_nonce")

    def __init__(self, endpoint: str, nonce: int) -> None:
        self._endpoint, self._nonce = endpoint, nonce

    def __call__(self, now: float) -> bytes:
        """A routing id."""
        return f"{self._endpoint}:{(self._nonce + int(now * MICRO)) % NONCES + 1}".encode()


class Link:
    """Times in monotonic seconds. ``number`` counts the links that were up, 0 before the first.

    ``asks``: whether PINGs ask for the packed lane; ``shares``: those that do ask to share the connection as well.
    ``name``: makes another routing id, from the time.
    """

    __slots__ = (
        "_asked_at",
        "_asks",
        "_expiry",
        "_heartbeat",
        "_ident",
        "_name",
        "_ping_at",
        "_pings",
        "_shares",
        "_since",
        "_taken",
        "claims",
        "denied",
        "heard",
        "number",
        "packs",
        "rtt",
        "shares",
        "up",
        "waits",
    )

    def __init__(
        self, heartbeat: float, expiry: float, asks: bool = False, name: Name | None = None, shares: bool = False
    ) -> None:
        self._heartbeat, self._expiry, self._asks, self._name = heartbeat, expiry, asks, name
        self._shares = shares
        self._taken = Taken(expiry, heartbeat)
        self.up = False
        self.waits = False  # the newest PING is unanswered
        self.number = 0
        self.heard = 0.0  # the last PONG
        self.rtt: float | None = None  # seconds, of the last heartbeat
        self.claims = False  # whether new PINGs claim that we are registered
        self.denied = False  # whether the newest PONG denied it
        self.packs = False  # whether the newest PONG agreed to the packed lane
        self.shares = False  # and to share the connection
        self._pings = 0
        self._ident = b""  # of the newest PING
        self._asked_at = 0.0  # when it was sent first
        self._ping_at = NEVER  # when the next PING is due
        self._since = 0.0  # silence is counted from here

    def open(self, now: float) -> list[Command]:
        """Begin the handshake."""
        self.up = self.waits = self.claims = self.packs = self.shares = False
        self._since = now
        return [self.ask(now)]

    def ask(self, now: float, fresh: bool = False) -> Send:
        """A PING now: the unanswered one again, or a new one where there is none or a ``fresh`` one is wanted."""
        if fresh or not self.waits:
            self._pings += 1
            self._ident = wire.link_id(self._pings, self.claims, self._asks, self._asks and self._shares)
            self.waits, self._asked_at = True, now
        self._ping_at = now + self._heartbeat
        return Send(wire.link_ping(self._ident))

    def pack(self, on: bool, now: float) -> Send:
        """Ask for the packed lane from now on, or no longer; its PONG decides."""
        self._asks = on
        return self.ask(now, fresh=True)

    def ponged(self, ident: bytes, now: float) -> bool:
        """Take a PONG; False if no PING waits for it. ``up``, ``number``, ``denied``, ``packs``, ``shares`` show what
        it said.
        """
        if ident == self._ident:  # it echoes: nothing is denied, and nothing agreed to
            self.denied = False
            if not self.waits:
                return False
            self.packs = self.shares = False
        else:
            denial = wire.disowned(self._ident)
            self.denied = denial is not None and wire.answers(ident, denial)
            if not self.waits or not (self.denied or wire.answers(ident, self._ident)):
                return False
            self.packs, self.shares = wire.agreement(ident)
        self.waits = False
        self.rtt, self.heard, self._since = now - self._asked_at, now, now
        self._taken.heard(now)
        if not self.up:
            self.up = True
            self.number += 1
        return True

    def tick(self, now: float) -> list[Command]:
        """What is due: a heartbeat, or after too long a silence a new socket and a new handshake."""
        if now >= self._since + self._expiry:
            lost: list[Command] = [Note("bad", "no PONG from the broker: linking anew")] if self.up else []
            return [*lost, *self._reopen(now), *self.open(now)]
        return [self.ask(now)] if now >= self._ping_at else []

    def _reopen(self, now: float) -> list[Command]:
        if not self._taken.silent(now) or self._name is None:
            return [Reopen()]
        name = self._name(now)
        return [Note("bad", f"another live peer has this name: {name.decode()} from now on"), Reopen(routing_id=name)]

    def ended(self, now: float) -> list[Command]:
        """The connection ended, and libzmq makes another."""
        self._taken.disconnected()
        lost: list[Command] = [Note("warn", "the connection to the broker ended: linking anew")] if self.up else []
        return [*lost, *self.open(now)]

    def wake_at(self) -> float:
        """When ``tick`` has something to do."""
        return min(self._ping_at, self._since + self._expiry) if self._ping_at != NEVER else NEVER
