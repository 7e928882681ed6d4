"""Calls one Python function for one request of a service, in a process of its own that nothing else needs.

Run by its path with ``module:function`` or ``/whole/path/file.py:function``. The function is given standard input as
bytes and returns bytes or text; that becomes standard output. What it prints goes to standard error. No module is
looked for in the current folder, and only the standard library is needed.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from typing import Any


def find(name: str) -> Any:
    """The function of this name. Raises what its import raises."""
    where, _, path = name.partition(":")
    if where.endswith(".py"):
        spec = importlib.util.spec_from_file_location("service", where)
        assert spec is not None and spec.loader is not None  # for a name that ends so there is one
        found: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(found)
    else:
        found = importlib.import_module(where)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def main() -> None:
    """Call it once."""
    out = sys.stdout.buffer
    with contextlib.redirect_stdout(sys.stderr):
        given = find(sys.argv[1])(sys.stdin.buffer.read())
    out.write(given if isinstance(given, bytes) else str(given).encode())


if __name__ == "__main__":
    main()
