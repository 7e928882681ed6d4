"""A primary and its fallback in one lab: the plug is pulled under load, the primary comes back and serves again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.catalogue import SYSTEMS
from engine.errors import Refused
from engine.labs.live import LiveLab
from engine.labs.replay import Replay
from engine.parts.bulk import BulkSpec
from engine.parts.view import BrokerView
from engine.protocols.negotiated import Options
from tests.helpers.processes import WAIT, free_endpoint, until

QUICK = Options(heartbeat=0.2, silence=15, doubt=3.0)  # a busy machine may hold a broker up for a second


@pytest.fixture
def endpoint() -> str:
    return free_endpoint()


@pytest.fixture
def lab(endpoint: str, tmp_path: Path) -> Iterator[LiveLab]:
    journal = tmp_path / "pair.journal"
    with LiveLab(SYSTEMS["negotiated"], QUICK, bind=(endpoint,), workers=3, pair=True, journal=journal) as lab:
        assert lab.wait_registered(3, WAIT) and lab.wait_linked(WAIT)
        yield lab
        assert lab.health().dead == ()


def brokers(lab: LiveLab) -> dict[str, BrokerView]:
    return lab._brokers.views()


def serves(lab: LiveLab) -> dict[str, bool]:
    return {name: view.serving for name, view in brokers(lab).items()}


def passes(lab: LiveLab) -> None:
    assert lab.wait_run(WAIT)
    report = lab.report()
    assert (report["verdict"], report["failed"], report["ledger"]["balanced"]) == ("pass", {}, True)


def test_the_plug_of_the_primary_is_pulled_under_load(lab: LiveLab, tmp_path: Path) -> None:
    assert serves(lab) == {"broker": True, "fallback": False}
    lab.run(BulkSpec("ping", 1000, rate=500.0, in_flight=50, timeout=WAIT))
    until(lambda: (view := lab.run_view()) is not None and view.ledger.succeeded > 50, "the middle of the run")
    lab.pull_plug()
    passes(lab)
    assert serves(lab) == {"fallback": True}
    until(lambda: lab.registered() == 3, "every worker at the fallback")
    lab.hand_back()
    until(lambda: dict(brokers(lab)["broker"].terms)["state"] == "passive", "a primary that waits")
    until(lambda: dict(brokers(lab)["fallback"].terms)["peer"] == "passive", "a fallback that has heard of it")
    assert serves(lab) == {"broker": False, "fallback": True}
    lab.hand_back()
    until(lambda: serves(lab) == {"broker": True, "fallback": False}, "the primary's return")
    until(lambda: lab.registered() == 3, "every worker at the primary")
    lab.run(BulkSpec("ping", 100, timeout=WAIT))
    passes(lab)
    lab.close()
    replay = Replay.open(tmp_path / "pair.journal", SYSTEMS)
    replay.seek(len(replay))
    assert (replay.differences, replay.cut) == ([], "")


def test_a_worker_is_looked_at_and_stopped_wherever_it_is_served(lab: LiveLab) -> None:
    lab.pull_plug()
    until(lambda: serves(lab) == {"fallback": True} and lab.registered() == 3, "the fallback's service")
    key = brokers(lab)["fallback"].workers[0].key
    lab.inspect(key)
    until(lambda: (detail := brokers(lab)["fallback"].detail) is not None and detail.key == key, "its details")
    lab.stop_worker(key)
    until(lambda: lab.registered() == 2, "its leaving")


def test_a_read_only_lab_pulls_no_plug(endpoint: str) -> None:
    with LiveLab(SYSTEMS["negotiated"], QUICK, bind=(endpoint,), workers=0, pair=True, readonly=True) as lab:
        with pytest.raises(Refused, match="pulling the plug of the primary is refused"):
            lab.pull_plug()
        assert set(serves(lab)) == {"broker", "fallback"}


def test_other_systems_have_no_pair(endpoint: str) -> None:
    with LiveLab(SYSTEMS["roundrobin"], bind=(endpoint,), workers=0, pair=True) as lab:
        assert serves(lab) == {"broker": True}
        with pytest.raises(Refused, match="no fallback"):
            lab.pull_plug()
