"""``roundhouse order`` of disk queues."""

from __future__ import annotations

import pytest

from console.cli.queueorder import QUEUE_WORDS, queue_order
from console.commands import parse
from engine.errors import Refused
from tests.helpers.fake_queues import FakeQueues


def made(lab: FakeQueues, line: str) -> tuple[str, bool]:
    """What was ordered, and whether it is asked about."""
    order = queue_order(parse(line, QUEUE_WORDS), lab)
    order.give(lab)
    return " ".join(map(str, lab.orders[-1])), bool(order.asks)


def test_each_word_is_an_order() -> None:
    lab = FakeQueues()
    number = lab.view().drivers[0].number
    stage = next(stage for stage in lab.view().stages if stage.wanted > 1)
    assert made(lab, f"workers {stage.name} {stage.wanted + 2}") == (
        f"set_workers {stage.name} {stage.wanted + 2}",
        False,
    )
    assert made(lab, f"workers {stage.name} 1") == (f"set_workers {stage.name} 1", True)
    assert made(lab, "pause parse") == ("pause_stage parse", True)
    assert made(lab, "resume parse") == ("resume_stage parse", False)
    assert made(lab, f"kill {number}") == (f"kill_driver {number}", True)
    assert made(lab, "retry values doc-09") == ("retry values doc-09", False)
    assert made(lab, "feed a b") == ("feed_files ['a', 'b']", False)


def test_effects_are_seen() -> None:
    lab = FakeQueues()
    number = lab.view().drivers[0].number
    lines = ("workers parse 7", "pause parse", f"kill {number}")
    orders = [queue_order(parse(line, QUEUE_WORDS), lab) for line in lines]
    assert not any(order.shown(lab) for order in orders)
    stages = [row._replace(wanted=7, state="paused") if row.name == "parse" else row for row in lab.picture.stages]
    drivers = tuple(driver for driver in lab.picture.drivers if driver.number != number)
    lab.picture = lab.picture._replace(stages=tuple(stages), drivers=drivers)
    assert all(order.shown(lab) for order in orders)
    assert not queue_order(parse("resume parse", QUEUE_WORDS), lab).shown(lab)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("pause nonsense", "no stage 'nonsense' there; there are "),
        ("workers parse x", "workers needs STAGE N"),
        ("kill 999", "no driver '999' there; there are "),
        ("retry values", "retry needs QUEUE DOCUMENT"),
    ],
)
def test_what_is_not_there_is_refused(line: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        queue_order(parse(line, QUEUE_WORDS), FakeQueues())
