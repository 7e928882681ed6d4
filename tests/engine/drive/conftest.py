"""One real NATS server on loopback for the tests that need one; each test has a backlog of its own in it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.helpers.natsserver import MISSING, Server, program

_numbers = count(1)


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if program() is None:
        pytest.skip(MISSING)
    with Server(tmp_path_factory.mktemp("nats")) as server:
        yield server


@pytest.fixture
def backlog(nats_server: Server) -> str:
    """Where a backlog may be that nobody used before."""
    return f"{nats_server.url}/test{next(_numbers)}"
