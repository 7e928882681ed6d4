"""A journal for whoever asked for one, or the reason why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.catalogue import CATALOGUE
from engine.errors import Refused
from engine.journal.read import read
from engine.labs.record import begin
from engine.protocols.diskqueue import SYSTEM
from engine.protocols.diskqueue.options import Options


def test_a_new_file_is_begun_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.journal"
    begin(path, SYSTEM, Options(max_files=7), lambda note: None).close()
    assert read(path, CATALOGUE).about[:2] == ("diskqueue", {**read(path, CATALOGUE).about.options, "max_files": 7})
    with pytest.raises(Refused, match="it exists"):
        begin(path, SYSTEM, Options(), lambda note: None)
    with pytest.raises(Refused, match="No such file or directory"):
        begin(tmp_path / "none" / "a.journal", SYSTEM, Options(), lambda note: None)
