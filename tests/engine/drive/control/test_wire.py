"""Messages of the control socket, and what is none."""

from __future__ import annotations

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.drive.control.wire import Message, pack, read


def test_there_and_back() -> None:
    message = Message(7, "hold", {"JobId": 3})
    assert read("ask", pack("ask", message)) == message
    assert read("say", pack("ask", message)) == "unreadable"


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"v": 1, "ask": "jobs"},
        {"v": 1, "id": -1, "ask": "jobs"},
        {"v": 1, "id": 2**63, "ask": "jobs"},
        {"v": 1, "id": True, "ask": "jobs"},
        {"v": True, "id": 1, "ask": "jobs"},
        {"v": 1, "id": 1, "ask": 5},
        {1: 1, "v": 1, "id": 1, "ask": "jobs"},
        {"v": 1, "id": 1, "ask": "jobs", "x": [0] * 1025},
        {"v": 1, "id": 1, "ask": "jobs", "x": [[]] * 1000, "y": [[]] * 1000, "z": [[]] * 1000},
        {"v": 1, "id": 1, "ask": "x" * 70_000},
    ],
)
def test_what_is_none(value: object) -> None:
    assert read("ask", msgpack.packb(value)) == "unreadable"


def test_another_version_is_told_in_words() -> None:
    assert read("ask", msgpack.packb({"v": 2, "something": "else"})) == (
        "version 2 is not spoken here, only 1: use one version of roundhouse on both sides"
    )


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_are_not(frame: bytes) -> None:
    assert isinstance(read("ask", frame), (Message, str))
