"""How events stand in a journal: plain values and back, for every event and order that a core of a system takes.

Orders and keys are NamedTuples or frozen dataclasses of the contract, of the parts or of the system's own package; each
is written as its name and its fields. Reading makes only such classes, looked up by name among those, so a journal
from a stranger can hold nothing but values.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from types import ModuleType
from typing import Any

from engine import core
from engine.core import Event, Received
from engine.parts import bulk, orders, store

MARK = "\x00"  # the first item of a list that stands for an object: no plain list here begins with it
TUPLE = "()"
LIST = "[]"
SET = "{}"
ROWS = "*"  # a tuple of records of one class, column by column: there may be a hundred thousand files in a folder
PLAIN = frozenset({type(None), bool, int, float, str, bytes})


class Unreadable(ValueError):
    """The journal holds something that is no value of this system."""


class Codec:
    """The classes that the journals of one system may hold, by name. ``more``: modules whose classes may too."""

    def __init__(self, package: ModuleType, *more: ModuleType) -> None:
        self._classes: dict[str, type[Any]] = {}
        self._names: dict[type[Any], str] = {}
        for module in (package, *modules(package), core, orders, bulk, store, *more):  # a system's own word comes first
            for name, value in vars(module).items():
                if isinstance(value, type) and _fields(value) is not None and value.__module__ == module.__name__:
                    if name in self._classes:  # two modules may use one word, each in its own sense
                        name = f"{module.__name__.rpartition('.')[2]}.{name}"
                    self._classes[name] = value
                    self._names.setdefault(value, name)

    def plain(self, value: Any) -> Any:
        """None, bool, int, float, str, bytes, and lists of those, that stand for a value. TypeError for any other."""
        if value is None or isinstance(value, bool | int | float | str | bytes):
            return value
        fields = _fields(type(value))
        if fields is not None:
            name = self._names.get(type(value))
            if name is None:
                raise TypeError(f"{type(value)} is no class of this system")
            return [MARK, name, *(self.plain(getattr(value, field)) for field in fields)]
        if isinstance(value, tuple):
            if len(value) > 1 and (rows := self._rows(value)) is not None:
                return rows
            return [MARK, TUPLE, *map(self.plain, value)]
        if isinstance(value, frozenset):
            return [MARK, SET, *map(self.plain, sorted(value, key=repr))]
        if isinstance(value, list):
            return [MARK, LIST, *map(self.plain, value)]
        raise TypeError(f"{type(value)} has no form in a journal")

    def _rows(self, value: tuple[Any, ...]) -> list[Any] | None:
        """The same as columns, where that is possible."""
        made = type(value[0])
        if made not in self._names or not issubclass(made, tuple) or {*map(type, value)} != {made}:
            return None
        columns = [list(column) for column in zip(*value, strict=True)]
        if any(not {*map(type, column)} <= PLAIN for column in columns):
            return None
        return [MARK, ROWS, self._names[made], *columns]

    def _from_rows(self, name: list[Any], columns: list[Any]) -> tuple[Any, ...]:
        made: Any = next((self._classes.get(one) for one in name if isinstance(one, str)), None)
        if made is None or not issubclass(made, tuple):
            raise Unreadable("rows of nothing")
        if any(type(column) is not list or {*map(type, column)} - PLAIN for column in columns):
            raise Unreadable("columns that hold more than plain values")
        try:
            return tuple(map(made._make, zip(*columns, strict=True)))
        except (TypeError, ValueError) as error:
            raise Unreadable(f"rows: {error}") from None

    def value(self, plain: Any) -> Any:
        """What ``plain`` made its argument from. Raises Unreadable."""
        if not isinstance(plain, list):
            return plain
        if len(plain) < 2 or plain[0] != MARK or not isinstance(plain[1], str):
            raise Unreadable("a list that stands for nothing")
        if plain[1] == ROWS:
            return self._from_rows(plain[2:3], plain[3:])
        items = [self.value(item) for item in plain[2:]]
        if plain[1] == TUPLE:
            return tuple(items)
        if plain[1] == LIST:
            return items
        made: Any = self._classes.get(plain[1])
        if made is None and plain[1] != SET:
            raise Unreadable(f"no class {plain[1]!r} in this system")
        try:
            return frozenset(items) if made is None else made(*items)
        except (TypeError, ValueError) as error:
            raise Unreadable(f"{plain[1]}: {error}") from None


def kept(event: Event) -> Event:
    """The event as it is now: a core may take the lists of a message apart while it handles it."""
    return Received([frames.copy() for frames in event.messages], event.socket) if type(event) is Received else event


def _fields(made: type[Any]) -> tuple[str, ...] | None:
    names = getattr(made, "_fields", None)
    if names is not None and issubclass(made, tuple):
        return tuple(names)
    if dataclasses.is_dataclass(made):
        return tuple(field.name for field in dataclasses.fields(made))
    return None


def modules(package: ModuleType) -> list[ModuleType]:
    """Those of a package."""
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]
