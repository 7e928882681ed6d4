"""Words for bytes, and who broke which rule how often."""

from __future__ import annotations

import pytest

from engine.catalogue import SYSTEMS
from engine.parts.explain import (
    DOCUMENT,
    Finding,
    conformance,
    key_name,
    plain,
    rule_of,
    show,
    task_name,
    to_broker,
    unknown,
)
from engine.parts.ledger import Ledger
from engine.parts.view import BrokerView, Incident

EXPLAIN = SYSTEMS["roundrobin"].explain


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain", "plain"),
        ("a\x1b[2J\nb", "a?[2J?b"),
        ("\u202eevil", "?evil"),
        ("日本", "??"),
        ("e\u0301", "e?"),
        ("drück", "drück"),
        ("x" * 97, "x" * 95 + "…"),
    ],
)
def test_text_takes_one_column_a_character_and_does_nothing(text: str, said: str) -> None:
    assert plain(text) == said


def test_bytes_are_text_where_they_can_be() -> None:
    assert [show(b"worker-7"), show(b"\xff\0"), show(b""), show(bytes(100), 10)] == [
        "worker-7",
        "ff00",
        "",
        "000000000…",
    ]


def test_ids_of_our_clients_are_numbers() -> None:
    assert [task_name((7).to_bytes(size, "little")) for size in (4, 8, 3)] == ["7", "7", "070000"]


def test_directions() -> None:
    assert to_broker("broker", "in") and to_broker("worker", "out") and to_broker("client", "refused")
    assert not to_broker("broker", "out") and not to_broker("client", "in") and not to_broker("broker", "refused")
    assert unknown("why", b"w", 3).violation == "why"


def test_the_longest_beginning_that_is_known_gives_the_rule() -> None:
    assert rule_of(EXPLAIN, "wrong number of frames") == "R6 malformed input"
    assert rule_of(EXPLAIN, "wrong number of tasks") == "packed lane"
    assert rule_of(EXPLAIN, "no address at the end") == "R6 malformed input"
    assert rule_of(EXPLAIN, "something new") == ""


def test_findings_by_peer_and_rule_and_what_is_counted_for_all() -> None:
    incidents = (Incident(1.0, b"w", "wrong version", 3), Incident(2.0, b"\xff", "something new", 1))
    counters = (("violations", 4), ("late", 2), ("denied", 0), ("redelivered", 9))
    picture = BrokerView(3.0, (), 0, 0, Ledger().view(0, 0), counters, incidents)
    assert conformance(EXPLAIN, picture) == (
        Finding(b"w", "w", "wrong version", "wire: version LMQv100", 3, 1.0),
        Finding(b"\xff", "ff", "something new", "", 1, 2.0),
        Finding(None, "all peers", "late", "R3 the first reply ends a task", 2, None),
    )


def test_a_document_is_called_by_its_id_whatever_its_length() -> None:
    assert key_name((b"client-1", (7).to_bytes(4, "little"))) == "7"
    assert [key_name((DOCUMENT, id)) for id in (b"a.01", b"doc-0009", "\u00e4".encode(), b"\xff")] == [
        "a.01", "doc-0009", "\u00e4", "\ufffd",
    ]  # fmt: skip
