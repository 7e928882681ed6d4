"""The settings that a configuration file may hold."""

from __future__ import annotations

import dataclasses

from engine.protocols.diskqueue.options import Options


def test_every_field_has_a_plain_type_and_a_default() -> None:
    for field in dataclasses.fields(Options):
        assert field.type in ("int", "float", "str", "bool")
        assert field.default is not dataclasses.MISSING


def test_the_limit_between_stages_is_the_originals_and_inputs_are_kept() -> None:
    assert (Options().max_files, Options().max_bytes, Options().keep_input) == (500, 0, True)
