"""Who is refused for want of a key is counted and said, few lines for many."""

from __future__ import annotations

import zmq

from engine.drive.security.keyless import CRYPTOGRAPHIC, MISMATCH, REASONS, Keyless, unkeyed
from engine.drive.security.strangers import AGAIN


def test_reasons_are_said_each_once_and_the_rest_by_their_number() -> None:
    it = Keyless("tcp://h:1")
    assert list(it.notes(0.0)) == []
    for number in range(REASONS + 3):
        it.refuse(f"reason {number}")
    it.refuse("reason 0")
    assert it.count == REASONS + 4
    texts = [note.text for note in it.notes(0.0)]
    assert texts[0] == "refused at tcp://h:1: reason 0 (2 times)" and len(texts) == REASONS + 1
    assert texts[-1] == "refused at tcp://h:1: 3 more for other reasons of that kind"
    it.refuse("again")
    assert not list(it.notes(AGAIN - 1))
    assert [note.text for note in it.notes(AGAIN)] == ["refused at tcp://h:1: again"]


def test_which_failed_handshakes_have_to_do_with_keys() -> None:
    failed = zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL
    assert "without a key" in unkeyed(failed, MISMATCH) and "--server-key" in unkeyed(failed, CRYPTOGRAPHIC)
    assert unkeyed(failed, 0x10000001) == unkeyed(zmq.EVENT_HANDSHAKE_FAILED_AUTH, 400) == ""
    assert "without a key" in unkeyed(zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL, 32)
