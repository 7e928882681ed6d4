"""Cores out of what stands in a journal."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import pytest

from engine.core import Started
from engine.protocols.diskqueue import SYSTEM
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.driver import Driver
from engine.protocols.diskqueue.operations import List
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.watchdog import Look, Watchdog


def test_a_driver_is_the_one_that_was_recorded() -> None:
    config = DriverConfig("/a", "/b", "7", max_files=3)
    seat = SYSTEM.driver(Options(), list(astuple(config)), 5.0, pid=12)
    core: Any = seat.core
    assert isinstance(core, Driver) and core.config == config and seat.sockets == ()
    assert core.handle(Started(), 1.0) == [List("/a")]


def test_a_watchdog_is_the_one_that_was_recorded() -> None:
    core: Any = SYSTEM.watchdog(Options(), [["parse", 2, "copy"]], 3, True, root="/r").core
    assert isinstance(core, Watchdog)
    assert [(view.name, view.wanted) for view in core.snapshot(0.0)] == [("parse", 2)]
    assert core.handle(Started(), 1.0) == [Look()]


def test_what_is_no_configuration_raises() -> None:
    with pytest.raises(TypeError):
        SYSTEM.driver(Options(), [], 5.0)
    with pytest.raises(TypeError):
        SYSTEM.watchdog(Options(), [["a", 1, "copy", "more"]], 1, False)
