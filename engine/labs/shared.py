"""Pictures of a lab for other processes: what has changed between two of them, in pages, and back.

The rules of this file:

- A set of pictures has a serial. What changed between two serials is made once and given to every viewer; the last
  ``KEPT`` sets are kept, so a viewer that is a little behind is told the changes as well. To any other all is told.
- Rows of workers are told by column, ``PAGE`` of them at a time: those that changed, and the keys of those that left.
  The seat of a worker stays, so it is told once. Everything else of a picture is small and told whole; of the sampled
  tasks the newest ``LEGS``, from which viewers take the latency.
- What comes from the other side is checked to its last field before anybody sees it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from importlib import import_module
from itertools import compress
from operator import attrgetter, is_not
from types import UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgpack

from engine import parts
from engine.journal.checks import check, fits
from engine.journal.codec import Codec, Unreadable, modules
from engine.parts.unpacking import UNREADABLE, unpack
from engine.parts.view import BrokerView, ClientView, LedgerView, State, WorkerRow, WorkerView
from engine.system import QueueSystem, System

KEPT = 4
PAGE = 4000  # rows
ARRAYS = 200_000  # in one page
VALUES = 1_000_000
TEXT = 64 * 1024
LEGS = 512
NOBODY = (0, 0, 0.0, 0.0, float("inf"), None)  # failed, violations, joined, heard, lost_at, rtt: the broker knows
VIEWS: dict[str, Any] = {"broker": BrokerView, "fallback": BrokerView, "client": ClientView}
"""The pictures that are shared by their names, and what each is; beside them ``pool``, where somebody asks for it."""

_KEY = attrgetter("key")

Seats = Callable[[bytes], str | None]
Rows = dict[bytes, WorkerRow]


def codec_of(system: System | QueueSystem) -> Codec:
    """The classes that stand in pictures, orders and messages of this system."""
    package = import_module(system.options.__module__.rpartition(".")[0])
    return Codec(package, *modules(parts))


class _Set(NamedTuple):
    pictures: dict[str, Any]
    keys: dict[str, tuple[bytes, ...]]  # of its rows; the same object as in the set before where they are the same

    def rows(self, name: str) -> tuple[WorkerRow, ...]:
        return self.pictures[name].workers if name in self.keys else ()


class Easel:
    """The side that shows. ``seat_of``: the name of a worker of this process by its routing id."""

    def __init__(self, codec: Codec, seat_of: Seats) -> None:
        self.serial = 0
        self._codec, self._seat_of = codec, seat_of
        self._sets: OrderedDict[int, _Set] = OrderedDict()
        self._pages: dict[tuple[int, bool], list[bytes]] = {}

    @property
    def known(self) -> Collection[int]:
        """The serials since which changes can be told."""
        return self._sets.keys()

    def put(self, pictures: Mapping[str, Any]) -> None:
        """Show these pictures from now on."""
        self.serial += 1
        before = self._sets[self.serial - 1].keys if self._sets else {}
        keys: dict[str, tuple[bytes, ...]] = {}
        for name, picture in pictures.items():
            if isinstance(picture, BrokerView):
                fresh, old = tuple(map(_KEY, picture.workers)), before.get(name)
                keys[name] = old if old is not None and fresh == old else fresh
        self._sets[self.serial] = _Set(dict(pictures), keys)
        self._pages.clear()
        while len(self._sets) > KEPT:
            self._sets.popitem(last=False)

    def pages(self, since: int, pool: bool = False) -> list[bytes]:
        """What has changed since a serial, all of it where that is not known any more; with the ``pool`` or without."""
        since = since if since in self._sets else 0
        if (made := self._pages.get((since, pool))) is None:
            made = self._pages[since, pool] = self._made(since, pool)
        return made

    def _made(self, since: int, pool: bool) -> list[bytes]:
        now, before = self._sets[self.serial], self._sets.get(since, _Set({}, {}))
        heads: dict[str, Any] = {}
        parts: list[tuple[str, list[Any], list[bytes]]] = []
        for name, picture in now.pictures.items():
            if name not in VIEWS or not isinstance(picture, VIEWS[name]):
                continue  # nobody sits there any more
            if name not in now.keys:
                heads[name] = self._codec.plain(picture)
                continue
            heads[name] = self._codec.plain(picture._replace(workers=(), legs=picture.legs[-LEGS:]))
            fresh, gone = _changes(now, before, name)
            seats = self._seats(fresh, before, now.keys[name], name)
            parts += [
                (name, _columns(fresh[at : at + PAGE], seats[at : at + PAGE]), []) for at in range(0, len(fresh), PAGE)
            ]
            parts += [(name, [], gone[at : at + PAGE]) for at in reversed(range(0, len(gone), PAGE))]
        parts.sort(key=lambda part: not part[2])  # who left is told before who came
        told: dict[str, Any] = {"heads": heads}
        if pool and isinstance(crew := now.pictures.get("pool"), dict):
            told["pool"] = {name: self._codec.plain(seen) for name, seen in list(crew.items())[:PAGE]}
        pages = [told, *({"rows": name, "in": columns, "out": out} for name, columns, out in parts)]
        return [msgpack.packb(page, unicode_errors="surrogateescape") for page in pages]

    def _seats(
        self, rows: Sequence[WorkerRow], before: _Set, keys: tuple[bytes, ...], name: str
    ) -> Sequence[str | None]:
        """The seats of these rows; None where there is none, or it was told with the set before."""
        were = before.keys.get(name, ())
        if were is keys:
            return [None] * len(rows)
        told = {*were}
        return [None if row.key in told else self._seat_of(row.key) for row in rows]


def _columns(rows: Sequence[WorkerRow], seats: Sequence[str | None]) -> list[Any]:
    return [*map(list, zip(*rows, strict=True)), list(seats)] if rows else []


def _changes(now: _Set, before: _Set, name: str) -> tuple[list[WorkerRow], list[bytes]]:
    """The rows that are others than before, and the keys of those that are gone."""
    rows, old = now.rows(name), before.rows(name)
    if now.keys[name] is before.keys.get(name):
        return list(compress(rows, map(is_not, rows, old))), []
    are, were = {row.key: row for row in rows}, {row.key: row for row in old}
    fresh = [row for key, row in are.items() if were.get(key) is not row]
    gone = [key for key in were if key not in are]
    kept = [key for key in were if key in are]
    kept += [row.key for row in fresh if row.key not in were]
    if kept == list(are):
        return fresh, gone
    return list(are.values()), list(were)  # their order is another one: all of them are told again


class Copy:
    """The side that looks: what it has been told, put together."""

    def __init__(self, codec: Codec) -> None:
        self.pictures: dict[str, Any] = {}
        self.pool: dict[str, WorkerView] = {}
        self.seats: dict[bytes, str] = {}
        self._codec = codec
        self._rows: dict[str, Rows] = {}

    def take(self, pages: Sequence[bytes], whole: bool) -> None:
        """Take what has changed; ``whole``: it is everything. Raises Unreadable."""
        rows: dict[str, Rows] = {} if whole else {name: dict(old) for name, old in self._rows.items()}
        seats = {} if whole else dict(self.seats)
        heads, pool = self._heads(_page(pages[0]))
        left = False
        for data in pages[1:]:
            page = _page(data)
            name, fresh, out = page.get("rows"), page.get("in"), page.get("out")
            if type(name) is not str or name not in heads or type(fresh) is not list or not fits(out, list[bytes]):
                raise Unreadable("rows of nothing")
            table = rows.setdefault(name, {})
            left = left or bool(out)
            for key in out or ():
                table.pop(key, None)
            for row, seat in _rows(fresh):
                table[row.key] = row
                if seat is not None:
                    seats[row.key] = seat
        self.pictures = {
            name: head._replace(workers=tuple(rows.get(name, {}).values())) if isinstance(head, BrokerView) else head
            for name, head in heads.items()
        }
        self._rows, self.pool = rows, pool
        if whole or left:
            known = {key for table in rows.values() for key in table}
            seats = {key: seat for key, seat in seats.items() if key in known}
        self.seats = seats

    def _heads(self, page: dict[str, Any]) -> tuple[dict[str, Any], dict[str, WorkerView]]:
        heads, pool = page.get("heads"), page.get("pool", {})
        if type(heads) is not dict or not heads.keys() <= VIEWS.keys() or type(pool) is not dict:
            raise Unreadable("no pictures")
        made = {name: self._codec.value(head) for name, head in heads.items()}
        crew = {name: self._codec.value(seen) for name, seen in pool.items()}
        if not all(fits(picture, VIEWS[name]) for name, picture in made.items()):
            raise Unreadable("a picture with a field of another type")
        if not all(type(name) is str and fits(seen, WorkerView) for name, seen in crew.items()):
            raise Unreadable("a worker with a field of another type")
        return made, crew


def _page(data: bytes) -> dict[str, Any]:
    try:
        page = unpack(data, ARRAYS, values=VALUES, max_str_len=TEXT, unicode_errors="surrogateescape")
    except (*UNREADABLE, msgpack.ExtraData):
        raise Unreadable("no page") from None
    if type(page) is not dict:
        raise Unreadable("no page")
    return page


_COLUMNS = [*get_type_hints(WorkerRow).values(), str | None]
"""The types of the fields of ``WorkerRow``, and of the seat behind them."""

_PLAIN: dict[Any, set[type]] = {
    bytes: {bytes}, str: {str}, int: {int}, float: {float, int}, float | None: {float, int, type(None)},
    str | None: {str, type(None)},
}  # fmt: skip


def _rows(columns: list[Any]) -> list[tuple[WorkerRow, str | None]]:
    if not columns:
        return []
    if len(columns) != len(_COLUMNS) or any(type(column) is not list for column in columns):
        raise Unreadable("rows with other columns")
    if len({*map(len, columns)}) != 1:
        raise Unreadable("rows that end too early")
    *fields, seats = map(_column, columns, _COLUMNS)
    return list(zip(map(WorkerRow._make, zip(*fields, strict=True)), seats, strict=True))


def _column(column: list[Any], wanted: Any) -> list[Any]:
    if (kinds := _PLAIN.get(wanted)) is not None:
        if {*map(type, column)} - kinds:
            raise Unreadable("rows with a column of another type")
        return column
    try:
        made = list(map(_shaper(wanted), column))
    except (TypeError, ValueError) as error:
        raise Unreadable(f"a row: {error}") from None
    if not all(map(check(wanted), made)):
        raise Unreadable("a row with a field of another type")
    return made


def shaped(value: Any, wanted: Any) -> Any:
    """Lists as the tuples and records that they were before msgpack wrote them; whether they fit, is another question.

    Raises TypeError and ValueError where they can be none.
    """
    return _shaper(wanted)(value)


@cache
def _shaper(wanted: Any) -> Callable[[Any], Any]:
    args = get_args(wanted)
    if get_origin(wanted) in (Union, UnionType):
        shape = _shaper(next(one for one in args if one is not type(None)))
        return lambda value: None if value is None else shape(value)
    if get_origin(wanted) is tuple and args[-1] is Ellipsis:
        each = _shaper(args[0])
        return lambda value: tuple(map(each, value))
    if get_origin(wanted) is tuple or hasattr(wanted, "_make"):
        make = getattr(wanted, "_make", tuple)
        shapes = [*map(_shaper, args or get_type_hints(wanted).values())]
        return lambda value: make([shape(one) for shape, one in zip(shapes, value, strict=True)])
    return lambda value: value


def crew_of(pool: Mapping[str, WorkerView], seats: Mapping[bytes, str]) -> BrokerView | None:
    """A table of workers whose broker is elsewhere, made of what each knows of itself; None where there are none."""
    keys = {name: key for key, name in seats.items()}
    rows = []
    at = 0.0
    for name, seen in pool.items():
        free = max(0, seen.slots - seen.running)
        state: State = "lost" if not seen.joined else "ready" if free else "busy"
        heard = seen.broker_heard
        known = WorkerRow(
            keys.get(name, name.encode()), name, state, seen.slots, free, seen.running, seen.done, *NOBODY
        )
        rows.append(known._replace(joined=heard, heard=heard, terms=seen.terms))
        at = max(at, seen.at)
    done, running = sum(row.done for row in rows), sum(row.in_flight for row in rows)
    books = LedgerView(done + running, done, (), running, 0, 0)
    return BrokerView(at, tuple(rows), 0, running, books, (), ()) if rows else None
