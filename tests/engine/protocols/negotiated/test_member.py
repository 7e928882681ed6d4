from __future__ import annotations

from engine.protocols.negotiated.member import Member


def test_where_it_stands_in_the_map() -> None:
    it = Member(b"w", ("ping",), 2)
    assert (it.free, it.stands) == (2, "ready")
    it.free = 0
    assert it.stands == "busy"
    it.services = ()
    assert it.stands == "draining"
    it.away = True
    assert it.stands == "unknown"
