"""A broker whose peers may share connections, and strangers that wrap what is nearly right, without a socket."""

from __future__ import annotations

from random import Random

from engine.core import Disconnected, Event, Received
from engine.drive.links import Links
from engine.drive.sharing.envelope import wrap
from engine.drive.sharing.riders import Riders
from engine.protocols.roundrobin import messages as wire
from engine.protocols.roundrobin import packed
from engine.protocols.roundrobin.broker import Broker
from engine.protocols.roundrobin.options import Options
from tests.helpers.mutator import Mutator

N = 3000
PEERS = [b"honest", b"rider", b"other", b"carrier"]


def test_whatever_is_wrapped_a_broker_keeps_its_books_and_its_honest_worker() -> None:
    random = Random(11)
    broker, links = Broker(Options(packed=True)), Links("main")
    riders, now = Riders("main", links), 100.0
    inner = [
        wire.link_ping(wire.link_id(1, shares=True)),
        wire.register(b"r", 3),
        wire.deregister(),
        wire.increment(b"1"),
        [packed.tasks([[wire.TRACKEXEC, b"12345678", wire.APP_PING]])],
        [packed.answers([b"c", b"12345678", True])],
        [],
    ]
    valid = [outer for one in inner for outer, _ in wrap([[peer, *one] for peer in PEERS[1:]])]
    mutate = Mutator(valid, random)

    def hear(event: Event) -> None:
        for command in broker.handle(event, now):
            assert command is not None

    for number in range(N):
        now += 0.01
        frames = [random.choice(PEERS[1:]), *(mutate() if random.random() < 0.7 else random.choice(valid))]
        honest = [[b"honest", *one] for one in ([inner[0], inner[1]] if not number else [inner[0]])]
        riders.take([frames, *honest])
        riders.answers(lambda frames: 0)
        while riders.runs:
            told, run = riders.runs.popleft()
            for event in told:
                assert not isinstance(event, Disconnected) or event.peer != b"honest"
                hear(event)
            if run:
                hear(Received(run))
        if not number % 50:
            broker.check()
    broker.check()
    view = broker.snapshot(now)
    assert [worker.state for worker in view.workers if worker.key == b"honest"] != ["lost"]
    assert dict(view.counters)["violations"] > N / 10
