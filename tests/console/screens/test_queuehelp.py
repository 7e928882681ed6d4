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


def test_keys_stand_by_their_signs_and_messages_by_the_words_of_queues() -> None:
    lines = ["".join(part for part, _ in line) for line in help_lines({})]
    starts = {line[:20].strip() for line in lines}
    assert {"⏎", "/", "n space", ".", "+ =", "-"} <= starts
    assert not starts & {"enter", "slash", "n,space", "full_stop", "plus,equals_sign", "minus"}
    assert any("driver=parse.1 cmd=TAKE document=doc-12*" in line for line in lines)


def test_states_name_the_keys_that_change_them_as_they_are_now() -> None:
    def told(shown: dict[str, str]) -> str:
        return "\n".join("".join(part for part, _ in line) for line in help_lines(shown))

    usual = told({})
    assert "its input is kept, R tries it again" in usual
    assert "has no drivers until h" in usual and "can not start; h tries again" in usual
    remapped = told({"document.retry": "f8", "stage.pause": "f9"})
    assert "f8 tries it again" in remapped and "until f9" in remapped and "f9 tries again" in remapped
    assert "{" not in usual
