from __future__ import annotations

import pytest

from engine.protocols.negotiated.services import idle, offered


def test_services_in_order_with_the_words_that_run_them() -> None:
    """O28."""
    text = "ping, upper=tr a-z A-Z , cut=cut -d '\\,' -f 1,rev=/srv/work.py:reverse,render,ping"
    assert offered(text) == {
        "ping": (),
        "upper": ("tr", "a-z", "A-Z"),
        "cut": ("cut", "-d", ",", "-f", "1"),
        "rev": ("/srv/work.py:reverse",),
        "render": (),
    }
    assert idle(offered(text)) == ["render"]


@pytest.mark.parametrize("text", ["", " , ", "a b", "x" * 65, "up=", "=tr", "up='tr"])
def test_what_can_not_be_read_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        offered(text)
