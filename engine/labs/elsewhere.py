"""A broker elsewhere whose part in a bulk run is asked over its control socket: its clock, and when tasks passed it.

Its clock is asked before the run and after it, so that a drift between is covered by the error of the offset. Where
something can not be had, the legs are left out, and ``missing`` says why; nothing else of the run changes.
"""

from __future__ import annotations

import math
import time
from typing import Any

from engine.drive.clockname import clock_name
from engine.drive.control.caller import Line, check
from engine.drive.control.dial import Place
from engine.drive.control.wire import Message
from engine.drive.waiting import wait_until
from engine.errors import Refused
from engine.journal.checks import fits
from engine.labs.shared import shaped
from engine.parts.clocks import SAME, Exchange, Offset, estimate
from engine.parts.legs import KEPT
from engine.parts.unpacking import UNREADABLE, unpack
from engine.parts.view import BrokerLeg
from engine.runs.load import Afar

EXCHANGES = 16  # of one estimate
PATIENCE = 5.0  # seconds that the legs of the last tasks may take to be drawn there
STEP = 0.05  # seconds
TIMES = 4  # fields of a row that every broker tells: the id and three times
UNTOLD = b"", 1  # worker and attempt of one that does not tell them


class Elsewhere:
    """``place``: the control socket of the broker. ``begin`` before a run, ``end`` after it."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._before: tuple[str, Offset] | None = None
        self._missing = "the broker's clock was not asked"

    def begin(self) -> None:
        """Ask its clock. Blocks for ``SILENCE`` of the control socket at most, where nobody is there."""
        self._before = None
        try:
            check(self._place, self._place.name)
            with Line(self._place) as line:
                name, offset, _ = _read(line)
            self._before = name, offset
        except Refused as refusal:
            self._missing = str(refusal)

    def end(self, client: bytes) -> Afar:
        """Ask its clock once more, and for the tasks of this client that it noted."""
        if self._before is None:
            return Afar((), None, self._missing)
        try:
            with Line(self._place) as line:
                name, offset, now = _read(line)
                if name != self._before[0]:
                    return Afar((), None, "the broker's clock is another one than before the run")
                return Afar(_legs(line, client, now), self._before[1].covering(offset), None)
        except Refused as refusal:
            return Afar((), None, str(refusal))


def _read(line: Line) -> tuple[str, Offset, float]:
    """The name of its clock, the offset of that, and what it shows now. Raises Refused."""
    exchanges, name, now = [], "", 0.0
    for _ in range(EXCHANGES):
        asked = time.monotonic()
        said = _ask(line, "clock")
        answered = time.monotonic()
        shown, told = said.get("Now"), said.get("Clock")
        if type(shown) is not float or not math.isfinite(shown) or type(told) is not str:
            raise Refused("the broker tells no time that can be read")
        exchanges.append(Exchange(asked, shown, answered))
        name, now = told, shown
    return name, SAME if name and name == clock_name() else estimate(exchanges), now


def _legs(line: Line, client: bytes, now: float) -> tuple[BrokerLeg, ...]:
    """Those that were drawn there at ``now`` of its clock or later; the newest there are after ``PATIENCE``."""
    data = b""

    def drawn() -> bool:
        nonlocal data
        said = _ask(line, "legs", Client=client)
        at, told = said.get("At"), said.get("Data")
        if type(at) is not float or type(told) is not bytes:
            raise Refused("the broker tells no legs that can be read")
        data = told
        return at >= now

    wait_until(drawn, PATIENCE, STEP)
    try:
        rows = unpack(data, 2 * KEPT + 1, values=12 * KEPT)
        legs = shaped([(client, *row, *UNTOLD[len(row) - TIMES :]) for row in rows], tuple[BrokerLeg, ...])
    except UNREADABLE:
        legs = None
    if not fits(legs, tuple[BrokerLeg, ...]):
        raise Refused("the broker tells no legs that can be read")
    return tuple(legs)


def _ask(line: Line, word: str, **fields: Any) -> dict[str, Any]:
    number = line.ask(word, **fields)
    while line.linked and not line.trouble:
        for said in line.hear(STEP):
            if isinstance(said, Message) and said.id == number and said.word == word:
                return said.fields
            raise Refused(said if isinstance(said, str) else str(said.fields.get("Why", said.word)))
    raise Refused(line.trouble or "the broker's control socket does not answer")
