"""What is done to a house: each fault begins, lasts and ends, and afterwards everything has to come right by itself."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import zmq

from tests.chaos.house import BROKER, DURABLE, LabManager, Worker, interrupt
from tests.chaos.pair import FALLBACK, NAME, PRIMARY, PairManager
from tests.chaos.proxy import Link
from tests.helpers.processes import beside
from tests.helpers.session import said_by

Fault = Callable[[LabManager], AbstractContextManager[None]]
Who = Callable[[LabManager], list[Link]]

# ---- processes ------------------------------------------------------------------------------------------------------


def some(house: LabManager) -> Worker:
    """A worker that the seed chose."""
    return house.random.choice(house.workers)


@contextmanager
def worker_killed(house: LabManager) -> Iterator[None]:
    """``kill -9``; another one is started at the end."""
    victim = some(house)
    victim.process.kill()
    yield
    house.start_workers(victim)


@contextmanager
def workers_killed(house: LabManager) -> Iterator[None]:
    """All of them."""
    for victim in house.workers:
        victim.process.kill()
    yield
    house.start_workers(*house.workers)


@contextmanager
def worker_stopped(house: LabManager) -> Iterator[None]:
    """SIGSTOP, and SIGCONT at the end."""
    victim = some(house).process
    victim.signal(signal.SIGSTOP)
    yield
    victim.signal(signal.SIGCONT)


def killed(which: str) -> Fault:
    """``kill -9`` of a broker; another one is started in its place at the end."""

    @contextmanager
    def fault(house: LabManager) -> Iterator[None]:
        house.brokers[which].kill()
        yield
        house.start_broker(which)

    return fault


def stopped(which: str) -> Fault:
    """SIGSTOP of a broker, and SIGCONT at the end."""

    @contextmanager
    def fault(house: LabManager) -> Iterator[None]:
        house.brokers[which].signal(signal.SIGSTOP)
        yield
        house.brokers[which].signal(signal.SIGCONT)

    return fault


@contextmanager
def guest_killed(house: LabManager) -> Iterator[None]:
    """``kill -9`` of another client in the middle of a run."""
    guest = house.start_guest()
    yield
    guest.kill()


@contextmanager
def guest_stopped(house: LabManager) -> Iterator[None]:
    """SIGSTOP of another client in the middle of a run; it ends with its own books at the end."""
    guest = house.start_guest()
    guest.signal(signal.SIGSTOP)
    yield
    interrupt(guest)


# ---- names ----------------------------------------------------------------------------------------------------------


def stolen(whose: Callable[[LabManager], bytes], side: int = 0, joins: bool = False) -> Fault:
    """Somebody connects with the routing id of a peer that lives; who ``joins`` says what a worker says at first."""

    @contextmanager
    def fault(house: LabManager) -> Iterator[None]:
        opening = said_by(house.system, "worker-0", 0.5, time.time())[1] if joins else []
        with zmq.Context() as context, context.socket(zmq.DEALER) as thief:
            thief.linger = 0
            thief.routing_id = whose(house)
            thief.connect(beside(house.endpoint, side))
            for frames in opening:
                thief.send_multipart(frames)
            yield

    return fault


def a_worker(house: LabManager) -> bytes:
    """The routing id of one of those that are joined."""
    return house.random.choice(house.keys())


def the_client(house: LabManager) -> bytes:
    """The routing id of the client that carries the load."""
    return house.client._client_id


# ---- lines ----------------------------------------------------------------------------------------------------------


def one_worker(house: LabManager) -> list[Link]:
    """The line of a worker that the seed chose."""
    return [some(house).link]


def the_clients(house: LabManager) -> list[Link]:
    """The line of the client that carries the load."""
    return [house.client_link]


def everybody(house: LabManager) -> list[Link]:
    """All lines at once."""
    return house.links


def to_a_broker(which: str) -> Who:
    """The lines of everybody to one broker of a pair, the other broker's too."""

    def links(house: LabManager) -> list[Link]:
        assert isinstance(house, PairManager)
        return [house.lines[which], house.between]

    return links


def between(house: LabManager) -> list[Link]:
    """The line between the brokers of a pair."""
    assert isinstance(house, PairManager)
    return [house.between]


def delayed(who: Who) -> Fault:
    """Everything comes half a heartbeat late."""

    @contextmanager
    def fault(house: LabManager) -> Iterator[None]:
        links = who(house)
        for link in links:
            link.change(lag=house.heartbeat / 2)
        yield
        for link in links:
            link.change()

    return fault


def frozen(who: Who) -> Fault:
    """Nothing is carried and nothing closed; it comes late, but it comes."""

    @contextmanager
    def fault(house: LabManager) -> Iterator[None]:
        links = who(house)
        for link in links:
            link.change("frozen")
        yield
        for link in links:
            link.change()

    return fault


def half_open(who: Who) -> Fault:
    """Nothing is carried any more and nothing closed, also afterwards; only new connections are carried then."""

    @contextmanager
    def fault(house: LabManager) -> Iterator[None]:
        links = who(house)
        for link in links:
            link.change("half-open")
        yield
        for link in links:
            link.change()

    return fault


def dropped(who: Who) -> Fault:
    """Connections are closed with what was under way, and new ones refused."""

    @contextmanager
    def fault(house: LabManager) -> Iterator[None]:
        links = who(house)
        for link in links:
            link.change("shut")
            link.close(reset=False)
        yield
        for link in links:
            link.change()

    return fault


def reset(who: Who) -> Fault:
    """Connections are reset with what was under way, at the beginning and once more at the end."""

    @contextmanager
    def fault(house: LabManager) -> Iterator[None]:
        links = who(house)
        for link in links:
            link.close(reset=True)
        yield
        for link in links:
            link.close(reset=True)

    return fault


def corrupted(who: Who) -> Fault:
    """One bit of every third piece is flipped; such a line is cut at the end, as no checksum tells what came wrong."""

    @contextmanager
    def fault(house: LabManager) -> Iterator[None]:
        links = who(house)
        for link in links:
            link.change(noise=0.3)
        yield
        for link in links:
            link.change()
            link.close(reset=True)

    return fault


def lines(whose: Mapping[str, Who]) -> dict[str, Fault]:
    """Everything that is done to lines, to each of these."""
    done = {
        "delayed": delayed,
        "frozen": frozen,
        "half-open": half_open,
        "dropped": dropped,
        "reset": reset,
        "corrupted": corrupted,
    }
    return {f"{who} {what}": fault(links) for what, fault in done.items() for who, links in whose.items()}


PEERS: dict[str, Fault] = {
    "worker killed": worker_killed,
    "all workers killed": workers_killed,
    "worker stopped": worker_stopped,
    "client killed": guest_killed,
    "client stopped": guest_stopped,
}
ONE: dict[str, Fault] = {
    **PEERS,
    "broker killed": killed(BROKER),
    "broker stopped": stopped(BROKER),
    **lines({"worker's line": one_worker, "client's line": the_clients, "all lines": everybody}),
    "worker's id taken": stolen(a_worker),
    "worker's id taken by a worker": stolen(a_worker, joins=True),
}
TWO: dict[str, Fault] = {
    **PEERS,
    **{f"{which} killed": killed(which) for which in (PRIMARY, FALLBACK)},
    **{f"{which} stopped": stopped(which) for which in (PRIMARY, FALLBACK)},
    **lines({"primary's line": to_a_broker(PRIMARY), "fallback's line": to_a_broker(FALLBACK), "pair's line": between}),
}


def faults_of(name: str) -> dict[str, Fault]:
    """Those of one system. Only in round robin clients and workers come in by the same socket."""
    if name == NAME:
        return TWO
    alike = name in ("roundrobin", DURABLE)
    more = {"client's id taken by a worker": stolen(the_client, joins=True)} if alike else {}
    return {**ONE, "client's id taken": stolen(the_client, 0 if alike else 100), **more}
