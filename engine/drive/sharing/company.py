"""Who of one node goes to one endpoint, and by which connection: the workers' end of sharing.

The rules of this file:

- Nobody sends anything wrapped before the broker has agreed, to a core that asked it by a connection of its own: the
  *prober*. Others wait meanwhile, without a socket.
- It agrees: a carrier is opened, and once its connection stands all that wait ride on it, the prober too. The prober's
  own connection stands until then, else the carrier's might lead to another broker; behind its core's question nothing
  was sent by it, so nothing is lost. A prober that is alone keeps its connection. Who comes later rides at once.
- It does not: everybody opens a connection of its own, for as long as nobody hears otherwise.
- The carrier's connection ends: all riders hear ``Disconnected``, and one of them probes.
- A rider that wants its socket opened anew has heard nothing for too long. If others have, the connection is well, and
  it begins anew on that; else the carrier is closed as well.
"""

from __future__ import annotations

import time
from collections import deque
from typing import Protocol

import zmq

from engine.core import Connected, Disconnected
from engine.core import Socket as Spec
from engine.drive.hosted import AnyPort, HostedCore, Port
from engine.drive.security.greetings import HANDSHAKE
from engine.drive.sharing.carrier import Carrier, CarrierOwner
from engine.drive.sharing.ride import Ride


class Opens(Protocol):
    """What opens and closes the sockets of a node (``engine.drive.ports``)."""

    def own(self, hosted: HostedCore, spec: Spec) -> Port: ...  # raises zmq.ZMQError
    def carry(self, spec: Spec, company: CarrierOwner) -> Carrier: ...  # raises zmq.ZMQError
    def look(self, port: AnyPort) -> None: ...
    def unwatch(self, port: Port) -> None: ...
    def close(self, port: AnyPort, linger: int = 0) -> None: ...
    def complain(self, hosted: HostedCore, error: zmq.ZMQError) -> None: ...


class Company:
    """``rides``: by routing id, those that ride and those that wait. All on the node's thread."""

    def __init__(self, opens: Opens) -> None:
        self.rides: dict[bytes, Ride] = {}
        self.carrier: Carrier | None = None
        self.apart = False  # the broker does not agree
        self._opens = opens
        self._own: dict[AnyPort, None] = {}  # those that have a connection of their own
        self._prober: AnyPort | None = None
        self._witness: Port | None = None  # the prober's own connection, until the carrier's stands

    @property
    def empty(self) -> bool:
        """Whether nobody is left."""
        return not self.rides and not self._own

    def join(self, hosted: HostedCore, spec: Spec) -> AnyPort:
        """The port of one more. Raises zmq.ZMQError where a socket can not be opened."""
        alone = self.carrier is None and (self.apart or self._prober is None)
        if alone or spec.routing_id in self.rides:
            port = self._opens.own(hosted, spec)
            self._own[port] = None
            if alone and not self.apart:
                self._prober = port
            return port
        ride = self.rides[spec.routing_id] = Ride(hosted, spec, deque())
        if self.carrier is not None and self.carrier.stands:
            self._board(ride, self.carrier)
        return ride

    def told(self, port: AnyPort, agreed: bool) -> None:
        """What a core has heard of its broker by this port."""
        if not isinstance(port, Port) or port not in self._own:
            return
        if port is self._prober:
            self._prober = None
        if agreed:
            self.apart = False
            self._move(port)
        elif self.carrier is None:
            self.apart = True
            for ride in list(self.rides.values()):
                self._split(ride)

    def leave(self, port: AnyPort, linger: int) -> None:
        """Close a port; what it has sent may take so many ms to go."""
        if isinstance(port, Ride):
            self._off(port, linger)
        else:
            self._own.pop(port, None)
            if port is self._prober:
                self._prober = None
        self._opens.close(port, linger)
        self._settle()

    def doubt(self, ride: AnyPort, now: float) -> None:
        """Its core hears nothing and is about to begin anew: close the carrier, where it is that."""
        carrier = self.carrier
        if carrier is None or not isinstance(ride, Ride):
            return
        if not ride.rides:
            deaf = now > carrier.opened + HANDSHAKE
        else:
            deaf = carrier.heard <= (ride.heard + now) / 2
        if deaf:
            self._fold()

    # ---- the carrier's words --------------------------------------------------------------------------------------

    def up(self) -> None:
        """Its connection stands."""
        assert self.carrier is not None
        witness, self._witness = self._witness, None
        if witness is not None:
            ended = any(type(event) is Disconnected for event in witness.hear())
            self._opens.close(witness)
            if ended:
                self.down()
                return
        for ride in self.rides.values():
            self._board(ride, self.carrier)

    def down(self) -> None:
        """Its connection has ended."""
        self._fold()
        self._settle()

    # ---- who goes by what -----------------------------------------------------------------------------------------

    def _board(self, ride: Ride, carrier: Carrier) -> None:
        carrier.part(ride.spec.routing_id)
        if not ride.stands:
            ride.told.append(Connected(ride.spec.name))
            self._opens.look(ride)
        ride.board(carrier.way, carrier, time.monotonic())
        self._opens.look(carrier)

    def _off(self, ride: Ride, linger: int) -> None:
        del self.rides[ride.spec.routing_id]
        carrier = self.carrier
        if carrier is None:
            return
        if ride.rides:
            carrier.part(ride.spec.routing_id)
            self._opens.look(carrier)
        if not self.rides:
            carrier.put()
            self._end_carrier(linger)

    def _move(self, port: Port) -> None:
        """From its own connection to the shared one."""
        spec, carrier = port.spec, self.carrier
        if len(self._own) + len(self.rides) < 2 or spec.routing_id in self.rides:
            return
        if carrier is None:
            try:
                self.carrier = self._opens.carry(spec, self)
            except zmq.ZMQError as error:
                self._opens.complain(port.hosted, error)
                return
        del self._own[port]
        ride = self.rides[spec.routing_id] = Ride(port.hosted, spec, port.outbox.copy(), stands=True)
        port.hosted.ports[spec.name] = ride
        if carrier is None:
            self._witness = port
            self._opens.unwatch(port)
            return
        self._opens.close(port)
        if carrier.stands:
            self._board(ride, carrier)

    def _split(self, ride: Ride) -> Port | None:
        """From waiting to a connection of its own; None where none can be opened."""
        try:
            port = self._opens.own(ride.hosted, ride.spec)
        except zmq.ZMQError as error:
            self._opens.complain(ride.hosted, error)
            return None
        del self.rides[ride.spec.routing_id]
        self._own[port] = None
        port.outbox += ride.outbox
        ride.hosted.ports[ride.spec.name] = port
        self._opens.look(port)
        return port

    def _fold(self) -> None:
        self._end_carrier()
        for ride in self.rides.values():
            if ride.stands:
                ride.told.append(Disconnected(ride.spec.name))
                self._opens.look(ride)
            ride.alight()

    def _end_carrier(self, linger: int = 0) -> None:
        carrier, self.carrier = self.carrier, None
        if carrier is not None:
            self._opens.close(carrier, linger)
        if self._witness is not None:
            self._opens.close(self._witness)
            self._witness = None

    def _settle(self) -> None:
        """Somebody probes, where others wait."""
        if self.carrier is None and self._prober is None and not self.apart and self.rides:
            self._prober = self._split(next(iter(self.rides.values())))
