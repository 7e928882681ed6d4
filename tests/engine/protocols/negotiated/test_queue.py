from __future__ import annotations

from engine.core import NEVER
from engine.parts.inflight import Task
from engine.protocols.negotiated.queue import Queue


def queue(waiting: str, suspects: str = "") -> Queue:
    """Tasks by the second in which they were accepted."""
    made = Queue()
    for line, seconds in ((made.backlog, waiting), (made.suspects.waiting, suspects)):
        line.extend(Task((b"c", second.encode()), "x", [b""], float(second)) for second in seconds.split())
    return made


def test_how_many_wait_and_since_when() -> None:
    assert (queue("").queued, queue("").oldest) == (0, NEVER)
    assert (queue("3 4").queued, queue("3 4").oldest) == (2, 3.0)
    assert (queue("3 4", "1 2").queued, queue("3 4", "5").oldest) == (4, 3.0)


def test_old_ones_are_taken_out_suspects_first() -> None:
    it = queue("3 4 5", "1 6")
    assert [task.key[1] for task in it.pop_old(4.0)] == [b"1", b"3", b"4"]
    assert (it.queued, it.oldest) == (2, 5.0) and it.pop_old(4.5) == []
