"""Tests that need a NATS server skip visibly where there is none; what they start is in ``natsserver``."""

from __future__ import annotations

import pytest

from tests.helpers.natsserver import MISSING, program

needed = pytest.mark.skipif(program() is None, reason=MISSING)
