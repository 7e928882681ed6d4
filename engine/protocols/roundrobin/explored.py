"""What the model checker has to know of round robin."""

from __future__ import annotations

from engine.parts.explored import Explored

_LINK = frozenset({"rtt", "heard", "number", "_asked_at"})

EXPLORED = Explored(
    heartbeat=lambda options: float(options.heartbeat),
    ignored={
        "link.Link": _LINK,
        "table.Worker": frozenset({"done", "failed", "joined", "name", "ping_at", "ping_id", "row", "rtt", "until"}),
        "pool.Pool": frozenset({"unpaid"}),
        "records.Records": frozenset({"again", "redelivered"}),
        "backlog.Backlog": frozenset({"over_share"}),
        "presence.Presence": frozenset({"takeovers", "_pings", "_pool"}),
        "broker.Broker": frozenset({"late", "unsent", "denied", "inspected"}),
        "worker.Worker": frozenset({"unknown", "unsent", "done"}),
        "inflight.Task": frozenset({"accepted"}),
    },
    unordered={
        "lanes.Lanes": frozenset({"ours", "peers"}),
        "presence.Presence": frozenset({"_linked", "_taken"}),
    },
)
"""``Presence._pool`` is the broker's own pool, which is in its fingerprint once. The numbers of the broker's PINGs only
serve to measure round trips. Peers are forgotten in their order, but no scene has as many as are remembered.
"""
