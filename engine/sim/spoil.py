"""What a bad link does to what it carries."""

from __future__ import annotations

from random import Random

from engine.core import Frames


def garbled(random: Random, frames: Frames) -> Frames:
    """A copy in which one frame is not what was sent; a message of empty frames stays as it is."""
    full = [place for place, frame in enumerate(frames) if frame]
    if not full:
        return frames
    place = random.choice(full)
    frame = frames[place]
    cut = random.random() < 0.5
    wrong = frame[: random.randrange(len(frame))] if cut else flipped(random, frame)
    return [*frames[:place], wrong, *frames[place + 1 :]]


def flipped(random: Random, data: bytes) -> bytes:
    """The same with one bit wrong."""
    wrong = bytearray(data)
    wrong[random.randrange(len(wrong))] ^= 1 << random.randrange(8)
    return bytes(wrong)
