"""Does a value from outside (a configuration, the environment, a flag, a run file) fit the type that it should have?

The types are ordinary annotations, so a dataclass of settings and a TypedDict of a run file are their own schemas:
``int``, ``float``, ``bool``, ``str``, ``X | None``, ``tuple[X, ...]``, ``tuple[X, Y]``, ``dict[str, X]``, ``Literal``,
a TypedDict, and ``Annotated`` with ``Range`` or ``OneOf``. Nothing is guessed: ``True`` is not a number, ``"1"`` is not
1, NaN and infinity are not settings, and text with control or invisible characters is refused before it can reach a
terminal.
"""

from __future__ import annotations

import difflib
import re
import reprlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

TCP = re.compile(r"tcp(?:\+plain)?://[^\s/]+:(\d{1,5})")
IPC = re.compile(r"ipc://\S+")
TRUE, FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


class Misfit(ValueError):
    """A value does not fit: what was expected, what came instead and, inside a record or table, ``path`` to it."""

    def __init__(self, reason: str, path: str = "") -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.reason, self.path = reason, path


@dataclass(frozen=True, slots=True)
class Range:
    """A number from ``low`` to ``high``, both allowed; ``unit`` is what it counts, where its name does not say."""

    low: float
    high: float
    unit: str = ""

    def __str__(self) -> str:
        return f"from {_number(self.low)} to {_number(self.high)} {self.unit}".rstrip()

    def admits(self, value: Any) -> bool:
        """Whether a number lies within."""
        return bool(self.low <= value <= self.high)


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of some words that are known at run time only; ``Literal`` says the same of words known before."""

    words: tuple[str, ...]

    def __str__(self) -> str:
        return "one of " + ", ".join(self.words)

    def admits(self, value: Any) -> bool:
        """Whether a word is among them."""
        return value in self.words


class _Endpoint:
    """The bound of an address at which another process can be reached."""

    def __str__(self) -> str:
        return "an endpoint like tcp://127.0.0.1:6714 or ipc:///path"

    def admits(self, value: str) -> bool:
        tcp = TCP.fullmatch(value)
        return 1 <= int(tcp[1]) <= 65535 if tcp else bool(IPC.fullmatch(value))


Endpoint = Annotated[str, _Endpoint()]


class _Tcp:
    """The bound of an address over tcp, or of none."""

    def __str__(self) -> str:
        return "an endpoint like tcp://127.0.0.1:6714, or nothing"

    def admits(self, value: str) -> bool:
        return not value or (value.startswith("tcp://") and _Endpoint().admits(value))


OptionalTcp = Annotated[str, _Tcp()]


def fit(value: object, wanted: Any) -> Any:
    """``value`` as type ``wanted``: itself, an int as float, a list as tuple. Raises ``Misfit``."""
    origin, args = get_origin(wanted), get_args(wanted)
    if origin in (Union, UnionType):
        return None if value is None else fit(value, _present(args))
    if origin is tuple and isinstance(value, list | tuple):
        if args[-1] is not ...:
            if len(value) != len(args):
                raise Misfit(f"expected {describe(wanted)}, got {len(value)} values")
            return tuple(fit(item, of) for item, of in zip(value, args, strict=True))
        return tuple(fit(item, args[0]) for item in value)
    if origin is dict and isinstance(value, dict):
        return {fit(key, str): _at(key, item, args[1]) for key, item in value.items()}
    if is_typeddict(wanted) and isinstance(value, dict):
        return _fit_record(value, wanted)
    if not _admits(value, wanted):
        raise _misfit(value, wanted)
    return float(value) if float in (wanted, *args) else value  # type: ignore[arg-type]


def parse(text: str, wanted: Any) -> object:
    """Text (of a variable or a flag) as the value it stands for; the text itself where it stands for none."""
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return parse(text, args[0])
    if origin in (Union, UnionType):
        return parse(text, _present(args)) if text else None
    if origin is tuple:
        return tuple(parse(item.strip(), args[0]) for item in text.split(",") if item.strip())
    if wanted is bool:
        return text.lower() in TRUE if text.lower() in TRUE + FALSE else text
    if wanted in (int, float):
        try:
            return wanted(text)
        except ValueError:
            return text
    return text


def nearest(word: str, words: Iterable[str]) -> str:
    """``; did you mean X?`` where one of the words is close, else nothing: the end of a message."""
    close = difflib.get_close_matches(word, list(words), n=1)
    return f"; did you mean {close[0]}?" if close else ""


def describe(wanted: Any) -> str:
    """A type in an operator's words."""
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        words = [str(bound) for bound in args[1:] if not isinstance(bound, Range)]
        return words[0] if words else " ".join([describe(args[0]), *map(str, args[1:])])
    if origin in (Union, UnionType):
        return f"{describe(_present(args))}, or nothing"
    if origin is Literal:
        return "one of " + ", ".join(map(str, args))
    if origin is tuple and args[-1] is not ...:
        return "a list of " + " and ".join(map(describe, args))
    if origin is tuple:
        return f"a list, each {describe(args[0])}"
    plain = {int: "a whole number", float: "a number", bool: "true or false", str: "plain text"}
    return plain.get(wanted, "a table")


def shown(value: object) -> str:
    """Any value in a few words, for the end of a message."""
    try:
        return reprlib.repr(value)
    except ValueError:  # Python does not write out integers of thousands of digits
        return "a number of thousands of digits"


def _admits(value: Any, wanted: Any) -> bool:
    """Whether a single value is of a type and within its bounds."""
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is Annotated:
        return _admits(value, args[0]) and all(bound.admits(value) for bound in args[1:])
    if origin is Literal:
        return value in args
    if wanted is float:  # the comparison is exact for any int and false for NaN and infinity
        return type(value) in (int, float) and abs(value) <= sys.float_info.max
    if wanted is str:
        return isinstance(value, str) and value.isprintable()
    return type(value) is wanted


def _fit_record(value: dict[Any, Any], wanted: Any) -> dict[str, Any]:
    hints = get_type_hints(wanted, include_extras=True)
    missing = hints.keys() - value.keys()
    if missing:
        raise Misfit(f"{min(missing)} is missing")
    return {key: _at(key, value[key], hint) for key, hint in hints.items()}


def _at(key: str, value: object, wanted: Any) -> Any:
    try:
        return fit(value, wanted)
    except Misfit as misfit:
        path = f"{key}.{misfit.path}" if misfit.path else key
        raise Misfit(misfit.reason, path) from None


def _present(args: tuple[Any, ...]) -> Any:
    """The X of ``X | None``."""
    (inner,) = (arg for arg in args if arg is not type(None))
    return inner


def _misfit(value: object, wanted: Any) -> Misfit:
    args = get_args(wanted)
    words = args if get_origin(wanted) is Literal else [w for b in args[1:] if isinstance(b, OneOf) for w in b.words]
    hint = nearest(value, words) if isinstance(value, str) else ""
    words_for = shown(value)
    if float in (wanted, *args):
        words_for = words_for.removesuffix(".0")  # 0 may have become 0.0 on the way here
    return Misfit(f"expected {describe(wanted)}, got {words_for}{hint}")


def _number(value: float) -> str:
    return f"{value:,g}" if isinstance(value, float) else f"{value:,}"
