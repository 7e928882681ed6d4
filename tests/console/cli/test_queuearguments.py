"""What can be asked of disk queues, and what makes no sense."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.cli.arguments import read_arguments
from console.cli.queuearguments import trusted
from engine.protocols.diskqueue.pipeline import Stage

Capture = pytest.CaptureFixture[str]


def test_stages_in_their_order_with_workers_and_work() -> None:
    words = ["--stage", "values=1", "--stage", "parse=3:tool -c a:b {input} {output}", "--stage", "output:upper"]
    asked = read_arguments(["pipeline", "run", "--root", "r", *words, "--json", "-"])
    assert (asked.command, asked.options.order, asked.options.root, str(asked.options.json)) == (
        "pipeline", "run", "r", "-",
    )  # fmt: skip
    assert asked.options.stages == [
        Stage("values", 1, "copy"),
        Stage("parse", 3, "tool -c a:b {input} {output}"),
        Stage("output", 1, "upper"),
    ]
    assert read_arguments(["pipeline", "start", "--root", "r"]).options.stages is None


def test_drive_and_feed() -> None:
    drive = read_arguments(["drive", "--src", "a", "--dst", "b", "--number", "3"]).options
    assert (drive.par, drive.src, drive.dst, drive.number, drive.work) == (None, "a", "b", "3", "copy")
    par = str(Path(__file__))
    assert read_arguments(["drive", par, "--work", "upper"]).options.par == Path(par)
    feed = read_arguments(["feed", "--root", "r", "--done", "a", "b"]).options
    assert (feed.root, feed.done, feed.files) == ("r", True, ["a", "b"])
    assert read_arguments(["--root", "r"]).options.root == "r"


def test_a_queue_that_others_use_too_has_a_mode() -> None:
    for line in ("pipeline run --root r", "drive --src a --dst b --number 1", "feed --root r a"):
        assert read_arguments(line.split()).options.mode is None
        assert read_arguments([*line.split(), "--mode", "2770"]).options.mode == 0o2770


def test_variables_that_commands_get_are_named_with_commas() -> None:
    words = ("pipeline run --root r", "drive --src a --dst b --number 1", "worker", "")
    for line in words:
        assert read_arguments([*line.split(), "--env", "PATH, HOME"]).options.env == ("PATH", "HOME")
        assert not hasattr(read_arguments(line.split()).options, "env")


def test_who_knows_whose_a_root_is_can_say_so() -> None:
    for line in ("pipeline run --root r", "--root r", "pipeline kill --root r"):
        assert not trusted(read_arguments(line.split()).options)
        assert trusted(read_arguments([*line.split(), "--trust-root"]).options)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("pipeline", "the following arguments are required: ORDER, --root"),
        (
            "pipeline go --root r",
            "ORDER: expected one of run, start, stop, kill, show, recover, retry, status, got",
        ),
        ("pipeline run --root r --stage a=0", "workers are a number from 1 to 1,000"),
        (f"pipeline run --root r --stage a --config {__file__}", "not allowed with"),
        ("pipeline stop --root r --stage a", "it takes the stages of the last run"),
        ("pipeline kill --root r --json -", "--json is for run and show"),
        ("pipeline show --root r --mode 770", "--mode is for run and start"),
        ("feed --root r a --mode 0600", "an octal mode with all rights for the owner"),
        ("feed --root r a --mode 0o770", "an octal mode"),
        ("drive", "either a PAR file, or --src, --dst and --number"),
        (f"drive {__file__} --src a", "either a PAR file"),
        ("drive --src a --dst b", "either a PAR file"),
        ("feed --root r", "name a FILE, or --done"),
        ("feed a", "required: --root"),
        ("--root r bulkping 3", "bulkping: --root is for disk queues"),
        ("drive p", "PAR: there is no file 'p'; name a parameter file as the original program reads it"),
        ("drive --src a --dst b --number x", "--number: expected 1 to 9 digits, got 'x'"),
        ("--system pingpong feed --root r a", "feed: it connects to no broker, so --system can not be pingpong"),
        ("--journal x feed --root r a", "nothing to record"),
        ("--env PATH=x worker", "--env: expected names of variables with commas between them, got 'PATH=x'"),
        ("--env PATH, worker", "expected names of variables with commas between them, got ''"),
        ("--env PATH bulkping 3", "bulkping: --env is for worker, pipeline, drive and the console"),
        ("--trust-root", "--trust-root: needs a --root"),
        ("--trust-root feed --root r a", "--trust-root: needs a --root"),
        ("pipeline show --root r x", "pipeline show: takes no name, got 'x'"),
        ("pipeline retry --root r", "pipeline retry: name the ID of a document that failed twice, or --all"),
        ("pipeline retry --root r x --all", "--all: is for retry, without an ID"),
        ("pipeline run --root r --all", "--all: is for retry"),
        ("pipeline recover --root r", "pipeline recover: name the NUMBER of a driver that is dead"),
        ("pipeline start --root r --journal x", "pipeline start: --journal is for run"),
        ("--journal x pipeline show --root r", "pipeline show: --journal is for run"),
    ],
)
def test_what_makes_no_sense_is_status_2_with_a_reason(line: str, message: str, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as caught:
        read_arguments(line.split())
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
