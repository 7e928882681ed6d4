"""Messages that are nearly right: valid ones with bits flipped, frames cut, doubled, swapped, grown, and worse."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from engine.core import Frames
from engine.parts.limits import MAX_FRAMES

MOST = 4  # changes of one message
NUMBERS = (
    b"",
    b"\x00" * 8,
    b"\xff" * 4,
    b"\xff" * 8,
    b"0",
    b"-5",
    b"99999999999",
    b"9" * 5000,
    b"1_000",
    "١٢".encode(),  # digits, and none of ASCII
    b"NaN",
    b"1e999",
    b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff",  # msgpack: 2**64 - 1
    b"\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00",  # NaN
    b"\xdd\xff\xff\xff\xff",  # an array of 2**32 - 1
    b"\xdf\xff\xff\xff\xff",  # a map likewise
    b"\x91" * 2000,  # arrays in arrays
)


class Mutator:
    """``valid``: messages without a routing id. The same seed gives the same messages."""

    def __init__(self, valid: Sequence[Frames], random: Random) -> None:
        assert valid, "there is nothing to change"
        self._valid, self._random = valid, random
        self._ways = (
            self._flip,
            self._cut,
            self._double,
            self._swap,
            self._grow,
            self._drop,
            self._insert,
            self._number,
            self._garbage,
            self._splice,
            self._many,
            self._inside,
        )

    def __call__(self) -> Frames:
        """One message; seldom a right one. It has a frame at least."""
        frames = list(self._random.choice(self._valid))
        for _ in range(self._random.randrange(1, MOST + 1)):
            self._random.choice(self._ways)(frames)
            if not frames:
                frames.append(b"")
        return frames

    def _at(self, frames: Frames) -> int:
        return self._random.randrange(len(frames))

    def _flip(self, frames: Frames) -> None:
        at = self._at(frames)
        if frame := bytearray(frames[at]):
            frame[self._random.randrange(len(frame))] ^= 1 << self._random.randrange(8)
            frames[at] = bytes(frame)

    def _cut(self, frames: Frames) -> None:
        at = self._at(frames)
        frames[at] = frames[at][: self._random.randrange(len(frames[at]) + 1)]

    def _double(self, frames: Frames) -> None:
        at = self._at(frames)
        frames.insert(at, frames[at])

    def _swap(self, frames: Frames) -> None:
        a, b = self._at(frames), self._at(frames)
        frames[a], frames[b] = frames[b], frames[a]

    def _grow(self, frames: Frames) -> None:
        at = self._at(frames)
        frames[at] += self._random.randbytes(self._random.choice((1, 1, 8, 300, 5000)))

    def _drop(self, frames: Frames) -> None:
        del frames[self._at(frames)]

    def _insert(self, frames: Frames) -> None:
        frames.insert(self._at(frames), self._random.choice((b"", b"\x00", b"x", self._random.randbytes(9))))

    def _number(self, frames: Frames) -> None:
        frames[self._at(frames)] = self._random.choice(NUMBERS)

    def _garbage(self, frames: Frames) -> None:
        frames[self._at(frames)] = self._random.randbytes(self._random.choice((1, 4, 8, 12, 64, 256)))

    def _splice(self, frames: Frames) -> None:
        """The end of another message."""
        other = self._random.choice(self._valid)
        frames[self._at(frames) :] = other[self._random.randrange(len(other)) :]

    def _many(self, frames: Frames) -> None:
        frames += [self._random.choice((b"", b"x"))] * self._random.choice((1, 5, MAX_FRAMES, 3 * MAX_FRAMES))

    def _inside(self, frames: Frames) -> None:
        """A number that is meant to be read, in the middle of a frame."""
        at = self._at(frames)
        place = self._random.randrange(len(frames[at]) + 1)
        frames[at] = frames[at][:place] + self._random.choice(NUMBERS) + frames[at][place:]
