"""The ring of a trace that somebody else fills: bounded, explained once, in pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.parts.explain import Decoded
from engine.tracing.filter import parse
from engine.tracing.links import Entry
from engine.tracing.ring import Record, Ring


class Toy(Ring[Record]):
    """Says one word a record."""

    explained = 0

    def say(self, at: float, size: int = 1) -> None:
        with self._lock:
            self.total += 1
            self._keep(Record(self.total, at, size, None))

    def tap(self, node: str, name: str, now: float, event: Any, commands: Any) -> None:
        self.say(now)

    def _entries(self, record: Record) -> Iterable[Entry]:
        self.explained += 1
        yield Entry(
            record.number, 0, record.at, "n", "s", "worker", "note", "s", "s", "word", (), record.size, "", "",
            None, Decoded("word"), [], "", b"", None,
        )  # fmt: skip


def test_it_is_bounded_in_messages_and_in_bytes() -> None:
    ring = Toy(kept=3, most=10)
    for at in range(5):
        ring.say(at)
    assert [entry.number for entry in ring.entries()] == [3, 4, 5] and (len(ring), ring.total) == (3, 5)
    ring.say(5.0, 9)
    assert [entry.number for entry in ring.entries()] == [5, 6]
    ring.say(6.0, 99)
    assert [entry.number for entry in ring.entries()] == [7]  # the newest is kept, however long it is
    ring.clear()
    ring.say(7.0)
    assert [entry.number for entry in ring.entries()] == [8]


def test_a_record_is_explained_when_somebody_looks_and_once() -> None:
    ring = Toy()
    for at in range(50):
        ring.say(at)
    assert ring.explained == 0
    assert [entry.number for entry in ring.entries(limit=3)] == [48, 49, 50]
    assert [entry.number for entry in ring.entries(limit=2, before=48)] == [46, 47]
    assert ring.explained == 5
    assert len(ring.arrows()) == 50 and len(ring.arrows(limit=2)) == 2 and ring.explained == 50
    assert ring.arrows(parse("cmd=none")) == [] and len(ring.entries(parse("task=x"))) == 0


def test_one_entry_by_its_number() -> None:
    ring = Toy(kept=2)
    for at in range(3):
        ring.say(at)
    found = ring.entry(2)
    assert found is not None and found.at == 1.0
    assert ring.entry(1) is None and ring.entry(2, 1) is None and ring.lanes == ()
