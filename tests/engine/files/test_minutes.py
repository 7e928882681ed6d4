"""Minutes in a file: what is kept, for how long, and what is left of it after a crash."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from engine.files.minutes import FILES, PLACES, SIZE, Figures, Minute, Recorder, packed, path_of, read

NOON = 29_000_000 * 60.0  # seconds since the epoch


def figures(done: int = 0, backlog: int = 0, latency: int = 0, alive: int = 3, lost: int = 0) -> Figures:
    return Figures(done, 0, backlog, latency, alive, lost)


def quiet(words: str, well: bool) -> None:
    raise AssertionError(words)


def test_a_minute_has_what_was_done_in_it_and_its_extremes(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "m" / "x", quiet)
    for second in range(120):
        worst = second == 30
        seen = figures(100 + second * 5, 900 if worst else 2, 70_000 if worst else 9, 1 if worst else 3, 2 * worst)
        recorder.look(NOON + second, seen)
    recorder.close()
    first, second_one = read(tmp_path / "m" / "x", NOON + 120)
    assert first == Minute(int(NOON // 60), 59, 295, 0, 900, 70_000, 1, 2)
    assert (second_one.seconds, second_one.done, second_one.backlog, second_one.alive) == (60, 300, 2, 3)
    assert stat.S_IMODE((tmp_path / "m" / "x").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "m").stat().st_mode) == 0o700


def test_one_that_was_killed_goes_on_in_the_same_minute(tmp_path: Path) -> None:
    path = tmp_path / "x"
    killed = Recorder(path, quiet)
    for second in range(15):
        killed.look(NOON + second, figures(second))
    assert killed._file is not None
    os.close(killed._file)  # what a kill does: nothing more is written
    again = Recorder(path, quiet)
    for second in range(20, 30):
        again.look(NOON + second, figures(second - 20))
    again.close()
    (minute,) = read(path, NOON + 30)
    assert minute.done == 10 + 9, "ten of the first were written, every ten seconds"


def test_a_torn_record_is_left_out_and_harms_no_other(tmp_path: Path) -> None:
    path, at = tmp_path / "x", int(NOON // 60)
    recorder = Recorder(path, quiet)
    for minute in range(3):
        recorder.look(NOON + 60 * minute, figures())
    recorder.close()
    assert path.stat().st_size == PLACES * SIZE
    with path.open("r+b") as file:
        file.seek((at + 1) % PLACES * SIZE + 9)
        file.write(b"torn")
    assert [minute.at - at for minute in read(path, NOON + 200)] == [0, 2]
    os.truncate(path, (at + 2) % PLACES * SIZE + 5)
    assert [minute.at - at for minute in read(path, NOON + 200)] == [0]
    recorder = Recorder(path, quiet)
    recorder.look(NOON + 180, figures())
    recorder.close()
    assert [minute.at - at for minute in read(path, NOON + 200)] == [0, 3]


def test_the_file_is_a_ring(tmp_path: Path) -> None:
    path, at = tmp_path / "x", int(NOON // 60)
    recorder = Recorder(path, quiet)
    for minute in (0, 1, PLACES):
        recorder.look(NOON + 60 * minute, figures())
    recorder.close()
    assert [minute.at - at for minute in read(path, NOON + 60 * PLACES)] == [1, PLACES]
    assert read(path, NOON - 60) == [], "none is of the future"
    assert path.stat().st_size == PLACES * SIZE


def test_what_can_not_be_kept_is_said_once_and_tried_again(tmp_path: Path) -> None:
    said: list[tuple[str, bool]] = []
    first, second = Recorder(tmp_path / "x", quiet), Recorder(tmp_path / "x", lambda *words: said.append(words))
    first.look(NOON, figures())
    for at in range(25):
        second.look(NOON + at, figures())
    assert [well for _, well in said] == [False] and "written by another process" in said[0][0]
    first.close()
    second.look(NOON + 40, figures())
    second.close()
    assert said[1:] == [("the history of minutes is kept again", True)]


def test_a_link_is_not_followed_and_old_files_are_removed(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "target").write_bytes(b"mine")
    (tmp_path / "m").mkdir(mode=0o700)
    (tmp_path / "m" / "x").symlink_to(tmp_path / "target")
    recorder = Recorder(tmp_path / "m" / "x", lambda words, well: said.append(words))
    recorder.look(NOON, figures())
    recorder.close()
    assert said and (tmp_path / "target").read_bytes() == b"mine"
    for number in range(FILES + 3):
        (tmp_path / "m" / f"old{number}").touch()
        os.utime(tmp_path / "m" / f"old{number}", (number, number))
    recorder = Recorder(tmp_path / "m" / "new", quiet)
    recorder.look(NOON, figures())
    recorder.close()
    left = {path.name for path in (tmp_path / "m").iterdir()}
    assert len(left) == FILES and "new" in left and "old0" not in left


@pytest.mark.parametrize("data", [b"", b"\0" * SIZE, packed(Minute(5))[:-1] + b"x"])
def test_what_is_no_record_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x").write_bytes(data)
    assert read(tmp_path / "x", NOON) == []


def test_each_endpoint_has_a_file(tmp_path: Path) -> None:
    names = {path_of(tmp_path, "roundrobin", (f"tcp://127.0.0.1:{port}",)).name for port in (1, 2)}
    assert len(names) == 2 and all(name.startswith("roundrobin-tcp-127.0.0.1-") for name in names)
    assert path_of(tmp_path, "x", ("inproc://a",)) == path_of(tmp_path, "x", ())
    assert path_of(tmp_path, "x", ("ipc:///" + "a" * 200,)).parent == tmp_path
    assert path_of(tmp_path, "x", ("/srv/q\udcff",)) != path_of(tmp_path, "x", ("/srv/q\udcfe",)), "not UTF-8"
