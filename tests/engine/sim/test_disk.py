"""The simulated disk and the real one give the same answers; its faults are what they say."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from engine.drive import disk as real
from engine.protocols.diskqueue.operations import (
    Append,
    Exists,
    List,
    Operation,
    Read,
    Remove,
    Rename,
    Sync,
    Take,
    Touch,
)
from engine.sim.disk import KINDS, TORN, SimDisk


def steps(folder: str) -> list[Operation]:
    return [
        Touch(folder, "a"),
        Touch(folder, "a"),
        Exists(folder, "a"),
        Exists(folder, "b"),
        Append(folder, "a", "one"),
        Append(folder, "a", "two"),
        Read(folder, "a"),
        Read(folder, "b"),
        Take(folder, "a", "b"),
        Take(folder, "a", "b"),
        Touch(folder, "a"),
        Rename(folder, "a", "b"),
        Read(folder, "b"),
        Rename(folder, "b", "c"),
        Sync(folder, "c"),
        Sync(folder, "b"),
        Sync(folder),
        Remove(folder, "c"),
        Remove(folder, "c"),
        List(folder),
        Touch(f"{folder}/none", "a"),
        Exists(f"{folder}/none", "a"),
        Take(f"{folder}/none", "a", "b"),
        List(f"{folder}/none"),
    ]


def test_both_disks_give_the_same_answers(tmp_path: Path) -> None:
    folder = str(tmp_path)
    simulated = SimDisk(folder)
    for operation in steps(folder):
        mine, theirs = simulated.perform(operation, "1"), real.perform(operation)
        assert (mine.error, [entry.name for entry in mine.entries]) == (
            theirs.error,
            [entry.name for entry in theirs.entries],
        ), operation
        if isinstance(operation, Read) and not mine.error:
            assert mine.text == theirs.text == "one\ntwo\n"


def test_the_power_takes_what_was_not_synced() -> None:
    disk = SimDisk("q")
    disk.put("q", "a", "text", synced=False)
    disk.put("q", "b", "text", synced=False)
    disk.perform(Sync("q", "b"), "1")
    disk.cut_power()
    assert (disk.text("q", "a"), disk.text("q", "b")) == (TORN, "text")


def test_a_full_and_a_forbidden_disk() -> None:
    disk = SimDisk("q")
    disk.full = True
    assert disk.perform(Touch("q", "a"), "1").error == "full"
    disk.full, disk.denied = False, {"q"}
    assert disk.perform(Touch("q", "a"), "1").error == "denied"
    assert disk.folders["q"] == {}


def plant(path: Path, kind: str, secret: Path) -> None:
    """Put on the real disk what the simulated one knows by this word."""
    match kind:
        case "a link":
            path.symlink_to(secret)
        case "a FIFO":
            os.mkfifo(path)
        case "a device":
            os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero
        case "a socket":
            os.mknod(path, 0o600 | stat.S_IFSOCK)
        case _:
            path.mkdir()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("operation", [Exists, Read, Take, Rename, Remove, Touch, Append, Sync, List])
def test_both_disks_say_the_same_of_what_is_no_file(tmp_path: Path, operation: type[Any], kind: str) -> None:
    """And nothing outside the folder is opened, changed or removed: the secret would be, through its link."""
    secret, queue = tmp_path / "secret", tmp_path / "queue"
    secret.write_text("secret", encoding="utf-8")
    queue.mkdir()
    try:
        plant(queue / "a", kind, secret)
    except PermissionError:
        pytest.skip(f"this user may not make {kind}")
    folder = str(queue)
    simulated = SimDisk(folder)
    simulated.put(folder, "a", kind=kind)
    more = {Take: ("b",), Rename: ("b",), Append: ("a line",)}.get(operation, ())
    asked = operation(folder) if operation is List else operation(folder, "a", *more)
    mine, theirs = simulated.perform(asked, "1"), real.perform(asked)
    assert (mine.error, mine.entries, mine.odd, mine.foreign) == (
        theirs.error,
        theirs.entries,
        theirs.odd,
        theirs.foreign,
    )
    assert "secret" not in theirs.text
    after = {entry.name: entry.is_file(follow_symlinks=False) for entry in os.scandir(queue)}
    assert after == {name: not file.kind for name, file in simulated.folders[folder].items()}
    assert secret.read_text(encoding="utf-8") == "secret"
    assert sorted(os.listdir(tmp_path)) == ["queue", "secret"], "and nothing else was made"


def test_the_disk_gives_the_answer_that_it_is_told_to() -> None:
    disk = SimDisk("q")
    disk.meddle = lambda operation: "exists" if isinstance(operation, Touch) else ""
    assert disk.perform(Touch("q", "a"), "1").error == "exists"
    assert disk.perform(Append("q", "a", "line"), "1").error == ""
