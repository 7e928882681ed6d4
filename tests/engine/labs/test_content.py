"""The two contents: each has all modes, and an order that a lab does not define is refused."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from engine.errors import Refused
from engine.labs.content import BrokerLab, QueueLab
from engine.labs.health import Health
from engine.labs.lab import Lab, Mode
from engine.labs.live import LiveLab
from engine.labs.queuereplaylab import QueueReplayLab
from engine.labs.queues import LiveQueueLab
from engine.labs.queuesandbox import QueueSandbox
from engine.labs.remote import Remote as Far
from engine.labs.remotequeues import RemoteQueues
from engine.labs.replaylab import ReplayLab
from engine.labs.sandbox import Sandbox

CONTENTS: dict[Any, tuple[type[Lab], ...]] = {
    BrokerLab: (LiveLab, Far, ReplayLab, Sandbox),
    QueueLab: (LiveQueueLab, RemoteQueues, QueueReplayLab, QueueSandbox),
}
ORDERS = {
    BrokerLab: (
        "run", "stop_run", "order_client", "register", "deregister", "bulk", "endbulk", "add_workers",
        "remove_workers", "stop_worker", "withdraw", "pull_plug", "hand_back", "operate",
    ),
    QueueLab: ("set_workers", "pause_stage", "resume_stage", "kill_driver", "retry", "feed_files", "feed_some"),
}  # fmt: skip


@pytest.mark.parametrize("content", CONTENTS)
def test_every_content_has_every_mode_once(content: type[Lab]) -> None:
    assert sorted(lab.mode for lab in CONTENTS[content]) == sorted(get_args(Mode))
    assert all(issubclass(lab, content) for lab in CONTENTS[content])


@pytest.mark.parametrize("content", ORDERS)
def test_whoever_can_act_takes_every_order_and_a_recording_none(content: type[Lab]) -> None:
    for lab in CONTENTS[content]:
        own = [name for name in ORDERS[content] if getattr(lab, name) is not getattr(content, name)]
        assert own == ([] if lab.mode == "replay" else list(ORDERS[content])), lab


class Remote(BrokerLab):
    """A lab that can only be looked at."""

    def health(self) -> Health:
        return Health((), 0.0)

    def attach(self, trace: Any) -> None: ...
    def detach(self, trace: Any) -> None: ...
    def inspect(self, key: bytes | None) -> None: ...

    def seat_of(self, key: bytes) -> str | None:
        return None


def test_what_a_lab_does_not_define_is_refused() -> None:
    lab = Remote()
    for order in (lab.ping, lab.bulk, lab.hand_back, lab.stop_run):
        with pytest.raises(Refused, match="this lab does not take that order"):
            order()
    assert list(lab.runs()) == []
