"""What a process needs to speak CURVE: its own pair, the keys that may connect to it, the key of its broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import zmq

from engine.core import CLIENTS, WORKERS
from engine.core import Socket as Spec
from engine.drive.security import keys
from engine.drive.security.keyless import MISMATCH
from engine.drive.security.keyring import Keyring
from engine.errors import Refused


class Curve:
    """``name``: a pair of one's own in ``folder``. ``server``: the key of the broker that this process connects to, as
    ``keys.public_of`` takes it; empty where it connects to none. ``control``: where it takes control over tcp.
    """

    def __init__(self, folder: Path, name: str, server: str = "", control: str = "") -> None:
        """Raises Refused where a key can not be used."""
        self.own = keys.own(folder, name)
        self.server = keys.public_of(folder, server) if server else ""
        self.ring = Keyring(folder)
        self.control = control

    def doubts(self, client: bool) -> Iterator[str]:
        """Why a broker is likely to take nothing from us, a client or else workers."""
        roles = CLIENTS if client else WORKERS
        if self.own.role not in roles:
            yield f"the key {self.own.words} is not a {' or '.join(roles)}'s: a broker takes nothing such from it"

    def set_up(self, socket: zmq.Socket[bytes], spec: Spec) -> None:
        """Have a socket speak it that is about to bind or connect. Raises zmq.ZMQError where a key is missing."""
        socket.set(zmq.CURVE_SECRETKEY, keys.curve(self.own.secret))
        if spec.bind:
            socket.set(zmq.CURVE_SERVER, 1)
            return
        if not self.server:
            raise zmq.ZMQError(zmq.EINVAL, f"{spec.connect[0]}: the key of that broker is not known: --server-key KEY")
        socket.set(zmq.CURVE_PUBLICKEY, keys.curve(self.own.public))
        socket.set(zmq.CURVE_SERVERKEY, keys.curve(self.server))


def failure(event: int, value: int, endpoint: str, curve: Curve | None) -> str:
    """What the end of a handshake means to a peer of a broker; empty where nothing can be done about it."""
    if event == zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL and value == MISMATCH:
        if curve is None:
            return f"the broker at {endpoint} asks for keys: connect with --curve NAME and --server-key KEY"
        return f"the broker at {endpoint} speaks no CURVE: leave --curve away here, or start it with --curve NAME"
    if curve is None:
        return ""
    if event == zmq.EVENT_HANDSHAKE_FAILED_AUTH and value == 400:
        own = curve.own
        return (
            f"the broker at {endpoint} refuses this key: {own.words}; where it runs, authorize it: roundhouse keys "
            f"authorize {own.public} --name {own.name} --role {own.role}"
        )
    if event == zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL:
        return (
            f"the broker at {endpoint} ended the handshake: {curve.server[: keys.SHOWN]}… is perhaps not its key; "
            "roundhouse keys list shows that where it runs"
        )
    return ""


def of(folder: Path, name: str, server: str, connects: bool, control: str = "") -> Curve | None:
    """What the settings ask for; None for no CURVE. Raises Refused."""
    if not name and server and connects:
        raise Refused("a broker's key is named, and none of our own: --curve NAME (roundhouse keys new NAME makes one)")
    if name and connects and not server:
        raise Refused("the broker's key is needed as well: --server-key KEY, its file, its name or its 64 digits")
    if control and not name:
        raise Refused(f"{control} is for viewers and operators with keys: name our own with --curve NAME")
    if not name:
        return None
    made = Curve(folder, name, server if connects else "", control)
    if not connects:
        made.server = made.own.public  # the brokers of a pair have one key between them
    return made
