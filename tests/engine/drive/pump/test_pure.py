"""What every pump does: whole messages, each peer's own, whatever their length; refusals and errors told apart."""

from __future__ import annotations

import errno
import gc
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from socket import create_connection

import pytest
import zmq

from engine.core import MAIN, Command, Connected, Frames, Note, Send
from engine.core import Socket as Spec
from engine.drive.links import Links, ZSocket
from engine.drive.pump.pure import Pump
from engine.drive.security import keys
from engine.drive.security.curve import Curve
from engine.drive.sockets import make_context, open_socket
from engine.parts.limits import MAX_FRAMES
from tests.helpers.processes import free_endpoint, until
from tests.helpers.pumps import pump_of

HERE = "inproc://pumps"  # within a process: what was sent is there

Open = Callable[..., tuple[ZSocket, list[ZSocket]]]


@pytest.fixture(params=["pure", "native"])
def pump(request: pytest.FixtureRequest) -> Pump:
    """Each of them."""
    return pump_of(request.param)


@pytest.fixture
def open_one() -> Iterator[Callable[[Spec], ZSocket]]:
    """Opens sockets in one context."""
    context, sockets = make_context(), list[ZSocket]()

    def opened(spec: Spec) -> ZSocket:
        sockets.append(open_socket(context, spec))
        return sockets[-1]

    yield opened
    for socket in sockets:
        socket.close(0)
    context.term()


@pytest.fixture
def pair(open_one: Callable[[Spec], ZSocket]) -> Open:
    """Opens a router and a dealer for each name."""

    def opened(*names: bytes, endpoint: str = HERE) -> tuple[ZSocket, list[ZSocket]]:
        router = open_one(Spec("router", bind=(endpoint,)))
        return router, [open_one(Spec("dealer", connect=(endpoint,), routing_id=name)) for name in names]

    return opened


def awaited(pump: Pump, socket: ZSocket, kind: str, links: Links | None = None) -> list[Frames]:
    """What comes next."""
    got: list[Frames] = []

    def come() -> bool:
        got.extend(pump.receive(socket, 9, kind, links))
        return bool(got)

    until(come, "a message")
    return got


# ---- receiving ------------------------------------------------------------------------------------------------------


def test_a_router_tells_short_messages_of_several_peers_apart(pump: Pump, pair: Open) -> None:
    router, (a, b) = pair(b"a", b"b")
    messages: list[Frames] = [[b""], [b"one"], [b"", b"two", b""], [b"", b"", b"", b"", b"", b"", b"seven"]]
    for message in messages:
        assert pump.send(a, message) == pump.send(b, message) == 0
    got = pump.receive(router, 100, "router")
    assert [frames[1:] for frames in got if frames[0] == b"a"] == messages
    assert [frames[1:] for frames in got if frames[0] == b"b"] == messages
    assert len(got) == 8 and pump.receive(router, 100, "router") == []


def test_a_dealer_takes_messages_of_one_frame(pump: Pump, pair: Open) -> None:
    router, (a,) = pair(b"a")
    for message in ([b"one"], [b""], [b"", b"two"]):
        assert pump.send(router, [b"a", *message]) == 0
    assert pump.receive(a, 100, "dealer") == [[b"one"], [b""], [b"", b"two"]]
    assert pump.receive(a, 100, "dealer") == []


@pytest.mark.parametrize("kind", ["router", "dealer"])
def test_no_more_than_the_limit_is_taken_and_the_rest_stays(pump: Pump, pair: Open, kind: str) -> None:
    router, (a,) = pair(b"a")
    sender, receiver, front = (a, router, []) if kind == "router" else (router, a, [b"a"])
    for number in range(5):
        assert pump.send(sender, [*front, b"%d" % number]) == 0
    got = [pump.receive(receiver, 2, kind) for _ in range(4)]
    assert [[frames[-1] for frames in batch] for batch in got] == [[b"0", b"1"], [b"2", b"3"], [b"4"], []]


@pytest.mark.parametrize("frames", [MAX_FRAMES, MAX_FRAMES + 1, MAX_FRAMES + 400])
def test_a_message_that_is_too_long_is_cut_and_swallows_nothing(pump: Pump, pair: Open, frames: int) -> None:
    router, (a,) = pair(b"a")
    assert pump.send(a, [b"x"] * (frames - 1)) == pump.send(a, [b"next"]) == 0
    long, after = pump.receive(router, 100, "router")
    assert long == [b"a", *[b"x"] * (min(frames, MAX_FRAMES + 1) - 1)] and after == [b"a", b"next"]


def test_frames_of_every_size_come_as_they_were_sent(pump: Pump, pair: Open) -> None:
    """libzmq keeps what is small in the message itself, and the rest elsewhere."""
    router, (a,) = pair(b"a")
    for size in (0, 1, 32, 33, 34, 8192, 8193, 2_000_000):
        message = [bytes(size), b"\0" * size, b"\xff" * size]
        assert pump.send(a, message) == 0
        assert pump.receive(router, 9, "router") == [[b"a", *message]]


def test_a_stream_gives_the_peer_and_what_it_said(pump: Pump, open_one: Callable[[Spec], ZSocket]) -> None:
    endpoint = free_endpoint()
    stream = open_one(Spec("stream", bind=(endpoint,)))
    with create_connection(("127.0.0.1", int(endpoint.rpartition(":")[2]))) as peer:
        ((name, nothing),) = awaited(pump, stream, "stream")
        assert name and nothing == b""
        peer.sendall(b"hello")
        assert awaited(pump, stream, "stream") == [[name, b"hello"]]
        assert pump.send(stream, [name, b"and back"]) == 0
        assert peer.recv(100) == b"and back"
    assert awaited(pump, stream, "stream") == [[name, b""]]


def test_who_is_new_is_looked_at_and_who_is_known_only_while_somebody_is_fresh(
    pump: Pump, pair: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[tuple[bytes, int]] = []

    class Seen(Links):
        def look(self, peer: bytes, fd: int) -> bool:
            looked.append((peer, fd))
            return super().look(peer, fd)

    endpoint = free_endpoint()
    router, (a, b) = pair(b"a", b"b", endpoint=endpoint)
    links = Seen(MAIN)

    def hear(peer: ZSocket, *frames: bytes) -> None:
        peer.send_multipart(frames)
        assert [message[1:] for message in awaited(pump, router, "router", links)] == [list(frames)]

    hear(a, b"who am I?")
    ((peer, fd),) = looked
    assert peer == b"a" and fd > 2 and not links.known  # nobody has told of that connection
    links.hear(zmq.EVENT_ACCEPTED, fd)
    hear(a, b"", b"here")
    assert looked == [(b"a", fd)] * 2 and links.told == [Connected(peer=b"a")] and not links.fresh
    hear(a, b"once more")
    hear(b, b"who am I?")
    assert looked[2:] == [(b"b", looked[-1][1])] and looked[-1][1] not in (fd, -1)
    links.hear(zmq.EVENT_ACCEPTED, 999_999)
    hear(a, b"known, but somebody is fresh")
    assert looked[3:] == [(b"a", fd)]


def test_within_a_batch_nobody_is_looked_at_once_nobody_is_fresh(pump: Pump, pair: Open) -> None:
    router, (a,) = pair(b"a")
    looked: list[int] = []

    class Seen(Links):
        def look(self, peer: bytes, fd: int) -> bool:
            looked.append(fd)
            self.known[peer] = fd
            return len(looked) < 3

    for _ in range(6):
        assert pump.send(a, [b"x"]) == 0
    links = Seen(MAIN)
    links.fresh.add(1)
    assert len(pump.receive(router, 9, "router", links)) == 6
    assert looked == [-1, -1, -1]  # inproc has no descriptors


def test_what_a_look_raises_is_raised_and_the_next_message_begins_where_it_should(pump: Pump, pair: Open) -> None:
    class Broken(Links):
        def look(self, peer: bytes, fd: int) -> bool:
            raise ZeroDivisionError

    router, (a,) = pair(b"a")
    assert pump.send(a, [b"one"]) == 0
    with pytest.raises(ZeroDivisionError):
        pump.receive(router, 9, "router", Broken(MAIN))
    assert pump.send(a, [b"three"]) == 0
    assert pump.receive(router, 9, "router") == [[b"a", b"three"]]


class Judged:
    """A guard that takes these keys, and remembers who asked."""

    def __init__(self, *good: bytes) -> None:
        self.users: dict[bytes, bytes] = {}
        self.asked: list[tuple[bytes, bytes]] = []
        self._good = good

    def judge(self, peer: bytes, user: bytes, fd: int) -> bool:
        assert fd > 2, "the descriptor of its connection"
        self.asked.append((peer, user))
        if user in self._good:
            self.users[peer] = user
        return user in self._good


def test_each_message_tells_the_key_of_its_connection(pump: Pump, tmp_path: Path) -> None:
    """A key that is known is not asked about again; what is refused is left out, whole."""
    made = {name: keys.make(tmp_path, name, "worker") for name in ("depot", "w1", "w2")}
    for name in ("w1", "w2"):
        keys.authorize(tmp_path, made[name]._replace(secret=""))
    users = {name: key.public.encode() for name, key in made.items()}
    endpoint, context = free_endpoint(), make_context(curve=Curve(tmp_path, "depot"))
    with open_socket(context, Spec("router", bind=(endpoint,)), curve=context.curve) as router:
        peers = [
            open_socket(context, Spec("dealer", connect=(endpoint,), routing_id=name.encode()), curve=curve)
            for name in ("w1", "w2")
            for curve in [Curve(tmp_path, name, "depot")]
        ]
        guard, links = Judged(users["w1"]), Links(MAIN)
        got: list[Frames] = []

        def heard() -> int:
            got.extend(pump.receive(router, 9, "router", links, guard))
            return len(guard.asked) >= 2 and len(got)

        peers[1].send_multipart([b"not", b"for", b"us"])
        until(lambda: not heard() and len(guard.asked) == 1, "the first")
        peers[0].send_multipart([b"one", b"", b"two"])
        until(heard, "the second")
        assert guard.asked == [(b"w2", users["w2"]), (b"w1", users["w1"])] and got == [[b"w1", b"one", b"", b"two"]]
        peers[0].send(b"three")
        until(lambda: heard() == 2, "what is known")
        assert len(guard.asked) == 2 and got[1:] == [[b"w1", b"three"]]
        for peer in peers:
            peer.close(0)
    context.term()


def test_what_a_guard_raises_is_raised_and_the_next_message_begins_where_it_should(pump: Pump, pair: Open) -> None:
    class Broken(Judged):
        def judge(self, peer: bytes, user: bytes, fd: int) -> bool:
            raise ZeroDivisionError

    router, (a,) = pair(b"a")
    assert pump.send(a, [b"one", b"two"]) == pump.send(a, [b"three"]) == 0
    with pytest.raises(ZeroDivisionError):
        pump.receive(router, 9, "router", Links(MAIN), Broken())
    assert pump.receive(router, 9, "router") == [[b"a", b"three"]]


# ---- sending --------------------------------------------------------------------------------------------------------


def test_a_router_refuses_a_peer_that_is_not_there(pump: Pump, pair: Open) -> None:
    router, _ = pair(b"a")
    assert pump.send(router, [b"nobody", b"x"]) == zmq.EHOSTUNREACH


def test_a_full_queue_refuses_the_whole_message(pump: Pump, open_one: Callable[[Spec], ZSocket]) -> None:
    dealer = open_one(Spec("dealer", connect=(free_endpoint(),)))  # nobody is there: IMMEDIATE
    assert pump.send(dealer, [b"a", b"b"]) == errno.EAGAIN


def test_a_run_ends_at_another_socket_and_at_another_command(pump: Pump, pair: Open) -> None:
    router, (a,) = pair(b"a")
    name = "".join(["ma", "in"])  # equal, and not the same object
    commands: list[Command] = [
        Send([b"a", b"0"]),
        Send([b"a", b"1"], name),
        Send([b"a", b"2"], "other"),
        Note("info", ""),
    ]
    assert pump.send_run(router, commands, 0, MAIN) == (2, 0)
    assert pump.send_run(router, commands, 2, MAIN) == (2, 0)
    assert pump.send_run(router, commands, 3, MAIN) == (3, 0)
    assert pump.send_run(router, commands, 4, MAIN) == (4, 0)
    assert pump.send_run(router, commands, 1, MAIN) == (2, 0)
    assert pump.receive(a, 9, "dealer") == [[b"0"], [b"1"], [b"1"]]


def test_a_run_stops_behind_what_was_refused(pump: Pump, pair: Open) -> None:
    router, (a,) = pair(b"a")
    commands: list[Command] = [Send([name, b"x"]) for name in (b"a", b"nobody", b"a")]
    assert pump.send_run(router, commands, 0, MAIN) == (2, errno.EHOSTUNREACH)
    assert pump.send_run(router, commands, 2, MAIN) == (3, 0)
    assert pump.receive(a, 9, "dealer") == [[b"x"], [b"x"]]


@pytest.mark.parametrize(("frames", "error"), [([], IndexError), (["text"], TypeError), ([None], TypeError)])
def test_what_is_no_message_is_an_error(pump: Pump, pair: Open, frames: Frames, error: type[Exception]) -> None:
    router, (a,) = pair(b"a")
    with pytest.raises(error):
        pump.send(a, frames)
    with pytest.raises(error):
        pump.send_run(a, [Send(frames)], 0, MAIN)
    assert pump.send(a, [b"fine"]) == 0
    assert pump.receive(router, 9, "router") == [[b"a", b"fine"]]


# ---- both -----------------------------------------------------------------------------------------------------------


def test_a_closed_socket_is_an_error(pump: Pump, pair: Open) -> None:
    _, (a,) = pair(b"a")
    a.close(0)
    for act in (
        lambda: pump.receive(a, 9, "dealer"),
        lambda: pump.send(a, [b"x"]),
        lambda: pump.send_run(a, [Send([b"x"])], 0, MAIN),
    ):
        with pytest.raises(zmq.ZMQError) as raised:
            act()
        assert raised.value.errno == zmq.ENOTSOCK


def test_a_context_that_ends_is_an_error_of_its_own(pump: Pump) -> None:
    context: zmq.Context[ZSocket] = zmq.Context()
    socket = context.socket(zmq.ROUTER)
    socket.bind(HERE)
    pump.receive(socket, 9, "router")
    ending = threading.Thread(target=context.term)
    ending.start()
    raised: list[zmq.ContextTerminated] = []

    def ended() -> bool:
        try:
            pump.receive(socket, 9, "router")
        except zmq.ContextTerminated as error:
            raised.append(error)
        return bool(raised)

    until(ended, "the end of the context")
    with pytest.raises(zmq.ContextTerminated):
        pump.send(socket, [b"a", b"b"])
    assert raised[0].errno == zmq.ETERM
    socket.close(0)
    ending.join()


def test_nobody_keeps_what_was_sent_or_received(pump: Pump, pair: Open) -> None:
    router, (a,) = pair(b"a")
    frame = bytes(100)
    frames = [b"a", frame]
    commands: list[Command] = [Send(frames), Send([b"nobody", frame])]
    gc.collect()  # else what tests before left is collected in between, and had some of these names
    before = [sys.getrefcount(thing) for thing in (frame, frames, commands, commands[0], MAIN, Send)]
    for _ in range(10):
        pump.send(router, frames)
        pump.send_run(router, commands, 0, MAIN)
    got, own = pump.receive(a, 100, "dealer"), [[bytes(bytearray(100))]]
    assert [sys.getrefcount(thing) for thing in (frame, frames, commands, commands[0], MAIN, Send)] == before
    assert len(got) == 20 and sys.getrefcount(got[0]) == sys.getrefcount(own[0])
    assert sys.getrefcount(got[0][0]) == sys.getrefcount(own[0][0])
