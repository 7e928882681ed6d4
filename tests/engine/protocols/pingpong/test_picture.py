"""The broker's picture: what it says of workers is in ``test_broker``; here, of clients."""

from __future__ import annotations

from engine.core import Received
from engine.protocols.pingpong import picture
from engine.protocols.pingpong.broker import Broker
from engine.protocols.pingpong.options import Options


def test_those_clients_are_shown_that_have_most_waiting() -> None:
    broker = Broker(Options())
    for client in range(20):
        for number in range(client):
            frames = [b"c%d" % client, b"", number.to_bytes(8, "little"), b"job"]
            broker.handle(Received([frames], "frontend"), 1.0)
    shown = [term for term in picture.broker(broker, 2.0).terms if term[0].startswith("client")]
    assert len(shown) == picture.SHOWN_CLIENTS
    assert shown[0] == ("client c19", "19 tasks waiting, of 19, 57 bytes")
