"""What is written in the streams, by whose name, and that they are made once and are nobody else's."""

from __future__ import annotations

import json

import pytest

from engine.core import Outcome
from engine.drive.stores.natslink import Answer, Link
from engine.drive.stores.natsstreams import (
    ROOM,
    TOKEN,
    Delivery,
    Error,
    Lease,
    Place,
    Result,
    Streams,
    delivery_of,
    error_of,
    place_of,
    result_of,
)
from engine.parts.store import Unavailable
from tests.helpers.processes import until


def test_a_place_is_servers_and_a_name_and_is_shown_without_a_password() -> None:
    found = place_of("nats://me:secret@a:1,b/jobs")
    assert found == Place(("nats://me:secret@a:1", "nats://b"), "jobs", "nats://a:1,b:4222/jobs")
    assert place_of("nats://a").name == "roundhouse"
    for wrong in ("nats://", "nats://a/b.c", "nats://a/" + 33 * "x"):
        with pytest.raises(ValueError, match=r"backlog|HOST"):
            place_of(wrong)


def test_what_is_written_is_read() -> None:
    result = Result(7, 2, Outcome("deadline", b"data", b"w"), False)
    assert result_of(result.packed()) == result
    said = Delivery(2, 7, 4, 1795937960762534183)
    assert delivery_of("$JS.ACK.x-tasks.brokers.2.7.9.1795937960762534183.4") == said
    assert delivery_of("$JS.ACK.hub.hash.x-tasks.brokers.2.7.9.1795937960762534183.4.random") == said
    lease = Lease(7 << TOKEN | 2, b"", "", b"", b"", [], 0)
    assert (lease.seq, lease.delivery) == (7, 2)
    refusal = {"error": {"err_code": 10077, "description": "maximum messages exceeded"}}
    assert error_of(Answer("", "", json.dumps(refusal).encode(), {})) == Error(10077, "maximum messages exceeded")
    assert error_of(Answer("", "", b'{"stream":"x","seq":1}', {})) is None


def test_streams_are_made_once_and_somebody_elses_are_left_alone(backlog: str) -> None:
    place = place_of(backlog)
    link = Link(place.servers, "test")
    link.start()
    try:
        until(lambda: link.connected, "the connection")
        streams = Streams(link, place.name, 1.0, 1.0)
        for _ in range(2):
            link.run(streams.make())
        whole = link.run(streams.api(f"STREAM.INFO.{streams.results}", {}))["config"]["max_bytes"]
        assert whole == ROOM["results"]
        link.run(streams.api(f"STREAM.DELETE.{streams.tasks}", {}))
        theirs = {"name": streams.tasks, "subjects": ["other"]}
        link.run(streams.api(f"STREAM.CREATE.{streams.tasks}", theirs))
        with pytest.raises(Unavailable, match="somebody else's"):
            link.run(streams.make())
    finally:
        link.close()
