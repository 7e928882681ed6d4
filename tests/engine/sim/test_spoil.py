"""A spoilt message differs from what was sent, in one frame."""

from __future__ import annotations

from random import Random

from engine.sim.spoil import flipped, garbled


def test_one_frame_of_a_message_is_spoilt_and_the_sent_one_stays() -> None:
    sent = [b"one", b"", b"three"]
    for seed in range(200):
        wrong = garbled(Random(seed), sent)
        assert sent == [b"one", b"", b"three"]
        assert [place for place in range(3) if wrong[place] != sent[place]] in ([0], [2])
    assert garbled(Random(0), [b"", b""]) == [b"", b""]


def test_one_bit_is_flipped() -> None:
    wrong = flipped(Random(0), bytes(8))
    assert len(wrong) == 8 and sum(byte.bit_count() for byte in wrong) == 1
