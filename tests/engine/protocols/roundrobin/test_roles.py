"""Who may say what at a broker whose peers have keys."""

from __future__ import annotations

import pytest

from engine.core import CLIENTS, WORKERS, Frames
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed
from engine.protocols.roundrobin.roles import said


@pytest.mark.parametrize(
    ("frames", "roles"),
    [
        (wire.ping(b"1", True), CLIENTS),
        (wire.stream(b"1", 9), CLIENTS),
        (wire.register(b"1", 3), WORKERS),
        (wire.deregister(), WORKERS),
        (wire.increment(b"1"), WORKERS),
        (wire.reply(b"client", b"1"), WORKERS),
        (wire.link_ping(b"1"), ()),
        (wire.link_pong(b"1"), ()),
        ([b"no message"] * 9, ()),
        ([packed.TASKS + b"x"], CLIENTS),
        ([packed.ANSWERS + b"x"], WORKERS),
        ([b"x"], ()),
    ],
)
def test_each_message_is_a_workers_a_clients_or_anybodys(frames: Frames, roles: tuple[str, ...]) -> None:
    assert said([b"peer", *frames]) == roles
