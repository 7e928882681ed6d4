"""A script is read whole, or refused with everything that is wrong with it, by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import Refused
from engine.faults.script import Act, read_drill
from engine.faults.terms import ORDERS, Crew, Feed, words_of
from engine.parts.bulk import BulkSpec
from engine.protocols.diskqueue.pipeline import Stage
from engine.protocols.roundrobin.options import Options
from engine.settings.tomlfile import MAX_FILE, Wrong

WHOLE = """\
system = "roundrobin"
workers = 3
slots = 2
seed = 7
until = 60

[options]
expiry = 5.0

[[do]]
at = 20
fault = "cut  w3   5"

[[do]]
at = 2.5
run = "bulkdata 100"
rate = 50
in_flight = 20
timeout = 9
bytes = 64
expect = "fail"

[[do]]
at = 20.0
order = "add 2"
"""


def script(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "a script.toml"
    path.write_text(text, encoding="utf-8")
    return path


def problems(tmp_path: Path, text: str) -> list[str]:
    path = script(tmp_path, text)
    with pytest.raises(Wrong) as wrong:
        read_drill(path)
    return [str(problem).replace(str(path), "FILE") for problem in wrong.value.problems]


def test_a_whole_script_in_the_order_of_its_times(tmp_path: Path) -> None:
    drill = read_drill(script(tmp_path, WHOLE))
    assert (drill.name, drill.system.name, drill.options) == ("a script", "roundrobin", Options(expiry=5.0))
    assert (drill.crew, drill.seed, drill.until) == (Crew(3, 2), 7, 60.0)
    spec = BulkSpec("data", 100, 64, 20, 50.0, 9.0)
    assert drill.acts == (
        Act(2.5, "run", "bulkdata 100", spec, "fail"),
        Act(20.0, "fault", "cut w3 5"),
        Act(20.0, "order", "add 2"),
    )


def test_what_may_be_left_out(tmp_path: Path) -> None:
    drill = read_drill(script(tmp_path, 'system = "pingpong"\nuntil = 5\n[[do]]\nat = 1\nrun = "ping"\n'))
    assert (drill.crew, drill.seed) == (Crew(10, 10), 0)
    assert drill.acts == (Act(1.0, "run", "ping", BulkSpec("ping", 1, tracked=False), "pass"),)
    assert read_drill(script(tmp_path, 'system = "pingpong"\nuntil = 5\n')).acts == ()


def changed(old: str, new: str) -> str:
    assert old in WHOLE
    return WHOLE.replace(old, new)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"roundrobin"', '"roundrobbin"', "FILE:1: system: expected one of roundrobin, conversation, pingpong"),
        ("workers", "worker", "FILE:2: worker: no such key; did you mean workers?"),
        ("workers = 3", "workers = 0", "FILE:2: workers: expected a whole number from 1 to 1,000, got 0"),
        ("until = 60", "until = 'later'", "FILE:5: until: expected a number from 0.1 to 86,400 seconds, got 'later'"),
        ("until = 60\n", "", "FILE: until is missing"),
        ("expiry", "expiri", "FILE:8: [options] expiri: no such key; did you mean expiry?"),
        ("5.0", '"long"', "FILE:8: [options] expiry: expected a number"),
        ("at = 20\n", "at = 61\n", "FILE:10: do: at 61 is after the end, until = 60"),
        ("at = 2.5\n", "", "FILE:14: do: at is missing"),
        ("at = 2.5\n", "at = -1\n", "FILE:14: do: at: expected a number from 0 to 86,400 seconds, got -1"),
        ("cut ", "cutt ", "FILE:10: do: fault: no fault 'cutt'; did you mean cut?"),
        ("w3   5", "w3 soon", "FILE:10: do: fault: cut: seconds is a number from 0.1 to 600, got 'soon'"),
        ("bulkdata 100", "bulkdata", "FILE:14: do: run: bulkdata needs a number from 1 to 1,000,000, got ''"),
        ("bulkdata 100", "bulkdat 100", "FILE:14: do: run: no 'bulkdat'; did you mean bulkdata?"),
        ("bulkdata 100", "data 100", "FILE:14: do: run: data takes nothing after it, got '100'"),
        ("add 2", "add two", "FILE:23: do: order: add needs a number from 1 to 1,000,000, got 'two'"),
        ("add 2", "dance", "FILE:23: do: order: no 'dance'; there are add, remove"),
        ("order =", "rum =", "FILE:23: do: rum: no such key; did you mean run?"),
        ("order =", "run =", "FILE:23: do: run: no 'add'"),
        ('"fail"', '"maybe"', "FILE:14: do: expect: expected one of pass, fail, got 'maybe'"),
        ("order =", "rate = 5\norder =", "FILE:23: do: rate belongs to a run"),
        ("order =", "run = 'ping'\norder =", "FILE:23: do: exactly one of run, fault, order is wanted, got run, order"),
        ('fault = "cut  w3   5"', "", "FILE:10: do: exactly one of run, fault, order is wanted, got none"),
        ("[[do]]\nat = 20\n", "[[do]]\nat = 20\nat = 21\n", "FILE:12: Cannot overwrite a value"),
        ("[options]\nexpiry = 5.0\n", "options = 5\n", "FILE:7: [options] is a table of the system's settings"),
    ],
)
def test_what_is_wrong_is_named_by_line(tmp_path: Path, old: str, new: str, words: str) -> None:
    found = problems(tmp_path, changed(old, new))
    assert any(text.startswith(words) for text in found), found


def test_everything_wrong_is_found_in_one_go(tmp_path: Path) -> None:
    found = problems(tmp_path, "workers = 0\nseed = -1\nmore = 1\n[[do]]\n[[do]]\nat = 1\n")
    assert len(found) == 8


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("do = 5\nsystem = 'pingpong'\nuntil = 1\n", "FILE:1: do is up to 1000 tables, each under its own [[do]]"),
        ("system = 'pingpong'\nuntil = 1\ndo = [{at = 0.5, run = 'pong'}]\n", "FILE: do: run: no 'pong'"),
        ("system = 'negotiated'\nuntil = 1\n[options]\nheartbeat = -1\n", "FILE:4: [options] heartbeat: expected"),
        ("x = " + "[" * 5000, "FILE:1: nested too deeply"),
    ],
)
def test_other_shapes(tmp_path: Path, text: str, words: str) -> None:
    assert problems(tmp_path, text)[0].startswith(words)


def test_what_is_no_file_no_text_or_too_large(tmp_path: Path) -> None:
    with pytest.raises(Wrong, match="No such file"):
        read_drill(tmp_path / "none.toml")
    path = tmp_path / "a script.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(Wrong, match=r"a script\.toml:1: not UTF-8 text"):
        read_drill(path)
    path.write_bytes(b"#" * (MAX_FILE + 1))
    with pytest.raises(Wrong, match="larger than"):
        read_drill(path)


def test_words_and_their_numbers() -> None:
    assert words_of("add 12", ORDERS) == ("add", 12) and words_of("stop", ORDERS) == ("stop", 1)
    for text in ("add 0", "add 1e3", "add -1", "add 10000000"):
        with pytest.raises(Refused, match="needs a number"):
            words_of(text, ORDERS)


def test_a_script_of_disk_queues(tmp_path: Path) -> None:
    text = (
        'system = "diskqueue"\nstages = ["parse=2", "output"]\nuntil = 9\n[options]\nmax_files = 3\n'
        '[[do]]\nat = 1\nrun = "feed 5"\nrate = 2\n[[do]]\nat = 2\nfault = "kill parse.1"\n'
    )
    drill = read_drill(script(tmp_path, text))
    assert drill.crew.stages == (Stage("parse", 2), Stage("output", 1)) and drill.options.max_files == 3
    assert drill.acts == (Act(1.0, "run", "feed 5", Feed(5, 2.0)), Act(2.0, "fault", "kill parse.1"))
    wrong = text.replace('"output"', '"output=0"').replace("rate = 2", "bytes = 2").replace("kill", "cut")
    assert [problem.split(";")[0] for problem in problems(tmp_path, wrong)] == [
        "FILE:2: stages: stage 'output=0': workers are a number from 1 to 1,000",
        "FILE:6: do: bytes: no such key",
        "FILE:10: do: fault: no fault 'cut'",
    ]
