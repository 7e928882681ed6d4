"""Where a driver stands: its procedure's place, and every value that can change what it does next.

A driver's life is one generator that calls others. Where each of them waits and what its variables hold is all that it
knows, together with the driver's own fields. Left out is what changes nothing: counts, times, and variables that nobody
reads again before they are set anew.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from types import GeneratorType
from typing import Any

from engine.protocols.diskqueue.driver import Driver
from engine.protocols.diskqueue.listing import Listing

FIELDS = frozenset({"_phase", "_held", "_outcome", "_orders", "stuck", "_asked", "_trouble", "_blocked", "_quiet"})
"""Fields of a driver that its next steps depend on, besides its listing and its procedure."""

DEAD = frozenset(
    ("self", "config", "walk", "at", "now", "began", "idle", "pause", "ms", "answer", "error", "got", "promise")
)
"""Variables of procedures that are constant, times, or set anew before they are read."""

TAKES = "_take"  # after it, what others held in its listing is asked for
LOOP = "_live"  # between two documents it reads none of its variables but constants and times


def stands(driver: Driver) -> tuple[Any, ...]:
    """Equal where two drivers of one configuration go on alike."""
    chain = list(_chain(driver._life))
    fields = tuple((name, repr(getattr(driver, name))) for name in sorted(FIELDS))
    told = (tuple(sorted(driver._said)), tuple(driver._broken))
    held = driver._listing.held if any(name == TAKES for name, *_ in chain) else ()
    return (fields, told, held, _listed(driver._listing), tuple(chain))


def stands_in(procedure: Generator[Any, Any, Any]) -> tuple[Any, ...]:
    """Equal where two runs of one procedure go on alike."""
    return tuple(_chain(procedure))


def _chain(generator: Any) -> Generator[tuple[str, int, str], None, None]:
    while isinstance(generator, GeneratorType) and (frame := generator.gi_frame) is not None:
        name = generator.gi_code.co_name
        yield name, frame.f_lasti, "" if name == LOOP else _values(frame.f_locals)
        generator = generator.gi_yieldfrom


def _values(variables: Mapping[str, Any]) -> str:
    alive = {name: value for name, value in variables.items() if name not in DEAD}
    return repr(
        [(name, sorted(one) if isinstance(one, frozenset | set) else one) for name, one in sorted(alive.items())]
    )


def _listed(listing: Listing) -> tuple[Any, ...]:
    """What it still asks its listing: what to take, what lies beside that, and whether all is done."""
    todo, agenda = listing._todo, listing._agenda
    beside = tuple((item, tuple(sorted(agenda.leftovers(item)))) for item in todo)
    return beside, agenda.done, bool(agenda.live), listing._still
