"""Whether a value from outside is of the type that it claims: every field, however deep.

``Tape.value`` makes only classes that it knows, but puts into them whatever stands there; who goes on with such a value
without a look at it would trip over the first field.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def fits(value: object, wanted: Any) -> bool:
    """Whether a value is of a type: of plain types, NamedTuples, dataclasses, tuples, lists, sets, unions, literals."""
    if wanted is object or wanted is Any:
        return True
    if wanted is float:
        return type(value) in (float, int)
    if isinstance(wanted, type) and get_origin(wanted) is None:
        if type(value) is not wanted:
            return False
        made: Any = wanted
        return all(fits(getattr(value, name), hint) for name, hint in _fields(made).items())
    origin, args = get_origin(wanted), get_args(wanted)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in args)
    if origin is Literal:
        return value in args
    if origin in (list, frozenset):
        return isinstance(value, origin) and all(fits(item, args[0]) for item in value)
    if origin is tuple and args[-1] is Ellipsis:
        return type(value) is tuple and all(fits(item, args[0]) for item in value)
    if origin is tuple:
        return type(value) is tuple and len(value) == len(args) and all(map(fits, value, args))
    return value is None and wanted in (None, type(None))


@cache
def _fields(made: Any) -> Mapping[str, Any]:
    """The fields of a class by their types, none for a plain one."""
    if hasattr(made, "_fields") or hasattr(made, "__dataclass_fields__"):
        return get_type_hints(made)
    return {}
