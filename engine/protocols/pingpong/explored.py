"""What the model checker has to know of ping-pong."""

from __future__ import annotations

from engine.parts.explored import BODY, FULL, LONG, MORE, ORDER, STORE, TWO, Explored, because

UNREACHED = {
    **because(
        (worker := "Worker"),
        TWO,
        *("joining: silence", "joining: connected anew", "joining: EXIT", "joining: told to leave"),
    ),
    **because(
        worker,
        BODY,
        *("ready: job that takes time", "ready: job with a command as result", "working: a second", "working: PONG"),
        *("working: the job is done", "working: the job is done with a command as result", "working: job"),
        "working: the job is done before leaving",
        "working: the job is done with a command as result, before leaving",
        *("working: EXIT", "working: told to leave", "working: connected anew", "working: silence"),
        "working: silence before leaving",
    ),
    **because(
        (seen := "A worker at the broker"),
        TWO,
        *("owing: told to drain", "leaving: PING of one that owes", "leaving: late result"),
        *("leaving: READY", "leaving: silence", "leaving: silence of one that owes", "leaving: deadline"),
        *("leaving: its connection is gone", "told: late result", "told: READY", "told: its connection is gone"),
        *("busy: PING on a connection made anew", "busy: deadline in silence"),
        *("lost: PING of one that owes and is to leave", "lost: late result of one that is to leave"),
    ),
    **because(
        seen,
        MORE,
        *("idle: its connection is gone", "owing: its connection is gone", "leaving: PING on a connection made anew"),
        *("leaving: deadline in silence", "leaving: its job is not sent", "lost: PING of one that is to leave"),
    ),
    **because(seen, FULL, "lost: too many were lost since"),
    **because(
        seen,
        ORDER,
        *(f"{at}: an operator expires it" for at in ("idle", "busy", "owing", "leaving")),
        *(f"{at}: an operator takes its job back" for at in ("busy", "leaving")),
        *("leaving: told to drain no more", "leaving: told to drain no more of one that owes"),
    ),
    **because(seen, STORE, "unknown: PING of one that owes"),
    **because((link := "The client's link"), MORE, "silent: connected anew"),
    **because(link, LONG, "silent: silence"),
}

EXPLORED = Explored(
    unreached=UNREACHED,
    ignored={
        "table.Table": frozenset({"_joins"}),
        "table.Worker": frozenset({"done", "failed", "joined", "mute", "name", "row"}),
        "tasks.Tasks": frozenset({"redelivered"}),
        "frontend.Frontend": frozenset({"again", "full", "refused"}),
        "broker.Broker": frozenset({"inspected", "late", "losses", "restarts", "taken", "unsent"}),
        "worker.Worker": frozenset({"_pinged", "_rtt", "abandoned", "done", "dropped", "reopened", "unsent"}),
        "client.Client": frozenset({"reopened"}),
        "inflight.Task": frozenset({"accepted"}),
    },
)
"""``Table._joins`` makes names to show, ``Worker.mute`` of the table a note.

``Worker._pinged`` only serves to measure the round trip.
"""
