"""Type checks: whether a decoded value has the declared types, in every field.

``Codec.value`` makes only classes that it knows, but puts into them whatever stands there; who goes on with such a
value without a look at it would trip over the first field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Check = Callable[[Any], bool]


def fits(value: object, wanted: Any) -> bool:
    """Whether a value is of a type: of plain types, NamedTuples, dataclasses, tuples, lists, sets, unions, literals."""
    return check(wanted)(value)


@cache
def check(wanted: Any) -> Check:
    """The same for many values of one type, which is looked at once."""
    if wanted is object or wanted is Any:
        return lambda value: True
    if wanted is float:
        return lambda value: type(value) in (float, int)
    if wanted is None or wanted is type(None):
        return lambda value: value is None
    origin, args = get_origin(wanted), get_args(wanted)
    if origin is None:
        return _record(wanted)
    if origin in (Union, UnionType):
        return _union(args)
    if origin is Literal:
        return lambda value: type(value) is type(args[0]) and value in args
    if origin in (list, frozenset):
        item = check(args[0])
        return lambda value: type(value) is origin and all(map(item, value))
    if args and args[-1] is Ellipsis:
        return _many(args[0])
    items = tuple(map(check, args))
    return lambda value: (
        type(value) is tuple
        and len(value) == len(items)
        and all(fit(one) for fit, one in zip(items, value, strict=True))
    )


def _record(made: Any) -> Check:
    """An instance of a class, and each field of it."""
    fields = [(name, check(hint)) for name, hint in _fields(made).items()]
    return lambda value: type(value) is made and all(fit(getattr(value, name)) for name, fit in fields)


def _union(args: tuple[Any, ...]) -> Check:
    """One of several; of classes the one that it is."""
    by_class = {one: check(one) for one in args if get_origin(one) is None and one not in (object, Any, float, None)}
    others = [check(one) for one in args if one not in by_class]

    def fit(value: Any) -> bool:
        own = by_class.get(type(value))
        return own(value) if own is not None else any(other(value) for other in others)

    return fit


def _many(made: Any) -> Check:
    """A tuple of any number; of records with plain fields there may be a hundred thousand."""
    item, kinds = check(made), tuple(_fields(made).values())
    if not kinds or not {*kinds} <= {str, int, bytes, bool}:
        return lambda value: type(value) is tuple and all(map(item, value))

    def fit(value: Any) -> bool:
        if type(value) is not tuple or {*map(type, value)} - {made}:
            return False
        columns = zip(*value, strict=True)
        return all({*map(type, column)} <= {kind} for column, kind in zip(columns, kinds, strict=bool(value)))

    return fit


def _fields(made: Any) -> Mapping[str, Any]:
    """The fields of a class by their types, none for a plain one."""
    if hasattr(made, "_fields") or hasattr(made, "__dataclass_fields__"):
        return get_type_hints(made)
    return {}
