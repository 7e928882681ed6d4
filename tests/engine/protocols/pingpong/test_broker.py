"""The broker's core: what the transcripts do not say, bounds, refused sends, pictures, and nonsense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import (
    Command,
    Connected,
    Disconnected,
    Finished,
    Frames,
    Note,
    Ordered,
    Paused,
    Received,
    Send,
    Started,
    Unsent,
    Woken,
)
from engine.parts.orders import Drain, Inspect, Leave
from engine.parts.view import BrokerLeg, WorkerRow
from engine.protocols.pingpong import broker as module
from engine.protocols.pingpong import frontend
from engine.protocols.pingpong.broker import Broker
from engine.protocols.pingpong.messages import EXIT, PING, PONG, READY
from engine.protocols.pingpong.options import Options

T = 50.0


def ident(number: int) -> bytes:
    return number.to_bytes(8, "little")


def sent(commands: list[Command]) -> list[tuple[str, Frames]]:
    """What is sent, notes left out; nothing else may be there."""
    assert all(isinstance(command, Send | Note) for command in commands)
    return [(command.socket, command.frames) for command in commands if isinstance(command, Send)]


def from_worker(broker: Broker, key: bytes, body: bytes, now: float = T) -> list[tuple[str, Frames]]:
    out = sent(broker.handle(Received([[key, b"", body]], "backend"), now))
    broker.check()
    return out


def ask(broker: Broker, number: int, job: bytes = b"job", now: float = T) -> list[tuple[str, Frames]]:
    out = sent(broker.handle(Received([[b"c", b"", ident(number), job]], "frontend"), now))
    broker.check()
    return out


def give(key: bytes, body: bytes = b"job") -> tuple[str, Frames]:
    return "backend", [key, b"", body]


def tell(number: int, status: bytes, body: bytes) -> tuple[str, Frames]:
    return "frontend", [b"c", b"", ident(number), status, body]


def row(broker: Broker, key: bytes, now: float = T) -> WorkerRow:
    return {row.key: row for row in broker.snapshot(now).workers}[key]


def counter(broker: Broker, name: str) -> int:
    return dict(broker.snapshot(T).counters)[name]


def with_workers(*keys: bytes, options: Options | None = None) -> Broker:
    broker = Broker(Options() if options is None else options)
    assert broker.handle(Started(), T) == []
    for key in keys:
        assert from_worker(broker, key, READY) == [give(key, PONG)]
    return broker


def test_jobs_are_bounded_in_bytes_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontend, "MAX_HELD", 10)
    broker = with_workers(b"w")
    assert ask(broker, 1, b"x" * 6) == [give(b"w", b"x" * 6)]
    assert ask(broker, 2, b"y" * 5) == [tell(2, b"FULL", b"the backlog is full")]
    assert ask(broker, 3, b"z" * 4) == []
    assert from_worker(broker, b"w", b"done") == [tell(1, b"DONE", b"done"), give(b"w", b"z" * 4)]
    assert ask(broker, 4, b"y" * 6) == []


def test_beyond_the_bound_the_client_gets_full() -> None:
    """Ruling 7: nothing of it is in the ledger, and idle workers are used first."""
    broker = with_workers(b"w", options=Options(max_backlog=1))
    assert ask(broker, 1) == [give(b"w")]
    assert ask(broker, 2) == []
    assert ask(broker, 3) == [tell(3, b"FULL", b"the backlog is full")]
    view = broker.snapshot(T)
    assert (view.ledger.sent, view.ledger.queued, view.ledger.in_flight, counter(broker, "full")) == (2, 1, 1, 1)
    none = with_workers(b"w", options=Options(max_backlog=0))
    assert ask(none, 1) == [give(b"w")]
    assert ask(none, 2) == [tell(2, b"FULL", b"the backlog is full")]


def test_a_task_that_is_asked_for_again_is_done_and_answered_once() -> None:
    broker = with_workers(b"w")
    assert ask(broker, 1) == [give(b"w")]
    assert ask(broker, 1) == []
    assert from_worker(broker, b"w", b"done") == [tell(1, b"DONE", b"done")]
    assert broker.snapshot(T).ledger.sent == 1
    assert (counter(broker, "violations"), counter(broker, "asked again")) == (0, 1)
    assert ask(broker, 1) == [give(b"w")]


def test_another_job_under_an_id_in_use_is_refused() -> None:
    broker = with_workers(b"w")
    assert ask(broker, 1) == [give(b"w")]
    assert ask(broker, 1, b"other") == [tell(1, b"REFUSED", b"a task of another job has this id")]
    assert from_worker(broker, b"w", b"done") == [tell(1, b"DONE", b"done")]
    assert (broker.snapshot(T).ledger.sent, counter(broker, "violations"), counter(broker, "refused")) == (1, 1, 1)


def test_clients_are_told_that_the_broker_lives() -> None:
    assert sent(with_workers().handle(Received([[b"c", b"", PING]], "frontend"), T)) == [
        ("frontend", [b"c", b"", PONG])
    ]


def test_a_result_without_a_job_is_a_violation() -> None:
    """Ruling 4: neither an unknown nor an idle worker can answer anything."""
    broker = with_workers(b"w")
    assert from_worker(broker, b"w", b"what?") == from_worker(broker, b"x", b"what?") == []
    assert counter(broker, "violations") == 2
    assert [r.key for r in broker.snapshot(T).workers] == [b"w"]
    assert (row(broker, b"w").violations, row(broker, b"w").done) == (1, 0)


def test_workers_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WORKERS", 1)
    broker = with_workers(b"w")
    assert from_worker(broker, b"x", READY) == from_worker(broker, b"y", PING) == []
    assert (len(broker.snapshot(T).workers), counter(broker, "violations")) == (1, 2)


def test_a_job_that_never_left_goes_to_the_next_worker() -> None:
    broker = with_workers(b"w", b"v")
    assert ask(broker, 1) == [give(b"w")]
    assert sent(broker.handle(Unsent([b"w", b"", b"job"], "unreachable", "backend"), T)) == [give(b"v")]
    broker.check()
    assert (row(broker, b"w").state, row(broker, b"v").state, counter(broker, "unsent")) == ("lost", "busy", 1)
    broker.handle(Ordered(Inspect(b"v")), T)
    detail = broker.snapshot(T).detail
    assert detail is not None and [(task.id, task.kind, task.attempt) for task in detail.tasks] == [
        (ident(1), "job", 1)
    ]
    assert sent(broker.handle(Unsent([b"w", b"", b"job"], "unreachable", "backend"), T)) == []  # of before


def test_a_worker_that_opened_its_socket_anew_during_our_pause_is_not_lost() -> None:
    broker = with_workers(b"w", b"v")
    ask(broker, 1)
    broker.handle(Paused(10.0), T + 10.0)
    for key in (b"w", b"v"):
        assert broker.handle(Unsent([key, b"", PONG], "unreachable", "backend"), T + 10.5) == []
    broker.check()
    assert (row(broker, b"w").state, row(broker, b"v").state) == ("busy", "ready")
    broker.handle(Unsent([b"v", b"", PONG], "unreachable", "backend"), T + 11.0)
    assert row(broker, b"v").state == "lost"


def test_a_worker_whose_queue_is_full_is_lost_until_it_is_heard() -> None:
    broker = with_workers(b"w")
    ask(broker, 1)
    assert sent(broker.handle(Unsent([b"w", b"", b"job"], "full", "backend"), T)) == []
    broker.check()
    assert (row(broker, b"w").state, broker.snapshot(T).backlog) == ("lost", 1)
    assert from_worker(broker, b"w", PING) == [give(b"w", PONG), give(b"w")]


def test_a_pong_that_finds_no_connection() -> None:
    broker = with_workers(b"w", b"v")
    ask(broker, 1)
    assert sent(broker.handle(Unsent([b"w", b"", PONG], "full", "backend"), T)) == []
    assert row(broker, b"w").state == "busy"
    assert sent(broker.handle(Unsent([b"w", b"", PONG], "unreachable", "backend"), T)) == [give(b"v")]
    broker.check()
    assert dict(row(broker, b"w").terms)["owes"] == "a result"
    assert sent(broker.handle(Unsent([b"v", b"", PONG], "unreachable", "backend"), T)) == []
    assert from_worker(broker, b"w", b"late result") == [give(b"w")]  # heard, free, and next for the same task
    assert counter(broker, "late results") == 1


def test_a_client_that_is_gone_changes_no_book() -> None:
    """F4, F5: its task has ended; the answer is counted as unsent."""
    broker = with_workers(b"w")
    ask(broker, 1)
    (answer,) = from_worker(broker, b"w", b"done")
    assert broker.handle(Unsent(answer[1], "unreachable", "frontend"), T) == []
    broker.check()
    assert (broker.snapshot(T).ledger.succeeded, counter(broker, "unsent")) == (1, 1)


def test_exit_that_finds_nobody_forgets_the_worker() -> None:
    broker = with_workers(b"w")
    assert sent(broker.handle(Ordered(Drain(b"w")), T)) == [give(b"w", EXIT)]
    assert broker.handle(Ordered(Drain(b"w")), T) == []  # twice is once
    assert sent(broker.handle(Unsent([b"w", b"", EXIT], "full", "backend"), T)) == []
    assert row(broker, b"w").state == "drain"
    assert sent(broker.handle(Unsent([b"w", b"", EXIT], "unreachable", "backend"), T)) == []
    assert broker.snapshot(T).workers == ()
    assert broker.handle(Ordered(Drain(b"w")), T) == [Note("warn", "no such worker to stop", b"w", True)]
    broker.check()


def test_an_owing_worker_that_is_drained_gets_exit() -> None:
    broker = with_workers(b"w")
    ask(broker, 1, b"ping")
    from_worker(broker, b"w", PING, T + 3)
    assert sent(broker.handle(Woken(), T + 4)) == []
    assert row(broker, b"w", T + 4).state == "busy"
    assert sent(broker.handle(Ordered(Drain(b"w")), T + 4)) == [give(b"w", EXIT)]
    assert from_worker(broker, b"w", b"late", T + 5) == [give(b"w", EXIT)]


def test_a_lost_worker_comes_back_with_what_it_owes() -> None:
    broker = with_workers(b"w")
    ask(broker, 1, b"ping")
    for at in (2.0, 3.0, 4.0):
        broker.handle(Woken(), T + at)
    assert row(broker, b"w", T + 4).state == "lost"
    assert from_worker(broker, b"w", PING, T + 9) == []
    assert row(broker, b"w", T + 9).state == "busy"
    assert from_worker(broker, b"w", READY, T + 9) == [give(b"w", PONG), give(b"w", b"ping")]


def test_a_restart_while_draining_ends_in_exit() -> None:
    broker = with_workers(b"w", b"v")
    ask(broker, 1)
    broker.handle(Ordered(Drain(b"w")), T)
    assert from_worker(broker, b"w", READY) == [give(b"w", PONG), give(b"w", EXIT), give(b"v")]


def test_our_own_pause_is_nobodys_silence() -> None:
    """F3: one note, nobody lost, every deadline moved."""
    broker = with_workers(b"w", b"v")
    ask(broker, 1, b"ping")
    assert broker.handle(Paused(10.0), T + 10) == [Note("info", "every deadline was moved by 10.0 s")]
    assert broker.handle(Woken(), T + 10) == []
    assert (row(broker, b"w").lost_at, row(broker, b"v").lost_at, row(broker, b"v").heard) == (T + 14, T + 13, T + 10)
    broker.check()


def test_the_picture_keeps_rows_that_did_not_change() -> None:
    broker = with_workers(b"w", b"v")
    before = broker.snapshot(T).workers
    from_worker(broker, b"v", PING, T + 1)
    after = broker.snapshot(T + 1)
    assert after.workers[0] is before[0] and after.workers[1] is not before[1]
    assert (after.workers[1].lost_at, after.workers[1].heard) == (T + 4, T + 1)
    assert dict(after.terms)["ready queue"] == "2"
    assert after.detail is None
    broker.handle(Ordered(Inspect(b"gone")), T)
    assert broker.snapshot(T).detail is None


def test_sampled_tasks_leave_their_legs() -> None:
    broker = with_workers()
    ask(broker, 16, now=T)
    from_worker(broker, b"w", READY, T + 1)
    from_worker(broker, b"w", b"done", T + 2)
    assert broker.snapshot(T + 2).legs == (BrokerLeg(b"c", ident(16), T, T + 1, T + 2, b"w"),)


def test_orders_of_others_are_our_own_mistake() -> None:
    for event in (Ordered(Leave()), Finished(1, True, b"")):
        with pytest.raises(ValueError, match="takes no"):
            with_workers().handle(event, T)


BODIES = st.sampled_from([READY, PING, PONG, EXIT, b"", b"job", b"x" * 9, ident(1), ident(2)])
PARTS = st.sampled_from([b"", b"w", b"v", b"c"])


@given(
    st.lists(
        st.tuples(st.booleans(), st.tuples(PARTS, PARTS), st.lists(BODIES, max_size=3), st.floats(0, 3)), max_size=40
    )
)
def test_whatever_arrives_the_books_balance(steps: list[tuple[bool, tuple[bytes, bytes], list[bytes], float]]) -> None:
    broker, now = with_workers(b"w"), T
    for backend, head, tail, pause in steps:
        now += pause
        broker.handle(Woken(), now)
        broker.check()
        sent(broker.handle(Received([[*head, *tail]], "backend" if backend else "frontend"), now))
        broker.check()


@given(st.lists(st.lists(st.binary(max_size=5), max_size=5), min_size=1, max_size=8), st.booleans())
def test_nonsense_is_counted_and_changes_nothing(messages: list[Frames], backend: bool) -> None:
    """F20: from nobody that the broker knows."""
    broker = with_workers(b"worker")
    ask(broker, 1)
    before, at = broker.snapshot(T), broker.wake_at()
    wrong = [frames for frames in messages if frames[2:] not in ([READY], [PING])]
    out = broker.handle(Received(wrong, "backend" if backend else "frontend"), T) if wrong else []
    assert sent(out) == []
    after = broker.snapshot(T)
    assert (after.workers, after.ledger, after.backlog, broker.wake_at()) == (
        before.workers,
        before.ledger,
        before.backlog,
        at,
    )
    assert counter(broker, "violations") == len(wrong)
    broker.check()


def test_a_second_live_connection_of_a_workers_id_is_told() -> None:
    broker = with_workers(b"w")
    told = Note("warn", "its name was taken over by another connection while it was alive", b"w")
    assert broker.handle(Connected("backend", b"w"), T + 1) == [told]
    assert broker.handle(Connected("backend", b"stranger"), T + 1) == []
    assert broker.handle(Disconnected("backend", b"w"), T + 1) == []
    assert broker.handle(Connected("backend", b"w"), T + 1) == []  # it is back
    assert broker.handle(Connected("backend", b"w"), T + 9) == []  # it was silent: its line was cut
    assert broker.handle(Connected("frontend", b"w"), T + 1) == []
    assert counter(broker, "taken over") == 1


def test_who_pings_at_work_is_believed_to_work_after_its_connection_broke() -> None:
    """Ruling 16."""
    broker = with_workers(b"w")
    assert ask(broker, 1) == [give(b"w")]
    assert from_worker(broker, b"w", PING) == [give(b"w", PONG)]
    broker.handle(Disconnected("backend", b"w"), T)
    assert from_worker(broker, b"w", PING) == [give(b"w", PONG)]
    assert from_worker(broker, b"w", b"done") == [tell(1, b"DONE", b"done")]


def test_who_pings_with_a_job_that_went_by_a_broken_connection_owes_until_it_starts_over() -> None:
    """Ruling 16."""
    broker = with_workers(b"w")
    assert ask(broker, 1) == [give(b"w")]
    broker.handle(Disconnected("backend", b"w"), T)
    assert from_worker(broker, b"w", PING) == []
    assert from_worker(broker, b"w", PING) == []
    assert from_worker(broker, b"w", READY) == [give(b"w", PONG), give(b"w")]
    assert counter(broker, "re-deliveries") == 1


def test_a_worker_whose_pings_are_slower_than_the_patience_with_it_is_named_with_both_values() -> None:
    broker = Broker(Options())
    from_worker(broker, b"w", READY)
    broker.handle(Woken(), T + 3.0)
    (note, *_) = [
        command
        for command in broker.handle(Received([[b"w", b"", PING]], "backend"), T + 5.0)
        if isinstance(command, Note) and command.level == "warn"
    ]
    assert note.text == "its PING came after 5.0 s, and WORKER_EXPIRE_SECONDS is 3 s: they do not fit together"
    broker.handle(Woken(), T + 8.0)
    again = broker.handle(Received([[b"w", b"", READY]], "backend"), T + 9.0)
    assert not [one for one in again if isinstance(one, Note) and one.level == "warn"], "it started over"


def test_the_seeds_constants_and_the_order_of_the_ready_queue_are_shown_by_name() -> None:
    broker = Broker(Options())
    for key in (b"one", b"two", b"three"):
        from_worker(broker, key, READY)
    ask(broker, 1)
    from_worker(broker, b"one", b"result")
    terms = dict(broker.snapshot(T).terms)
    assert terms["next"] == "two → three → one"
    assert [terms[name] for name in ("BROKER_TIMEOUT", "N_TIMEOUTS", "WORKER_EXPIRE_SECONDS", "PING")] == [
        "1 s",
        "3",
        "3",
        "every 1 s",
    ]
