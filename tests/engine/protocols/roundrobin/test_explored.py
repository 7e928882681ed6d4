"""What is ignored is there, and is of the kind that changes nothing."""

from __future__ import annotations

from importlib import import_module
from itertools import chain
from pathlib import Path

from engine.protocols.roundrobin import SYSTEM
from engine.sim.explore.fingerprint import IGNORED, UNORDERED


def test_each_field_that_is_ignored_is_one() -> None:
    explored = SYSTEM.explored
    named = [one.items() for one in (IGNORED, UNORDERED, explored.ignored, explored.unordered)]
    for name, ignored in chain(*named):
        file, _, made = name.partition(".")
        parts = {"liveness": "parts", "bulk": "parts", "inflight": "parts", "properties": "sim.explore"}
        place = parts.get(file, "protocols.roundrobin")
        module = import_module(f"engine.{place}.{file}")
        source = Path(str(module.__file__)).read_text(encoding="utf-8")
        assert hasattr(module, made)
        for field in ignored:
            assert f"self.{field}" in source, (name, field)
