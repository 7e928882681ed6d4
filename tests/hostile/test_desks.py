"""Strangers at a control socket, over ipc and over tcp with keys, and at metrics: the process lives and counts."""

from __future__ import annotations

import pytest

from tests.helpers.served import runtime
from tests.hostile.desks import QUEUES, besiege

MESSAGES = 120  # at each endpoint


@pytest.mark.parametrize("name", ["roundrobin", QUEUES])
def test_a_process_lives_through_strangers_at_its_control_socket_and_metrics(name: str) -> None:
    with runtime() as folder:
        found = besiege(name, folder, 1, MESSAGES)
    assert found.troubles == ""
    assert found.counts["requests"] >= found.counts["unreadable"] > 0 and found.scraped
    assert found.right
