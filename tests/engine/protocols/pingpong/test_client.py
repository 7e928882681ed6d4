"""The client's core: its link, its runs, and every answer that can come."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import Command, Finished, Frames, Note, Ordered, Paused, Received, Reopen, Send, Started, Unsent, Woken
from engine.parts.bulk import BulkSpec, BulkView
from engine.parts.limits import MAX_FRAME
from engine.parts.orders import Leave, StopRun
from engine.protocols.pingpong.client import Client
from engine.protocols.pingpong.messages import PING, PONG
from engine.protocols.pingpong.options import Options

T = 50.0
ASK = [Send([b"", PING])]


def ident(number: int) -> bytes:
    return number.to_bytes(8, "little")


def answer(number: int, status: bytes = b"DONE", result: bytes = b"ping") -> Frames:
    return [b"", ident(number), status, result]


def linked() -> Client:
    client = Client(Options())
    assert client.handle(Started(), T) == ASK
    assert client.handle(Received([[b"", PONG]]), T) == [Note("good", "the broker answers")]
    return client


def order(client: Client, spec: BulkSpec, now: float = T) -> list[Frames]:
    commands = client.handle(Ordered(spec), now)
    assert all(isinstance(command, Send) for command in commands)
    return [command.frames for command in commands if isinstance(command, Send)]


def run_of(client: Client) -> BulkView:
    client.check()
    run = client.snapshot(T + 100).run
    assert run is not None
    return run


def test_the_link_is_tried_once_a_second_while_it_stands() -> None:
    client = linked()
    assert client.snapshot(T).linked
    assert client.wake_at() == T + 1
    assert client.handle(Woken(), T + 0.5) == []
    assert client.handle(Woken(), T + 1) == ASK


def test_a_silent_broker_is_asked_once_in_three_seconds() -> None:
    client = linked()
    out = client.handle(Woken(), T + 3)
    assert out == [Note("warn", "the broker is silent for 3 s"), Reopen(), *ASK]
    assert not client.snapshot(T + 3).linked
    assert client.wake_at() == T + 6
    assert client.handle(Woken(), T + 5) == []
    assert client.handle(Woken(), T + 6) == [Reopen(), *ASK]
    client.check()


def test_what_is_out_when_the_broker_is_silent_is_asked_for_again_on_a_new_socket() -> None:
    client = linked()
    asked = order(client, BulkSpec("ping", 3, in_flight=2, timeout=9.0))
    client.handle(Received([answer(0)]), T)
    again = [Send(asked[1]), Send([b"", ident(2), b"ping"])]
    assert client.handle(Woken(), T + 3)[1:] == [Reopen(), *ASK, *again]
    assert client.handle(Woken(), T + 6) == [Reopen(), *ASK, *again]
    client.handle(Received([answer(1), answer(2), answer(1), answer(2)]), T + 6.5)
    assert run_of(client).passed and client.snapshot(T + 6.5).late == 2
    assert dict(client.snapshot(T + 6.5).terms)["asked again"] == "4"
    assert client.handle(Woken(), T + 9.5)[1:] == [Reopen(), *ASK]


def test_our_own_pause_is_not_the_brokers_silence() -> None:
    client = linked()
    assert client.handle(Paused(10.0), T + 10) == []
    assert client.handle(Woken(), T + 10) == ASK


def test_a_run_keeps_its_window_full_and_counts() -> None:
    client = linked()
    assert order(client, BulkSpec("data", 3, size=5, in_flight=2)) == [[b"", ident(i), b"data 5"] for i in (0, 1)]
    assert client.handle(Received([answer(1, result=bytes(5))]), T + 1) == [Send([b"", ident(2), b"data 5"])]
    assert client.handle(Received([answer(0, result=bytes(5)), answer(2, result=bytes(5))]), T + 1) == []
    run = run_of(client)
    assert (run.passed, run.bytes, run.elapsed) == (True, 15, 1.0)
    assert client.snapshot(T).legs == ((ident(0), T, T + 1),)


def test_the_next_run_has_fresh_ids_and_old_answers_are_late() -> None:
    client = linked()
    order(client, BulkSpec("ping", 1, timeout=1.0))
    assert client.handle(Woken(), T + 1) == ASK
    assert run_of(client).ledger.failed == (("timeout", 1),)
    assert order(client, BulkSpec("ping", 1), T + 1) == [[b"", ident(1), b"ping"]]
    assert client.handle(Received([answer(0), answer(1), answer(1), answer(99)]), T + 1) == []
    assert (client.snapshot(T + 1).late, run_of(client).passed) == (3, True)


@pytest.mark.parametrize(
    ("frames", "kind"),
    [
        (answer(0, b"FULL"), "full"),
        (answer(0, b"REFUSED"), "refused"),
        (answer(0, b"FAILED"), "undeliverable"),
        (answer(0, b"WITHDRAWN"), "withdrawn"),
        (answer(0, b"DONE", b"pong"), "wrong data"),
    ],
)
def test_every_way_to_fail(frames: Frames, kind: str) -> None:
    client = linked()
    order(client, BulkSpec("ping", 1))
    assert client.handle(Received([frames]), T) == []
    assert run_of(client).ledger.failed == ((kind, 1),)
    assert client.snapshot(T).legs == ()


def test_a_task_that_could_not_be_sent_has_failed() -> None:
    client = linked()
    (frames,) = order(client, BulkSpec("ping", 1))
    assert client.handle(Unsent(frames, "full"), T) == client.handle(Unsent([b"", PING], "full"), T) == []
    assert run_of(client).ledger.failed == (("unsent", 1),)
    assert dict(client.snapshot(T).terms)["unsent"] == "2"


def test_fire_and_forget_is_done_when_sent_and_its_answer_is_nobodys() -> None:
    client = linked()
    first = 1 << 63
    assert order(client, BulkSpec("ping", 2, tracked=False)) == [[b"", ident(first + i), b"ping"] for i in (0, 1)]
    assert client.handle(Received([answer(first), answer(first + 1)]), T) == []
    assert (run_of(client).passed, client.snapshot(T).late, client.snapshot(T).legs) == (True, 0, ())


def test_one_run_at_a_time_and_stop() -> None:
    client = linked()
    assert client.handle(Ordered(StopRun()), T) == []
    assert len(order(client, BulkSpec("ping", 100))) == 10
    refused = client.handle(Ordered(BulkSpec("ping", 1)), T)
    assert refused == [Note("warn", "a run is going on: stop it first")]
    assert client.handle(Ordered(StopRun()), T) == []
    assert client.handle(Received([answer(i) for i in range(10)]), T) == []
    run = run_of(client)
    assert (run.state, run.stopped, run.sent, run.passed) == ("ended", True, 10, False)


@pytest.mark.parametrize("size", [-1, MAX_FRAME + 1])
def test_a_result_has_a_bound(size: int) -> None:
    client = linked()
    (note,) = client.handle(Ordered(BulkSpec("data", 1, size=size)), T)
    assert isinstance(note, Note) and note.level == "warn"
    assert client.snapshot(T).run is None


def test_orders_of_others_are_our_own_mistake() -> None:
    for event in (Ordered(Leave()), Finished(1, True, b"")):
        with pytest.raises(ValueError, match="takes no"):
            linked().handle(event, T)


@given(st.lists(st.lists(st.binary(max_size=9), max_size=5), min_size=1, max_size=8))
def test_nonsense_is_counted_and_changes_nothing(messages: list[Frames]) -> None:
    client = linked()
    order(client, BulkSpec("ping", 3))
    before = (client.wake_at(), client.snapshot(T).run)
    out: list[Command] = client.handle(Received(messages), T + 0.5)
    assert all(isinstance(command, Note) for command in out)
    assert (client.wake_at(), client.snapshot(T).run) == before
    wrong = sum(frames != [b"", PONG] for frames in messages)
    assert dict(client.snapshot(T).terms)["violations"] == str(wrong)
    client.check()
