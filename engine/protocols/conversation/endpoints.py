"""Where the broker's other two sockets are, told from the endpoint of its first. Ours: the seed names no transport.

``tcp://HOST:P`` gives the frontend at P + 100 and plain TCP at P + 200, so that the defaults of no two systems meet; a
wildcard port gives wildcards. ``inproc`` and ``ipc`` give a frontend of the same name with ``-frontend`` behind it, and
no plain TCP. Only that of ``inproc`` takes orders; at the others, which anybody may reach, only ping and data are
served.
"""

from __future__ import annotations

PLAIN = "tcp+plain://"
"""What the endpoint of a server begins with to which a worker speaks plain TCP."""

DEFAULT = "tcp://127.0.0.1:6716"
STREAM_OFFSET = 200
FRONTEND_OFFSET = 100


def frontend(endpoint: str) -> str:
    """The endpoint for clients beside a broker's. ValueError where a tcp port is missing or has no such neighbour."""
    return _beside(endpoint, FRONTEND_OFFSET) if endpoint.startswith("tcp://") else f"{endpoint}-frontend"


def is_inner(endpoint: str) -> bool:
    """Whether an endpoint can be reached from within the broker's process alone."""
    return endpoint.startswith("inproc://")


def stream(endpoint: str) -> str | None:
    """The plain TCP endpoint beside a broker's own; None where that is no tcp. ValueError as for ``frontend``."""
    return _beside(endpoint, STREAM_OFFSET) if endpoint.startswith("tcp://") else None


def _beside(endpoint: str, offset: int) -> str:
    host, _, port = endpoint.rpartition(":")
    if port in ("*", "0"):
        return f"{host}:*"
    if not port.isdecimal() or not 0 < int(port) + offset <= 65535:
        raise ValueError(f"{endpoint}: no port {offset} above it")
    return f"{host}:{int(port) + offset}"
