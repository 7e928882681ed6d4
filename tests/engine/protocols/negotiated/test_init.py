from __future__ import annotations

import pytest

from engine.core import Seat, Socket
from engine.protocols.negotiated import SYSTEM, Options, backup, primary
from engine.protocols.negotiated.config import Address
from tests.helpers.negotiated import FALLBACK, HERE

FRONTENDS = ("tcp://127.0.0.1:6817", "inproc://negotiated-frontend")
BIND = (HERE, "inproc://negotiated")
PAIR = Options(fallback=FALLBACK)


def group(seat: Seat) -> list[str]:
    brokers: tuple[Address, ...] = seat.core.service.config.brokers  # type: ignore[attr-defined]
    return [broker.workers for broker in brokers]


def test_a_single_broker_has_two_sockets_and_one_that_only_its_process_reaches() -> None:
    seat = SYSTEM.broker(Options(group="tcp://127.0.0.1:9"), BIND)
    assert seat.sockets == (
        Socket("router", bind=BIND, roles=("worker",)),
        Socket("router", bind=FRONTENDS, name="frontend", roles=("client", "operator")),
        Socket("router", bind=("inproc://negotiated-control",), name="control"),
    )
    assert len(SYSTEM.broker(Options(), (HERE,)).sockets) == 2, "over tcp nobody gives orders"
    assert group(seat) == [*BIND, "tcp://127.0.0.1:9"]


def test_a_pair_has_a_link_and_one_configuration() -> None:
    first, second = primary(PAIR, (HERE,)), backup(PAIR, (FALLBACK,))
    assert first.sockets[2] == Socket("router", bind=("tcp://127.0.0.1:6917",), name="peer", roles=("broker",))
    peer = Socket("dealer", connect=("tcp://127.0.0.1:6917",), routing_id=b"fallback", name="peer")
    assert second.sockets[2] == peer
    assert group(first) == group(second) == [HERE, FALLBACK]
    assert first.core.service.config.hash == second.core.service.config.hash  # type: ignore[attr-defined]


def test_inproc_pairs_and_named_endpoints() -> None:
    options = Options(fallback="inproc://b", primary="inproc://a")
    assert primary(options, ("inproc://a",)).sockets[2].bind == ("inproc://a-peer",)
    assert backup(options, ("inproc://b",)).sockets[2].connect == ("inproc://a-peer",)
    named = Options(fallback=FALLBACK, peer="tcp://127.0.0.1:1", frontend="tcp://127.0.0.1:2")
    assert primary(named, (HERE,)).sockets[1].bind == ("tcp://127.0.0.1:2",)
    assert primary(named, (HERE,)).sockets[2].bind == backup(named, (FALLBACK,)).sockets[2].connect
    assert SYSTEM.client(named, HERE, 1).sockets[0].connect == ("tcp://127.0.0.1:2",)


@pytest.mark.parametrize(("bind", "role"), [((HERE,), "primary"), ((FALLBACK, "inproc://x"), "backup")])
def test_one_file_of_settings_serves_both_brokers(bind: tuple[str, ...], role: str) -> None:
    assert SYSTEM.broker(PAIR, bind).core.pair.role == role  # type: ignore[attr-defined]
    assert SYSTEM.broker(Options(), bind).core.pair is None  # type: ignore[attr-defined]


def test_a_broker_on_a_wildcard_tells_nobody_an_endpoint() -> None:
    seat = SYSTEM.broker(Options(), ("tcp://*:6717",))
    assert group(seat) == [] and seat.core.service.here == Address("", "")  # type: ignore[attr-defined]


def test_peers_have_routing_ids_of_their_own() -> None:
    worker, client = SYSTEM.worker(Options(), HERE, 5, 10), SYSTEM.client(Options(), HERE, 5)
    assert worker.sockets == (Socket("dealer", connect=(HERE,), routing_id=b"worker-5"),)
    assert client.sockets == (Socket("dealer", connect=("tcp://127.0.0.1:6817",), routing_id=b"client-5"),)
