"""Entries of a trace, told to another process."""

from __future__ import annotations

from typing import Any

import msgpack
import pytest

from engine.journal.codec import Unreadable
from engine.labs.far import BYTES, ENTRIES, FRAME, FarTrace, packed_entries
from engine.parts.explain import Decoded
from engine.tracing.links import Entry


def entry(number: int, part: int = 0, size: int = 10) -> Entry:
    decoded = Decoded("PING", (("id", "1"),), b"peer", b"task")
    return Entry(
        number, part, 1.5 * number, "broker", "broker", "broker", "in", "client", "broker", "PING", (("id", "1"),),
        size, "rule 1", "", (b"c", b"t"), decoded, [b"x" * size], "main", b"link", 7,
    )  # fmt: skip


def told(*entries: Entry) -> dict[str, Any]:
    return {"Total": entries[-1].number if entries else 0, "Data": packed_entries(entries)}


def test_they_come_as_they_were_and_what_was_missed_is_counted() -> None:
    trace = FarTrace(100)
    trace.take(told(entry(1), entry(2), entry(2, 1)))
    trace.take(told(entry(2), entry(2, 1), entry(6)))
    found = trace.entries()
    assert [(one.number, one.part) for one in found] == [(1, 0), (2, 0), (2, 1), (6, 0)]
    assert found[0] == entry(1)._replace(record=None)
    assert (trace.total, trace.lost, trace.cost()) == (6, 3, "traced there · 3 lost")
    trace.anew()
    assert (trace.total, len(trace)) == (0, 0)
    trace.take(told(entry(5)))
    trace.take({**told(), "Total": 2})
    assert (trace.total, len(trace)) == (0, 0), "it was ended there, and has begun anew"
    trace.take(told(entry(1)))
    assert len(trace.arrows()) == 1


def test_an_answer_is_bounded() -> None:
    assert len(msgpack.unpackb(packed_entries([entry(n) for n in range(2000)]))) == ENTRIES
    large = packed_entries([entry(n, size=10 * BYTES) for n in range(5)])
    assert len(large) < 10 * FRAME
    many = [entry(n)._replace(frames=[b"y" * FRAME] * 1000) for n in range(200)]
    assert len(packed_entries(many)) < 2 * BYTES


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"Why": "8 viewers trace messages already"},
        {"Total": 1, "Data": b"\xc1"},
        {"Total": 1, "Data": msgpack.packb(5)},
        {"Total": 1, "Data": msgpack.packb([[1]])},
        {"Total": 1, "Data": msgpack.packb([(*entry(1)[:5], "king", *entry(1)[6:])])},
        {"Total": 1, "Data": msgpack.packb([("x", *entry(1)[1:])])},
    ],
)
def test_what_is_none_changes_nothing(fields: dict[str, Any]) -> None:
    trace = FarTrace(100)
    with pytest.raises(Unreadable):
        trace.take(fields)
    assert len(trace) == 0
