"""Every order that a lab can carry out is refused by one that is read-only, whatever its mode and its content."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.catalogue import QUEUES, SEED_LANE, SYSTEMS
from engine.errors import Refused
from engine.labs.content import BrokerLab, QueueLab
from engine.labs.live import LiveLab
from engine.labs.queues import LiveQueueLab
from engine.labs.sandbox import Sandbox
from engine.parts.bulk import BulkSpec
from engine.parts.orders import Drain

ARGUMENTS: dict[str, tuple[object, ...]] = {
    "run": (BulkSpec("ping", 1),),
    "order_client": (object(), "changing something"),
    "choose_lane": (SEED_LANE,),
    "operate": ("back",),
    "set_workers": ("a", 2),
    "feed_files": (["/a"],),
    "steer": (Drain(b"w"),),
    "revive": ("sqlite:/a", (1,)),
}
"""Of the orders that take any that matter; all others are given something of the type that they want."""

ANY: dict[object, object] = {"str": "kill w1", "bytes": b"w", "int": 1, "bool": True, "float": 1.0}
ASKS = {"hurts"}  # those that only ask


def orders(content: type) -> list[str]:
    """Whatever a lab without it would refuse."""
    return [
        name
        for name, of in vars(content).items()
        if callable(of) and name not in ASKS and "self.unable()" in inspect.getsource(of)
    ]


def refused(lab: Any, content: type) -> list[str]:
    """The orders that were not refused for that reason."""
    return [name for name in (*orders(content), "ping") if hasattr(lab, name) and not _refuses(lab, name)]


def arguments(order: Callable[..., object]) -> list[object]:
    wanted = inspect.signature(order).parameters.values()
    return [ANY[one.annotation] for one in wanted if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]


def _refuses(lab: Any, name: str) -> bool:
    order: Callable[..., object] = getattr(lab, name)
    try:
        order(*ARGUMENTS.get(name) or arguments(order))
    except AttributeError:  # of what was not opened: it was about to do it
        return False
    except Refused as refusal:
        return "readonly is set" in str(refusal) or "does not take that order" in str(refusal)
    return False


def test_there_are_orders() -> None:
    assert {"run", "discard", "withdraw", "bulk", "pull_plug"} <= set(orders(BrokerLab))
    assert {"retry", "kill_driver"} <= set(orders(QueueLab))


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_sandbox(name: str) -> None:
    with Sandbox(SYSTEMS[name], workers=1, readonly=True) as lab:
        assert refused(lab, BrokerLab) == []


def test_a_live_lab() -> None:
    lab = LiveLab(SYSTEMS["roundrobin"], readonly=True, workers=0)
    assert refused(lab, BrokerLab) == [], "it is refused before anything is asked, so nothing needs to run"


def test_disk_queues(tmp_path: Path) -> None:
    system = next(iter(QUEUES.values()))
    lab = LiveQueueLab(system.options(), str(tmp_path), readonly=True)
    assert refused(lab, QueueLab) == []


def test_an_order_that_was_let_through_is_seen() -> None:
    class Careless(Sandbox):
        def stop_run(self) -> None:
            return None

    with Careless(SYSTEMS["roundrobin"], workers=1, readonly=True) as lab:
        assert refused(lab, BrokerLab) == ["stop_run"]
