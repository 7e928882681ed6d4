"""A watchdog in a process of its own: who it is, and why it did not come to watch."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from engine.drive import locks
from engine.drive.detached import OUTPUT, detach, watchdog
from engine.drive.locks import Lock
from engine.drive.pipeline import WATCHED, Pipeline
from engine.errors import Refused
from engine.protocols.diskqueue.pipeline import Stage


def test_who_watches_is_known_by_its_lock_on_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert watchdog(str(tmp_path)) == 0
    lock = Lock(str(tmp_path), WATCHED)
    assert lock.acquire_patiently()
    assert watchdog(str(tmp_path)) == os.getpid()
    monkeypatch.setattr(locks, "HOST", "another")
    assert watchdog(str(tmp_path)) == 0
    lock.release()


def test_a_watchdog_that_ends_at_once_is_refused_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="the watchdog has ended: no licence"):
        detach(Pipeline(str(tmp_path), [Stage("a")]), [sys.executable, "-c", "print('no licence')"])
    assert (tmp_path / OUTPUT).read_text(encoding="utf-8") == "no licence\n"
