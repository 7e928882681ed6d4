"""A process of a real drill that does not start says why, and one that ends by itself is told of."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import Refused
from engine.faults.realprocess import RealProcess


def test_one_that_can_not_start_says_why(tmp_path: Path) -> None:
    process = RealProcess("broker", tmp_path, ("broker", "nosuch", "ipc://x", "{}"))
    with pytest.raises(Refused, match="broker does not start: KeyError: 'nosuch'"):
        process.ready()
    process.kill()
    assert process.trouble == ""
