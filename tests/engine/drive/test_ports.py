"""The ports of a node, without its thread: what is watched, and what is shared where."""

from __future__ import annotations

import selectors
from collections.abc import Iterator
from dataclasses import replace

import pytest

from engine.core import Reopen, Seat, Share, Socket
from engine.drive.hosted import HostedCore, Port
from engine.drive.ports import Ports
from engine.drive.sharing.ride import Ride
from engine.drive.sockets import make_context
from tests.helpers.processes import free_endpoint
from tests.helpers.toys import Probe


class Rig:
    def __init__(self) -> None:
        self.context = make_context()
        self.selector = selectors.DefaultSelector()
        self.said: list[str] = []
        self.ports = Ports(self.context, self.selector, lambda act: None, self.said.append)
        self.spec = Socket("dealer", connect=(free_endpoint(),), shares=True)

    def plug(self, name: str, spec: Socket | None = None) -> HostedCore:
        spec = replace(spec or self.spec, routing_id=name.encode())
        hosted = HostedCore(name, Seat(Probe(), (spec,)), lambda *_: None)
        self.ports.plug(hosted, spec)
        return hosted

    def watched(self) -> set[object]:
        return {key.data for key in self.selector.get_map().values()}


@pytest.fixture
def rig() -> Iterator[Rig]:
    made = Rig()
    yield made
    assert not made.selector.get_map() and not made.ports.touched
    made.selector.close()
    made.context.term()


def test_a_socket_is_watched_until_it_is_closed(rig: Rig) -> None:
    hosted = rig.plug("one", Socket("router", bind=("inproc://one",)))
    port = hosted.ports["main"]
    assert rig.watched() == set(rig.ports.touched) == {port}
    rig.ports.shut(port)


def test_those_that_go_to_one_endpoint_over_tcp_share_if_they_want(rig: Rig) -> None:
    other = replace(rig.spec, connect=(free_endpoint(),))
    inner = replace(rig.spec, connect=("inproc://one",))
    all_hosted = [
        *(rig.plug("a"), rig.plug("b"), rig.plug("c", other), rig.plug("d", inner)),
        rig.plug("e", replace(rig.spec, shares=False)),
    ]
    assert [isinstance(hosted.ports["main"], Ride) for hosted in all_hosted] == [False, True, False, False, False]
    rig.ports.share(all_hosted[0], Share(True))
    first = all_hosted[0].ports["main"]
    assert isinstance(first, Ride)
    carriers = [port for port in rig.watched() if isinstance(port, Port) and b":carrier:" in port.spec.routing_id]
    assert len(carriers) == 1 and first.line is first, "its connection does not stand yet"
    rig.ports.reopen(all_hosted[1], Reopen(endpoint=all_hosted[2].ports["main"].spec.connect[0]))
    assert isinstance(all_hosted[1].ports["main"], Ride) and rig.said == []
    rig.ports.disband()
    for hosted in all_hosted:
        for port in hosted.ports.values():
            rig.ports.shut(port)


def test_a_router_takes_wrapped_messages_once_its_core_says_so(rig: Rig) -> None:
    port = rig.plug("one", Socket("router", bind=("inproc://one",))).ports["main"]
    assert isinstance(port, Port)
    before = port.riders
    rig.ports.share(port.hosted, Share(True))
    riders = port.riders
    assert before is None and riders is not None
    rig.ports.share(port.hosted, Share(True))
    assert port.riders is riders, "and keeps who rides"
    rig.ports.share(port.hosted, Share(True, "another"))
    rig.ports.shut(port)


def test_a_node_that_ends_opens_nothing_for_those_that_wait(rig: Rig) -> None:
    all_hosted = [rig.plug("a"), rig.plug("b")]
    rig.ports.disband()
    rig.ports.shut(all_hosted[0].ports["main"])
    assert not rig.selector.get_map()
    rig.ports.shut(all_hosted[1].ports["main"])
