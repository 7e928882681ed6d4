"""Both pumps, for tests that hold them to the same. The native one is built anew, from the source as it is."""

from __future__ import annotations

import tempfile
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from engine.drive.pump import hook
from engine.drive.pump.native import Native, use
from engine.drive.pump.pure import Pump, Pure

SOURCE = Path(__file__).parents[2] / hook.HERE / "native.c"


def pump_of(name: str) -> Pump:
    """The pump of this name, ``pure`` or ``native``; skips the test where it can not be built."""
    if name == "pure":
        return Pure()
    built = _native()
    if isinstance(built, str):
        pytest.skip(f"the native pump can not be built: {built}")
    return built


@cache
def _native() -> Native | str:
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, hook.BINARY)
        try:
            hook.compile_pump(SOURCE, made)
        except hook.Failed as error:
            return str(error)
        return use(binary_at(made))


def binary_at(path: Path) -> Any:
    """Load a binary of the pump from where it lies."""
    spec = spec_from_file_location("_native", path)
    assert spec is not None and spec.loader is not None
    binary = module_from_spec(spec)
    spec.loader.exec_module(binary)
    return binary
