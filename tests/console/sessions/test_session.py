from __future__ import annotations

import pytest

from console.sessions.session import at_once
from engine.errors import Refused


def test_an_order_to_a_lab_of_this_thread_is_done_when_it_returns() -> None:
    asked: list[object] = []
    assert at_once("lab")(asked.append).result() is None
    assert asked == ["lab"]


def test_a_refusal_is_in_the_future_and_nowhere_else() -> None:
    def refuse(_: object) -> None:
        raise Refused("not now")

    with pytest.raises(Refused, match="not now"):
        at_once("lab")(refuse).result()
