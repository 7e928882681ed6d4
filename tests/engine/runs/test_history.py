"""Runs on disk: whole or not there, bounded, foreign files named and left alone."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from engine.runs.history import History
from engine.runs.record import run_id, to_json
from engine.schema import Misfit
from tests.helpers.runs import a_run


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_kept_listed_and_loaded(tmp_path: Path) -> None:
    history = History(tmp_path / "state" / "runs")
    assert history.list() == ([], [])
    late, early = a_run(2, seconds=60), a_run(1)
    assert history.keep(late) == run_id(late)
    assert history.keep(early) == run_id(early)
    assert history.list() == ([early, late], [])
    assert history.load(run_id(late)) == late
    assert names(history.folder) == [f"{run_id(early)}.json", f"{run_id(late)}.json"]
    assert history.folder.stat().st_mode & 0o777 == 0o700


def test_keeping_a_run_again_replaces_it(tmp_path: Path) -> None:
    history = History(tmp_path)
    so_far, ended = a_run(1), a_run(5)
    assert history.keep(so_far) == history.keep(ended)
    assert history.list() == ([ended], [])


def test_the_oldest_are_forgotten_and_nothing_else(tmp_path: Path) -> None:
    history = History(tmp_path, keep=3)
    (tmp_path / "notes.json").write_text("mine")
    (tmp_path / f".{run_id(a_run(seconds=-1))}.json.77").write_text('{"half')
    runs = [a_run(1, seconds=i) for i in range(5)]
    for run in runs:
        history.keep(run)
    history.keep(runs[-1])
    assert history.list()[0] == runs[-3:]
    assert names(tmp_path) == sorted([*(f"{run_id(run)}.json" for run in runs[-3:]), "notes.json"])


def test_foreign_and_broken_files_are_named_and_skipped(tmp_path: Path) -> None:
    history = History(tmp_path)
    good = a_run(1, seconds=9)
    history.keep(good)
    (tmp_path / "notes.json").write_text("{}")
    ids = [run_id(a_run(seconds=i)) for i in range(1, 5)]
    (tmp_path / f"{ids[0]}.json").write_bytes(b"")
    (tmp_path / f"{ids[1]}.json").write_text(to_json(good))
    os.mkfifo(tmp_path / f"{ids[2]}.json")
    (tmp_path / f"{ids[3]}.json").symlink_to("nowhere")
    runs, skipped = history.list()
    assert runs == [good]
    assert [line.removeprefix(f"{tmp_path}/") for line in skipped] == [
        f"{ids[0]}.json: not JSON: Expecting value: line 1 column 1 (char 0)",
        f"{ids[1]}.json: holds another run, {run_id(good)}",
        f"{ids[2]}.json: is a FIFO, not a regular file",
        f"{ids[3]}.json: No such file or directory",
        "notes.json: not the name of a run, which looks like 20260131T235959.123456Z-ping",
    ]


@pytest.mark.parametrize("name", ["../../etc/passwd", "", "20261128T010203.000456Z-ping/../x", "latest"])
def test_only_the_name_of_a_run_is_looked_for(tmp_path: Path, name: str) -> None:
    with pytest.raises(Misfit, match="not the name of a run"):
        History(tmp_path).load(name)


def test_a_full_disk_is_told_and_counted_and_leaves_what_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    history = History(tmp_path)
    before = a_run(1)
    history.keep(before)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        for run in (a_run(2), a_run(1, seconds=1)):
            with pytest.raises(OSError, match="No space left"):
                history.keep(run)
    assert history.failed == 2
    assert history.list() == ([before], [])
    assert names(tmp_path) == [f"{run_id(before)}.json"]


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("")
    history = History(tmp_path / "runs")
    with pytest.raises(FileExistsError):
        history.keep(a_run())
    assert history.failed == 1
    assert history.list() == ([], [f"{tmp_path / 'runs'}: Not a directory"]), "it is said that runs can not be read"
    assert History(tmp_path / "none").list() == ([], [])


def test_a_run_is_found_by_last_by_place_and_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    history = History(tmp_path)
    with pytest.raises(Misfit, match="no run is kept yet"):
        history.find("last")
    early, late = a_run(1), a_run(2, seconds=60)
    for run in (early, late):
        history.keep(run)
    assert history.find("last") == history.find("-1") == history.find("20261128T010303") == late
    assert history.find("-2") == history.find(run_id(early)) == early
    for name, reason in (
        ("-3", "2 runs kept"),
        ("20261128", "2 runs with ids that begin so"),
        ("2027", "not the name of a run"),
    ):
        with pytest.raises(Misfit, match=reason):
            history.find(name)
