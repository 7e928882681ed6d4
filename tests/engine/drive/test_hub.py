"""A hub: what drivers and this process tell, in order, checked, and none of it while nobody listens."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest

from engine.core import Note, Started, Woken
from engine.drive.hub import Hub, seat_of
from engine.drive.sender import FOLDER, LENGTH, RECORDER, VERSION, Teller, short
from engine.protocols.diskqueue.config import DriverConfig
from engine.protocols.diskqueue.operations import Done, Take
from tests.helpers.ears import Heard
from tests.helpers.processes import until

CONFIG = DriverConfig("/p/queue-start", "/p/queue-parse", "7")
TAKEN = Done(Take("/p/queue-start", "a.ready", "a.7.working"))


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    return Hub(str(tmp_path))


@pytest.fixture
def ear(hub: Hub) -> Iterator[Heard]:
    heard = Heard()
    hub.attach(heard)
    yield heard
    hub.detach(heard)


def folder(tmp_path: Path) -> str:
    return f"{tmp_path}/{FOLDER}"


def bound(tmp_path: Path) -> list[str]:
    return os.listdir(tmp_path / FOLDER)


def say(tmp_path: Path, *messages: bytes) -> socket.socket:
    """Connect to the one who listens, and say this."""
    link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    link.settimeout(60)
    with short(f"{folder(tmp_path)}/{bound(tmp_path)[0]}") as address:
        link.connect(address)
    for message in messages:
        link.sendall(LENGTH.pack(len(message)) + message)
    return link


def packed(*values: Any) -> bytes:
    found: bytes = msgpack.packb(list(values))
    return found


def test_a_driver_is_heard_from_its_first_event_to_its_end(tmp_path: Path, hub: Hub, ear: Heard) -> None:
    teller = Teller(folder(tmp_path), CONFIG, 0.0, 0.0)
    teller.tell(1.0, Started(), [Take("/p/queue-start", "a.ready", "a.7.working")])
    teller.tell(2.0, TAKEN, [])
    teller.close()
    until(lambda: ear.has("left", "parse.7"))
    began = ("parse.7", 1.0, Started(), [Take("/p/queue-start", "a.ready", "a.7.working")])
    assert sorted(ear.all, key=repr) == sorted(
        [("seated", "parse.7", "driver"), began, ("parse.7", 2.0, TAKEN, []), ("left", "parse.7")], key=repr
    )
    assert (hub.lost, hub.refused) == (0, 0) and hub.spent >= 0


def test_one_that_ran_before_sits_there_as_nobody(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / FOLDER).mkdir()
    teller = Teller(folder(tmp_path), CONFIG, 0.0, 0.0)
    teller.tell(1.0, Started(), [])
    heard = Heard()
    hub.attach(heard)
    teller.tell(1e9, Woken(), [])
    until(lambda: bool(teller._ears))
    hub.detach(heard)
    assert heard.all == [("seated", "parse.7", ""), ("left", "parse.7")]
    teller.close()


def test_what_was_lost_is_counted_and_ends_what_can_be_run_again(tmp_path: Path, hub: Hub, ear: Heard) -> None:
    about = [VERSION, 0, 1.0, 1, 0.0, ["/p/queue-start", "/p/queue-parse", "7"]]
    woken = ["\0", "Woken"], ["\0", "[]"]
    say(tmp_path, packed(*about), packed(1, 1.0, *woken, 0.5), packed(5, 5.0, *woken, 0.75)).close()
    until(lambda: ear.all.count(("left", "parse.7")) == 2)
    assert ear.all == [
        ("seated", "parse.7", "driver"),
        ("parse.7", 1.0, Woken(), []),
        ("left", "parse.7"),
        ("seated", "parse.7", ""),
        ("parse.7", 5.0, Woken(), []),
        ("left", "parse.7"),
    ]
    assert (hub.lost, hub.spent) == (3, 0.75)


def test_the_first_loss_is_said(tmp_path: Path) -> None:
    said: list[Note] = []
    hub = Hub(str(tmp_path), said.append)
    hub.miss("parse.7", 1500)
    hub.miss("parse.8", 1)
    assert hub.lost == 1501
    assert said == [Note("warn", "parse.7 told more than could be heard: 1,500 events missing")]


def test_a_recorder_is_known_by_its_socket_and_works_however_deep_the_folder_lies(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    hub, heard = Hub(str(deep)), Heard()
    hub.attach(heard, recorder=True)
    (name,) = os.listdir(deep / FOLDER)
    assert name.startswith(RECORDER)
    teller = Teller(f"{deep}/{FOLDER}", CONFIG, 0.0, 0.0)
    teller.tell(1.0, Started(), [])
    teller.close()
    hub.detach(heard)
    assert heard.all == [("seated", "parse.7", "driver"), ("parse.7", 1.0, Started(), []), ("left", "parse.7")]


GOOD = packed(VERSION, 0, 1.0, 1, 0.0, ["/p/queue-start", "/p/queue-parse", "7"])
NONSENSE = [
    [b""],
    [b"\xc1"],
    [packed("other", 0, 1.0, 1, 0.0, ["/a", "/b", "7"])],
    [packed(VERSION, -1, 1.0, 1, 0.0, ["/a", "/b", "7"])],
    [packed(VERSION, 0, float("nan"), 1, 0.0, ["/a", "/b", "7"])],
    [packed(VERSION, 0, 1.0, 1, 0.0, ["/a", "/b", "x"])],
    [packed(VERSION, 0, 1.0, 1, 0.0, ["/a", 7, "7"])],
    [packed(VERSION, 0, 1.0, 1, 0.0, [])],
    [b"\x91" * 5000],
    [GOOD, b"\x91" * 5000],
    [GOOD, packed(1)],
    [GOOD, packed(0, 1.0, ["\0", "Woken"], ["\0", "[]"], 0.0)],
    [GOOD, packed(1, float("inf"), ["\0", "Woken"], ["\0", "[]"], 0.0)],
    [GOOD, packed(1, 1.0, ["\0", "Nothing"], ["\0", "[]"], 0.0)],
    [GOOD, packed(1, 1.0, ["\0", "Done", 1, "", "", ["\0", "()"], False], ["\0", "[]"], 0.0)],
    [GOOD, packed(1, 1.0, ["\0", "Woken"], ["\0", "[]", ["\0", "Start", 1, 2]], 0.0)],
    [GOOD, packed(1, 1.0, ["\0", "Woken"], {"a": 1}, 0.0)],
]


@pytest.mark.parametrize("messages", NONSENSE, ids=range(len(NONSENSE)))
def test_nonsense_is_cut_off_counted_and_changes_nothing(
    messages: list[bytes], tmp_path: Path, hub: Hub, ear: Heard
) -> None:
    link = say(tmp_path, *messages)
    assert link.recv(1) == b"", "it is cut off"
    link.close()
    until(lambda: hub.refused == 1)
    seated = [("seated", "parse.7", "driver"), ("left", "parse.7")] if messages[0] == GOOD else []
    until(lambda: ear.all == seated)
    hub.tap("here", "here", 1.0, TAKEN, [])
    until(lambda: ear.has("here", 1.0, TAKEN, []))


def test_a_length_that_is_too_long_is_not_waited_for(tmp_path: Path, hub: Hub, ear: Heard) -> None:
    link = say(tmp_path)
    link.sendall(b"\xff\xff\xff\xff")
    assert link.recv(1) == b""
    link.close()
    until(lambda: hub.refused == 1)
    assert ear.all == []


def test_what_is_told_by_several_is_passed_on_in_the_order_of_its_times(hub: Hub) -> None:
    heard = Heard()
    hub.attach(heard)
    for at in (3.0, 1.0, 2.0):
        hub.tap("here", "here", 1e12 + at, Woken(), [])  # all of them are held
    hub.detach(heard)
    assert [told[1] - 1e12 for told in heard.all] == [1.0, 2.0, 3.0]


def test_while_nobody_listens_there_is_no_socket_no_thread_and_nothing_is_held(tmp_path: Path, hub: Hub) -> None:
    hub.tap("here", "here", 1.0, TAKEN, [])
    hub.seated("here", "here", "watchdog", [], {})
    assert not hub._held and not (tmp_path / FOLDER).exists()
    first, second = Heard(), Heard()
    hub.attach(first)
    hub.attach(second)
    assert len(bound(tmp_path)) == 1
    hub.detach(first)
    hub.tap("here", "here", 1.0, TAKEN, [])
    hub.detach(second)
    hub.detach(second)
    assert bound(tmp_path) == []
    assert not any(thread.name == "roundhouse-listener" for thread in threading.enumerate())
    assert first.all == [("seated", "here", "")]
    assert second.all == [("seated", "here", ""), ("here", 1.0, TAKEN, [])]


def test_an_ear_that_dies_is_told_nothing_more_and_that_is_said(tmp_path: Path) -> None:
    said: list[Note] = []
    hub = Hub(str(tmp_path), said.append)
    weak, strong = Heard(deadly=TAKEN), Heard()
    hub.attach(weak)
    hub.attach(strong)
    hub.tap("here", "here", 1.0, TAKEN, [])
    hub.tap("here", "here", 2.0, Woken(), [])
    until(lambda: strong.has("here", 2.0, Woken(), []))
    hub.detach(strong)
    hub.detach(weak)
    assert said == [Note("bad", "a listener has died: RuntimeError: too much")]
    assert weak.all == []


def test_sockets_of_watchers_that_died_are_taken_away_and_nothing_else(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "text").write_text("not ours", encoding="utf-8")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead, short(f"{folder(tmp_path)}/dead") as address:
        dead.bind(address)
    other, heard = Hub(str(tmp_path)), Heard()
    other.attach(heard)
    mine = Heard()
    hub.attach(mine)
    names = bound(tmp_path)
    assert "text" in names and "dead" not in names and len(names) == 3
    hub.detach(mine)
    other.detach(heard)
    assert bound(tmp_path) == ["text"]


def test_a_folder_that_takes_no_socket_is_refused(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / FOLDER).write_text("in the way", encoding="utf-8")
    with pytest.raises(FileExistsError):
        hub.attach(Heard())
    assert hub._thread is None and not hub._ears


def test_a_folder_that_others_can_write_is_not_listened_in(tmp_path: Path, hub: Hub) -> None:
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER).chmod(0o777)
    with pytest.raises(OSError, match=r"can be written by others \(mode 0777\)"):
        hub.attach(Heard())
    assert list((tmp_path / FOLDER).iterdir()) == []


def test_seats_are_named_by_stage_and_number() -> None:
    assert seat_of(CONFIG) == ("parse.7", "parse.7")
    assert seat_of(DriverConfig("a", "b/", "03"))[1] == "b.03"
