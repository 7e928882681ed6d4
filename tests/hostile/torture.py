"""One role of one system is told wrong messages in the middle of a session, and has to serve its peers afterwards."""

from __future__ import annotations

from random import Random

from engine.catalogue import SYSTEMS
from engine.parts.orders import StopRun
from engine.parts.view import BrokerView
from tests.helpers.session import Session, corpus_of, mutators

ONWARD = 20.0  # virtual seconds in which honest tasks go on
SETTLED = 200.0  # virtual seconds in which what a liar began must have ended: deadlines of jobs among it


def torture(name: str, role: str, pair: bool, seed: int, messages: int) -> Session:
    """The world checks every core after every event. Raises AssertionError where something does not come right."""
    system = SYSTEMS[name]
    corpus = corpus_of(system)
    session = Session(system, seed, pair)
    mutator = mutators(system, corpus, Random(seed))
    session.open(role, lambda socket, _sender: mutator(role, socket)())
    core = session.tampered
    assert core is not None
    world = session.world
    world.run_for(5.0)
    core.left = messages
    session.bulk(n=1_000_000, rate=50.0, timeout=5.0)
    world.run_until(lambda _: core.left == 0 or role not in world.names, 600.0)
    assert core.left == 0 or role not in world.names, f"{core.left} messages were never told"
    world.run_for(ONWARD)
    if "client" in world.names:
        world.order("client", StopRun())
    settle(session)
    return session


def settle(session: Session) -> None:
    """Peers start anew under new ids, as something was said in their names: they are served, and nothing is left."""
    world = session.world
    world.run_for(SETTLED)
    assert {"broker", "fallback"} & set(world.names), "no broker is left"
    for name in session.peers:
        world.restart(name, session.peer(name, again=True))
    world.run_for(SETTLED)
    session.bulk(n=50)
    world.run_for(30.0)
    run = world.picture("client").run
    assert run is not None and run.passed, run
    serving = next(name for name in ("broker", "fallback") if name in world.names and world.picture(name).serving)
    view: BrokerView = world.picture(serving)
    assert view.ledger.balanced and view.ledger.in_flight == view.ledger.queued == 0, view.ledger
