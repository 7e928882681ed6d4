"""The store of a lab's broker: where its settings name one, and where it can not be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.catalogue import SYSTEMS
from engine.core import Note
from engine.errors import Refused
from engine.labs.stored import keeper_of, tagged
from engine.parts.bulk import BulkSpec
from engine.protocols.roundrobin import SYSTEM
from engine.protocols.roundrobin.options import Options

NOTES: list[Note] = []


def test_only_where_settings_name_one(tmp_path: Path) -> None:
    for system in SYSTEMS.values():
        assert keeper_of(system, system.options(), tmp_path, NOTES.append) is None
    durable = Options(backlog="sqlite:")
    keeper = keeper_of(SYSTEM, durable, tmp_path, NOTES.append)
    assert keeper is not None and (tmp_path / "backlog" / "roundrobin.sqlite").exists() and not NOTES
    with pytest.raises(Refused, match=r"the backlog can not be kept: .* is in use by another broker"):
        keeper_of(SYSTEM, durable, tmp_path, NOTES.append)
    keeper.close()
    (tmp_path / "backlog" / "roundrobin.sqlite").write_bytes(b"nonsense" * 1000)
    said: list[Note] = []
    keeper = keeper_of(SYSTEM, durable, tmp_path, said.append)
    assert keeper is not None and keeper.close()
    assert [note.level for note in said] == ["bad"] and "begins empty" in said[0].text


def test_runs_are_tagged_where_tasks_are_kept_and_no_two_alike() -> None:
    spec, durable = BulkSpec("ping", 1), Options(backlog="sqlite:")
    assert tagged(SYSTEM, Options(), spec) == spec
    first, second = (tagged(SYSTEM, durable, spec).tag for _ in range(2))
    assert len(first) == len(second) == 12 and first != second
