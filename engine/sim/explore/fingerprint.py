"""Copies of cores, and what tells two states of a core apart.

The rules of this file:

- A core is kept as a pickle: a copy costs one ``loads``. Closures, settings and machines never change, so copies share
  them. How often a row of a machine was walked changes nothing either: all copies count in common.
- A fingerprint is of everything in the core but what can change nothing that the core does: counts, histograms,
  latencies, notes (``IGNORED``), and the fields that its system names (``Explored.ignored``). What is not known to be
  of this kind counts. So two states may be told apart in vain, and are never taken for one wrongly.
- Times are as they are, to the nanosecond. Sets and heaps count by their content, dicts and lists by their order too,
  but for those whose order can change nothing (``UNORDERED``, ``Explored.unordered``).
- A shape is a fingerprint with the rank of each time among all times of the core in its place: two states of one shape
  do the same in the same order, though at other times. Of a ``Liveness`` the deadlines count as they will be.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Mapping
from enum import Enum
from functools import partial
from hashlib import blake2b
from io import BytesIO
from types import FunctionType, MappingProxyType
from typing import Any

from engine.core import NEVER, Core
from engine.parts.callers import Callers
from engine.parts.histogram import Histogram
from engine.parts.ledger import Ledger
from engine.parts.legs import BrokerLegs, ClientLegs
from engine.parts.liveness import Liveness
from engine.parts.machine import Machine, Tally, Walk
from engine.parts.peak import Peak
from engine.parts.served import Served
from engine.parts.violations import Violations
from engine.sim.explore.properties import Constant

COUNTS = (Violations, Ledger, Histogram, BrokerLegs, ClientLegs, Walk, Tally, Machine, Peak, Served, Callers)
"""Kinds of values that are only counted and shown, wherever they stand."""

IGNORED: Mapping[str, frozenset[str]] = {
    "liveness._Agenda": frozenset({"standing"}),  # the peers of its heap
    "properties.Observed": frozenset({"wrong"}),
    "runner.Runner": frozenset({"again", "late", "unsent", "_noted"}),
    "bulk.Bulk": frozenset(
        {"bytes", "warmed", "warm_at", "_slowest", "_last", "started", "ended", "_timeline", "_first_failed"}
    ),
}
UNORDERED: Mapping[str, frozenset[str]] = {"liveness.Liveness": frozenset({"_heard"})}
WALKED = frozenset({"walked", "_walked"})  # fields that count the rows of a state machine
HEAPS = frozenset({"_heap"})  # fields that hold one, whose inner order says nothing
DIGITS = 9  # of a time in seconds
EARLIEST = 512.0  # a float from here on is a time, for everybody opens later; less is an interval

Plain = Callable[[str, Any], Any]
"""What stands in a fingerprint for the value of a field."""


class Shared:
    """Objects that never change, which all copies of a core hold in common."""

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self._numbers: dict[int, int] = {}

    def number(self, thing: Any) -> int:
        """The number under which a thing is found again."""
        found = self._numbers.get(id(thing))
        if found is None:
            found = self._numbers[id(thing)] = len(self.objects)
            self.objects.append(thing)
        return found


def _shared(number: int) -> Any:
    """Stands in a pickle for one of ``Shared``; ``_Thawer`` puts the real look-up in its place."""
    raise AssertionError(number)


class _Freezer(pickle.Pickler):
    """Pickles a core; what never changes stands in it by number."""

    def __init__(self, file: BytesIO, shared: Shared, constant: tuple[type[Any], ...]) -> None:
        super().__init__(file, 5)
        self._shared, self._constant = shared, constant

    def reducer_override(self, thing: Any) -> Any:
        if thing is not _shared and isinstance(thing, self._constant) and not _is_importable(thing):
            return _shared, (self._shared.number(thing),)
        return NotImplemented


class _Thawer(pickle.Unpickler):
    def __init__(self, file: BytesIO, shared: Shared) -> None:
        super().__init__(file)
        self._objects = shared.objects

    def find_class(self, module: str, name: str) -> Any:
        return self._objects.__getitem__ if name == "_shared" else super().find_class(module, name)


def _is_importable(thing: Any) -> bool:
    """Whether pickle finds a function again by its name."""
    return isinstance(thing, FunctionType) and "<" not in thing.__qualname__


def _as(*content: Any) -> Any:
    """What a fingerprint says instead of an object; never called."""
    raise AssertionError("a fingerprint is not read")


class _Printer(pickle.Pickler):
    """Writes what tells two states apart; nobody reads it back."""

    def __init__(self, file: BytesIO, copier: Copier, plain: Plain) -> None:
        super().__init__(file, 5)
        self.fast = True  # no back references: equal values look equal
        self._copier, self._plain = copier, plain
        self._seen: dict[int, int] = {}  # objects that stand in it already: they may refer to each other

    def reducer_override(self, thing: Any) -> Any:
        made = type(thing)
        if thing is _as:
            return NotImplemented
        if made is FunctionType:
            return _as, ("function", self._copier.shared.number(thing))
        if isinstance(thing, tuple) or made is deque:
            return _as, (made.__name__, *thing)
        if isinstance(thing, type) or made.__module__ in ("collections", "builtins"):
            return NotImplemented
        before = len(self._seen)
        seen = self._seen.setdefault(id(thing), before)
        return _as, self._copier.content(thing, self._plain) if seen == before else ("again", seen)


class Copier:
    """Copies and fingerprints of the cores of one scene."""

    def __init__(
        self,
        options: Any,
        ignored: Mapping[str, frozenset[str]],
        unordered: Mapping[str, frozenset[str]] = MappingProxyType({}),
    ) -> None:
        self.shared = Shared()
        self._constant = (FunctionType, Machine, Walk, Tally, Constant, type(options))
        self._ignored = {**IGNORED, **ignored}
        self._unordered = {**UNORDERED, **unordered}
        self._fields: dict[type[Any], tuple[tuple[str, bool], ...] | None] = {}  # and whether its order says nothing

    def freeze(self, core: Core) -> bytes:
        """The core as it is now."""
        file = BytesIO()
        _Freezer(file, self.shared, self._constant).dump(core)
        return file.getvalue()

    def thaw(self, frozen: bytes) -> Any:
        """A copy of its own."""
        return _Thawer(BytesIO(frozen), self.shared).load()

    def fingerprint(self, core: Core) -> bytes:
        """16 bytes, the same for two states of a core that will do the same."""
        return self._print(core, _plain).digest()

    def shape(self, core: Core) -> bytes:
        """16 bytes, the same for two states of a core in which no time is but for its rank among all times there."""
        times: list[float] = []

        def note(time: float) -> int:
            times.append(time)
            return len(times)

        digest = self._print(core, partial(_timed, note))
        ranks = {time: rank for rank, time in enumerate(sorted(set(times)))}
        digest.update(repr([ranks[time] for time in times]).encode())
        return digest.digest()

    def _print(self, core: Core, plain: Plain) -> blake2b:
        file = BytesIO()
        _Printer(file, self, plain).dump(core)
        return blake2b(file.getbuffer(), digest_size=16)

    def content(self, thing: Any, plain: Plain) -> tuple[Any, ...]:
        """The fields of an object that count, behind the name of its class."""
        made = type(thing)
        if made is Liveness and plain is not _plain:
            return (_name(made), *[plain("", one) for one in thing.deadlines()])
        fields = self._fields.get(made, ())
        if fields == ():
            fields = self._fields[made] = self._fields_of(thing)
        if fields is None:
            return (_name(made), str(thing.name)) if isinstance(thing, Enum) else (_name(made),)
        values = [plain(field, _value(thing, field, any_order)) for field, any_order in fields]
        return (_name(made), *values)

    def _fields_of(self, thing: Any) -> tuple[tuple[str, bool], ...] | None:
        """None for what is a constant, or does not count."""
        made = type(thing)
        if isinstance(thing, (*COUNTS, *self._constant, Enum, type)):
            return None
        slots = {name for base in made.__mro__ for name in getattr(base, "__slots__", ())}
        compiled = getattr(made, "__mypyc_attrs__", ())
        names = sorted({*slots, *compiled, *getattr(thing, "__dict__", ())} - {"__weakref__", "__dict__"})
        ignored = self._ignored.get(_name(made), frozenset()) | WALKED
        unordered = self._unordered.get(_name(made), frozenset())
        return tuple((name, name in unordered) for name in names if name not in ignored) or None


def _value(thing: Any, field: str, any_order: bool) -> Any:
    """Of a field; sorted where its order says nothing."""
    value: Any = getattr(thing, field, None)
    if not any_order:
        return value
    return dict(sorted(value.items())) if type(value) is dict else sorted(value)


def _timed(change: Callable[[float], Any], field: str, value: Any) -> Any:
    """A value with another one in place of each time, wherever it stands in it."""
    return _changed(change, _plain(field, value))


def _changed(change: Callable[[float], Any], value: Any) -> Any:
    made = type(value)
    if made is float:
        return change(round(value, DIGITS)) if EARLIEST <= value < NEVER else value
    if made is dict:
        return {_changed(change, key): _changed(change, one) for key, one in value.items()}
    if made is list or made is tuple:
        return made([_changed(change, one) for one in value])
    if made is deque:
        return [_changed(change, one) for one in value]
    return value


def _name(made: type[Any]) -> str:
    """A class by its file and its own name."""
    return f"{made.__module__.rpartition('.')[2]}.{made.__name__}"


def _plain(field: str, value: Any) -> Any:
    made = type(value)
    if made is float:
        return round(value, DIGITS)
    if made is set or made is frozenset:
        return ("set", *sorted(value, key=repr))
    return sorted(value) if field in HEAPS else value
