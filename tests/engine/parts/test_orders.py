"""Orders that several systems take: values, and written in journals under their plain names."""

from __future__ import annotations

import pytest

from engine import core
from engine.catalogue import SYSTEMS
from engine.journal.format import event_codec
from engine.labs.shared import codec_of
from engine.parts import orders

KINDS = [kind for kind in vars(orders).values() if isinstance(kind, type) and kind.__module__ == orders.__name__]


@pytest.mark.parametrize("kind", KINDS)
def test_an_order_is_an_immutable_value(kind: type) -> None:
    fields: tuple[str, ...] = getattr(kind, "_fields")  # noqa: B009
    value = kind(*fields)
    assert value == kind(*fields) and isinstance(value, tuple) and kind.__doc__
    for field in fields:
        with pytest.raises(AttributeError):
            setattr(value, field, None)


@pytest.mark.parametrize("kind", KINDS)
def test_journals_and_control_sockets_call_it_by_its_name_alone(kind: type) -> None:
    """Journals and processes of versions that have the orders in ``engine.core`` are understood, and understand it."""
    assert not hasattr(core, kind.__name__)
    for system in SYSTEMS.values():
        for codec in (event_codec(system), codec_of(system)):
            assert codec.plain(kind(*getattr(kind, "_fields")))[1] == kind.__name__  # noqa: B009
