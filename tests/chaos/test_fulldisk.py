"""F13: a full disk under the store of a broker."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from engine.core import Ended, Entry, Outcome, Store
from engine.drive.stores.sqlite import Sqlite
from tests.chaos.diskqueue import small_disk, why_not
from tests.chaos.fulldisk import ROOM, TASKS, fill, play


def test_a_full_disk_refuses_with_the_reason_and_what_was_accepted_ends_well() -> None:
    if reason := why_not():
        pytest.skip(reason)
    told = play()
    assert told.accepted.succeeded == told.after.succeeded == TASKS
    assert told.refused.succeeded == 0 and sum(n for _, n in told.refused.failed) == TASKS
    assert told.said.startswith("the disk is full") and told.refused.failed[0][0].startswith("the disk is full")
    assert told.counts == (2 * TASKS, 2 * TASKS, (), 0, 0, 2 * TASKS, 0)


def test_on_a_full_disk_every_task_can_end_by_itself(tmp_path: Path) -> None:
    if reason := why_not():
        pytest.skip(reason)
    tasks = [Entry(b"client", [b"\x04", number.to_bytes(16, "big"), b"\x01"]) for number in range(500)]
    with small_disk(tmp_path / "disk", ROOM) as disk, closing(Sqlite(disk / "tasks.sqlite")) as store:
        leased = store.perform([Store(1, [], [], tasks, len(tasks))])[0].leased
        fill(disk / "filler")
        for one in leased:
            store.perform([Store(2, [Ended(one.token, Outcome("", None, b"worker"))], [], [], 0)])
        assert store.counts() == (500, 500, (), 0, 0, 500, 0)
