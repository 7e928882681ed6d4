"""The power is cut behind every write of a short record; a store that does not sync must lose something."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from tests.chaos.powercut import cuts, record, why_not, wrong_after

STEPS = 10


@pytest.fixture(autouse=True)
def needs_its_file_system() -> None:
    if reason := why_not():
        pytest.skip(reason)


def test_whatever_the_store_had_said_is_there_after_any_cut(tmp_path: Path) -> None:
    noted, random = record(tmp_path, 3, STEPS), Random(3)
    assert len(cuts(noted)) > 60 and {write.file for write in noted.writes} > {"x.sqlite", "x.sqlite-wal"}
    assert [wrong for cut in cuts(noted) if (wrong := wrong_after(noted, cut, random))] == []


@pytest.mark.parametrize("synchronous", ["NORMAL", "OFF"])
def test_a_store_that_does_not_sync_loses_what_it_said(tmp_path: Path, synchronous: str) -> None:
    noted, random = record(tmp_path, 3, STEPS, synchronous), Random(3)
    assert any(wrong_after(noted, cut, random) for cut in cuts(noted))
