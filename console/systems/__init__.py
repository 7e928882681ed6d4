"""Pictures that only one system has. A system may have a file of its name here; none needs one."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from console.screens.terms import View


def view_of(name: str) -> View:
    """The ``VIEW`` of the file of this name; without such a file the general one."""
    module = f"{__name__}.{name}"
    view: View = import_module(module).VIEW if find_spec(module) is not None else View()
    return view
