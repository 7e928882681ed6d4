from __future__ import annotations

import pytest

from console.kinds import brokers, kind_of, queues
from engine.catalogue import CATALOGUE, SYSTEMS


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_system_has_the_kind_of_its_content(name: str) -> None:
    assert kind_of(CATALOGUE[name]) is (brokers.KIND if name in SYSTEMS else queues.KIND)
