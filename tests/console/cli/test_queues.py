"""Pipelines, drivers and feeding by command. With processes and kills: tests/loopback/test_queuecli.py."""

from __future__ import annotations

import json
import os
import stat
from argparse import Namespace
from pathlib import Path

import pytest

from console.__main__ import main
from console.cli.queues import Watched, progress, tell_note, watching
from console.text import clean
from engine.core import Note
from engine.drive import environment
from engine.drive.control.place import NOWHERE
from engine.drive.locks import number_locks
from engine.protocols.diskqueue.config import DriverConfig, DriverTimes, parameter_file
from engine.protocols.diskqueue.pipeline import Counts, PipelineView, QueueRow, StageRow
from tests.helpers.queue_recordings import opened

ENDLESS = "longer than 1000000 characters"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def fed(home: Path, capsys: Capture) -> Path:
    """A root into which three documents were fed, and no more will come."""
    for name, text in (("a.txt", "text"), ("b.txt", "fail once"), ("c.txt", "fail twice")):
        (home / name).write_text(f"{text}\n", encoding="utf-8")
    assert main(["feed", "--root", str(home / "p"), "--done", *(str(home / f"{name}.txt") for name in "abc")]) == 0
    assert capsys.readouterr() == ("3 documents fed\n", "")
    return home / "p"


def test_a_pipeline_runs_to_its_end_and_accounts_for_every_document(fed: Path, capsys: Capture) -> None:
    stages = ["--stage", "values=1", "--stage", "parse=2:fail marked", "--stage", "output:upper"]
    assert main(["pipeline", "run", "--root", str(fed), *stages]) == 0
    out, err = capsys.readouterr()
    assert out.split()[:2] == ["stage", "state"]
    assert out.splitlines()[-2:] == ["3 documents: 2 published, 1 failed twice", "failed twice in parse: c.txt"]
    assert err.splitlines()[-1] == "roundhouse: done"
    assert sorted(os.listdir(fed / "queue-output")) == ["a.txt.ready", "b.txt.ready", "done"]
    assert (fed / "queue-output" / "b.txt.ready").read_text(encoding="utf-8") == "FAIL ONCE\n"
    assert main(["pipeline", "show", "--root", str(fed), "--json", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["state"], found["documents"]["total"], found["stages"][1]["failed_twice"]) == ("absent", 3, ["c.txt"])


def test_stages_come_from_a_file_and_last_from_the_root_itself(fed: Path, home: Path, capsys: Capture) -> None:
    file = home / "p.toml"
    file.write_text('[[stage]]\nname = "only"\nworkers = 2\n[diskqueue]\npoll = 0.05\n', encoding="utf-8")
    report = home / "report.json"
    assert main(["pipeline", "run", "--root", str(fed), "--config", str(file), "--json", str(report)]) == 0
    assert json.loads(report.read_text(encoding="utf-8"))["documents"]["published"] == 3
    assert main(["pipeline", "run", "--root", str(fed)]) == 0
    assert "3 documents: 3 published" in capsys.readouterr().out


def test_only_the_console_is_read_only(fed: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["pipeline", "run", "--root", str(fed), "--stage", "a"]) == 0
    capsys.readouterr()
    for order in ("stop", "kill"):
        assert main(["--readonly", "pipeline", order, "--root", str(fed)]) == 2
        assert "pipeline: --readonly is the console's" in capsys.readouterr().err
    monkeypatch.setenv("ROUNDHOUSE_READONLY", "true")
    for order in ("stop", "kill"):
        assert main(["pipeline", order, "--yes", "--root", str(fed)]) == 0
    assert capsys.readouterr() == ("no driver runs\n" * 2, "")


def test_a_root_that_others_can_write_is_refused_before_its_work_is_looked_for(
    fed: Path, home: Path, capsys: Capture
) -> None:
    (home / "planted.py").write_text(f"open({str(home / 'ran')!r}, 'w')\n", encoding="utf-8")
    known = {"stages": [["a", 1, f"{home}/planted.py:f"]], "options": {}}
    (fed / "pipeline.json").write_text(json.dumps(known), encoding="utf-8")
    fed.chmod(0o777)
    for order in ("run", "start", "stop", "kill"):
        assert main(["pipeline", order, "--yes", "--root", str(fed)]) == 2
        assert "can be written by others" in capsys.readouterr().err
    assert not (home / "ran").exists()
    assert main(["pipeline", "show", "--root", str(fed)]) == 0
    assert main(["pipeline", "run", "--root", str(fed), "--stage", "a"]) == 2
    assert main(["pipeline", "run", "--root", str(fed), "--stage", "a", "--trust-root"]) == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("pipeline show --root ROOT/nowhere", "there is no pipeline in ROOT/nowhere: none was run there"),
        ("pipeline run --root ROOT/nowhere", "there is no pipeline in ROOT/nowhere"),
        ("pipeline run --root ROOT/file --stage a", "ROOT/file/queue-start: Not a directory"),
        ("pipeline start --root ROOT/file --stage a", "ROOT/file/queue-start: Not a directory"),
        ("pipeline run --root ROOT/new --stage a --stage a", "stage 'a' is there twice"),
        ("pipeline run --root ROOT/new --stage a:nonsense", "stage a: work 'nonsense': neither copy"),
        (
            "pipeline run --root ROOT/new --config ROOT/none.toml",
            "--config: there is no file 'ROOT/none.toml'; name a TOML file with",
        ),
        ("feed --root ROOT/file ROOT/file", "cannot feed ROOT/file/queue-start: Not a directory"),
        ("drive ROOT/none.par", "ROOT/none.par"),
        ("drive --src ROOT/none --dst ROOT/b --number 1", "source queue ROOT/none is not a folder"),
        ("drive --src ROOT --dst ROOT/b --number x", "--number: expected 1 to 9 digits, got 'x'"),
        (
            "drive --src ROOT --dst ROOT/b --number 1 --work ROOT/exits.py:f",
            "exits.py:f: it exits when it is imported: 7",
        ),
        (
            "pipeline run --root ROOT/new --stage a:ROOT/exits.py:f",
            "stage a: work ROOT/exits.py:f: it exits when it is",
        ),
        ("feed --root ROOT/new/p%a%q ROOT/file", "no parameter file can name the folder 'ROOT/new/p%a%q'"),
        ("pipeline run --root ROOT/new/p%a%q --stage a", "no parameter file can name the folder 'ROOT/new/p%a%q'"),
    ],
)
def test_what_can_not_be_is_status_2_with_its_reason(home: Path, capfd: Capture, line: str, message: str) -> None:
    (home / "file").touch()
    (home / "exits.py").write_text("import sys\nsys.exit(7)\n", encoding="utf-8")
    assert main(line.replace("ROOT", str(home)).split()) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert message.replace("ROOT", str(home)) in err
    assert not (home / "new").exists()


def test_a_missing_command_is_told_before_anything_is_made(home: Path, capsys: Capture) -> None:
    stage = "parse=3:no-such-command {input} {output}"
    assert main(["pipeline", "run", "--root", str(home / "new"), "--stage", stage]) == 2
    assert "stage parse: work 'no-such-command {input} {output}': there is no command" in capsys.readouterr().err
    assert not (home / "new").exists()


def test_a_file_that_can_not_be_fed_leaves_the_end_open(home: Path, capsys: Capture) -> None:
    (home / "a").touch()
    assert main(["feed", "--root", str(home / "p"), "--done", str(home / "a"), str(home / "b"), str(home / "a")]) == 1
    out, err = capsys.readouterr()
    assert out == "1 document fed\n"
    assert err.splitlines() == [
        f"roundhouse: {home / 'b'}: No such file or directory",
        f"roundhouse: {home / 'a'}: an item of this id is in the queue",
        "roundhouse: done is not set, as not all of them were fed",
    ]
    assert os.listdir(home / "p" / "queue-start") == ["a.ready"]
    assert main(["feed", "--root", str(home / "p"), "--done"]) == 0
    assert main(["feed", "--root", str(home / "p"), str(home / "a")]) == 2
    assert "is done: nothing more can be fed into it" in capsys.readouterr().err


def test_one_driver_by_folders_and_by_a_parameter_file(fed: Path, home: Path) -> None:
    start, middle, end = fed / "queue-start", home / "middle", home / "end"
    assert main(["drive", "--src", str(start), "--dst", str(middle), "--number", "3", "--work", "upper"]) == 0
    assert (middle / "a.txt.ready").read_text(encoding="utf-8") == "TEXT\n"
    par = home / "worker.par"
    par.write_text(parameter_file(DriverConfig(str(middle), str(end), "4")), encoding="utf-8")
    assert main(["drive", str(par)]) == 0
    assert sorted(os.listdir(end)) == ["a.txt.ready", "b.txt.ready", "c.txt.ready", "done"]


def test_a_driver_settles_what_a_dead_one_left_and_by_its_operators_word_what_a_stranger_left(
    home: Path, capfd: Capture
) -> None:
    src, dst = home / "src", home / "dst"
    for folder in (src, dst):
        folder.mkdir()
    with number_locks(str(src), str(dst), "7") as both:
        for lock in both:
            lock.release(remove=False)
    for name in ("a.7.working", "b.8.working", "done"):
        (src / name).touch()
    assert main(["drive", "--src", str(src), "--dst", str(dst), "--number", "1", "--dead", "8"]) == 0
    assert sorted(os.listdir(dst)) == ["a.ready", "b.ready", "done"]
    assert os.listdir(src) == ["done"]
    out = capfd.readouterr().out
    assert "a: of driver 7, which died: failed" in out and "b: of driver 8, which died: failed" in out


def test_a_pipelines_driver_without_a_lock_is_dead_by_its_operators_word(fed: Path, capsys: Capture) -> None:
    assert main(["pipeline", "run", "--root", str(fed), "--stage", "a"]) == 0
    (fed / "queue-start" / "x.8.working").touch()
    capsys.readouterr()
    assert main(["pipeline", "recover", "8", "9", "--yes", "--root", str(fed)]) == 0
    assert capsys.readouterr().out == "1 document of driver 8 settled\n0 documents of driver 9 settled\n"
    assert (fed / "queue-start" / "x.failed").exists()
    (fed / "queue-start" / "y.8.working").touch()
    with number_locks(str(fed / "queue-start"), str(fed / "queue-a"), "8"):
        assert main(["pipeline", "recover", "8", "--yes", "--root", str(fed)]) == 1
    out, err = capsys.readouterr()
    assert out == "0 documents of driver 8 settled\n" and "lives" in err


def test_what_failed_twice_is_tried_again_by_its_name_or_all_of_it(fed: Path, capsys: Capture) -> None:
    assert main(["pipeline", "run", "--root", str(fed), "--stage", "a:fail", "--stage", "b"]) == 0
    capsys.readouterr()
    assert main(["pipeline", "retry", "a.txt", "nobody", "--root", str(fed)]) == 1
    out, err = capsys.readouterr()
    assert out == "a.txt is tried again, in queue start\n"
    assert "nobody: has not failed twice" in err and "nobody watches over it now" in err
    assert (fed / "queue-start" / "a.txt.ready").exists()
    assert main(["pipeline", "retry", "--all", "--root", str(fed)]) == 0
    assert capsys.readouterr().out == "b.txt is tried again, in queue start\nc.txt is tried again, in queue start\n"
    assert main(["pipeline", "run", "--root", str(fed), "--stage", "a", "--stage", "b"]) == 0
    assert "3 documents: 3 published" in capsys.readouterr().out


def test_a_stage_is_told_to_its_command(home: Path, fed: Path) -> None:
    work = "parse:sh -c 'echo $QUEUE_START_STAGE $QUEUE_END_STAGE $QUEUE_ID $QUEUE_DRIVER > $2' sh {input} {output}"
    assert main(["pipeline", "run", "--root", str(fed), "--stage", work]) == 0
    assert (fed / "queue-parse" / "a.txt.ready").read_text(encoding="utf-8") == "parse parse a.txt 1\n"


def test_a_pipeline_and_a_driver_are_recorded_and_do_the_same_again(fed: Path, home: Path, capsys: Capture) -> None:
    stages = ["--stage", "parse=2:fail marked", "--stage", "output"]
    whole, one = str(home / "whole.journal"), str(home / "one.journal")
    assert main(["pipeline", "run", "--root", str(fed), *stages, "--journal", whole]) == 0
    assert os.listdir(fed / ".watchers") == []
    assert main(["drive", "--src", str(fed / "queue-output"), "--dst", str(home / "end"), "--number", "9",
                 "--journal", one]) == 0  # fmt: skip
    capsys.readouterr()
    for path in (whole, one):
        assert main(["replay", "--check", path]) == 0
        assert capsys.readouterr().out.endswith("as recorded\n")
    lab = opened(Path(whole))
    lab.seek(lab.last)
    assert [queue.counts.ready for queue in lab.view().queues] == [0, 0, 2]
    assert [(row.id, row.outcome) for row in lab.view().documents if row.id == "c.txt"] == [
        ("c.txt", "failed"),
        ("c.txt", "failed_twice"),
    ]
    assert [stage.docs for stage in lab.view().stages] == [5, 2]
    lab = opened(Path(one))
    assert [stage.name for stage in lab.view().stages] == ["end"]


def test_a_journal_that_exists_is_left_as_it_is(fed: Path, home: Path, capsys: Capture) -> None:
    (home / "a.journal").write_text("text", encoding="utf-8")
    drive = ["drive", "--src", str(fed / "queue-start"), "--dst", str(home / "b"), "--number", "9"]
    for line in (["pipeline", "run", "--root", str(fed), "--stage", "a"], drive):
        assert main([*line, "--journal", str(home / "a.journal")]) == 2
        assert "it exists; name a new file" in capsys.readouterr().err
    assert (home / "a.journal").read_text(encoding="utf-8") == "text"


def test_a_driver_that_has_to_wait_says_so_at_once(
    home: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("console.cli.queues.run_driver", lambda config, mode: 0)
    line = ["drive", "--src", str(home / "q"), "--dst", str(home / "end"), "--number", "1"]
    assert (main(line), capsys.readouterr().err) == (0, "")  # no such folder: the driver itself says that
    (home / "q").mkdir()
    (home / "q" / "a").touch()
    (home / "q" / "d.ready").mkdir()  # no document, as for the driver itself
    assert main(line) == 0
    said = f"roundhouse: {home / 'q'} is not done and holds no document to take: waiting for one\n"
    assert capsys.readouterr().err == said
    for name in ("b.ready", "done"):
        (home / "q" / name).touch()
        assert (main(line), capsys.readouterr().err) == (0, "")
        (home / "q" / name).unlink()


def test_a_parameter_file_without_an_end_is_not_read_to_it(capsys: Capture) -> None:
    assert main(["drive", "/dev/zero"]) == 2
    assert capsys.readouterr().err == "roundhouse: /dev/zero: is a device, not a regular file\n"


def test_what_is_wrong_in_a_parameter_file_is_named_with_it(home: Path, capsys: Capture) -> None:
    par = home / "worker.par"
    for content, reason in ((b"", "disk_queue_src: missing"), (b"\xff", "not UTF-8 text"), (b"#" * 1_000_001, ENDLESS)):
        par.write_bytes(content)
        assert main(["drive", str(par)]) == 2
        assert capsys.readouterr().err == f"roundhouse: {par}: {reason}\n"


def test_progress_on_a_terminal_makes_room_for_notes(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    times = DriverTimes(0, 0, 0, 0, 0)
    stages = tuple(
        StageRow(name, state, "", 1, 1, 0, 0, 31.25, times)  # type: ignore[arg-type]
        for name, state in (("a", "running"), ("b", "paused"))
    )
    counts = (Counts(ready=40, working=1), Counts(failed=2, failed_twice=1), Counts(ready=956))
    queues = tuple(QueueRow(f"q{place}", "", count) for place, count in enumerate(counts))
    view = PipelineView(0.0, "", "running", queues, stages, (), ())
    line = "956/1,000 published  1 failed twice  31 /s  a 40+1  b 2+0 paused"
    assert progress(view) == line
    full = stages[0]._replace(full="queue a is full: /q\na: no space left")
    assert progress(view._replace(stages=(full, stages[1]))) == f"{line}  {clean(full.full)}"
    with Watched() as watched:
        watched(Note("info", "recovered 1 document of driver 3"))
        watched(Note("warn", "of driver 3, which died: failed", b"a\xff.txt"))
    assert capsys.readouterr().err == "roundhouse: a\\xff.txt: of driver 3, which died: failed\n"
    tell_note(Note("bad", "driver 3 of a ended", b"3"))
    assert capsys.readouterr().err == "roundhouse: driver 3 of a ended\n"


def test_queues_are_0700_unless_a_mode_is_asked_for(home: Path, capsys: Capture) -> None:
    file = home / "a.txt"
    file.write_text("text", encoding="utf-8")
    for name, more, wanted in (("own", [], 0o700), ("shared", ["--mode", "2770"], 0o2770)):
        root = home / name
        assert main(["feed", "--root", str(root), "--done", str(file), *more]) == 0
        assert main(["pipeline", "run", "--root", str(root), "--stage", "a", *more]) == 0
        single = ["--src", str(root / "queue-a"), "--dst", str(root / "last"), "--number", "900"]
        assert main(["drive", *single, *more]) == 0
        for queue in ("queue-start", "queue-a", "last"):
            assert stat.S_IMODE((root / queue).stat().st_mode) == wanted
    capsys.readouterr()


def test_a_watchdog_of_its_own_is_told_what_the_command_was_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_names", frozenset({"PATH", "HOME"}))
    options = Namespace(trust_root=True, control=Path("/c"))
    words = ["-P", "-m", "console", "--env", "HOME,PATH", "--trust-root", "pipeline", "run", "--root", "/r"]
    assert watching("/r", options)[1:] == [*words, "--control", "ipc:///c"]
    options.control = NOWHERE
    assert watching("/r", options)[1:] == [*words, "--control", "none"]
