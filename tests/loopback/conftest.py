"""A lab of round robin on real sockets, for several files of tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from engine.catalogue import SYSTEMS
from engine.labs.live import LiveLab
from tests.helpers.processes import WAIT, free_endpoint


@pytest.fixture
def endpoint() -> str:
    return free_endpoint()


@pytest.fixture
def lab(endpoint: str) -> Iterator[LiveLab]:
    with LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=3, slots=2) as lab:
        assert lab.wait_registered(3, WAIT)
        yield lab
        assert lab.health().dead == ()
