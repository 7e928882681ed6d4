"""The native pump gives what the pure one gives, whatever it is fed; and it says why it can not run."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from random import Random

import pytest
import zmq

from engine.core import MAIN, Command, Frames, Send
from engine.core import Socket as Spec
from engine.drive.links import Links, ZSocket
from engine.drive.pump import hook, native
from engine.drive.pump.native import INTERFACE, Native, Unusable, load, use
from engine.drive.pump.pure import Pure
from engine.drive.sockets import make_context, open_socket
from engine.parts.limits import MAX_FRAMES
from tests.helpers.pumps import SOURCE, pump_of

FUZZED = 20_000  # messages
SANITIZED = Path(__file__).with_name("sanitized.py")
HANGS = 300.0  # seconds after which a child counts as hanging
STARTS = 5  # of a sanitized Python that has nothing to do, before one is trusted to do something


@pytest.fixture
def routers() -> Iterator[list[tuple[ZSocket, ZSocket]]]:
    """Two routers, each with a dealer of the same name."""
    context = make_context()
    pairs = []
    for endpoint in ("inproc://one", "inproc://other"):
        router = open_socket(context, Spec("router", bind=(endpoint,)))
        pairs.append((router, open_socket(context, Spec("dealer", connect=(endpoint,), routing_id=b"peer"))))
    yield pairs
    for pair in pairs:
        for socket in pair:
            socket.close(0)
    context.term()


def messages(random: Random, count: int) -> list[Frames]:
    """Of all lengths and sizes, most of them short."""

    def frame() -> bytes:
        return random.randbytes(random.choice((0, 1, 5, 29, 30, 33, 34, 100, random.randrange(9000))))

    return [
        [frame() for _ in range(random.choice((1, 2, 3, 7, random.randrange(1, 2 * MAX_FRAMES))))] for _ in range(count)
    ]


def test_both_pumps_give_the_same_lists(routers: list[tuple[ZSocket, ZSocket]]) -> None:
    fast, slow = pump_of("native"), Pure()
    random = Random("pump")
    done = 0
    (one, one_peer), (other, other_peer) = routers
    while done < FUZZED:
        some = messages(random, random.randrange(1, 100))
        done += len(some)
        commands: list[Command] = [Send(list(message)) for message in some]
        limit = random.randrange(1, 100)
        assert fast.send_run(one_peer, commands, 0, MAIN) == slow.send_run(other_peer, commands, 0, MAIN)
        got = [fast.receive(one, limit, "router"), slow.receive(other, limit, "router")]
        assert got[0] == got[1] and len(got[0]) == min(limit, len(some))
        back: list[Command] = [Send([random.choice((b"peer", b"nobody")), *message]) for message in some]
        at = 0
        while at < len(back):
            told = fast.send_run(one, back, at, MAIN)
            assert told == slow.send_run(other, back, at, MAIN)
            at = told[0]
        assert fast.receive(one_peer, 1000, "dealer") == slow.receive(other_peer, 1000, "dealer")
        assert fast.receive(one, 1000, "router") == slow.receive(other, 1000, "router")


class Moody:
    """A guard that refuses every third message that it is asked about."""

    def __init__(self) -> None:
        self.users: dict[bytes, bytes] = {}
        self.asked: list[tuple[bytes, bytes, int]] = []

    def judge(self, peer: bytes, user: bytes, fd: int) -> bool:
        self.asked.append((peer, user, fd))
        return len(self.asked) % 3 > 0


def test_both_pumps_leave_out_what_a_guard_refuses(routers: list[tuple[ZSocket, ZSocket]]) -> None:
    fast, slow = pump_of("native"), Pure()
    random = Random("guard")
    (one, one_peer), (other, other_peer) = routers
    guards = Moody(), Moody()
    for _ in range(100):
        some = messages(random, random.randrange(1, 30))
        for message in some:
            assert fast.send(one_peer, message) == slow.send(other_peer, message) == 0
        for guard in guards:
            guard.users = {b"peer": b""} if random.random() < 0.2 else {}
        guards[1].users = dict(guards[0].users)
        got: list[list[Frames]] = [[], []]
        limit = random.randrange(1, 30)
        while batch := fast.receive(one, limit, "router", Links(MAIN), guards[0]):
            got[0] += batch
        while batch := slow.receive(other, limit, "router", Links(MAIN), guards[1]):
            got[1] += batch
        assert got[0] == got[1] and guards[0].asked == guards[1].asked
    assert len(guards[0].asked) > 300 and set(guards[0].asked) == {(b"peer", b"", -1)}


def test_a_batch_of_large_messages_ends_early(
    routers: list[tuple[ZSocket, ZSocket]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else gets the GIL meanwhile."""
    monkeypatch.setattr(native, "BATCH", 1000)
    fast = pump_of("native")
    router, dealer = routers[0]
    for _ in range(5):
        assert fast.send(dealer, [bytes(400)]) == 0
    assert [len(fast.receive(router, 100, "router")) for _ in range(3)] == [3, 2, 0]


def test_nothing_of_a_message_is_sent_whose_last_frame_is_none(routers: list[tuple[ZSocket, ZSocket]]) -> None:
    fast = pump_of("native")
    router, dealer = routers[0]
    with pytest.raises(TypeError):
        fast.send(dealer, [b"begun", "text"])  # type: ignore[list-item]
    assert fast.send(dealer, [b"next"]) == 0
    assert fast.receive(router, 9, "router") == [[b"peer", b"next"]]


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        (0,),
        (0, 1, 2, "many"),
        ("socket", 1, 2, 3),
        (0, 1, 0, 9),
        (0, 1, 9999, 9),
        (0, 1, 2, 9, [], 0, print),
        (0, 1, 2, 9, {}, 0, print, [], print),
        (0, 1, 2, 9, {}, 0, print, {}),
    ],
)
def test_what_it_is_not_made_for_is_refused(arguments: tuple[object, ...]) -> None:
    fast = pump_of("native")
    assert isinstance(fast, Native)
    with pytest.raises((TypeError, ValueError)):
        fast._receive(*arguments)
    with pytest.raises((TypeError, ValueError)):
        fast._send(*arguments)
    with pytest.raises((TypeError, ValueError)):
        fast._send_run(*arguments)


# ---- where it can not run -------------------------------------------------------------------------------------------


def binary(interface: int = INTERFACE) -> types.SimpleNamespace:
    return types.SimpleNamespace(INTERFACE=interface, load=lambda *addresses: None)


def test_a_binary_of_another_version_is_not_used() -> None:
    with pytest.raises(Unusable, match="another version"):
        use(binary(INTERFACE + 1))


def test_a_libzmq_whose_messages_are_not_known_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zmq, "zmq_version_info", lambda: (5, 0, 0))
    with pytest.raises(Unusable, match=r"libzmq .* is not known"):
        use(binary())


def test_a_libzmq_that_pyzmq_hides_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "FUNCTIONS", ("zmq_not_there",))
    with pytest.raises(Unusable, match=r"does not show its libzmq: .*zmq_not_there"):
        use(binary())


@pytest.mark.parametrize(
    ("error", "said"), [(ModuleNotFoundError("x"), "not built"), (ImportError("wrong ELF class"), "wrong ELF class")]
)
def test_a_binary_that_is_not_there_or_does_not_load_is_told(
    error: ImportError, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(name: str) -> types.ModuleType:
        raise error

    monkeypatch.setattr(native, "import_module", fails)
    with pytest.raises(Unusable, match=said):
        load()


# ---- with the compiler's sanitizers ---------------------------------------------------------------------------------


def sanitized(source: Path, tmp_path: Path) -> tuple[list[str], dict[str, str]]:
    """A command that runs Python with a sanitized pump, and its environment; skips where that can not be."""
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("there is no gcc")
    made = tmp_path / hook.BINARY
    flags = ["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    library = run([compiler, "-print-file-name=libasan.so"]).stdout.strip()
    build = run([compiler, *hook.arguments(source, made), *flags])
    if "/" not in library or build.returncode:
        pytest.skip(f"gcc has no sanitizers here: {build.stderr[-300:]}")
    environment = {
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": "detect_leaks=0",  # Python leaks by itself, and under a tracer that part does not start
        "PYTHONPATH": str(Path(__file__).parents[4]),
        "PYTHONMALLOC": "malloc",  # else objects lie in arenas, whose bounds nobody checks
    }
    for _ in range(STARTS):
        start = run([sys.executable, "-c", "import zmq; zmq.Context().term(); print('begun')"], environment)
        if start.stdout != "begun\n" or start.returncode:
            pytest.skip(f"a sanitized Python does not start here: {start.stderr[-300:]}")
    return [sys.executable, str(SANITIZED), str(made)], environment


def run(command: list[str], environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run to the end; 124 and no output for one that hangs."""
    try:
        return subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=HANGS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 124, "", "it hangs")


def test_sanitizers_find_nothing(tmp_path: Path) -> None:
    command, environment = sanitized(SOURCE, tmp_path)
    done = run(command, environment)
    if not done.stdout.startswith("begun\n"):
        pytest.skip(f"a sanitized Python did not start this time: {done.stderr[-300:]}")
    assert (done.returncode, done.stdout) == (0, "begun\ndone\n"), done.stderr[-3000:]


def test_sanitizers_would_find_something(tmp_path: Path) -> None:
    text = SOURCE.read_text(encoding="utf-8")
    spoilt = tmp_path / "spoilt.c"
    spoilt.write_text(text.replace("frames[MOST_FRAMES + 1]", "frames[8]"), encoding="utf-8")
    command, environment = sanitized(spoilt, tmp_path)
    done = run(command, environment)
    if not done.stdout.startswith("begun\n"):
        pytest.skip(f"a sanitized Python did not start this time: {done.stderr[-300:]}")
    assert done.returncode and "done" not in done.stdout


def test_the_addresses_are_those_of_pyzmqs_own_libzmq() -> None:
    library = ctypes.CDLL(import_module("zmq.backend.cython._zmq").__file__)
    numbers = [ctypes.c_int() for _ in range(3)]
    library.zmq_version(*map(ctypes.byref, numbers))
    assert tuple(number.value for number in numbers) == zmq.zmq_version_info()
