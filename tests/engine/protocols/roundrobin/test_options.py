from __future__ import annotations

from dataclasses import fields

from engine.protocols.roundrobin.options import Options


def test_every_setting_has_a_plain_type_and_a_default_in_reason() -> None:
    options = Options()
    for field in fields(options):
        assert field.type in ("int", "float", "bool") and getattr(options, field.name) > 0, field.name


def test_heartbeat_expiry_and_memory_are_in_the_order_that_r4_stands_on() -> None:
    options = Options()
    assert 2 * options.heartbeat <= options.expiry < options.lost_shown < options.task_deadline
