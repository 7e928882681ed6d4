"""Keep-alives: what they say, and what they find."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.protocols.conversation import beats, header
from engine.protocols.conversation.beats import Sent
from engine.protocols.conversation.header import JOB, OK, Decoder, pack, pack_body

TALK = [pack(OK, 0), pack(OK, 4), pack_body(JOB, b"body", 1)]


def both(*chunks: bytes) -> tuple[Sent, Decoder]:
    """Messages sent whole, and these chunks received."""
    sent, received = Sent(), Decoder(100)
    for message in TALK:
        sent.add(message)
    for chunk in chunks:
        received.feed(chunk)
    return sent, received


def test_its_bytes() -> None:
    sent, _ = both()
    assert sent.beat() == (3).to_bytes(4, "little") + sent.crc.to_bytes(4, "little")
    assert sent.beat(4) == (3).to_bytes(4, "little")
    assert beats.fields(sent.beat()) == (3, sent.crc) and beats.fields(sent.beat(4)) == (3, None)


@given(st.integers(0, 40))
def test_it_agrees_however_the_stream_was_cut(at: int) -> None:
    whole = b"".join(TALK)
    sent, received = both(whole[:at], whole[at:])
    assert beats.fault(sent.beat(), received) == "" == beats.fault(sent.beat(4), received)


@pytest.mark.parametrize("bit", range(8 * sum(map(len, TALK))))
def test_no_flipped_bit_agrees(bit: int) -> None:
    wrong = bytearray(b"".join(TALK))
    wrong[bit // 8] ^= 1 << bit % 8
    sent, received = both(bytes(wrong))
    assert beats.fault(sent.beat(), received) in ("messages were lost", "messages were changed")


def test_what_is_missing_or_half_there_is_lost() -> None:
    for chunk in (TALK[0] + TALK[2], b"".join(TALK) + b"\x47", b""):
        sent, received = both(chunk)
        assert beats.fault(sent.beat(), received) == beats.fault(sent.beat(4), received) == "messages were lost"


def test_a_conversation_that_begins_anew_counts_from_its_first_message() -> None:
    sent, received = both(TALK[0], TALK[0])
    received.begin(TALK[0])
    for message in TALK[1:]:
        received.feed(message)
    assert beats.fault(sent.beat(), received) == ""


def test_the_count_wraps() -> None:
    sent, received = both(*TALK)
    sent.count += 2**32
    received.count += 2**33
    assert beats.fault(sent.beat(), received) == ""


def test_both_sizes_are_known() -> None:
    assert {len(Sent().beat(size)) for size in beats.SIZES} == set(beats.SIZES) == {4, 8}
    assert header.OVER not in (Sent().beat(size) for size in beats.SIZES)
