"""The ports of a node: opened, watched by its selector, shared where that is possible, and closed."""

from __future__ import annotations

import os
import selectors
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

import zmq

from engine.core import Reopen, Share
from engine.core import Socket as Spec
from engine.drive.hosted import AnyPort, HostedCore, Port
from engine.drive.links import outer
from engine.drive.reopening import reopen
from engine.drive.sharing.carrier import Carrier, CarrierOwner
from engine.drive.sharing.company import Company
from engine.drive.sockets import Context


class Ports:
    """On the node's thread. ``touched``: those that are to be looked at before it sleeps."""

    def __init__(
        self,
        context: Context,
        selector: selectors.BaseSelector,
        post: Callable[[Callable[[], None]], None],
        say: Callable[[str], None],
    ) -> None:
        """``post``: have the node's thread do something. ``say``: tell an operator what can not be done."""
        self.touched: OrderedDict[AnyPort, None] = OrderedDict()  # a dict finds its first behind all that has gone
        self._context, self._selector, self._post, self._say = context, selector, post, say
        self._companies: dict[tuple[str, ...], Company] = {}  # by endpoints

    def plug(self, hosted: HostedCore, spec: Spec) -> None:
        """Open a port of a core. Raises zmq.ZMQError."""
        if spec.shares and outer(spec):
            company = self._companies.setdefault(spec.connect, Company(self))
            port = company.join(hosted, spec)
        else:
            port = self.own(hosted, spec)
        hosted.ports[spec.name] = port
        self.touched[port] = None

    def shut(self, port: AnyPort, linger: int = 0) -> None:
        """Close one. ``linger``: ms that what it has taken to send may still take."""
        company = self._companies.get(port.spec.connect) if port.spec.shares else None
        if company is None:
            self.close(port, linger)
            return
        company.leave(port, linger)
        if company.empty:
            del self._companies[port.spec.connect]

    def reopen(self, hosted: HostedCore, command: Reopen) -> None:
        """Close one and open it anew."""
        port = hosted.ports.get(command.socket)
        company = self._companies.get(port.spec.connect) if port is not None and port.spec.shares else None
        if company is not None and port is not None:
            company.doubt(port, time.monotonic())
        for error in reopen(hosted, command, self.shut, self.plug):
            self.complain(hosted, error)

    def share(self, hosted: HostedCore, command: Share) -> None:
        """Peers may share their connections to this port; or the broker at its other end has said whether it may."""
        port = hosted.ports.get(command.socket)
        if isinstance(port, Port):
            port.share()
        if port is not None and (company := self._companies.get(port.spec.connect)) is not None:
            company.told(port, command.agreed)

    def disband(self) -> None:
        """The node ends: nobody waits for a connection any more."""
        for company in self._companies.values():
            company.apart = True

    # ---- for a company --------------------------------------------------------------------------------------------

    def own(self, hosted: HostedCore, spec: Spec) -> Port:
        """A socket of its own. Raises zmq.ZMQError."""
        port = Port(hosted, spec, self._context, self._stir)
        self._watch(port)
        return port

    def carry(self, spec: Spec, company: CarrierOwner) -> Carrier:
        """A socket that goes where this one does, for many. Raises zmq.ZMQError."""
        key = f"{spec.connect[0]}:carrier:{os.urandom(8).hex()}".encode()
        carrier = Carrier(replace(spec, routing_id=key, shares=False), self._context, company)
        self._watch(carrier)
        self.touched[carrier] = None
        return carrier

    def look(self, port: AnyPort) -> None:
        """Look at it before the thread sleeps."""
        self.touched[port] = None

    def unwatch(self, port: AnyPort) -> None:
        """Look at it no more, whatever comes."""
        for fd in () if port.held else port.fds:
            self._selector.unregister(fd)
        port.held = True  # nothing is to be unregistered again
        self.touched.pop(port, None)

    def close(self, port: AnyPort, linger: int = 0) -> None:
        """Close it, and nothing else."""
        self.unwatch(port)
        port.close(linger)

    def complain(self, hosted: HostedCore, error: zmq.ZMQError) -> None:
        """Say where a core can not go."""
        self._say(f"{hosted.name} can not go to {error}")

    # ---------------------------------------------------------------------------------------------------------------

    def _watch(self, port: Port) -> None:
        for fd in () if port.held else port.fds:
            self._selector.register(fd, selectors.EVENT_READ, port)

    def _stir(self, port: Port) -> None:
        """Connections of a port that is bound came or went. Called by the door's thread."""

        def act() -> None:
            if port.hosted.ports.get(port.spec.name) is port:
                port.stirred = True
                self.touched[port] = None

        self._post(act)
