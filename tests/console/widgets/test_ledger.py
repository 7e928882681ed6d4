from __future__ import annotations

from pathlib import Path

import pytest

from console.widgets.ledger import Ledger, brief, equation
from engine.parts.view import LedgerView
from tests.helpers.pilot import Driver, drive

GOOD = LedgerView(1_300_000, 1_284_000, (("timeout", 3_000),), 2_000, 11_000, 0)
WRONG = GOOD._replace(queued=10_999)


def text(parts: list[tuple[str, str]]) -> str:
    return "".join(part for part, _ in parts)


def test_both_sides() -> None:
    assert text(equation(GOOD)) == (
        "sent 1,300,000 = ok 1,284,000 + failed 3,000 + in flight 2,000 + queued 11,000 + dropped 0  ✓"
    )
    assert (
        text(equation(GOOD, terse=True)) == "sent 1.30M = ok 1.28M + fail 3.00k + out 2.00k + queued 11.0k + drop 0  ✓"
    )


def test_what_does_not_balance_is_red_and_says_so() -> None:
    for parts in (equation(WRONG), equation(WRONG, terse=True), brief(WRONG)):
        assert "DOES NOT BALANCE" in text(parts)
        assert ("bad bold reverse") in [ink for _, ink in parts]
        assert "✓" not in text(parts)
    assert " ≠ " in text(equation(WRONG))


@pytest.mark.parametrize("size", [(150, 42), (120, 36), (80, 24), (40, 10)])
def test_it_is_always_on_the_screen(tmp_path: Path, size: tuple[int, int]) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.tick()
        line = driver.screen()[-2]
        assert "sent " in line and "ok " in line and "✓" in line
        driver.lab._backlog += 1
        broker = driver.lab.feed.pictures["broker"]
        driver.lab.feed.show("broker", broker._replace(ledger=WRONG, at=broker.at + 1))
        driver.app.tick()
        await driver.pilot.pause()
        assert "NOT BALANCE" in driver.screen()[-2]
        assert "UNBALANCED" in driver.screen()[0]

    drive(scenario, tmp_path, size=size)


def test_a_slow_screen_and_a_late_engine_are_said(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        ledger = driver.main.query_one(Ledger)
        picture = driver.app.session.bridge.poll(driver.lab.at)
        for hertz, lag, said, ink in (
            (4.0, 0.0003, "4.0 Hz · lag 300µs", "label"),
            (0.7, 0.4, "0.7 Hz · lag 400ms", "warn"),
        ):
            ledger.show(picture._replace(hertz=hertz, lag=lag))
            (line,) = ledger.draw(150, 1)
            assert line.text.startswith(" broker's ledger sent ")
            assert said in line.text
            assert next(part for part in line if " Hz" in part.text).style == ledger.ink(ink)

    drive(scenario, tmp_path, size=(150, 42))
