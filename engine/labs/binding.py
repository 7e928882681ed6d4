"""Checks a broker's endpoint, and finds another port if the usual one is taken."""

from __future__ import annotations

from engine.core import Seat
from engine.errors import Refused

PORTS = 10  # that are tried in turn
STEP = 1000  # between them
LOCAL = ("127.", "localhost", "[::1]", "::1")


def check_local(endpoint: str, keys: bool = False) -> None:
    """Raises Refused where an endpoint is none, or can be reached from other machines and peers have no ``keys``."""
    scheme, _, rest = endpoint.partition("://")
    if scheme == "ipc" and rest.startswith("@"):
        raise Refused(f"{endpoint} would be open to every user of this machine: name the path of a socket, ipc://PATH")
    if scheme in ("inproc", "ipc") and rest:
        return
    host, _, port = rest.rpartition(":")
    if scheme != "tcp" or not host or not port.isdigit():
        raise Refused(f"{endpoint!r} is not an endpoint: write tcp://127.0.0.1:PORT, ipc://PATH or inproc://NAME")
    if not keys and not host.startswith(LOCAL):
        raise Refused(
            f"{endpoint} would let everybody who reaches this machine give and take tasks. Let those in who have a key "
            "(roundhouse keys new NAME, then --curve NAME), or bind tcp://127.0.0.1:PORT and tunnel to it."
        )


def checked(seat: Seat, keys: bool) -> Seat:
    """The seat; raises Refused where a socket of it can be reached from other machines, and peers have no keys."""
    for socket in seat.sockets:
        for endpoint in socket.bind:
            if socket.kind == "stream" and keys:
                _check_plain(endpoint)
            check_local(endpoint, keys)
    return seat


def _check_plain(endpoint: str) -> None:
    try:
        check_local(endpoint)
    except Refused:
        raise Refused(
            f"{endpoint}: plain TCP has no keys, so it stays on this machine: set stream to 'none', or to an endpoint "
            "here, in the table of this system in the configuration"
        ) from None


def beside(endpoint: str) -> list[str]:
    """A tcp endpoint, and those that a broker takes instead where others have its port."""
    host, _, port = endpoint.rpartition(":")
    return [f"{host}:{int(port) + STEP * k}" for k in range(PORTS)]
