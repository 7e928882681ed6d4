"""Where the other sockets are."""

from __future__ import annotations

import pytest

from engine.protocols.conversation import endpoints


@pytest.mark.parametrize(
    ("endpoint", "frontend", "stream"),
    [
        (endpoints.DEFAULT, "tcp://127.0.0.1:6816", "tcp://127.0.0.1:6916"),
        ("tcp://[::1]:7000", "tcp://[::1]:7100", "tcp://[::1]:7200"),
        ("tcp://127.0.0.1:*", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*"),
        ("tcp://127.0.0.1:0", "tcp://127.0.0.1:*", "tcp://127.0.0.1:*"),
        ("inproc://x", "inproc://x-frontend", None),
        ("ipc:///run/x", "ipc:///run/x-frontend", None),
    ],
)
def test_beside(endpoint: str, frontend: str, stream: str | None) -> None:
    assert (endpoints.frontend(endpoint), endpoints.stream(endpoint)) == (frontend, stream)


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1", "tcp://127.0.0.1:x", "tcp://127.0.0.1:65500"])
def test_no_such_port(endpoint: str) -> None:
    with pytest.raises(ValueError, match="no port 100 above it"):
        endpoints.frontend(endpoint)
