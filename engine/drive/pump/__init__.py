"""The pump: whole messages out of sockets and into them, many in one call; native where it was built, else pure."""

from __future__ import annotations

SWITCH = "ROUNDHOUSE_PUMP"
"""The variable that keeps the native one from running where it is 0."""
