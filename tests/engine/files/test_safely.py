"""Nothing is opened that is no regular file, nothing is made or replaced through what others put there."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.files import safely
from engine.files.safely import Unsafe
from tests.helpers.strangers import STRANGER, acting_as


def link(path: Path) -> None:
    (path.parent / "elsewhere").write_text("secret", encoding="utf-8")
    path.symlink_to("elsewhere")


def dangling(path: Path) -> None:
    path.symlink_to("nowhere")


def zero(path: Path) -> None:
    path.symlink_to("/dev/zero")


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as it:
        it.bind(str(path))


ODD: dict[str, Callable[[Path], None]] = {
    "link": link,
    "dangling link": dangling,
    "link to a device": zero,
    "fifo": lambda path: os.mkfifo(path),
    "folder": lambda path: path.mkdir(),
    "socket": bound,
}


@pytest.fixture
def at(tmp_path: Path) -> Iterator[int]:
    with safely.folder(str(tmp_path)) as handle:
        yield handle


@pytest.fixture(params=ODD)
def odd(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    ODD[request.param](tmp_path / "odd")
    return "odd"


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_APPEND, os.O_RDWR])
def test_what_is_no_regular_file_is_named_not_opened(at: int, odd: str, flags: int) -> None:
    for opens in (safely.open_file, safely.open_or_create):
        with pytest.raises(Unsafe, match=r"is a .*, not a regular file"):
            opens(odd, flags, at=at)


def test_what_is_no_regular_file_is_named_also_where_it_may_not_be_read(at: int, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "odd")
    (tmp_path / "odd").chmod(0)
    tmp_path.chmod(0o711)
    with acting_as(STRANGER if os.geteuid() == 0 else os.geteuid()), pytest.raises(Unsafe, match="is a FIFO"):
        safely.open_file("odd", at=at)


def test_nothing_that_has_the_name_is_taken_for_new(at: int, odd: str, tmp_path: Path) -> None:
    before = sorted(os.listdir(tmp_path))
    with pytest.raises(FileExistsError):
        safely.create(odd, at=at)
    assert sorted(os.listdir(tmp_path)) == before, "and nothing else was made"


def test_a_device_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsafe, match="is a device"):
        safely.open_file("/dev/zero")


def test_replacing_takes_the_place_of_a_link_and_not_of_what_it_names(at: int, tmp_path: Path) -> None:
    link(tmp_path / "odd")
    safely.replace("odd", b"new", at=at, sync=True)
    assert (tmp_path / "elsewhere").read_bytes() == b"secret"
    assert (tmp_path / "odd").read_bytes() == b"new" and not (tmp_path / "odd").is_symlink()
    assert sorted(os.listdir(tmp_path)) == ["elsewhere", "odd"]
    assert stat.S_IMODE((tmp_path / "odd").stat().st_mode) == 0o600


def test_a_replacement_that_fails_leaves_nothing(at: int, tmp_path: Path) -> None:
    (tmp_path / "name").mkdir()
    with pytest.raises(IsADirectoryError):
        safely.replace("name", b"new", at=at)
    assert os.listdir(tmp_path) == ["name"]


def test_a_path_works_where_there_is_no_handle(tmp_path: Path) -> None:
    path = str(tmp_path / "name")
    safely.replace(path, b"text")
    assert safely.read(path, 4) == b"text"
    assert os.listdir(tmp_path) == ["name"]


def test_size_owner_and_names_are_within_limits(at: int, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    with pytest.raises(Unsafe, match="larger than 4 bytes"):
        safely.read("f", 4, at=at)
    with pytest.raises(Unsafe, match=f"belongs to uid {os.getuid()}"):
        safely.open_file("f", at=at, owners=(os.getuid() + 1,))
    assert safely.read("f", 5, at=at, owners={os.getuid()}) == b"12345"
    os.link(tmp_path / "f", tmp_path / "g")
    with pytest.raises(Unsafe, match="2 names"):
        safely.open_file("f", os.O_WRONLY, at=at)
    assert safely.read("f", 5, at=at) == b"12345", "reading does no harm to the other name"


def test_a_handle_stays_with_its_folder(tmp_path: Path) -> None:
    real, other = tmp_path / "real", tmp_path / "other"
    real.mkdir()
    other.mkdir()
    with safely.folder(str(real)) as at:
        real.rename(tmp_path / "moved")
        real.symlink_to(other)
        safely.replace("name", b"text", at=at)
    assert os.listdir(other) == []
    assert os.listdir(tmp_path / "moved") == ["name"]
    with pytest.raises(OSError, match="real"):
        safely.open_folder(str(real), follow=False)


def test_no_descriptor_is_left_behind(at: int, odd: str) -> None:
    before = os.dup(at)
    os.close(before)
    with pytest.raises(Unsafe):
        safely.open_file(odd, at=at)
    after = os.dup(at)
    os.close(after)
    assert after == before
