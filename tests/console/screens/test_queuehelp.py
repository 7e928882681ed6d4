"""The help explains every key and every state."""

from __future__ import annotations

from console import keys
from console.screens.queuehelp import QUIT, help_lines
from console.widgets import documents, queuestrip


def test_every_key_and_every_state() -> None:
    text = "\n".join("".join(part for part, _ in line) for line in help_lines({"feed": "f5"}))
    assert all(key.help in text for key in (*keys.QUEUES, *keys.TABLE)) and QUIT in text
    assert all(state in text for state in (*documents.STATES, *queuestrip.STATES))
    assert "f5" in text
