"""A pipeline that runs answers for its status."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.cli.asking import chosen, status_at
from console.cli.attended import attended
from console.cli.common import settings_of
from engine.drive.control.place import NOWHERE
from engine.drive.pipeline import Pipeline
from engine.feed import Feed
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage
from tests.helpers.served import patient, runtime


@pytest.fixture
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    patient(monkeypatch)
    with runtime() as folder:
        monkeypatch.setattr("platformdirs.user_runtime_path", lambda *_, **__: folder)
        yield folder


def test_a_pipeline_answers_by_its_name(folder: Path, tmp_path: Path) -> None:
    made = Pipeline(str(tmp_path / "root"), (Stage("copy"),), Options(), lambda note: None)
    with attended(made, Namespace(), settings_of([]), lambda note: None, Feed()):
        status = status_at(chosen(folder, None))
    assert (status["system"], status["role"], status["endpoints"]) == (
        "diskqueue",
        "pipeline",
        [str(tmp_path / "root")],
    )
    assert [queue["name"] for queue in status["queues"]] == ["start", "copy"]


def test_without_a_control_socket_it_is_watched_all_the_same(folder: Path, tmp_path: Path) -> None:
    made = Pipeline(str(tmp_path / "root"), (Stage("copy"),), Options(), lambda note: None)
    with attended(made, Namespace(control=NOWHERE), settings_of([]), lambda note: None, Feed()):
        assert list(folder.iterdir()) == []
