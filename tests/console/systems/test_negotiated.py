from __future__ import annotations

from pathlib import Path

from engine.parts.view import BrokerView, WorkerView
from tests.helpers.fake_lab import FakeLab, FakeLabs
from tests.helpers.pilot import Driver, drive

PRIMARY = (
    ("config_version", "2"),
    ("role", "primary"),
    ("state", "active"),
    ("peer", "passive"),
    ("drifted workers", "1"),
)
FALLBACK = (("config_version", "2"), ("role", "fallback"), ("state", "passive"), ("peer", "silent"))


def labs(readonly: bool = False, pair: bool = True) -> FakeLabs:
    lab = FakeLab(2, busy=False, system="negotiated", readonly=readonly)
    lab.terms = (*PRIMARY, ("service ping", "2 ready, 0 queued, 0 waited for"))
    versions = ("1 (served: 2)", "2")
    for place, version in enumerate(versions):
        terms = (("services", "ping, data"), ("config_version", version), ("skew", "+0.25 s"))
        lab.replace(place, terms=terms)
    lab.seats = {lab.workers[0].key: "tern-01"}
    own = WorkerView(lab.at, "linked", 8, 0, 0, lab.at, (("broker", "inproc://negotiated"),), True)
    lab.feed.show("pool", {"tern-01": own})
    lab.publish()
    if pair:
        lab.feed.show("fallback", fallback(lab, serving=False))
    return FakeLabs(lab)


def fallback(lab: FakeLab, serving: bool) -> BrokerView:
    view: BrokerView = lab.feed.pictures["broker"]
    return view._replace(terms=FALLBACK, serving=serving)


def test_brokers_side_by_side_services_drift_and_skew(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        (row,) = [line for line in driver.screen() if "tern-01" in line]
        assert "1≠2" in row, "drift is in the table"
        await driver.press("v")
        await driver.tick(0.0)
        lines = driver.screen()
        assert any(
            "primary" in line and "● serves" in line and "fallback" in line and "◌ stands by" in line for line in lines
        )
        assert any("peer            silent" in line for line in lines)
        assert any("ping" in line and "2 ready, 0 queued, 0 waited for" in line for line in lines)
        first = next(line for line in lines if "tern-01" in line)
        assert all(text in first for text in ("ping, data", "1 (served: 2)", "+0.25 s", "inproc://negotiated"))
        assert any("kestrel-01" in line and "elsewhere" in line for line in lines)

    drive(scenario, tmp_path, labs=labs())


def test_the_plug_is_pulled_after_a_question(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("v", "u", "enter")
        assert driver.lab.orders == [], "cancel is the default"
        await driver.press("u", "y")
        assert driver.lab.orders == [("pull_plug",)]
        assert driver.shows("the primary is gone · b brings it back")
        await driver.press("b")
        assert driver.lab.orders == [("pull_plug",), ("hand_back",)]

    drive(scenario, tmp_path, labs=labs())


def test_a_primary_that_is_gone_is_shown_as_gone_and_the_fallback_is_the_broker(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.feed.show("fallback", fallback(driver.lab, serving=True))
        driver.lab.feed.show("broker", {})
        await driver.press("v")
        driver.app.tick()
        await driver.pilot.pause()
        assert driver.shows("○ gone") and driver.shows("● serves") and driver.shows("its plug is pulled")
        (line,) = [line for line in driver.screen() if "failovers" in line]
        assert "primary gone · " in line and "fallback took over" in line
        await driver.press("escape")
        driver.app.tick()
        await driver.pilot.pause()
        assert "primary gone" in driver.screen()[0] and "fallback serves since" in driver.screen()[0]

    drive(scenario, tmp_path, labs=labs())


def test_read_only_pulls_no_plug(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("v", "u")
        assert driver.shows("refused: this console is read-only")
        assert driver.lab.orders == []

    drive(scenario, tmp_path, labs=labs(readonly=True))


def test_a_broker_alone_is_no_pair(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("v")
        await driver.tick()
        assert not driver.shows("fallback  ") and driver.shows("services")

    drive(scenario, tmp_path, labs=labs(pair=False))


def test_the_plug_is_in_the_key_bar_of_a_small_terminal(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("v")
        await driver.tick(0.0)
        assert "u pull the plug  b bring it back" in driver.screen()[-1]
        first = next(line for line in driver.screen() if "primary" in line)
        assert "fallback" in first, "side by side here, too"

    drive(scenario, tmp_path, labs=labs(), size=(80, 24))


def test_the_pair_is_a_picture_with_who_serves(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("v")
        await driver.tick(0.0)
        boxes = next(line for line in driver.screen() if "━▶" in line)
        assert boxes.index("● serves") < boxes.index("━▶") < boxes.index("◌ stands by")
        lab = driver.lab
        lab.feed.show("broker", None)
        lab.feed.show("fallback", fallback_alone(lab))
        driver.app.tick()
        await driver.pilot.pause()
        boxes = next(line for line in driver.screen() if "◀╌" in line)
        assert boxes.index("○ gone") < boxes.index("◀╌") < boxes.index("● serves")
        assert driver.shows("nobody would take over")

    drive(scenario, tmp_path, labs=labs())


def fallback_alone(lab: FakeLab) -> BrokerView:
    view: BrokerView = lab.feed.pictures["fallback"]
    return view._replace(serving=True)
