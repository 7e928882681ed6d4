"""The simulated disk and the real one say and do the same, whoever owns what, and whatever modes allow."""

from __future__ import annotations

import os
import stat
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.drive.disk import Disk
from engine.files import safely
from engine.protocols.diskqueue.operations import (
    Append,
    Done,
    Exists,
    List,
    Log,
    Operation,
    Read,
    Remove,
    Rename,
    Sync,
    Take,
    Touch,
    WriteOut,
)
from engine.sim.disk import KINDS, SimDisk
from engine.sim.owners import Access
from tests.helpers.examples import examples
from tests.helpers.strangers import STRANGER, acting_as, open_folder

SECRET = "nobody but the operator reads this"
ROOT = os.geteuid() == 0
OTHERS = (0, 1234)  # uids beside the one that acts
MAKEABLE = tuple(kind for kind in KINDS if ROOT or kind != "a device")


class File(NamedTuple):
    """What somebody puts under a name."""

    name: str
    kind: str
    owner: int  # of ``owners``, by its place
    mode: int
    content: str


NAMES = st.sampled_from("ab")
FILES = st.builds(
    File,
    NAMES,
    st.sampled_from(("", "", *MAKEABLE)),
    st.integers(0, 2),
    st.sampled_from([0o600, 0o666, 0o600, 0o666, 0o400, 0o200, 0o604, 0o602, 0o000]),
    st.sampled_from(["", "one\n", "begin\t2\n"]),
)
FOLDERS = st.tuples(
    st.integers(0, 2),
    st.sampled_from([0o700, 0o777, 0o1777, 0o1777, 0o1703, 0o755, 0o1755, 0o500, 0o555, 0o733, 0o711, 0o766, 0o000]),
)
OPERATIONS: st.SearchStrategy[Operation] = st.one_of(
    st.just(List("")),
    st.just(Sync("")),
    st.builds(Append, st.just(""), NAMES, st.sampled_from(["line", "another"])),
    *(st.builds(kind, st.just(""), NAMES) for kind in (Exists, Read, Remove, Touch, Sync)),
    *(st.builds(kind, st.just(""), NAMES, NAMES) for kind in (Take, Rename)),
)
"""In a folder that is known only when they are done."""

STEPS = st.lists(st.one_of(OPERATIONS, OPERATIONS, FILES), max_size=20)


class Both:
    """One folder on each disk, in which one user works. ``owners`` are uids; the first is that user's."""

    def __init__(self, root: Path, folder: tuple[int, int], owners: tuple[int, ...]) -> None:
        self.owners = owners
        self.secret, self.queue = root / "secret", root / "queue"
        self.secret.write_text(SECRET, encoding="utf-8")
        self.secret.chmod(0o666)  # no mode keeps anybody from it who follows a link
        self.queue.mkdir()
        self.access = Access(owners[folder[0] % len(owners)], folder[1])
        self.simulated = SimDisk(str(self.queue), user=owners[0])
        self.simulated.access[str(self.queue)] = self.access

    def close(self) -> None:
        """As it is to be: whoever makes files in it is not kept from that."""
        os.chown(self.queue, self.access.owner, -1)
        self.queue.chmod(self.access.mode)

    def open(self) -> None:
        """So that this test can look and make files, whoever runs it."""
        if not ROOT:
            self.queue.chmod(0o700)

    def put(self, file: File) -> None:
        """Somebody who may do that puts something there in place of what was there."""
        path, owner = self.queue / file.name, self.owners[file.owner % len(self.owners)]
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
        match file.kind:
            case "":
                path.write_text(file.content, encoding="utf-8")
            case "a link":
                path.symlink_to(self.secret)
            case "a FIFO":
                os.mkfifo(path)
            case "a device":
                os.mknod(path, stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero
            case "a socket":
                os.mknod(path, stat.S_IFSOCK)
            case _:
                path.mkdir()
        os.chown(path, owner, -1, follow_symlinks=False)
        if file.kind != "a link":
            path.chmod(file.mode)
        content = file.content if not file.kind else ""
        self.simulated.put(str(self.queue), file.name, content, kind=file.kind, owner=owner, mode=file.mode)

    def found(self) -> dict[str, tuple[str, int, int, str]]:
        """What lies on the real disk: kind, owner, and of a regular file mode and content."""
        found = {}
        for path in self.queue.iterdir():
            status = path.lstat()
            kind, mode, content = safely.kind(status.st_mode), 0, ""
            if not kind:
                mode = stat.S_IMODE(status.st_mode)
                path.chmod(0o600)
                content = path.read_text(encoding="utf-8")
                path.chmod(mode)
            found[path.name] = kind, status.st_uid, mode, content
        return found

    def expected(self) -> dict[str, tuple[str, int, int, str]]:
        """The same of the simulated one."""
        return {
            name: (file.kind, file.access.owner, 0 if file.kind else file.access.mode, file.content)
            for name, file in self.simulated.folders[str(self.queue)].items()
        }


def told(answer: Done) -> tuple[object, ...]:
    """All that an answer says, but for the words and the times."""
    entries = sorted((entry.name, entry.size) for entry in answer.entries)
    return answer.error, entries, sorted(answer.odd), answer.foreign, answer.text if not answer.error else ""


@pytest.mark.parametrize("who", ["another user", "this user"])
@examples(300)
@given(folder=FOLDERS, files=st.lists(FILES, min_size=1, max_size=3), steps=STEPS)
def test_both_disks_say_and_do_the_same(
    who: str, folder: tuple[int, int], files: list[File], steps: list[Operation | File]
) -> None:
    if who == "another user" and not ROOT:
        pytest.skip("only root can act as another user, and make files of others")
    user = STRANGER if who == "another user" else os.geteuid()
    owners = (user, *(other for other in OTHERS if other != user)) if ROOT else (user,)
    with open_folder() as root, Disk() as real:
        both = Both(root, folder, owners)
        for file in files:
            both.put(file)
        both.close()
        for step in steps:
            if isinstance(step, File):
                both.open()
                both.put(step)
                both.close()
                continue
            assert not isinstance(step, WriteOut | Log)
            asked = step._replace(folder=str(both.queue))
            mine = both.simulated.perform(asked, "1")
            with acting_as(user):
                theirs = real.perform(asked)
            assert told(mine) == told(theirs), (asked, mine, theirs)
            assert SECRET not in theirs.text
        both.open()
        assert both.expected() == both.found()
        assert both.secret.read_text(encoding="utf-8") == SECRET
        assert sorted(os.listdir(root)) == ["queue", "secret"], "and nothing else was made"


def test_a_copy_of_a_simulated_disk_shares_nothing_that_changes() -> None:
    disk = SimDisk("q")
    disk.put("q", "a", "text", synced=False)
    disk.lock("q", "r", "1")
    other = deepcopy(disk)
    for operation in (Append("q", "a", "line"), Touch("q", "b"), Sync("q", "a"), Remove("q", "a")):
        assert other.perform(operation, "1").error == ""
    other.unlock("q", "r", "1")
    other.denied.add("q")
    other.access["q"] = Access(STRANGER, 0o755)
    disk.cut_power()
    assert sorted(disk.folders["q"]) == ["a"] and disk.text("q", "a") == "\0"
    assert disk.perform(Touch("q", "c"), "1").error == ""
    assert not disk.lock("q", "r", "1")
