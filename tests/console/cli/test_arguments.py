"""Every command and option of the contract, and what is refused before anything is read."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from console.cli.arguments import Asked, make_parsers, read_arguments
from console.cli.parsing import keeper
from console.cli.streams import STDOUT
from engine import __version__
from engine.drive.control.place import NOWHERE
from engine.settings.settings import Flag

ROOT = Path(__file__).parents[3]
PARSER, COMMANDS = make_parsers(keeper([]))


def asked(line: str) -> Asked:
    return read_arguments(line.split())


def test_no_command_is_the_console() -> None:
    assert asked("").command == "console"
    assert asked("").flags == []
    assert asked("--system pingpong --readonly").flags == [
        Flag(("system",), "--system", "pingpong"),
        Flag(("readonly",), "--readonly", "true"),
    ]


def test_how_much_is_told_and_who_joins() -> None:
    assert [asked(f"{role} -d 5").options.level for role in ("broker", "worker", "client")] == [5, 5, 5]
    names = {"error": 0, "warning": None, "info": 1, "debug": 5}
    assert {name: asked(f"broker --log-level {name}").options.level for name in names} == names
    assert asked("broker -v").options.verbose and not asked("broker").options.verbose
    assert asked("--empty").flags == [Flag(("pool", "workers"), "--empty", "0")]
    for wrong in ("broker -d x", "broker --log-level loud", "broker -d 1 --log-level info"):
        with pytest.raises(SystemExit):
            asked(wrong)


def test_the_lane_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("--lane packed", "broker --lane packed", "bulkping 5 --lane packed"):
        assert Flag(("roundrobin", "packed"), "--lane", "true") in asked(line).flags
    assert asked("worker --lane seed").flags == [Flag(("roundrobin", "packed"), "--lane", "false")]
    with pytest.raises(SystemExit):
        asked("broker --system pingpong --lane packed")
    assert "--lane: pingpong has one lane, the seed's own messages" in capsys.readouterr().err


def test_roles() -> None:
    broker = asked("broker --system pingpong --bind tcp://127.0.0.1:7000")
    assert (broker.command, broker.options.bind) == ("broker", "tcp://127.0.0.1:7000")
    assert broker.flags == [Flag(("system",), "--system", "pingpong")]
    assert asked("broker").options.bind is None
    worker = asked("worker --connect ipc:///x --count 3 --slots 5")
    assert (worker.options.connect, worker.options.count) == ("ipc:///x", 3)
    assert worker.flags == [Flag(("pool", "slots"), "--slots", "5")]
    assert (asked("worker").options.connect, asked("worker").options.count) == (None, None)


def test_a_drill(tmp_path: Path) -> None:
    drill = asked(f"drill {__file__} --json {tmp_path}/report.json --seed 7")
    assert (drill.command, drill.flags) == ("drill", [])
    assert (drill.options.file, drill.options.json) == (Path(__file__), tmp_path / "report.json")
    assert (drill.options.seed, asked(f"drill {__file__}").options.seed, asked(f"drill {__file__}").options.json) == (
        7,
        None,
        None,
    )


def test_a_setting_before_the_command_is_not_hidden_by_one_after_it() -> None:
    assert [flag.text for flag in asked("--system a worker --system b --slots 1").flags] == ["a", "b", "1"]


def test_a_journal_before_or_after_the_command() -> None:
    assert asked("").options.journal is None
    assert asked("--journal x").options.journal == Path("x")
    for command in ("broker", "worker", "ping", "pingt", "data", "bulkping 1", "bulkdata 1"):
        assert asked(command).options.journal is None
        assert asked(f"{command} --journal x").options.journal == Path("x")
        assert asked(f"--journal x {command}").options.journal == Path("x")


def test_what_is_kept() -> None:
    assert asked("runs").options.id == []
    assert asked("runs X").options.id == ["X"]
    assert asked("runs show -2").options.id == ["show", "-2"]
    assert (asked("runs").options.csv, asked("runs").options.json) == (None, None)
    assert (asked("runs --csv -").options.csv, asked("runs X --json -").options.json) == (STDOUT, STDOUT)
    both = asked("compare X Y --bound 5").options
    assert (both.a, both.b, both.bound, asked("compare X Y").options.bound) == ("X", "Y", 5.0, None)
    assert asked("paths").command == "paths"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("runs --csv - --json -", "--json: not allowed with argument --csv"),
        ("compare X", "the following arguments are required: B"),
        ("compare X Y --bound -1", "--bound: expected a number from 0 to 10,000 percent, got -1"),
        ("bulkping 3 --bound 5", "bulkping: --bound needs a --baseline"),
        ("bulkpin 3", "roundhouse: COMMAND: expected one of broker, worker,"),
        ("bulkpin 3", "man, got 'bulkpin'; did you mean bulkping?\n"),
        ("bulkping", "the following arguments are required: N"),
        (
            "ping 3",
            "roundhouse: 3: roundhouse ping takes no such argument\nroundhouse: how it is called: ",
        ),
        ("ping --bytes 3", "--bytes 3: roundhouse ping takes no such argument"),
        ("bulkping 3 --time 1", "--time 1: roundhouse bulkping takes no such argument"),
        (
            "broker --bind 6714",
            "--bind: expected an endpoint like tcp://127.0.0.1:6714 or ipc:///path, got '6714'",
        ),
        ("ping --connect inproc://x", "--connect: expected an endpoint like tcp://"),
        ("worker --count 0", "--count: expected a whole number from 1 to 20,000, got 0"),
        ("bulkping 1 --rate 0", "--rate: expected a number from 0.001 to 10,000,000 tasks a second, got 0"),
        ("bulkping 1 --rate fast", "--rate: expected a number from 0.001 to 10,000,000 tasks a second, got 'fast'"),
        ("worker --journal .", "--journal: '.' is a folder; name a file in it"),
        ("submit", "submit: either a FILE that describes the job, or -- and its command"),
        (f"submit {__file__} -- x", "submit: either a FILE that describes the job, or -- and its command"),
        ("submit --tasks 0 -- x", "--tasks: expected a whole number from 1 to 1,000,000, got 0"),
        ("submit --processors 2000 -- x", "--processors: expected a whole number from 1 to 1,024, got 2000"),
        ("jobs hold", "jobs hold: the ID of a job is required"),
        ("jobs hold 0", "ID: expected a whole number from 1 to"),
        ("jobs drop 3", "ORDER: expected one of show, hold, release, cancel, got 'drop'"),
        ("jobs hold 3 --json -", "jobs: --json is for the list and for show"),
        ("jobs hold 3 --failed", "jobs: --failed is for show"),
        ("stop", "one of the arguments N --all --now is required"),
        ("stop 3 --now", "not allowed with argument"),
        ("stop 0", "N: expected a whole number from 1 to 4,294,967,294, got 0"),
        ("--journal x runs", "runs: there is nothing to record in a --journal"),
        ("--journal x jobs", "jobs: there is nothing to record in a --journal"),
        (f"runs --json {'x' * 300}", "File name too long"),
        (f"--journal {'x' * 300} broker", "File name too long"),
        (
            "submit nosuch",
            "FILE: there is no file 'nosuch'; name a file that describes a job; or put the command after",
        ),
        ("replay nosuch", "FILE: there is no file 'nosuch'; name a recording, which --journal FILE makes"),
        ("drill nosuch", "FILE: there is no file 'nosuch'; name the script of a drill, in TOML"),
        ("replay .", "FILE: '.' is a folder; name a recording"),
        (f"drill {'x' * 300}", "File name too long"),
        ("--system pingpong paths", "paths: it connects to no broker, so --system can not be pingpong"),
        ("bulkping 1 --json .", "--json: '.' is a folder"),
        ("bulkping 1 --json nowhere/run.json", "--json: there is no folder 'nowhere'; make it first"),
    ],
)
def test_wrong_usage_is_status_2(line: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        asked(line)
    out, err = capsys.readouterr()
    assert (caught.value.code, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    "line",
    ["runs ID", "compare ID b", "bulkping 1 --baseline ID", "feed --root ID x", "--root ID", "submit --dir ID -- x",
     "replay ID", "drill ID", "bulkping 1 --json ID", "--journal ID broker", "drive --src ID --dst b --number 1"],
)  # fmt: skip
def test_an_empty_text_is_no_value(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        read_arguments(["" if word == "ID" else word for word in line.split()])
    assert caught.value.code == 2
    assert "expected a value, got ''" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_help_is_for_a_terminal_of_80_and_its_examples_can_be_typed(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    for name in ("job.toml", "night.journal", "docs/drills/roundrobin.toml", "docs/scenes/twice.toml", "strict.toml"):
        assert not name.startswith("docs/") or (ROOT / name).is_file()
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    with pytest.raises(SystemExit):
        read_arguments([*command.split(), "--help"])
    help, examples = capsys.readouterr().out, (COMMANDS[command] if command else PARSER).examples
    assert all(len(line) < 80 or line.lstrip().startswith(("roundhouse ", "usage")) for line in help.splitlines())
    for line in examples:
        assert f"\n  {line}\n" in help
        name, *words = shlex.split(line)
        assert name == "roundhouse"
        read_arguments(words)


def test_help_and_version_are_results(capsys: pytest.CaptureFixture[str]) -> None:
    for line, text in (("--version", f"roundhouse {__version__}\n"), ("--help", "Exit status: 0 everything asked")):
        with pytest.raises(SystemExit) as caught:
            asked(line)
        out, err = capsys.readouterr()
        assert (caught.value.code, err) == (0, "")
        assert text in out


def test_where_it_can_be_attached_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert not hasattr(read_arguments(["broker"]).options, "control")
    for words in (["--control", "none"], ["broker", "--control", "none"], ["worker", "--control", "none"]):
        assert read_arguments(words).options.control == NOWHERE
    for words, why in (
        (["--control", "none", "jobs"], "jobs: --control is for broker, worker, pipeline and the console"),
        (["pipeline", "stop", "--root", "q", "--control", "none"], "pipeline stop: --control is for run and start"),
    ):
        with pytest.raises(SystemExit):
            read_arguments(words)
        assert why in capsys.readouterr().err
