"""A broker's link to the other one of its pair: beats both ways, and changes from the one that serves to the other.

- Every BROKERSTATE says where the changes are: the last that was sent, or the last that was followed, -1 for none.
- Who serves sends the whole dispatcher when the other says -1, and from then on what changes, in order. Who follows
  says -1 as soon as a number is missing, a change does not fit, or a beat names another one.
- Changes count only from a peer that is known to serve, and only while we do not.
- The fallback opens its socket anew while the primary stays silent: a connection may be dead without a word.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from engine.core import Command, Frames, Note, Reopen, Send
from engine.parts.plain import several
from engine.protocols.negotiated import config as configs
from engine.protocols.negotiated import messages as wire
from engine.protocols.negotiated import names, replica
from engine.protocols.negotiated.config import Address, Config
from engine.protocols.negotiated.dispatcher import Dispatcher
from engine.protocols.negotiated.machine import Rank
from engine.protocols.negotiated.standby import Standby

PEER = "peer"
"""The socket between the brokers: a ROUTER at the primary, a DEALER at its fallback."""

REOPEN = 5.0  # intervals of the primary's silence after which the fallback connects anew, and again after as many

FALLBACK_ID = b"fallback"
"""The fallback's routing id there."""


ROLES = {"primary": "primary", "backup": "fallback"}
"""A broker's role in the seed's word; what a beat says is Binary Star's."""


_OTHER = {"primary": "fallback", "backup": "primary"}


class Pair:
    """``theirs``: where the peers of the other broker connect."""

    def __init__(self, role: Literal["primary", "backup"], interval: float, theirs: Address) -> None:
        self.role: Literal["primary", "backup"] = role
        self.theirs = theirs
        self.standby = Standby(role, interval, 0, 0.0)
        self.followed = -1  # number of the last change that we followed
        self._interval = interval
        self._sent = 0
        self._whole = False  # the peer wants everything
        self._opened = 0.0  # when the fallback opened its socket

    def start(self, now: float, wall: float) -> None:
        """Begin. ``wall``: seconds since the epoch, so that our numbers are none of an earlier life's."""
        self._sent = max(0, int(wall * 1000))
        self.standby = Standby(self.role, self._interval, self._sent, now)
        self._opened = now

    def state(self, header: wire.Header, dispatcher: Dispatcher, now: float) -> None:
        """A BROKERSTATE came."""
        standby = self.standby
        news = standby.heard(header["state"], header["sequence"], header["echo"], now)
        if standby.active:
            self._whole = self._whole or (header["replica"] == -1) or dispatcher.log is None
        elif news and header["state"] == Rank.ACTIVE and header["replica"] != self.followed:
            self.forget(now)

    def change(
        self, sequence: int, body: bytes, dispatcher: Dispatcher, now: float
    ) -> tuple[Dispatcher, Config | None] | None:
        """A REPLICA came: the dispatcher as it is now, and the configuration if that came; None where it is no use."""
        if self.standby.active or self.standby.peer_state != Rank.ACTIVE:
            return None
        ops = replica.decode(body)
        if ops is None or not (ops[0][0] == "x" or (self.followed >= 0 and sequence == self.followed + 1)):
            self.forget(now)
            return None
        config: Config | None = None
        for op in ops:
            if op[0] in ("x", "c"):
                config = configs.decode(op[1], "json")
                dispatcher = Dispatcher() if op[0] == "x" else dispatcher
                fits = config is not None
            else:
                fits = replica.follow(dispatcher, op, now)
            if not fits:
                self.forget(now)
                return dispatcher, config
        self.followed = sequence
        return dispatcher, config

    def forget(self, now: float) -> None:
        """What we have is not what the other one has: ask for everything."""
        self.followed = -1
        self.standby.beat_at = now

    def publish(self, dispatcher: Dispatcher, config: Config) -> None:
        """The configuration is another one."""
        if dispatcher.log is not None:
            dispatcher.log.append(["c", configs.encode(config, "json")])

    def copy(self, dispatcher: Dispatcher) -> str:
        """How the fallback's copy is, in an operator's words."""
        if self.standby.active:
            return "kept up to date" if dispatcher.log is not None else "none: the other broker is not there"
        return (
            f"{several(len(dispatcher.members), 'worker')}, {several(len(dispatcher.tasks), 'task')}"
            if self.followed >= 0
            else "none yet"
        )

    def unsent(self, dispatcher: Dispatcher) -> None:
        """The fallback is not there: nothing is noted until it is."""
        dispatcher.log = None

    def flush(self, dispatcher: Dispatcher, config: Config, now: float) -> list[Command]:
        """What is to be said to the other broker now."""
        out: list[Command] = []
        if self.role == "backup" and now >= max(self._opened, self.standby.peer_at) + REOPEN * self._interval:
            self._opened = now
            out.append(Reopen(PEER))
        if now >= self.standby.beat_at:  # before any changes: they count only from a peer that said that it serves
            header = {
                "state": self.standby.state,
                "sequence": self.standby.beat(now),
                "echo": self.standby.peer_sequence,
                "replica": self._sent if self.standby.active else self.followed,
            }
            out.append(self._send(wire.seal(names.BROKERSTATE, header)))
        if not self.standby.active:
            dispatcher.log = None
        elif self._whole:
            self._whole, dispatcher.log = False, []
            out += self._changes(replica.encode(replica.whole(dispatcher, config)))
        elif dispatcher.log:
            ops, dispatcher.log = dispatcher.log, []
            out += self._changes(replica.encode(ops))
        return out

    # ---- an operator --------------------------------------------------------------------------------------------

    def hand_back(self, now: float) -> str:
        """The fallback ends its service; why not, where it does not."""
        standby, here, there = self.standby, ROLES[self.role], self.theirs.workers
        if standby.hand_back(now):
            return ""
        if self.role == "primary":
            if standby.active:
                return "the primary serves: there is nothing to hand back"
            return f"this is the primary, which waits; tell its fallback at {there}"
        if not standby.active:
            return f"the {here} does not serve: there is nothing to hand back"
        if standby.doubtful(now):
            return f"the primary at {there} is not there: start it first; it waits until it is handed the service"
        return (
            f"the primary at {there} is back, and the fallback has not heard yet that it waits: try again in a moment"
        )

    def serve(self, now: float) -> str:
        """The fallback serves, though its primary was never heard; why not, where it does not."""
        standby = self.standby
        if self.role == "primary":
            return f"this is the primary: it serves once it knows that its fallback at {self.theirs.workers} does not"
        if standby.active:
            return "the fallback serves already"
        if not standby.doubtful(now):
            return f"the primary at {self.theirs.workers} is there: never do both serve"
        if not standby.serve(now):
            return "the fallback has heard its primary before: it serves as soon as a worker or client asks it"
        return ""

    def lines(self, dispatcher: Dispatcher, here: Address, now: float) -> tuple[str, ...]:
        """Who serves, and how the pair is, in an operator's words."""
        standby, mine, other = self.standby, ROLES[self.role], _OTHER[self.role]
        silent = standby.doubtful(now)
        state = "is silent" if silent else f"says {standby.peer_state or 'nothing of use'}"
        if standby.active:
            who = f"the {mine} serves, at {here.workers}"
        elif standby.peer_state == Rank.ACTIVE and not silent:
            who = f"the {other} serves, at {self.theirs.workers}"
        else:
            who = "nobody serves"
        hint = {
            Rank.BACKUP: "; it has never heard its primary: start that, or tell the fallback to serve (pair serve)",
            Rank.PASSIVE: "; it serves as soon as a worker or client asks it" if silent else "",
        }
        waits = standby.active and self.role == "backup" and standby.peer_state == Rank.PASSIVE and not silent
        back = ("the primary is back and waits: pair back hands the service to it",) if waits else ()
        return (
            who,
            f"asked: the {mine}, {standby.state}{hint.get(standby.state, '')}",
            f"the {other} at {self.theirs.workers} {state}; copy: {self.copy(dispatcher)}",
            *back,
        )

    def note(self, before: str = "") -> Note:
        """The broker's rank in an operator's words; ``before``: what it was."""
        words = {
            Rank.PRIMARY: "asks whether the fallback serves before it does",
            Rank.BACKUP: "waits to hear the primary",
            Rank.ACTIVE: "serves",
            Rank.PASSIVE: "stands by",
        }
        if self.role == "primary" and before == Rank.PASSIVE:
            words[Rank.ACTIVE] = "serves again"
        if self.role == "backup" and self.standby.yielded:
            words[Rank.PASSIVE] = "stands by: the primary serves again"
        state = self.standby.state
        usual = (state == Rank.ACTIVE) == (self.role == "primary")
        return Note("good" if usual else "warn", f"the {ROLES[self.role]} {words[state]}")

    def _changes(self, bodies: Iterator[bytes]) -> list[Send]:
        out = []
        for body in bodies:
            self._sent += 1
            out.append(self._send(wire.seal(names.REPLICA, {"sequence": self._sent}, body)))
        return out

    def _send(self, frames: Frames) -> Send:
        return Send([FALLBACK_ID, *frames] if self.role == "primary" else frames, PEER)
