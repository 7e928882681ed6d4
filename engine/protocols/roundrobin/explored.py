"""What the model checker has to know of round robin."""

from __future__ import annotations

from engine.parts.explored import Explored

_LINK = frozenset({"rtt", "heard", "number", "_asked_at"})

EXPLORED = Explored(
    heartbeat=lambda options: float(options.heartbeat),
    ignored={
        "link.Link": _LINK,
        "table.Worker": frozenset({"done", "failed", "joined", "name", "ping_at", "row", "rtt"}),
        "pool.Pool": frozenset({"unpaid"}),
        "records.Records": frozenset({"again", "redelivered"}),
        "backlog.Backlog": frozenset({"over_share"}),
        "presence.Presence": frozenset({"takeovers", "_pool"}),
        "broker.Broker": frozenset({"late", "unsent", "denied", "inspected"}),
        "worker.Worker": frozenset({"unknown", "unsent", "done"}),
        "client.Client": frozenset({"late", "unsent", "again", "_noted"}),
        "inflight.Task": frozenset({"accepted"}),
    },
)
"""``Presence._pool`` is the broker's own pool, which is in its fingerprint once."""
