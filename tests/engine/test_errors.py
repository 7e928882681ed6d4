"""A refusal is a value error, so that a reader of settings can raise it like any other."""

from __future__ import annotations

import pytest

from engine.errors import Refused


def test_a_refusal_is_a_value_error_and_says_its_words() -> None:
    with pytest.raises(ValueError, match="no worker 'w9'"):
        raise Refused("no worker 'w9'")
