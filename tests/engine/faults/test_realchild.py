"""A worker of a real drill writes what it executes, of the tasks whose ids are nobody else's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from engine.catalogue import SYSTEMS
from engine.faults.realchild import noting
from engine.parts.store import GLOBAL
from engine.runs.checker import executions


def test_a_worker_writes_what_it_executes(tmp_path: Path) -> None:
    system = SYSTEMS["roundrobin"]
    seat = noting(system, tmp_path / "w").worker(system.options(), "tcp://127.0.0.1:6714", 1, 4)
    core: Any = seat.core
    for ident in (b"a" * GLOBAL, b"short", b"b" * GLOBAL):
        core.executing(ident)
    assert [event.task for event in executions(tmp_path / "w")] == [b"a" * GLOBAL, b"b" * GLOBAL]
