"""Frames and lives in lines; nothing that a peer sent steers the terminal."""

from __future__ import annotations

from console.screens.message import MOST, frame_lines, life_lines, message_lines
from engine.core import Note, Received, Send
from engine.protocols.pingpong import SYSTEM
from engine.tracing.links import Life
from engine.tracing.trace import Trace

WORKER = ("tcp://127.0.0.1:6715", 7, 1)


def words(lines: list[list[tuple[str, str]]]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


def trace_of(*frames: list[bytes], note: str = "") -> Trace:
    trace = Trace(SYSTEM)
    trace.seated("pool", "worker-7", "worker", SYSTEM.worker(SYSTEM.options(), *WORKER))
    trace.tap("pool", "worker-7", 1.5, Received(list(frames)), [Note("info", note)] if note else [])
    return trace


def test_a_frame_in_hex_and_in_text() -> None:
    assert words(frame_lines(2, bytes(range(60, 80)))) == [
        "frame 2  20 bytes",
        "  0000  3c 3d 3e 3f 40 41 42 43 44 45 46 47 48 49 4a 4b  <=>?@ABCDEFGHIJK",
        "  0010  4c 4d 4e 4f                                      LMNO",
    ]
    assert words(frame_lines(1, b"\x1b[2J\xff"))[1].endswith(" ·[2J·")
    assert words(frame_lines(1, b"")) == ["frame 1  0 bytes"]
    assert words(frame_lines(1, bytes(MOST + 3)))[-1] == "  and 3 bytes more"


def test_a_message_with_its_rule_and_times() -> None:
    lines = words(message_lines(trace_of([b"", b"hello"]).arrows()[0], 1.0))
    assert lines[0] == "job  broker → w7  ○ heard"
    assert "body      hello" in lines and "time      received 0.500000 s" in lines
    assert any(line.startswith("rule      002 Broker assign job") for line in lines)
    assert lines[-1] == "  0000  68 65 6c 6c 6f                                   hello"


def test_what_is_no_message_and_what_a_core_told() -> None:
    found = trace_of([b"\x1b]0;x\x07"], note="an \x1b[31m odd thing").arrows()
    broken, note = (words(message_lines(arrow, 0.0)) for arrow in found)
    assert broken[0].startswith("?  broker → w7") and any(line.startswith("violation ") for line in broken)
    assert note[0] == "w7 says" and note[-1] == "time      1.500000 s"
    assert not any("\x1b" in line for line in [*broken, *note])


def test_a_life_that_is_not_known_any_more() -> None:
    lines = words(life_lines(Life((b"c", (5).to_bytes(8, "little")), (), 0), 0.0))
    assert lines[0] == "task 5 of c  not ended yet · 0µs" and lines[-1] == "the ring no longer knows it"


def test_a_task_that_was_given_twice() -> None:
    trace = Trace(SYSTEM)
    trace.seated("client", "client", "client", SYSTEM.client(SYSTEM.options(), WORKER[0], 3))
    task = (1).to_bytes(8, "little")
    trace.tap("client", "client", 1.0, Received([]), [Send([b"", task, b"job"])])
    arrow = trace.arrows()[0]
    assert arrow.task is not None
    life = trace.follow(arrow.task)
    again = life.legs[0]._replace(what="given again", after=0.25)
    lines = words(life_lines(life._replace(legs=(*life.legs, again), deliveries=2), 0.0))
    assert "given 2 times" in lines[0] and "250ms  given again" in lines[-1]


def test_a_label_is_whole_and_a_blank_follows_it() -> None:
    arrow = trace_of([b"", b"hello"]).arrows()[0]
    for name, shown in (("sent so far", "sent so far 2"), ("n", "n         2"), ("x" * 40, "x" * 23 + "… 2")):
        lines = words(message_lines(arrow._replace(received=arrow.entry._replace(fields=((name, "2"),))), 0.0))
        assert shown in lines and "size      5 bytes in 2 frames" in lines
