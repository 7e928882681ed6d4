from __future__ import annotations

from collections import Counter
from pathlib import Path

from console.systems.conversation import StateMap, Walkers, counts
from engine.parts.view import WorkerView
from engine.protocols.conversation.frontend import CancelJob, Hold, JobRow, JobsListed, ListJobs, Release, StopWorkers
from engine.protocols.conversation.messages import Description
from tests.helpers.fake_lab import FakeLab, FakeLabs
from tests.helpers.pilot import Driver, drive

ASK = ("order_client", ListJobs(), "")


def job(number: int, status: int = 1) -> JobRow:
    return JobRow(Description(number, f"job-{number}", 50, "/x", "/x", "[/red]\x1b run", status), 1, 40, 4, 5, 1)


def labs(readonly: bool = False) -> FakeLabs:
    lab = FakeLab(2, busy=False, system="conversation", readonly=readonly)
    for place in range(2):
        lab.replace(place, terms=(("state", "SV_LOOP2"), ("nproc", "3"), ("max_nproc", "4"), ("running", "1")))
    lab.terms = (("SV_INIT0", "3"), ("SV_LOOP2", "17"), ("jobs", "2"), ("greeting", "1"), ("store", "55 tasks kept"))
    own = WorkerView(lab.at, "CL_LOOP0", 4, 1, 0, lab.at, (("CL_INIT0", "2"), ("CL_LOOP0", "9")), True)
    lab.feed.show("pool", {"worker-1": own, "worker-2": own})
    lab.answers = ((1, JobsListed(1, (), 0)), (2, JobsListed(2, (job(7), job(8)), 0, 4)))
    lab.publish()
    return FakeLabs(lab)


def orders(driver: Driver) -> list[tuple[object, ...]]:
    """What was ordered, apart from the questions for the jobs."""
    return [order for order in driver.lab.orders if order != ASK]


def test_states_with_who_is_in_them_and_how_often_they_were_entered(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        assert driver.shows("SV_LOOP2"), "in the table"
        await driver.press("v")
        await driver.tick()
        lines = driver.screen()
        assert any("SV_LOOP2" in line and "2         17" in line for line in lines)
        assert any("SV_INIT1" in line and "1          ·" not in line and " 1 " in line for line in lines)
        assert any("CL_LOOP0" in line and "2         18" in line for line in lines)
        assert any(" 8 job-8" in line and "[/red]· run" in line for line in lines)
        assert driver.lab.orders[0] == ASK

    drive(scenario, tmp_path, labs=labs())


def test_a_state_that_was_entered_is_lit_for_a_while() -> None:
    states = StateMap(("A", "B"))
    here = Counter({"A": 1})

    def lit(entered: dict[str, int]) -> list[bool]:
        return ["reverse" in line[0][1] for line in states.lines("x", entered, here)[1:]]

    assert lit({"A": 5, "B": 5}) == [False, False], "the first picture tells of no change"
    assert lit({"A": 5, "B": 6}) == [False, True]
    assert [lit({"A": 5, "B": 6})[1] for _ in range(4)] == [True, True, True, False]


def test_a_worker_walks_its_states_with_the_time_that_it_has_been_in_each() -> None:
    walkers = Walkers()

    def line(at: float, state: str, entered: int, width: int = 120) -> str:
        own = WorkerView(at, state, 4, 1, 0, at, ((state, str(entered)),), True)
        parts = walkers.lines({"worker-1": own}, width)[0]
        assert [ink for text, ink in parts if state[3:] in text] == ["busy bold"], "the present one is marked"
        return "".join(text for text, _ in parts)

    assert "▐LOOP0 ≥0.0s▌" in line(10.0, "CL_LOOP0", 1), "it may have been in it for long"
    assert line(13.0, "CL_LOOP0", 1).startswith("w1     INIT0") and "▐LOOP0 ≥3.0s▌" in line(13.0, "CL_LOOP0", 1)
    told = line(14.0, "CL_UPDATE1", 1)
    assert "▐UPDATE1  0.0s▌" in told and "LOOP0    ·" in told, "who knows how long it was in the first"
    told = line(14.5, "CL_LOOP0", 2)
    assert "▐LOOP0  0.0s▌" in told and "UPDATE1 0.5s".replace(" ", "") in told.replace(" ", "")
    assert "▐LOOP0  2.0s▌" in line(16.5, "CL_LOOP0", 2)
    assert "▐LOOP0  0.0s▌" in line(17.0, "CL_LOOP0", 3), "it left and came back between two pictures"
    assert "0.5s" not in line(17.0, "CL_LOOP0", 3, 78) and len(line(17.0, "CL_LOOP0", 3, 78)) <= 78
    assert len(line(17.0, "CL_LOOP0", 3)) <= 104


def test_the_walk_stands_below_the_states_at_every_size(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("v")
        for width, height in ((80, 24), (120, 36), (200, 60)):
            await driver.pilot.resize_terminal(width, height)
            await driver.tick()
            walks = [line for line in driver.screen() if "→ ▐LOOP0" in line]
            assert [line[2:5] for line in walks] == ["w1 ", "w2 "], (width, driver.screen())
            assert all("EXIT1" in line for line in walks) and driver.shows("job-8")
            assert driver.shows("jobs · store: 55 tasks kept")

    drive(scenario, tmp_path, labs=labs())


def test_counts_are_summed_and_words_are_no_numbers() -> None:
    assert counts(("A", "B"), [(("A", "3"), ("B", "x"), ("C", "9")), (("A", "4"),)]) == {"A": 7}


def test_orders_about_the_chosen_job(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("v")
        await driver.tick()
        await driver.press("down", "h", "l")
        assert orders(driver) == [
            ("order_client", Hold(8), "holding a job"),
            ("order_client", Release(8), "releasing a job"),
        ]
        driver.lab.orders.clear()
        await driver.press("ctrl+x", "enter")
        assert orders(driver) == [], "cancel is the default"
        await driver.press("ctrl+x", "y")
        assert orders(driver) == [("order_client", CancelJob(8), "cancelling a job")]
        driver.lab.orders.clear()
        await driver.press("ctrl+k", "enter", "ctrl+k", "y")
        assert orders(driver) == [("order_client", StopWorkers(0), "stopping workers")]

    drive(scenario, tmp_path, labs=labs())


def test_read_only_refuses_every_order(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.press("v")
        await driver.tick()
        await driver.press("down", "h", "l", "ctrl+x", "ctrl+k")
        assert driver.shows("refused: this console is read-only")
        assert orders(driver) == []

    drive(scenario, tmp_path, labs=labs(readonly=True))


def test_without_jobs_there_is_nothing_to_hold(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.answers = ()
        driver.lab.publish()
        await driver.press("v")
        await driver.tick()
        await driver.press("h")
        assert driver.shows("there is no job")
        assert driver.shows("no jobs · roundhouse submit")
        assert orders(driver) == []

    drive(scenario, tmp_path, labs=labs())


def test_a_job_that_no_worker_is_large_enough_for_says_so_in_place_of_its_command(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        driver.lab.answers = ((1, JobsListed(1, (job(7)._replace(slots=9), job(8)), 0, 4)),)
        driver.lab.publish()
        await driver.press("v")
        await driver.tick()
        told = [line for line in driver.screen() if "needs 9 processors, the largest worker has 4" in line]
        assert len(told) == 1 and " 7 job-7" in told[0]

    drive(scenario, tmp_path, labs=labs())
