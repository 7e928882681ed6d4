"""A process that answers on its control socket: a lab of a test, watched, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import Any

import pytest

from engine.alerts.rules import DEFAULTS, Rules
from engine.drive.control.found import about
from engine.drive.control.place import place
from engine.drive.control.server import listening
from engine.labs.status import Disk
from engine.labs.watcher import Watcher, of_lab
from tests.helpers.fake_lab import FakeLab
from tests.helpers.processes import WAIT


def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take long to answer."""
    for name in ("console.cli.asking.PATIENCE", "engine.drive.control.caller.SILENCE", "engine.labs.link.PATIENCE"):
        monkeypatch.setattr(name, WAIT)


@contextmanager
def runtime() -> Iterator[Path]:
    """A folder for sockets, whose paths may be short only."""
    folder = Path(mkdtemp(prefix="rh-"))
    try:
        yield folder
    finally:
        rmtree(folder)


@contextmanager
def served(folder: Path, lab: FakeLab, rules: Rules | None = None, **words: Any) -> Iterator[Watcher]:
    """The lab at its control socket in this folder, as a broker at its endpoints; with these words as well."""
    source = of_lab(lab, "broker", lab.endpoints, folder)._replace(disk=lambda: Disk("/srv", 50, 100))
    watcher = Watcher(source, rules or Rules(DEFAULTS))
    told = about(lab.system.name, "broker", lab.endpoints)
    folder.mkdir(mode=0o700, exist_ok=True)
    try:
        with listening(lambda note: None, place(folder, lab.endpoints[0]), told, {**watcher.words(), **words}):
            yield watcher
    finally:
        watcher.close()
