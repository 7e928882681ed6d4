"""A core's socket is closed and opened anew, elsewhere or under another routing id.

Where that fails (no descriptors are left) the core goes on without it: what it sends is lost, as on a connection that
has ended, and the core asks again after a long enough silence. A pool of a thousand cores has one thread, and one
socket must not end it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import zmq

from engine.core import Reopen
from engine.core import Socket as Spec
from engine.drive.hosted import AnyPort, HostedCore


def reopen(
    hosted: HostedCore, command: Reopen, shut: Callable[[AnyPort], None], plug: Callable[[HostedCore, Spec], None]
) -> list[zmq.ZMQError]:
    """Close the socket that a core names with ``shut`` and open it with ``plug``, which raises zmq.ZMQError.

    Where that fails it goes back to the endpoints before: a peer may have named what is none. Returns what was refused.
    """
    port = hosted.ports.pop(command.socket, None)
    if port is not None:
        shut(port)
    before = hosted.without.pop(command.socket) if port is None else port.spec
    back = before if command.routing_id is None else replace(before, routing_id=command.routing_id)
    there = back if command.endpoint is None else replace(back, connect=(command.endpoint,))
    refused: list[zmq.ZMQError] = []
    for spec in dict.fromkeys((there, back)):
        try:
            plug(hosted, spec)
            return refused
        except zmq.ZMQError as error:
            refused.append(error)
    hosted.without[command.socket] = back
    return refused
