"""The connection: without a library, without a server, with one that comes later, and requests that nobody answers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.drive.stores.natslink import Ask, Link, headers_of
from engine.parts.store import Unavailable
from tests.helpers.natsserver import Server
from tests.helpers.neednats import needed
from tests.helpers.processes import until


@contextmanager
def started(url: str) -> Iterator[Link]:
    link = Link([url], "test")
    link.start()
    try:
        yield link
    finally:
        link.close()


def test_without_the_library_it_says_which_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nats.aio.client", None)
    with pytest.raises(Unavailable, match=r"\[jetstream\]"):
        Link(["nats://127.0.0.1:4222"], "test")


def test_messages_are_written_and_their_headers_read_as_the_protocol_says() -> None:
    assert Ask("a.b", b"xyz").wire("in.1") == b"PUB a.b in.1 3\r\nxyz\r\n"
    assert Ask("a", b"xy", {"N": "0"}).wire("") == b"HPUB a  18 20\r\nNATS/1.0\r\nN: 0\r\n\r\nxy\r\n"
    assert headers_of(b"") == {} and headers_of(b"NATS/1.0 503\r\n\r\n") == {"Status": "503"}
    assert headers_of(b"NATS/1.0\r\nA: b:c\r\n\r\n") == {"A": "b:c"}
    assert headers_of(b"NATS/1.0 404 No Messages\r\nX: y\r\n\r\n") == {"Status": "404", "X": "y"}


@needed
def test_it_waits_for_a_server_and_what_nobody_answers_has_no_answer(tmp_path: Path) -> None:
    server = Server(tmp_path / "nats")
    with started(server.url) as link:
        assert not link.connected and link.server == {}
        assert link.run(link.ask([Ask("somewhere")], 5.0)) == [None]
        assert link.run(link.several(Ask("somewhere"), 1, 5.0)) == ([], False)
        assert not link.run(link.say([Ask("somewhere")]))
        with server:
            until(lambda: link.connected, "the connection")
            assert link.why == "" and link.server["jetstream"]
            good, bad = link.run(link.ask([Ask("$JS.API.INFO"), Ask("nobody.is.here")], 60.0))
            assert good is not None and b"account_info" in good.payload and bad is None
            assert link.run(link.several(Ask("nobody.is.here"), 1, 60.0)) == ([], False)
        until(lambda: not link.connected, "its end")
        assert link.why
