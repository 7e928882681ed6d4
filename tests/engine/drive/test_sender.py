"""What a driver says to those who watch: all of it, in order, and never at the price of waiting."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest

from engine.core import Started, Woken
from engine.drive import sender as telling
from engine.drive.sender import LENGTH, LOOK, PATIENCE, RECORDER, VERSION, Teller, short
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.operations import Done, Entry, List
from tests.helpers.processes import until

CONFIG = DriverConfig("/p/queue-start", "/p/queue-parse", "7")
LATER = 1e9  # when it is time to look again, whenever it was looked last


class Watcher:
    """A socket in the folder, and what came through it."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(exist_ok=True)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        with short(f"{folder}/{name}") as address:
            self.socket.bind(address)
        self.socket.listen(8)
        self.socket.settimeout(60)
        self._link: socket.socket | None = None
        self._data = b""

    def heard(self) -> list[Any]:
        """The next message."""
        if self._link is None:
            self._link, _ = self.socket.accept()
            self._link.settimeout(60)
        while len(self._data) < 4 or len(self._data) < 4 + LENGTH.unpack_from(self._data)[0]:
            fresh = self._link.recv(65536)
            assert fresh, "nothing more comes"
            self._data += fresh
        end = 4 + LENGTH.unpack_from(self._data)[0]
        content, self._data = self._data[4:end], self._data[end:]
        found: list[Any] = msgpack.unpackb(content, unicode_errors="surrogateescape")
        return found

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
        self.socket.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "watchers"


@pytest.fixture
def watcher(folder: Path) -> Iterator[Watcher]:
    made = Watcher(folder, "w")
    yield made
    made.close()


def told(teller: Teller, at: float) -> None:
    teller.tell(at, Woken(), [List("/p/queue-start")])


def test_everything_from_the_first_event_on_and_nothing_else(watcher: Watcher, folder: Path) -> None:
    teller = Teller(str(folder), CONFIG, 1000.0, 0.0)
    teller.tell(5.0, Started(), [])
    odd = Done(List("/q"), entries=(Entry("\udcff.ready", 1, 2),))
    teller.tell(6.0, odd, [])
    version, begun, _, pid, epoch, config = watcher.heard()
    assert (version, begun, pid, epoch, config[2]) == (VERSION, 0, os.getpid(), 1000.0, "7")
    assert watcher.heard()[:4] == [1, 5.0, ["\0", "Started"], ["\0", "[]"]]
    number, at, event, _, spent = watcher.heard()
    assert (number, at, event[1], spent > 0) == (2, 6.0, "Done", True)
    assert event[5][2][2] == "\udcff.ready"
    teller.close()
    with pytest.raises(AssertionError, match="nothing more"):
        watcher.heard()


def test_who_comes_later_is_found_later_and_told_what_was_missed(folder: Path) -> None:
    folder.mkdir()
    teller = Teller(str(folder), CONFIG, 0.0, 0.0)
    told(teller, 1.0)
    watcher = Watcher(folder, "w")
    told(teller, LATER)
    told(teller, LATER + LOOK / 2)
    assert watcher.heard()[1] == 2
    assert watcher.heard()[0] == 3
    watcher.close()
    teller.close()


def test_a_watcher_that_reads_nothing_is_not_waited_for(
    watcher: Watcher, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "PENDING", 100_000)
    teller = Teller(str(folder), CONFIG, 0.0, 0.0)
    big = [List("/" + "x" * 9_000)]
    for number in range(1, 201):
        teller.tell(float(number), Woken(), list(big))
    watcher.heard()
    for number in range(1, 6):
        assert watcher.heard()[0] == number
    (ear,) = teller._ears.values()
    assert len(ear._pending) <= 100_000
    teller.close()


def test_a_recorder_is_waited_for_and_misses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telling, "PATIENCE", 30.0)
    recorder = Watcher(folder, f"{RECORDER}w")
    heard: list[int] = []

    def listen() -> None:
        recorder.heard()
        heard.extend(recorder.heard()[0] for _ in range(600))

    thread = threading.Thread(target=listen)
    teller = Teller(str(folder), CONFIG, 0.0, 0.0)
    thread.start()
    for number in range(600):
        teller.tell(float(number), Woken(), [List("/" + "x" * 9_000)])
    teller.close()
    thread.join()
    assert heard == list(range(1, 601))
    recorder.close()


def test_a_recorder_that_takes_nothing_is_waited_for_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []

    def select(_: object, waiting: list[object], __: object, seconds: float) -> tuple[list[object], ...]:
        waits.append(seconds)
        return [], [], []

    monkeypatch.setattr("engine.drive.sender.select.select", select)
    recorder = Watcher(folder, f"{RECORDER}w")
    teller = Teller(str(folder), CONFIG, 0.0, 0.0)
    for number in range(600):
        teller.tell(float(number), Woken(), [List("/" + "x" * 9_000)])
    assert waits == [PATIENCE]
    recorder.heard()
    teller.tell(601.0, Woken(), [])
    teller.close()
    recorder.close()


def test_a_message_that_is_too_long_is_lost_alone(
    watcher: Watcher, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(telling, "MAX_MESSAGE", 1000)
    teller = Teller(str(folder), CONFIG, 0.0, 0.0)
    teller.tell(1.0, Woken(), [List("x" * 2000)])
    told(teller, 2.0)
    watcher.heard()
    assert watcher.heard()[0] == 2
    teller.close()


def test_sockets_of_the_dead_files_and_folders_are_nobody(folder: Path) -> None:
    folder.mkdir()
    Watcher(folder, "dead").close()
    (folder / "file").write_bytes(b"\xff" * 100)
    (folder / "folder").mkdir()
    (folder / "link").symlink_to("/nowhere")
    teller = Teller(str(folder), CONFIG, 0.0, 0.0)
    told(teller, 1.0)
    assert not teller._ears and teller._deaf == {"dead", "file", "folder", "link"}
    live = Watcher(folder, "live")
    told(teller, LATER)
    assert live.heard()[1] == 2
    live.close()
    told(teller, LATER)  # a pipe that breaks may take one message to be noticed
    told(teller, LATER)
    assert not teller._ears and "live" in teller._deaf
    teller.close()


def test_where_there_is_no_folder_nothing_happens(tmp_path: Path) -> None:
    teller = Teller(str(tmp_path / "none"), CONFIG, 0.0, 0.0)
    told(teller, 1.0)
    assert not teller._ears and teller._codec is None
    teller.close()


def test_a_folder_of_somebody_else_is_not_spoken_to(
    watcher: Watcher, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    teller = Teller(str(folder), CONFIG, 0.0, 0.0)
    assert not teller._ears
    teller.close()


def test_nobody_is_told_in_a_folder_that_others_can_write(watcher: Watcher, folder: Path) -> None:
    folder.chmod(0o777)
    teller = Teller(str(folder), CONFIG, 0.0, 0.0)
    assert not teller._ears
    folder.chmod(0o700)
    told(teller, LATER)
    assert len(teller._ears) == 1
    teller.close()


def test_a_path_that_is_too_long_for_a_socket_goes_by_way_of_a_link(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)
    watcher = Watcher(deep, "w")
    teller = Teller(str(deep), CONFIG, 0.0, 0.0)
    until(lambda: len(teller._ears) == 1)
    assert watcher.heard()[0] == VERSION
    watcher.close()
    teller.close()
