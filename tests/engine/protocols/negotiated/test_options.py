from __future__ import annotations

from dataclasses import fields
from typing import get_type_hints

import pytest

from engine.protocols.negotiated.options import Options
from engine.schema import Misfit, fit

# the fact sheet: silence of 3 intervals, skew beyond 30 s, at most N deliveries
SHEET = {"silence": 3, "skew": 30.0}


def test_every_default_fits_to_its_own_type() -> None:
    hints = get_type_hints(Options, include_extras=True)
    for field in fields(Options):
        value = getattr(Options(), field.name)
        assert fit(value, hints[field.name]) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("heartbeat", 0.0),
        ("silence", 1),
        ("max_deliveries", 0),
        ("max_backlog", -1),
        ("config_type", "yaml"),
        ("skew", -1),
    ],
)
def test_what_can_not_work_is_refused(name: str, value: object) -> None:
    with pytest.raises(Misfit):
        fit(value, get_type_hints(Options, include_extras=True)[name])


def test_values_of_the_fact_sheet() -> None:
    assert {name: getattr(Options(), name) for name in SHEET} == SHEET
