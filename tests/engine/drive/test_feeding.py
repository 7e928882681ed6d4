"""Feeding: copied, renamed, and refused file by file."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from engine.drive.feeding import Fed, feed, feed_text
from engine.errors import Refused


def files(folder: Path, *names: str) -> list[str]:
    folder.mkdir(exist_ok=True)
    for name in names:
        (folder / name).write_text(f"text of {name}", encoding="utf-8")
    return [str(folder / name) for name in names]


def test_files_are_fed_under_their_names_and_done_is_touched_last(tmp_path: Path) -> None:
    paths = files(tmp_path / "in", "a.txt", "b")
    assert feed(str(tmp_path), paths, done=True) == [Fed(paths[0], "a.txt"), Fed(paths[1], "b")]
    queue = tmp_path / "queue-start"
    assert sorted(os.listdir(queue)) == ["a.txt.ready", "b.ready", "done"]
    assert (queue / "b.ready").read_text(encoding="utf-8") == "text of b"
    with pytest.raises(Refused, match="is done"):
        feed(str(tmp_path), paths)


def test_what_cannot_be_fed_says_why_holds_up_nobody_and_holds_back_done(tmp_path: Path) -> None:
    paths = files(tmp_path / "in", "a", ".hidden", "b")
    missing = str(tmp_path / "in" / "missing")
    fed = feed(str(tmp_path), [paths[0], paths[0], paths[1], missing, paths[2]], done=True)
    assert [one.reason for one in fed[:3]] == ["", "an item of this id is in the queue", "id starts with a dot"]
    assert "No such file" in fed[3].reason
    assert fed[4].reason == ""
    assert sorted(os.listdir(tmp_path / "queue-start")) == ["a.ready", "b.ready"]


def test_an_id_that_is_in_the_queue_in_any_state_is_refused(tmp_path: Path) -> None:
    (tmp_path / "queue-start").mkdir()
    (tmp_path / "queue-start" / "a.7.working").touch()
    (fed,) = feed(str(tmp_path), files(tmp_path / "in", "a"))
    assert fed.reason == "an item of this id is in the queue"


def test_what_is_no_document_and_has_its_name_is_named_with_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "queue-start" / "a.ready").mkdir(parents=True)
    (fed,) = feed(str(tmp_path), files(tmp_path / "in", "a"))
    assert fed.reason == "a.ready in the queue is a folder"


def test_what_failed_twice_is_tried_again_when_it_is_fed_again_also_where_the_queue_is_done(tmp_path: Path) -> None:
    queue = tmp_path / "queue-start"
    queue.mkdir()
    for name in ("a.failed_twice", "a.failed_twice.input", "done"):
        (queue / name).touch()
    paths = files(tmp_path / "in", "a", "b")
    assert feed(str(tmp_path), paths[:1]) == [Fed(paths[0], "a")]
    assert (queue / "a.ready").read_text(encoding="utf-8") == "text of a"
    for refused, done in ((paths, False), (paths[:1], True)):
        with pytest.raises(Refused, match="is done: nothing more can be fed into it, but what failed twice there"):
            feed(str(tmp_path), refused, done)


def test_a_root_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match="cannot feed"):
        feed(str(tmp_path / "file"), [])


def test_a_mistyped_root_with_nothing_to_feed_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"no folder .*typo"):
        feed(str(tmp_path / "typo"), [str(tmp_path / "missing")])
    assert os.listdir(tmp_path) == []


def test_a_text_is_fed_and_replaces_nothing(tmp_path: Path) -> None:
    assert feed_text(str(tmp_path), "a", "one") == ""
    assert feed_text(str(tmp_path), "a", "two").startswith("a.ready: ")
    assert feed_text(str(tmp_path), ".a", "two") == "id starts with a dot"
    assert os.listdir(tmp_path / "queue-start") == ["a.ready"]
    assert (tmp_path / "queue-start" / "a.ready").read_text(encoding="utf-8") == "one"


def test_what_has_no_end_is_not_fed_and_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    paths = [str(tmp_path / name) for name in ("fifo", "zero", "folder")]
    assert [one.reason for one in feed(str(tmp_path), paths + files(tmp_path / "in", "a"))] == [
        "is a FIFO, not a regular file",
        "is a device, not a regular file",
        "is a folder, not a regular file",
        "",
    ]


def test_a_document_keeps_its_mode(tmp_path: Path) -> None:
    (path,) = files(tmp_path / "in", "a")
    for mode in (0o600, 0o640, 0o644):
        os.chmod(path, mode)
        root = tmp_path / f"{mode:o}"
        feed(str(root), [path])
        assert stat.S_IMODE((root / "queue-start" / "a.ready").stat().st_mode) == mode
        assert stat.S_IMODE((root / "queue-start").stat().st_mode) == 0o700
    feed(str(tmp_path / "shared"), [path], mode=0o2770)
    assert stat.S_IMODE((tmp_path / "shared" / "queue-start").stat().st_mode) == 0o2770


def test_nothing_is_copied_through_what_others_put_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = files(tmp_path / "in", "a")
    home, queue = tmp_path / "home", tmp_path / "queue-start"
    home.write_text("the operator's", encoding="utf-8")
    queue.mkdir()
    tokens = iter(["known", "fresh"])
    monkeypatch.setattr("secrets.token_hex", lambda size: next(tokens))
    for name in (f"a.{os.getpid()}.tmp", ".a.known.tmp"):
        (queue / name).symlink_to(home)
    assert feed(str(tmp_path), [path])[0].reason == ""
    assert home.read_text(encoding="utf-8") == "the operator's"
    assert (queue / "a.ready").read_text(encoding="utf-8") == "text of a"
    assert not (queue / "a.ready").is_symlink()
