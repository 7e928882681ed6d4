"""A plain least-recently-used broker in the style of the ZeroMQ Guide, on the round-robin wire.

``python -m tests.bench.plain ENDPOINT``. What a careful reader of the Guide would write in an hour: one ROUTER, poll,
``recv_multipart``, ``send_multipart``, a list of free slots, a queue of tasks. It keeps no record of what is in flight,
so a worker that dies takes its tasks along, and it believes every peer.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable

import zmq

from tests.bench.peers import V, ZContext, say_ready

PING, PONG, RESPONSE = b"\x01", b"\x02", b"\x06"
INCREMENT, REGISTER, DEREGISTER = b"\x07", b"\x08", b"\x09"


def serve(context: ZContext, endpoint: str, ready: Callable[[], None]) -> None:
    """Serve until the context ends."""
    router = context.socket(zmq.ROUTER)
    router.set(zmq.SNDHWM, 0)
    router.set(zmq.RCVHWM, 0)
    router.set(zmq.ROUTING_ID, endpoint.encode())
    router.bind(endpoint)
    poller = zmq.Poller()
    poller.register(router, zmq.POLLIN)
    ready()
    free: list[bytes] = []
    tasks: deque[list[bytes]] = deque()
    try:
        while True:
            poller.poll()
            peer, *message = router.recv_multipart()
            if message[0]:  # a reply: to the address on top
                router.send_multipart([*message, peer])
            elif message[1] != V:
                continue
            elif message[2] == PING:
                router.send_multipart([peer, b"", V, PONG, message[3], b""])
            elif message[2] != PONG:
                command = message[4]
                if command == REGISTER:
                    free += [peer] * int(message[5])
                    router.send_multipart([peer, b"", V, RESPONSE, message[3], b""])
                elif command == INCREMENT:
                    free.append(peer)
                elif command == DEREGISTER:
                    free = [worker for worker in free if worker != peer]
                else:
                    tasks.append([*message, peer])
            while free and tasks:
                router.send_multipart([free.pop(0), *tasks.popleft()])
    except zmq.ContextTerminated:
        router.close(0)


if __name__ == "__main__":
    serve(zmq.Context(), sys.argv[1], say_ready)
