"""From a job to its tasks, and from a task to the end of its log."""

from __future__ import annotations

from pathlib import Path

from console.screens.jobtasks import log_of, tail_lines
from engine.protocols.conversation.frontend import JobRow, JobsListed, ListTasks, TasksListed
from engine.protocols.conversation.messages import Description
from engine.protocols.conversation.past import TaskRow
from tests.helpers.fake_lab import FakeLab, FakeLabs
from tests.helpers.pilot import Driver, drive

ALL, FAILED = (("order_client", ListTasks(8, failed), "") for failed in (False, True))


def job(folder: Path) -> JobRow:
    return JobRow(Description(8, "count", 50, "/x", str(folder), "run", 1), 1, 46, 1, 1, 2)


def labs(folder: Path) -> FakeLabs:
    lab = FakeLab(2, busy=False, system="conversation")
    about = job(folder)
    tasks = (
        TaskRow(1, "done", "worker-1", 1, 3.0, 1.5, "done", "count_1.log"),
        TaskRow(2, "failed", "worker-2", 2, 3.0, 0.25, "exit status 7", "count_2-1.log"),
        TaskRow(3, "running", "worker-\x1b[2J", 1, 75.0, None, "", ""),
    )
    other = TasksListed(4, about._replace(job=about.job._replace(job_id=7)), (), 0, 0)
    lab.answers = ((1, JobsListed(1, (about,), 0)), (3, TasksListed(3, about, tasks, 2, 9)), (4, other))
    lab.publish()
    return FakeLabs(lab)


def test_enter_on_a_job_lists_its_tasks_and_enter_on_a_task_shows_the_end_of_its_log(tmp_path: Path) -> None:
    (tmp_path / "count_2-1.log").write_text("one\nthe last words\x1b[2J\n")

    async def scenario(driver: Driver) -> None:
        await driver.press("v")
        await driver.tick()
        await driver.press("down", "enter")
        await driver.tick()
        lines = driver.screen()
        assert any("tasks of job 8 count" in line and "2 more · 9 not remembered" in line for line in lines)
        assert any("2 failed  worker-2" in line and "250ms exit status 7" in line for line in lines)
        assert any("3 running worker-·[2J" in line for line in lines)
        assert ALL in driver.lab.orders
        await driver.press("f")
        await driver.tick()
        assert driver.shows("failed tasks of job 8") and not driver.shows("running worker-")
        assert driver.lab.orders[-1] == FAILED
        await driver.press("down", "enter")
        await driver.tick()
        assert driver.shows("count_2-1.log") and driver.shows("the last words·[2J")
        (tmp_path / "count_2-1.log").write_text("it goes on\n")
        await driver.tick()
        assert driver.shows("it goes on")
        await driver.press("escape", "escape", "escape")
        assert driver.at_main

    drive(scenario, tmp_path, labs=labs(tmp_path))


def test_the_log_of_a_task_that_runs_is_the_newest_of_its_names(tmp_path: Path) -> None:
    running = TaskRow(3, "running", "w", 1, 1.0, None, "", "")
    assert log_of(job(tmp_path), running) == str(tmp_path / "count_3.log")
    for name in ("count_3.log", "count_3-1.log"):
        (tmp_path / name).touch()
    assert log_of(job(tmp_path), running) == str(tmp_path / "count_3-1.log")
    assert log_of(job(tmp_path), running._replace(log="count_3.log")) == str(tmp_path / "count_3.log")


def test_what_there_is_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    assert tail_lines(str(path)) == [[("it can not be read: No such file or directory", "bad")]]
    path.touch()
    assert tail_lines(str(path)) == [[("it is empty", "label")]]
    path.write_text("a\n" * 40_000)
    first, *rest = tail_lines(str(path))
    assert first == [("14.1 KiB before this", "label")] and len(rest) == 32_767
