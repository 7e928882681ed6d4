"""F13: a full disk under the store of a broker."""

from __future__ import annotations

import pytest

from tests.chaos.diskqueue import why_not
from tests.chaos.fulldisk import TASKS, play


def test_a_full_disk_refuses_with_the_reason_and_what_was_accepted_ends_well() -> None:
    if reason := why_not():
        pytest.skip(reason)
    told = play()
    assert told.accepted.succeeded == told.after.succeeded == TASKS
    assert told.refused.succeeded == 0 and sum(n for _, n in told.refused.failed) == TASKS
    assert told.said.startswith("the disk is full") and told.refused.failed[0][0].startswith("the disk is full")
    assert told.counts == (2 * TASKS, 2 * TASKS, (), 0, 0, 2 * TASKS)
