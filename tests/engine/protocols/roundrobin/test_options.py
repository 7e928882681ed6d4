from __future__ import annotations

from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from engine.protocols.roundrobin.options import Options
from engine.schema import Misfit, fit

HINTS: dict[str, Any] = get_type_hints(Options, include_extras=True)


def test_every_number_has_bounds_in_which_its_default_lies() -> None:
    """A heartbeat of nothing is a busy loop, a stream beyond a frame ends connections."""
    for field in fields(Options):
        assert fit(field.default, HINTS[field.name]) == field.default
        for wrong in (-1, float("inf"), 10**12) if field.name != "packed" else (1,):
            with pytest.raises(Misfit):
                fit(wrong, HINTS[field.name])


def test_heartbeat_expiry_and_memory_are_in_the_order_that_r4_stands_on() -> None:
    options = Options()
    assert 2 * options.heartbeat <= options.expiry < options.lost_shown < options.task_deadline


def test_a_worker_that_freezes_is_lost_before_an_original_client_gives_its_task_up() -> None:
    patience = 5.0  # seconds that the original gives an item of a bulk run
    options = Options()
    assert options.expiry + options.heartbeat < patience and options.expiry >= 3 * options.heartbeat
