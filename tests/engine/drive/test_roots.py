"""Whose a root is, what is made in it, what is believed of its memory."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path

import pytest

from engine.core import Note
from engine.drive import roots
from engine.drive.pipeline import Pipeline
from engine.errors import Refused
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage
from tests.helpers.strangers import STRANGER, needs_stranger, open_folder


def test_a_root_of_ours_or_one_that_is_not_there_yet_is_taken(tmp_path: Path) -> None:
    roots.check(str(tmp_path))
    roots.check(str(tmp_path / "none" / "yet"))


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o707, 0o1777])
def test_a_root_that_others_can_write_is_refused_with_owner_and_mode(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    with pytest.raises(Refused, match=f"{tmp_path} can be written by others than uid {os.geteuid()}.*{mode:04o}"):
        roots.check(str(tmp_path))


def test_a_memory_that_others_can_write_is_refused(tmp_path: Path) -> None:
    roots.remember(str(tmp_path), [Stage("a")], Options())
    (tmp_path / roots.MEMORY).chmod(0o666)
    with pytest.raises(Refused, match=r"pipeline\.json can be written by others.*--trust-root"):
        roots.check(str(tmp_path))


def test_a_folder_above_that_others_can_write_is_refused_unless_it_is_sticky(tmp_path: Path) -> None:
    above = tmp_path / "above"
    (above / "root").mkdir(parents=True)
    above.chmod(0o777)
    with pytest.raises(Refused, match=f"{above} can be written by others"):
        roots.check(str(above / "root"))
    (tmp_path / "link").symlink_to(above / "root")
    with pytest.raises(Refused, match=f"{above} can be written by others"):
        roots.check(str(tmp_path / "link"))
    above.chmod(0o1777)
    roots.check(str(above / "root"))


@needs_stranger
def test_another_users_root_is_refused_and_nothing_of_it_is_run() -> None:
    """``pipeline run`` ran the commands of a ``pipeline.json`` that another user had written."""
    with open_folder() as root:
        ran = root / "ran"
        (root / "queue-start").mkdir()
        (root / "queue-start" / "x.ready").touch()
        roots.remember(str(root), [Stage("a", 1, f"touch {{input}} {{output}} {ran}")], Options())
        for path in (root, root / roots.MEMORY):
            os.chown(path, STRANGER, STRANGER)
        pipeline = Pipeline.open(str(root))
        for act in (pipeline.start, pipeline.stop, pipeline.kill):
            with pytest.raises(Refused, match=rf"belongs to uid {STRANGER} \(mode 0\d\d\d\)"):
                act()
        assert pipeline.run(signals=False) == 2
        assert not ran.exists()
        assert sorted(os.listdir(root)) == [roots.MEMORY, "queue-start"]
        assert pipeline.show().queues[0].counts.ready == 1, "but it can be looked at"


@needs_stranger
def test_a_root_that_the_operator_trusts_is_acted_in() -> None:
    with open_folder() as root:
        for queue in ("start", "a"):
            (root / f"queue-{queue}").mkdir()
            (root / f"queue-{queue}" / "done").touch()
        roots.remember(str(root), [Stage("a")], Options())
        os.chown(root, STRANGER, STRANGER)
        assert Pipeline.open(str(root), trust=True).run(signals=False) == 0


@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_what_is_made_is_for_this_user_only(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        roots.make(str(tmp_path / "q"), [Stage("a"), Stage("b")], 0o700)
        roots.remember(str(tmp_path / "q"), [Stage("a"), Stage("b")], Options())
    finally:
        os.umask(before)
    made = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "q").iterdir()}
    assert made == {"queue-start": 0o700, "queue-a": 0o700, "queue-b": 0o700, roots.MEMORY: 0o600}
    assert stat.S_IMODE((tmp_path / "q").stat().st_mode) == 0o700


def test_a_planted_name_is_not_written_through(tmp_path: Path) -> None:
    """``pipeline.json.tmp`` as a link overwrote a file of the operator; so did ``pipeline.json``."""
    (tmp_path / "mine").write_text("mine", encoding="utf-8")
    for name in ("pipeline.json", "pipeline.json.tmp"):
        (tmp_path / name).symlink_to("mine")
    roots.remember(str(tmp_path), [Stage("a")], Options())
    assert (tmp_path / "mine").read_text(encoding="utf-8") == "mine"
    assert roots.recall(str(tmp_path)) == ((Stage("a"),), Options())


def test_what_is_written_already_is_not_written_again_as_the_disk_may_be_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    roots.remember(str(tmp_path), [Stage("a")], Options())

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("engine.files.safely.replace", full)
    roots.remember(str(tmp_path), [Stage("a")], Options())
    notes: list[Note] = []
    assert Pipeline(str(tmp_path), [Stage("b")], say=notes.append).run(signals=False) == 2
    assert notes == [Note("bad", f"{tmp_path}: No space left on device")]


def test_a_memory_of_an_older_version_is_read(tmp_path: Path) -> None:
    known = {"stages": [["a", 2, "upper"]], "options": {"max_files": 7}}
    (tmp_path / roots.MEMORY).write_text(json.dumps(known), encoding="utf-8")
    assert roots.recall(str(tmp_path)) == ((Stage("a", 2, "upper"),), Options(max_files=7))


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "a list of stages is missing"),
        ('{"stages": 1}', "a list of stages is missing"),
        ('{"stages": [[1, 2, 3]]}', "stage 1: expected plain text"),
        ('{"stages": [["a", true, "copy"]]}', "stage 1: expected a whole number"),
        ('{"stages": [["a", 1]]}', "stage 1 is not a name"),
        ('{"stages": [["a", 1, "x\\u001b[2J"]]}', "stage 1: expected plain text"),
        ('{"stages": []}', "is not what a pipeline writes"),
        ('{"stages": [["a", 1, "copy"]], "options": []}', "options are not a table"),
        ('{"stages": [["a", 1, "copy"]], "options": {"pol": 1}}', "there is no 'pol'; did you mean poll"),
        ('{"stages": [["a", 1, "copy"]], "options": {"poll": "soon"}}', "poll: expected"),
        ('{"stages":\n[}', r"pipeline\.json:2 is not what a pipeline writes"),
        ("[" * 200_000, "nested too deeply"),
        ("1" * 10_000, "is not what a pipeline writes"),
        (" " * (roots.MOST + 1), "is larger than"),
        ("\udcff", "is not what a pipeline writes"),
    ],
    ids=range(15),
)
def test_a_memory_that_can_not_be_meant_is_named(tmp_path: Path, content: str, told: str) -> None:
    (tmp_path / roots.MEMORY).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(Refused, match=told):
        roots.recall(str(tmp_path))


def test_a_fifo_as_the_memory_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / roots.MEMORY)
    with pytest.raises(Refused, match="is a FIFO, not a regular file"):
        roots.recall(str(tmp_path))


@pytest.mark.parametrize(("mode", "above"), [(0o2770, 0o710), (0o1777, 0o711), (0o700, 0o700)])
def test_queues_that_others_use_too_are_made_as_asked_and_the_root_stays_ones_own(
    tmp_path: Path, mode: int, above: int
) -> None:
    """Others can go through the root, or they would not reach the queues; nobody else can read it or write there."""
    roots.make(str(tmp_path / "q"), [Stage("a")], mode)
    modes = {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in os.scandir(tmp_path / "q")}
    assert modes == {"queue-start": mode, "queue-a": mode}
    assert stat.S_IMODE((tmp_path / "q").stat().st_mode) == above
    roots.check(str(tmp_path / "q"))
