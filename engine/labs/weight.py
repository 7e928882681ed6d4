"""The size of a value for copying: its references, counted up to a bound."""

from __future__ import annotations

import gc
from types import BuiltinFunctionType, FunctionType, ModuleType

_SHARED = (type, ModuleType, FunctionType, BuiltinFunctionType)  # a deep copy shares them


def weight(value: object, most: int) -> int:
    """References that are reached from a value, or some number above ``most`` where there are more."""
    seen, todo, found = {id(value)}, [value], 0
    while todo and found <= most:
        held = gc.get_referents(todo.pop())
        found += len(held)
        for one in held:
            if gc.is_tracked(one) and not isinstance(one, _SHARED) and id(one) not in seen:
                seen.add(id(one))
                todo.append(one)
    return found
