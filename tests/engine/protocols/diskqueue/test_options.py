"""A configuration table is checked against these fields."""

from __future__ import annotations

import dataclasses
from typing import get_type_hints

import pytest

from engine.protocols.diskqueue.options import Options
from engine.schema import Misfit, fit

BOUNDED = get_type_hints(Options, include_extras=True)


def test_every_field_has_a_plain_type_and_a_default_that_fits() -> None:
    plain = get_type_hints(Options)
    for field in dataclasses.fields(Options):
        assert plain[field.name] in (int, float, str, bool)
        assert fit(field.default, BOUNDED[field.name]) == field.default


@pytest.mark.parametrize(("name", "value"), [("max_files", -1), ("poll", 0.0), ("start_failures", 0)])
def test_what_can_not_be_meant_is_refused(name: str, value: float) -> None:
    with pytest.raises(Misfit):
        fit(value, BOUNDED[name])
