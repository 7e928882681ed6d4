"""A storm over a broker with a store, in virtual time: whoever is killed, what was accepted is done and ends once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hypothesis import strategies as st

from engine.core import Seat
from engine.parts.bulk import BulkSpec
from engine.parts.keeping import RETRY
from engine.parts.orders import Slow
from engine.sim.world import World

TASKS = 60
Blow = tuple[str, str, float]
"""A fault, the worker that it may be about, and the seconds until the next one."""


def blows(workers: Iterable[str]) -> st.SearchStrategy[list[Blow]]:
    """Up to twelve of them."""
    kinds = ["broker", "broker", "restart", "freeze", "reset", "reset client", "slow", "away"]
    return st.lists(
        st.tuples(st.sampled_from(kinds), st.sampled_from(list(workers)), st.floats(0.0, 3.0)), min_size=1, max_size=12
    )


def opened(
    seed: int,
    broker: Callable[[], Seat],
    worker: Callable[[str], Seat],
    workers: Iterable[str],
    client: Seat,
    calm: float,
) -> World:
    """A world with "broker", workers and "client" that have had ``calm`` seconds to join."""
    world = World(seed)
    world.add("broker", broker())
    for name in workers:
        world.add(name, worker(name))
    world.add("client", client)
    world.run_for(calm)
    return world


def ended(world: World) -> bool:
    """Whether the client's run has ended."""
    run = world.picture("client").run
    return run is not None and run.state == "ended"


def endured(
    world: World,
    faults: list[Blow],
    broker: Callable[[], Seat],
    worker: Callable[[str], Seat],
    tag: bytes,
    calm: float,
    quiet: float,
) -> None:
    """Run tasks through all faults, then assert that each that was not refused has succeeded and the books are right.

    ``world`` has "broker", "client" and workers; ``calm``: seconds until all are home again; ``quiet``: that the rest
    may take.
    """
    world.order("client", BulkSpec("ping", TASKS, in_flight=10, rate=20.0, timeout=600.0, tag=tag))
    for fault, name, pause in faults:
        match fault:
            case "broker":
                world.restart("broker", broker())
            case "restart":
                world.restart(name, worker(name))
            case "freeze":
                world.freeze(name, 2.0 + pause)
            case "reset":
                world.reset(name, "broker")
            case "reset client":
                world.reset("client", "broker")
            case "slow":
                world.order(name, Slow(pause))
            case "away":
                world.stores["broker"].down = "away"
                world.after(pause, setattr, world.stores["broker"], "down", "")
        world.run_for(pause)
    world.run_for(calm)
    for name in {name for _, name, _ in faults}:
        world.order(name, Slow(0.0))
    assert world.run_until(ended, quiet)
    ledger = world.picture("client").run.ledger
    failed = dict(ledger.failed)
    refused = failed.pop("away", 0)
    assert not failed and ledger.succeeded == TASKS - refused, ledger
    assert world.run_until(lambda world: world.stores["broker"].counts()[3:5] == (0, 0), quiet)
    world.run_for(RETRY)
    counts, view = world.stores["broker"].counts(), world.picture("broker")
    assert counts.balanced and counts.waiting == counts.leased == 0 and not counts.failed
    assert counts.succeeded >= ledger.succeeded  # one that was refused may have been kept
    assert view.ledger.balanced and (view.backlog, view.in_flight) == (0, 0)
