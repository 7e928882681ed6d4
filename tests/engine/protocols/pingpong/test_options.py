"""The fact sheet's values, and where clients connect."""

from __future__ import annotations

import pytest

from engine.protocols.pingpong.options import Options


def test_the_defaults_are_the_originals() -> None:
    options = Options()
    assert (options.broker_timeout, options.n_timeouts, options.worker_expiry, options.ping_every) == (1, 3, 3, 1)


def test_a_ping_or_data_task_is_given_up_before_its_client_stops_waiting() -> None:
    assert Options().worker_expiry < Options().probe_deadline < 5.0 < Options().task_deadline


@pytest.mark.parametrize(
    ("backend", "frontend"),
    [
        ("tcp://127.0.0.1:6715", "tcp://127.0.0.1:6815"),
        ("tcp://[::1]:6715", "tcp://[::1]:6815"),
        ("tcp://*:65435", "tcp://*:65535"),
        ("tcp://*:65436", "tcp://*:65336"),
        ("inproc://x", "inproc://x-frontend"),
        ("ipc:///a/b.sock", "ipc:///a/b.sock-frontend"),
    ],
)
def test_the_frontend_is_beside_the_backend(backend: str, frontend: str) -> None:
    assert Options().frontend_of(backend) == frontend
    assert Options(frontend="tcp://127.0.0.1:1").frontend_of(backend) == "tcp://127.0.0.1:1"


@pytest.mark.parametrize("port", ["*", "0", "65536", "x", "", "-1", "٣", "0x10", "999999"])
def test_without_a_port_the_frontend_must_be_set(port: str) -> None:
    with pytest.raises(ValueError, match=r"set pingpong\.frontend"):
        Options().frontend_of(f"tcp://127.0.0.1:{port}")
