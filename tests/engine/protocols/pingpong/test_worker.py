"""The worker's core: every state with every event, against the table of its rules as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.core import (
    MAIN,
    NEVER,
    Command,
    Event,
    Exit,
    Finished,
    Frames,
    Note,
    Ordered,
    Paused,
    Received,
    Reopen,
    Send,
    Started,
    Unsent,
    Woken,
)
from engine.parts.orders import Inspect, Leave, Slow
from engine.protocols.pingpong.messages import EXIT, PING, PONG, READY
from engine.protocols.pingpong.options import Options
from engine.protocols.pingpong.worker import Worker

T = 50.0

# What each state does with what comes, and the state after it. Times: 1 s and 3 s after the broker was heard last.
TABLE = """
state   | PONG       | job                    | EXIT      | 1 s           | 3 s                    | Leave
joining | -> ready   | -> joining             | exit left | -> joining    | reopen READY joining   | exit left
ready   | -> ready   | result ready           | exit left | PING ready    | reopen READY joining   | exit left
working | -> working | -> working             | -> working | PING working | reopen READY joining   | -> working
left    | -> left    | -> left                | -> left   | -> left       | -> left                | -> left
"""


def words(commands: list[Command]) -> list[str]:
    """Commands in the table's words; notes are left out."""
    said = []
    for command in commands:
        match command:
            case Send([b"", body], "main"):
                said.append(body.decode() if body in (READY, PING) else "result")
            case Reopen("main", None, None):
                said.append("reopen")
            case Exit(_, False):
                said.append("exit")
            case Note():
                pass
            case _:
                raise AssertionError(f"nothing else is sent: {command}")
    return said


def got(*bodies: bytes) -> Received:
    return Received([[b"", body] for body in bodies])


def worker_in(state: str) -> Worker:
    worker = Worker(Options())
    assert worker.handle(Started(), T) == [Send([b"", READY])]
    if state != "joining":
        assert words(worker.handle(got(PONG), T)) == []
    if state == "working":
        assert worker.handle(Ordered(Slow(30.0)), T) == worker.handle(got(b"first"), T) == []
    if state == "left":
        assert words(worker.handle(got(EXIT), T)) == ["exit"]
    assert worker.state == state
    return worker


ROWS = [[cell.strip() for cell in line.split("|")] for line in TABLE.strip().splitlines()]
EVENTS: dict[str, tuple[Event, float]] = {
    "PONG": (got(PONG), T),
    "job": (got(b"second"), T),
    "EXIT": (got(EXIT), T),
    "1 s": (Woken(), T + 1),
    "3 s": (Woken(), T + 3),
    "Leave": (Ordered(Leave()), T),
}


@pytest.mark.parametrize(
    ("state", "event", "wanted"),
    [(row[0], name, cell) for row in ROWS[1:] for name, cell in zip(ROWS[0][1:], row[1:], strict=True)],
)
def test_every_state_with_every_event(state: str, event: str, wanted: str) -> None:
    worker = worker_in(state)
    *said, after = wanted.replace("-> ", "").split()
    assert (words(worker.handle(*EVENTS[event])), worker.state) == (said, after)
    worker.check()


def test_the_table_is_complete() -> None:
    assert [row[0] for row in ROWS[1:]] == ["joining", "ready", "working", "left"]
    assert ROWS[0][1:] == list(EVENTS)


def test_a_job_before_the_pong_of_ready_is_dropped_and_counted() -> None:
    """Ruling 10."""
    worker = worker_in("joining")
    assert words(worker.handle(got(b"stale", PONG, b"fresh"), T)) == ["result"]
    assert (worker.dropped, worker.done) == (1, 1)


def test_another_job_means_that_the_first_is_forgotten() -> None:
    """Ruling 10."""
    worker = worker_in("working")
    assert words(worker.handle(got(b"second"), T + 1)) == []
    assert words(worker.handle(Ordered(Slow(0.0)), T + 2)) == ["result"]
    assert (worker.abandoned, worker.done, worker.state) == (1, 1, "ready")


def test_a_slow_worker_answers_in_time_and_pings_meanwhile() -> None:
    """Ruling 1: ours goes on PINGing while it works."""
    worker = worker_in("ready")
    worker.handle(Ordered(Slow(1.5)), T)
    assert worker.handle(got(b"data 3"), T) == []
    assert worker.wake_at() == T + 1
    assert worker.handle(Woken(), T + 1) == [Send([b"", PING])]
    assert worker.handle(got(PONG), T + 1) == []
    assert worker.wake_at() == T + 1.5
    assert worker.handle(Woken(), T + 1.5) == [Send([b"", bytes(3)])]


def test_exit_while_working_waits_for_the_result() -> None:
    """Ruling 5."""
    worker = worker_in("working")
    assert worker.handle(got(EXIT), T) == []
    assert worker.handle(Ordered(Slow(0.0)), T) == [Send([b"", b"first"]), Exit("the broker said EXIT")]
    assert worker.wake_at() == NEVER
    assert worker.handle(Woken(), T + 9) == []


def test_a_silent_broker_does_not_keep_a_leaving_worker() -> None:
    worker = worker_in("working")
    worker.handle(Ordered(Leave()), T)
    assert words(worker.handle(Woken(), T + 3)) == ["exit"]


def test_a_result_that_is_a_command_is_not_sent() -> None:
    """Ruling 3: the error is said once, the job given back."""
    worker = worker_in("ready")
    first, second = (worker.handle(got(PONG, job), T) for job in (READY, PING))
    assert first == [Note("bad", "violation: a job whose result would be a command", b"broker"), Send([b"", READY])]
    assert words(second) == ["READY"]
    assert (worker.state, worker.done) == ("joining", 0)


def test_early_wakes_do_nothing() -> None:
    worker = worker_in("working")
    assert worker.handle(Woken(), T + 0.5) == []


def test_any_message_shows_that_the_broker_lives() -> None:
    worker = worker_in("ready")
    worker.handle(got(b"job"), T + 2)
    assert words(worker.handle(Woken(), T + 3)) == ["PING"]
    assert words(worker.handle(Woken(), T + 5)) == ["reopen", "READY"]


def test_our_own_pause_is_not_the_brokers_silence() -> None:
    worker = worker_in("ready")
    assert worker.handle(Paused(10.0), T + 10) == []
    assert words(worker.handle(Woken(), T + 10)) == ["PING"]


def test_orders_of_others_are_our_own_mistake() -> None:
    for event in (Ordered(Inspect(None)), Finished(1, True, b"")):
        with pytest.raises(ValueError, match="takes no"):
            worker_in("ready").handle(event, T)


def test_the_picture_counts_down_to_the_brokers_expiry() -> None:
    worker = worker_in("ready")
    worker.handle(Woken(), T + 1)
    worker.handle(got(PONG), T + 1.25)
    worker.handle(Unsent([b"", PING], "full"), T + 1.25)
    view = worker.snapshot(T + 3.5)
    terms = dict(view.terms)
    assert (view.state, view.joined, view.slots, view.running, view.broker_heard) == ("ready", True, 1, 0, T + 1.25)
    assert (terms["broker"], terms["timeouts"], terms["reopens in"]) == ("quiet", "2 of 3", "0.8 s")
    assert (terms["round trip"], terms["unsent"]) == ("250.00 ms", "1")
    assert dict(worker.snapshot(T + 1.5).terms)["broker"] == "alive"
    fresh = worker_in("joining").snapshot(T)
    assert (fresh.joined, dict(fresh.terms)["broker"], dict(fresh.terms)["round trip"]) == (False, "unknown", "unknown")


@given(st.lists(st.lists(st.binary(max_size=6), max_size=4), min_size=1, max_size=8))
def test_nonsense_is_counted_and_changes_nothing(messages: list[Frames]) -> None:
    wrong = [frames for frames in messages if len(frames) != 2 or frames[0]]
    worker = worker_in("ready")
    before = (worker.state, worker.wake_at(), worker.done)
    commands = worker.handle(Received(wrong, MAIN), T + 0.5) if wrong else []
    assert words(commands) == []
    assert (worker.state, worker.wake_at(), worker.done) == before
    assert dict(worker.snapshot(T).terms)["violations"] == str(len(wrong))
    worker.check()


def test_settings_that_can_not_work_together_are_named_with_both_values() -> None:
    def told(options: Options) -> list[str]:
        return [one.text for one in Worker(options).handle(Started(), 0.0) if isinstance(one, Note)]

    assert told(Options()) == []
    assert told(Options(ping_every=5.0)) == [
        "a PING every 5 s, and WORKER_EXPIRE_SECONDS is 3 s: they do not fit together",
        "a PING every 5 s, and N_TIMEOUTS × BROKER_TIMEOUT is 3 s: they do not fit together",
    ]
