"""The settings: plain types, each with a default and a word about it."""

from __future__ import annotations

import inspect
from dataclasses import fields

from engine.protocols.conversation import options
from engine.protocols.conversation.options import Options


def test_every_field_is_plain_and_explained() -> None:
    source = inspect.getsource(options)
    for field in fields(Options):
        assert type(field.default) in (int, float, str, bool) and field.type == type(field.default).__name__
        assert f"    {field.name}: {field.type}" in source
        assert source.partition(f"    {field.name}: ")[2].splitlines()[1].strip().startswith('"""')


def test_a_silent_peer_misses_more_than_one_keep_alive() -> None:
    assert Options().expiry >= 2 * Options().heartbeat
