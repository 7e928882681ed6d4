"""What a control socket has counted."""

from __future__ import annotations

import pytest

from engine.drive.control import counts as module
from engine.drive.control.counts import FIELDS, FRAMES, REMEMBERED, VIEWING, Counts


class Clock:
    at = 100.0

    def monotonic(self) -> float:
        return self.at


def test_who_has_looked_lately_is_a_viewer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, counts = Clock(), Counts()
    monkeypatch.setattr(module, "time", clock)
    counts.looks("a")
    clock.at += VIEWING / 2
    counts.looks("b")
    counts.looks("b")
    assert counts.viewers == 2
    clock.at += VIEWING / 2
    assert counts.viewers == 1, "a looks no more"
    for number in range(REMEMBERED + 5):
        counts.looks(number)
    assert counts.viewers == REMEMBERED


def test_what_was_malformed_is_told_by_reason_and_in_all() -> None:
    counts = Counts()
    counts.malformed[FRAMES] += 2
    counts.malformed[FIELDS] += 1
    counts.totals["orders"] += 4
    assert counts.flat()["unreadable"] == 3
    told = counts.told()
    assert told["orders"] == 4 and told["malformed"] == {"frames": 2, "message": 0, "version": 0, "fields": 1}
