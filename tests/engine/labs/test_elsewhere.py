"""A broker elsewhere, asked over its control socket; the answers are made up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgpack
import pytest

from engine.drive.clockname import clock_name
from engine.drive.control.server import Control
from engine.drive.sockets import make_context
from engine.labs.controlsession import _clock
from engine.labs.elsewhere import Elsewhere
from engine.parts.clocks import SAME
from engine.parts.view import BrokerLeg

AHEAD = 5000.0  # seconds


class There:
    """What it answers: its clock is ``ahead``, by the name ``name``."""

    def __init__(self) -> None:
        self.ahead, self.name, self.looks = AHEAD, "another machine", 0
        self.data = msgpack.packb([[b"1", 1.0, 2.0, 3.0]])

    def clock(self, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        told = _clock(fields)
        assert isinstance(told, tuple)
        return "clock", {"Now": told[1]["Now"] + self.ahead, "Clock": self.name}

    def legs(self, fields: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        assert fields == {"Client": b"c"}
        self.looks += 1
        return "legs", {"At": float("inf") if self.looks > 1 else 0.0, "Data": self.data}


@pytest.fixture
def there() -> Iterator[tuple[There, Elsewhere]]:
    made, context = There(), make_context()
    folder = TemporaryDirectory(prefix="rh-")  # 0700, and short enough for a socket
    path = Path(folder.name) / "broker"
    words = {"clock": made.clock, "legs": made.legs}
    Control(context, f"ipc://{path}", {}, words)
    yield made, Elsewhere(path)
    context.term()
    folder.cleanup()


def test_the_offset_is_within_its_error_and_legs_are_asked_until_they_are_new(there: tuple[There, Elsewhere]) -> None:
    made, broker = there
    broker.begin()
    told = broker.end(b"c")
    assert told.missing is None and told.offset is not None and not told.offset.same
    assert abs(told.offset.seconds - AHEAD) <= told.offset.error
    assert told.legs == (BrokerLeg(b"c", b"1", 1.0, 2.0, 3.0),) and made.looks == 2


def test_of_the_same_clock_the_offset_is_nothing(there: tuple[There, Elsewhere]) -> None:
    made, broker = there
    made.ahead, made.name = 0.0, clock_name()
    broker.begin()
    assert broker.end(b"c").offset == (SAME if clock_name() else broker.end(b"c").offset)


def test_what_can_not_be_known_is_left_out_in_words(there: tuple[There, Elsewhere], tmp_path: Path) -> None:
    made, broker = there
    broker.begin()
    made.name = "after a restart"
    assert broker.end(b"c") == ((), None, "the broker's clock is another one than before the run")
    broker.begin()
    made.data = b"\x91\x91\x01"
    assert broker.end(b"c") == ((), None, "the broker tells no legs that can be read")
    nobody = Elsewhere(tmp_path / "nobody")
    nobody.begin()
    told = nobody.end(b"c")
    assert told.legs == () and told.offset is None and told.missing
