"""Jobs by typed commands: what is ordered, what is asked first, what is refused."""

from __future__ import annotations

from pathlib import Path

from engine.protocols.conversation.frontend import CancelJob, Hold, Release, StopWorkers, Submit
from engine.protocols.conversation.header import STOP_NOW
from tests.console.systems.test_conversation import labs, orders
from tests.helpers.pilot import Driver, drive


def test_a_job_is_typed_and_its_words_become_a_script_of_this_user(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.command(f"submit --tasks 3 --dir {tmp_path} -- echo 'two words'")
        (_, request, changes), *more = orders(driver)
        assert isinstance(request, Submit) and changes == "submitting a job" and not more
        script = Path(request.job.command)
        assert (request.job.name, request.job.num_tasks, request.follow) == ("echo", 3, True)
        assert script.parent == tmp_path / "state" / "jobs" and "exec echo 'two words'" in script.read_text()
        assert driver.shows("submitted echo; :jobs lists it")
        await driver.command("jobs")
        await driver.tick()
        assert driver.shows("╭─ jobs")

    drive(scenario, tmp_path, labs=labs())


def test_orders_by_words_and_a_question_before_something_ends(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        await driver.command("hold 8")
        await driver.command("release 8")
        await driver.command("stop 3")
        assert [order[1] for order in orders(driver)] == [Hold(8), Release(8), StopWorkers(3)]
        assert driver.notice == "✓ asked: stopping 3 processors"
        driver.lab.orders.clear()
        for line, order in (
            ("cancel 8", CancelJob(8)),
            ("stop all", StopWorkers(0)),
            ("stop now", StopWorkers(STOP_NOW)),
        ):
            await driver.command(line)
            assert orders(driver) == []
            await driver.press("y")
            assert [given[1] for given in orders(driver)] == [order]
            driver.lab.orders.clear()
        await driver.command("stop")
        assert driver.lab.orders[-1][0] == "stop_run", "without a number it is the run's"
        await driver.command("hold x")
        assert driver.notice == "× hold: expected the id of a job, got 'x'"
        await driver.command("submit")
        assert driver.notice == "× submit needs FILE"

    drive(scenario, tmp_path, labs=labs())


def test_a_read_only_console_refuses_all_of_them(tmp_path: Path) -> None:
    async def scenario(driver: Driver) -> None:
        for line in ("submit -- echo x y", "hold 8", "release 8", "cancel 8", "stop 3", "stop all", "stop now"):
            await driver.command(line)
            assert driver.notice.startswith("× refused: this console is read-only"), line
        assert orders(driver) == [] and not (tmp_path / "state" / "jobs").exists()

    drive(scenario, tmp_path, labs=labs(readonly=True))
