"""``pytest -m quick``: what to run at each save. Real sockets, terminals and whole screens are left out."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No test is judged by how long it took: the machine may be busy.
settings.register_profile("timeless", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("timeless")

TESTS = Path(__file__).parent
QUICK = (
    "engine/parts",
    "engine/protocols",
    "engine/runs",
    "engine/tracing",
    "console/pictures",
    "console/sessions",
    "console/widgets",
    "console/cli",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of these folders as quick, but for those that search for examples."""
    for item in items:
        folder = item.path.relative_to(TESTS).as_posix()
        if folder.startswith(QUICK) and not item.get_closest_marker("hypothesis"):
            item.add_marker(pytest.mark.quick)
