"""The broker's frontend half: whose tasks they are, bounds of one client, and what is withdrawn."""

from __future__ import annotations

import pytest

from engine.core import Command, Frames, Note, Ordered, Received, Send, Unsent, Woken
from engine.parts import owners
from engine.parts.orders import Withdraw
from engine.protocols.pingpong.broker import Broker
from engine.protocols.pingpong.messages import PING, PONG, READY
from engine.protocols.pingpong.options import Options

T = 50.0
GONE = b"its client was silent"


def sent(commands: list[Command]) -> list[Frames]:
    assert all(isinstance(command, Send | Note) for command in commands)
    return [command.frames for command in commands if isinstance(command, Send)]


def ask(broker: Broker, client: bytes, number: int, job: bytes = b"job", now: float = T) -> list[Frames]:
    return hear(broker, [client, b"", number.to_bytes(8, "little"), job], now)


def hear(broker: Broker, frames: Frames, now: float, socket: str = "frontend") -> list[Frames]:
    out = sent(broker.handle(Received([frames], socket), now))
    broker.check()
    return out


def tell(client: bytes, number: int, status: bytes, text: bytes) -> Frames:
    return [client, b"", number.to_bytes(8, "little"), status, text]


def terms(broker: Broker, now: float = T) -> dict[str, str]:
    return dict(broker.snapshot(now).terms)


def failed(broker: Broker) -> dict[str, int]:
    ledger = broker.snapshot(T).ledger
    assert ledger.balanced
    return dict(ledger.failed)


def test_what_waits_of_a_client_that_is_gone_is_withdrawn_and_it_is_told() -> None:
    broker = Broker(Options())
    for number in (1, 2):
        assert ask(broker, b"gone", number) == []
    assert ask(broker, b"here", 3) == []
    assert terms(broker)["client gone"] == "2 tasks waiting, of 2, 6 bytes"
    for second in range(1, 6):
        assert hear(broker, [b"here", b"", PING], T + second) == [[b"here", b"", PONG]]
    assert broker.wake_at() <= T + 6
    assert sent(broker.handle(Woken(), T + 6)) == [
        tell(b"gone", 1, b"WITHDRAWN", GONE),
        tell(b"gone", 2, b"WITHDRAWN", GONE),
    ]
    broker.check()
    assert failed(broker) == {"withdrawn": 2}
    assert broker.snapshot(T + 6).backlog == 1 and "client gone" not in terms(broker, T + 6)


def test_what_a_worker_has_of_a_client_that_is_gone_is_done_but_not_given_again() -> None:
    broker = Broker(Options(task_deadline=20.0))
    for worker in (b"w1", b"w2"):
        hear(broker, [worker, b"", READY], T, "backend")
    assert ask(broker, b"gone", 1) == [[b"w1", b"", b"job"]]
    assert ask(broker, b"gone", 2) == [[b"w2", b"", b"job"]]
    assert sent(broker.handle(Woken(), T + 6)) == [[worker, b"", PONG] for worker in (b"w1", b"w2")]
    assert hear(broker, [b"w1", b"", b"done"], T + 7, "backend") == [tell(b"gone", 1, b"DONE", b"done")]
    assert hear(broker, [b"w2", b"", READY], T + 8, "backend") == [
        tell(b"gone", 2, b"WITHDRAWN", GONE),
        [b"w2", b"", PONG],
    ]
    assert failed(broker) == {"withdrawn": 1}


def test_what_never_left_for_a_worker_is_not_kept_for_a_client_that_is_gone() -> None:
    broker = Broker(Options(task_deadline=20.0))
    hear(broker, [b"w", b"", READY], T, "backend")
    assert ask(broker, b"gone", 1) == [[b"w", b"", b"job"]]
    broker.handle(Woken(), T + 6)
    out = broker.handle(Unsent([b"w", b"", b"job"], "unreachable", "backend"), T + 6)
    broker.check()
    assert sent(out) == [tell(b"gone", 1, b"WITHDRAWN", GONE)]


def test_a_client_that_is_heard_again_owns_what_is_left() -> None:
    broker = Broker(Options(task_deadline=20.0))
    hear(broker, [b"w", b"", READY], T, "backend")
    ask(broker, b"c", 1)
    broker.handle(Woken(), T + 6)
    assert ask(broker, b"c", 1, now=T + 7) == []  # asked again: it is with the worker
    assert hear(broker, [b"w", b"", READY], T + 8, "backend") == [[b"w", b"", PONG], [b"w", b"", b"job"]]


def test_an_operator_withdraws_what_waits_of_a_client() -> None:
    broker = Broker(Options())
    ask(broker, b"c1", 1)
    ask(broker, b"c2", 1)
    out = broker.handle(Ordered(Withdraw(b"c1")), T)
    broker.check()
    assert out == [
        Send(tell(b"c1", 1, b"WITHDRAWN", b"an operator said so"), "frontend"),
        Note("info", "1 task withdrawn from the backlog", b"c1"),
    ]
    assert sent(broker.handle(Ordered(Withdraw(b"nobody")), T)) == []
    assert broker.snapshot(T).backlog == 1


def test_one_client_leaves_room_for_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that asks for more than its share gets FULL; honest ones are taken."""
    monkeypatch.setattr(owners, "LEAST", 3)
    broker = Broker(Options(max_backlog=30))
    full = b"more than 3 tasks of one client may not wait"
    for number in range(3):
        assert ask(broker, b"greedy", number) == []
    for number in range(3, 9):
        assert ask(broker, b"greedy", number) == [tell(b"greedy", number, b"FULL", full)]
    for number in range(9):
        assert ask(broker, b"honest-%d" % number, number) == []
    assert broker.snapshot(T).backlog == 12
    for worker in (b"w1", b"w2"):
        hear(broker, [worker, b"", READY], T, "backend")
    assert ask(broker, b"greedy", 3) == []  # two of its three are with workers


def test_bytes_of_one_client_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owners, "BYTES", 10)
    broker = Broker(Options())
    full = b"the jobs of one client may not have more than 10 bytes"
    assert ask(broker, b"c", 1, b"x" * 8) == []
    assert ask(broker, b"c", 2, b"x" * 3) == [tell(b"c", 2, b"FULL", full)]
    assert ask(broker, b"d", 2, b"x" * 3) == []


@pytest.mark.parametrize("frames", [[b"", b"", PING], [b"x" * 256, b"", PING]])
def test_who_can_not_be_answered_is_refused_at_the_first_message(frames: Frames) -> None:
    """A raw peer may claim a routing id longer than any socket can have."""
    broker = Broker(Options())
    for socket in ("frontend", "backend"):
        assert hear(broker, frames, T, socket) == []
        assert hear(broker, [frames[0], b"", READY], T, socket) == []
    view = broker.snapshot(T)
    assert view.workers == () and {len(incident.peer) for incident in view.incidents} <= {0, 255}
    assert dict(view.counters)["violations"] == 4
