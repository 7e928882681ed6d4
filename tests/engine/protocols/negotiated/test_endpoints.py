from __future__ import annotations

import pytest

from engine.protocols.negotiated.config import Address
from engine.protocols.negotiated.endpoints import addresses, clients_of, configured, listed, on_this_machine, peer_of
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


def test_who_is_configured_for_workers_and_for_clients() -> None:
    options = Options(primary="tcp://a:1", fallback="tcp://b:1, tcp://*:2", group="ipc://c")
    assert configured(options, clients=False) == {"tcp://a:1", "tcp://b:1", "ipc://c"}
    assert configured(options, clients=True) == {"tcp://a:101", "tcp://b:101", "ipc://c-frontend"}
    assert configured(Options(), clients=True) == frozenset()


@pytest.mark.parametrize(
    ("endpoint", "here"),
    [
        ("tcp://127.0.0.1:6717", True),
        ("tcp://127.9.9.9:1", True),
        ("tcp://localhost:1", True),
        ("tcp://[::1]:1", True),
        ("inproc://x", True),
        ("tcp://127.0.0.1.example.org:1", False),
        ("tcp://localhost.example.org:1", False),
        ("tcp://10.0.0.1:1", False),
        ("tcp://0.0.0.0:1", False),
        ("tcp://127.0.0.1", False),
        ("tcp://127.0.0.1:1@x", False),
        ("ipc:///run/x", False),
        ("", False),
    ],
)
def test_what_is_on_this_machine(endpoint: str, here: bool) -> None:
    assert on_this_machine(endpoint) is here
