"""The settings: each with bounds, a default and a word about it."""

from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any, get_type_hints

import pytest

from engine.protocols.conversation import options
from engine.protocols.conversation.options import Options
from engine.schema import Misfit, fit

HINTS: dict[str, Any] = get_type_hints(Options, include_extras=True)


def test_every_field_is_explained_and_every_number_has_bounds() -> None:
    source = inspect.getsource(options)
    for field in fields(Options):
        assert fit(field.default, HINTS[field.name]) == field.default
        for wrong in (-1, float("inf"), 10**12):
            with pytest.raises(Misfit):
                fit(wrong, HINTS[field.name])
        assert source.partition(f"    {field.name}: ")[2].splitlines()[1].strip().startswith('"""')


def test_a_silent_peer_misses_more_than_one_keep_alive() -> None:
    assert Options().expiry >= 2 * Options().heartbeat


def test_a_backlog_names_a_store_that_one_broker_has() -> None:
    assert Options(backlog="sqlite:/x").backlog
    for wrong in ("nats://hub/jobs", "/x", "5"):
        with pytest.raises(ValueError, match="sqlite:PATH"):
            Options(backlog=wrong)
