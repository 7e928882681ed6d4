"""Feeds a sanitized binary of the pump with messages of all kinds: ``python sanitized.py BINARY``."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from random import Random

import zmq

from engine.core import MAIN, Command, Note, Send
from engine.drive.links import Links
from engine.drive.pump.native import use
from engine.parts.limits import MAX_FRAMES
from tests.helpers.pumps import binary_at

ROUNDS = 300


class Keys:
    """A guard that takes what it likes."""

    def __init__(self, random: Random) -> None:
        self.users: dict[bytes, bytes] = {}
        self.refused = 0
        self._random = random

    def judge(self, peer: bytes, user: bytes, fd: int) -> bool:
        assert (peer, user, fd) == (b"peer", b"", -1)
        self.refused += (refused := self._random.random() < 0.5)
        return not refused


def main() -> None:
    """Says when it has begun, so that a sanitizer that does not start is told from one that finds something."""
    print("begun", flush=True)  # noqa: T201
    pump = use(binary_at(Path(sys.argv[1])))
    random = Random("sanitized")
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    router, dealer = context.socket(zmq.ROUTER), context.socket(zmq.DEALER)
    router.set(zmq.ROUTER_MANDATORY, 1)
    router.bind("inproc://sanitized")
    dealer.routing_id = b"peer"
    dealer.connect("inproc://sanitized")
    links = Links(MAIN)
    keys = Keys(random)
    for _ in range(ROUNDS):
        commands: list[Command] = [Send([random.randbytes(random.choice((0, 9, 33, 34, 9000)))] * n) for n in (1, 2, 9)]
        commands += [Send([b"x"] * (MAX_FRAMES + 50)), Note("info", "")]
        at, error = pump.send_run(dealer, commands, 0, MAIN)
        assert (at, error) == (4, 0)
        links.fresh = {1} if random.random() < 0.5 else set()
        assert len(pump.receive(router, 2, "router", links)) == 2
        assert len(pump.receive(router, 99, "router")) == 2
        assert pump.receive(router, 99, "router") == []
        keys.users = {b"peer": random.choice((b"", b"another", b"x" * 9000))} if random.random() < 0.7 else {}
        assert pump.send_run(dealer, commands, 0, MAIN) == (4, 0)
        assert len(pump.receive(router, 99, "router", links, keys)) == 4 - keys.refused
        keys.refused = 0
        assert pump.send(router, [b"peer", b"back"]) == 0
        assert pump.send(router, [b"nobody", b"back"]) == zmq.EHOSTUNREACH
        assert pump.receive(dealer, 9, "dealer") == [[b"back"]]
        for wrong in ([], [None], "text", [b"x", "y"]):
            with suppress(TypeError, IndexError):
                pump.send(dealer, wrong)  # type: ignore[arg-type]
                raise AssertionError(wrong)
    router.close(0)
    with suppress(zmq.ZMQError):
        pump.receive(router, 9, "router")
        raise AssertionError("closed")
    dealer.close(0)
    context.term()
    print("done", flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
