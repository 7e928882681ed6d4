"""A pipeline without its processes: what is remembered, refused, asked; with them it is in tests/loopback."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.core import Exit, Note, Started
from engine.drive.feeding import feed
from engine.drive.locks import Lock
from engine.drive.pipeline import Pipeline
from engine.drive.roots import NAMEABLE
from engine.errors import Refused
from engine.protocols.diskqueue import names
from engine.protocols.diskqueue.options import Options
from engine.protocols.diskqueue.pipeline import Stage
from engine.protocols.diskqueue.watchdog import Ended, Look, Looked
from tests.helpers.ears import Heard
from tests.helpers.strangers import STRANGER, needs_stranger, open_folder


def test_stages_that_make_no_pipeline_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="twice"):
        Pipeline(str(tmp_path), [Stage("a"), Stage("a")])


def test_where_nothing_was_run_there_is_nothing_to_open(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="there is no pipeline"):
        Pipeline.open(str(tmp_path))
    (tmp_path / "pipeline.json").write_text("[]", encoding="utf-8")
    with pytest.raises(Refused, match=r"pipeline\.json"):
        Pipeline.open(str(tmp_path))


@pytest.mark.parametrize("name", ["two\nlines", "no-utf-8\udcff", "esc\x1b", "p%src%q"])
def test_a_folder_that_no_parameter_file_can_name_is_refused_before_anything_is_made(tmp_path: Path, name: str) -> None:
    notes: list[Note] = []
    pipeline = Pipeline(f"{tmp_path}/{name}", [Stage("a")], say=notes.append)
    assert pipeline.run(signals=False) == 2
    (note,) = notes
    assert note.text == f"no parameter file can name the folder {pipeline.root!a}: {NAMEABLE}"
    with pytest.raises(Refused, match="no parameter file can name"):
        pipeline.start()
    with pytest.raises(Refused, match="no parameter file can name"):
        feed(f"{tmp_path}/{name}", [__file__])
    assert list(tmp_path.iterdir()) == []


def test_all_done_already_ends_at_once_and_is_remembered(tmp_path: Path) -> None:
    for queue in ("start", "a"):
        (tmp_path / f"queue-{queue}").mkdir()
        (tmp_path / f"queue-{queue}" / names.DONE).touch()
    notes: list[Note] = []
    stages = [Stage("a", 2, "upper")]
    assert Pipeline(str(tmp_path), stages, Options(max_files=7), notes.append).run(signals=False) == 0
    assert notes == [Note("good", "a is done"), Note("good", "done")]
    known = Pipeline.open(str(tmp_path))
    assert (known.stages, known.options.max_files) == ((Stage("a", 2, "upper"),), 7)
    view = known.show()
    assert (view.state, view.stages[0].state, view.drivers) == ("absent", "done", ())


def test_who_looks_afterwards_is_told_why_each_stage_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = Pipeline(str(tmp_path), [Stage("a"), Stage("b")])

    def spawn(stage: str, number: str) -> list[Ended]:
        return [Ended(number, 2, False, 0, "no licence")] if stage == "a" else []

    monkeypatch.setattr(pipeline._processes, "spawn", spawn)
    monkeypatch.setattr(pipeline._processes, "ends", lambda: [Ended("2", 0, True, 0, "")])
    assert pipeline.run(signals=False) == 1
    reasons = ["driver 1 could not start, exit status 2: no licence", "the pipeline ended: a is stopped"]
    for view in (pipeline.picture(), Pipeline.open(str(tmp_path)).show()):
        assert [(row.state, row.reason) for row in view.stages] == [("stopped", reason) for reason in reasons]


def test_who_listens_hears_the_watchdog_and_who_does_not_costs_nothing(tmp_path: Path) -> None:
    for queue in ("start", "a"):
        (tmp_path / f"queue-{queue}").mkdir()
        (tmp_path / f"queue-{queue}" / names.DONE).touch()
    pipeline, heard = Pipeline(str(tmp_path), [Stage("a")]), Heard()
    pipeline.hub.attach(heard)
    assert pipeline.run(signals=False) == 0
    pipeline.hub.detach(heard)
    assert heard.all[0] == ("seated", "watchdog", "watchdog")
    told = [(event, commands) for _, _, event, commands in heard.all[1:-1]]
    assert told == [
        (Started(), [Look()]),
        (Looked(frozenset({"a"}), ()), [Note("good", "a is done"), Exit("done")]),
    ]
    assert heard.all[-1] == ("left", "watchdog")
    assert pipeline.run(signals=False) == 0
    assert heard.all[-1] == ("left", "watchdog"), "and nothing else was heard"


def test_a_root_that_cannot_be_used_and_a_second_watchdog_are_status_2(tmp_path: Path) -> None:
    notes: list[Note] = []
    (tmp_path / "file").touch()
    assert Pipeline(str(tmp_path / "file"), [Stage("a")], say=notes.append).run(signals=False) == 2
    lock = Lock(str(tmp_path), ".watchdog.lock")
    assert lock.acquire()
    assert Pipeline(str(tmp_path), [Stage("a")], say=notes.append).run(signals=False) == 2
    assert notes[-1] == Note("bad", f"another watchdog runs in {tmp_path}")
    with pytest.raises(Refused, match="a watchdog runs"):
        Pipeline(str(tmp_path), [Stage("a")]).start()
    lock.release()


def test_a_recorder_begins_with_what_lies_in_the_queues(tmp_path: Path) -> None:
    (tmp_path / "queue-start").mkdir()
    (tmp_path / "queue-start" / "x.ready").touch()
    pipeline, heard = Pipeline(str(tmp_path), [Stage("a")]), Heard()
    pipeline.record(heard)
    pipeline.hub.detach(heard)
    assert heard.all[0] == ("seated", "recorder", "")
    assert [[entry.name for entry in told[2].entries] for told in heard.all[1:]] == [["x.ready"]]


def test_a_retry_is_heard_as_the_operators(tmp_path: Path) -> None:
    queue = tmp_path / "queue-start"
    queue.mkdir()
    (queue / "x.failed_twice.input").touch()
    pipeline, heard = Pipeline(str(tmp_path), [Stage("a")]), Heard()
    pipeline.hub.attach(heard)
    assert pipeline.retry("start", "x") == ""
    pipeline.hub.detach(heard)
    assert heard.all[0] == ("seated", "operator", "")
    assert [(told[0], told[2].operation.name) for told in heard.all[1:]] == [
        ("operator", "x.failed_twice.input"),  # is it a file,
        ("operator", "x.failed_twice.input"),  # then it is renamed
        ("operator", ".x.attempts"),
        ("operator", "x.failed_twice"),
    ]


def test_a_document_that_was_given_up_is_retried(tmp_path: Path) -> None:
    queue = tmp_path / "queue-start"
    queue.mkdir()
    for name in ("x.failed_twice", "x.failed_twice.input"):
        (queue / name).touch()
    pipeline = Pipeline(str(tmp_path), [Stage("a")])
    assert pipeline.retry("start", "x") == ""
    assert [path.name for path in queue.iterdir()] == ["x.ready"]
    assert pipeline.retry("start", "x") == "its input was not kept"
    assert "is gone" in pipeline.retry("none", "x")


def test_what_can_not_be_settled_is_told_and_a_kill_has_not_ended_well(tmp_path: Path) -> None:
    """Somebody held a dead driver's lock: ``kill`` said that all was well."""
    notes: list[Note] = []
    pipeline = Pipeline(str(tmp_path), [Stage("a")], say=notes.append)
    for queue in ("start", "a"):
        (tmp_path / f"queue-{queue}").mkdir()
    (tmp_path / "queue-start" / "x.1.working").touch()
    lock = Lock(str(tmp_path / "queue-start"), names.working_lock("1"))
    assert lock.acquire()
    assert not pipeline.kill(timeout=0.1)
    (note,) = notes
    assert note.text.startswith("what driver 1 of a held stays as it is: lives")
    lock.release(remove=False)
    assert pipeline.kill()
    assert (tmp_path / "queue-start" / "x.failed").exists()


@needs_stranger
def test_another_users_lock_is_told_and_stops_nothing_else() -> None:
    notes: list[Note] = []
    with open_folder() as root:
        for queue in ("start", "a"):
            (root / f"queue-{queue}").mkdir()
        for number in ("1", "2"):
            (root / "queue-start" / f"x{number}.{number}.working").touch()
            (root / "queue-start" / names.working_lock(number)).touch(0o600)
        os.chown(root / "queue-start" / names.working_lock("1"), STRANGER, STRANGER)
        assert not Pipeline(str(root), [Stage("a")], say=notes.append).kill(timeout=0.1)
        assert [note.level for note in notes] == ["warn", "bad"]
        assert f"belongs to uid {STRANGER}" in notes[-1].text
        assert (root / "queue-start" / "x1.1.working").exists()
        assert (root / "queue-start" / "x2.failed").exists()


def test_a_lock_that_is_not_ours_is_taken_for_a_watchdogs(tmp_path: Path) -> None:
    pipeline = Pipeline(str(tmp_path), [Stage("a")])
    os.mkfifo(tmp_path / ".watchdog.lock")
    assert pipeline.watched()
    assert pipeline.run(signals=False) == 2


def test_orders_of_another_process_are_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "quit").symlink_to("mine")
    lock = Lock(str(tmp_path), ".watchdog.lock")
    assert lock.acquire()
    with pytest.raises(OSError, match="is a link"):
        Pipeline(str(tmp_path), [Stage("a")]).stop(timeout=0.0)
    assert not (tmp_path / "mine").exists()
    lock.release()


def test_what_cannot_be_given_up_stays_under_its_lock_until_its_name_is_free(tmp_path: Path) -> None:
    queue = tmp_path / "queue-start"
    notes: list[str] = []
    pipeline = Pipeline(str(tmp_path), [Stage("a")], say=lambda note: notes.append(note.text))
    queue.mkdir()
    (tmp_path / "queue-a").mkdir()
    (queue / "x.7.working").write_text("text", encoding="utf-8")
    (queue / ".x.attempts").write_text("fail\t1\t6\t1.0\t\nbegin\t2\t7\t2.0\t\n", encoding="utf-8")
    (queue / ".7.working.lock").touch(0o600)
    (queue / "x.failed_twice.input").mkdir()
    assert not pipeline.kill(timeout=0.0)
    assert (queue / "x.7.working").exists() and (queue / ".7.working.lock").exists()
    assert notes[-1].endswith("x.failed_twice.input is in the way")
    (queue / "x.failed_twice.input").rmdir()
    assert pipeline.kill(timeout=0.0)
    assert (queue / "x.failed_twice.input").read_text(encoding="utf-8") == "text"
    assert not (queue / ".7.working.lock").exists()
