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

DEAD = frozenset({"self", "config", "walk", "at", "began", "idle", "pause", "ms", "answer", "error"})
"""Variables of procedures that are constant, times, or set anew before they are read."""

LOOP = "_live"  # between two documents it reads none of its variables but constants and times
START = "recover"  # what it goes through is not among its variables


def stands(driver: Driver) -> tuple[Any, ...]:
    """Equal where two drivers of one configuration go on alike. Empty while one settles what an earlier one left."""
    chain = list(_chain(driver._life))
    if any(name == START for name, *_ in chain):
        return ()
    fields = tuple((name, repr(getattr(driver, name))) for name in sorted(FIELDS))
    told = (tuple(sorted(driver._said)), tuple(driver._broken))
    return (fields, told, _listed(driver._listing), tuple(chain))


def _chain(generator: Any) -> Generator[tuple[str, int, str], None, None]:
    while isinstance(generator, GeneratorType) and (frame := generator.gi_frame) is not None:
        name = generator.gi_code.co_name
        yield name, frame.f_lasti, "" if name == LOOP else _values(frame.f_locals)
        generator = generator.gi_yieldfrom


def _values(variables: Mapping[str, Any]) -> str:
    alive = {name: value for name, value in variables.items() if name not in DEAD}
    return repr([(name, sorted(one) if isinstance(one, frozenset) else one) for name, one in sorted(alive.items())])


def _listed(listing: Listing) -> tuple[Any, ...]:
    """What it still asks its listing: what to take, what lies beside that, and whether all is done."""
    todo, agenda = listing._todo, listing._agenda
    beside = tuple((item, tuple(sorted(agenda.leftovers(item)))) for item in todo)
    return beside, agenda.done, bool(agenda.live), listing._still
