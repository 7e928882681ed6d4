"""What the model checker has to know of ping-pong."""

from __future__ import annotations

from engine.parts.explored import Explored

EXPLORED = Explored(
    ignored={
        "table.Table": frozenset({"_joins"}),
        "table.Worker": frozenset({"done", "failed", "joined", "name", "row"}),
        "tasks.Tasks": frozenset({"redelivered"}),
        "desk.Desk": frozenset({"again", "full", "refused"}),
        "broker.Broker": frozenset({"inspected", "late", "losses", "restarts", "taken", "unsent"}),
        "worker.Worker": frozenset({"_pinged", "_rtt", "abandoned", "done", "dropped", "reopened", "unsent"}),
        "client.Client": frozenset({"_sampled", "again", "late", "reopened", "unsent"}),
        "inflight.Task": frozenset({"accepted"}),
    },
)
"""``Table._joins`` makes names to show. ``Worker._pinged`` only serves to measure the round trip."""
