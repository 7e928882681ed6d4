from __future__ import annotations

import pytest

from engine.protocols.negotiated.config import Address
from engine.protocols.negotiated.endpoints import addresses, clients_of, listed, peer_of
from engine.protocols.negotiated.options import Options


@pytest.mark.parametrize(
    ("endpoint", "clients", "peer"),
    [
        ("tcp://127.0.0.1:6717", "tcp://127.0.0.1:6817", "tcp://127.0.0.1:6917"),
        ("tcp://[::1]:1", "tcp://[::1]:101", "tcp://[::1]:201"),
        ("inproc://x", "inproc://x-frontend", "inproc://x-peer"),
        ("ipc://run/x", "ipc://run/x-frontend", "ipc://run/x-peer"),
    ],
)
def test_frontend_and_peer_beside_the_workers_endpoint(endpoint: str, clients: str, peer: str) -> None:
    assert (clients_of(endpoint), peer_of(endpoint)) == (clients, peer)


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1", "tcp://127.0.0.1:*", "tcp://127.0.0.1:65500", "tcp://h:0"])
def test_a_port_that_can_not_be_counted_from_says_what_to_set(endpoint: str) -> None:
    with pytest.raises(ValueError, match=r"negotiated\.frontend"):
        clients_of(endpoint)


def test_lists_and_addresses() -> None:
    assert listed(" tcp://a:1 ,,inproc://b") == ("tcp://a:1", "inproc://b")
    options = Options(frontend="tcp://a:9")
    assert addresses(("tcp://a:1", "tcp://*:2", "tcp://0.0.0.0:3"), options, own=True) == (
        Address("tcp://a:1", "tcp://a:9"),
    )
    assert addresses(("inproc://b",), options) == (Address("inproc://b", "inproc://b-frontend"),)
