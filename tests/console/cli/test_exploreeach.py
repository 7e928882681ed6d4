"""Every kind of fault alone, in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from console.__main__ import main
from console.cli import exploreeach
from console.cli.exploreeach import Kind, coverage, side_by_side, verdict, words
from console.cli.signals import Signals

Capture = pytest.CaptureFixture[str]
SMALL = 'system = "negotiated"\nworkers = 1\ntasks = 1\n[bounds]\nrounds = 1\n'
WRITES = "import sys; open(sys.argv[1], 'w').write(sys.argv[2])"
WAITS = (  # until it is told to end: then it writes what it has
    "import signal, sys; open(sys.argv[1] + '.there', 'w'); signal.sigwait([signal.SIGINT]);"
    "open(sys.argv[1], 'w').write(sys.argv[2])"
)


def report(states: int = 10, bound: str = "", wrong: str = "", walked: str = "a") -> dict[str, Any]:
    rows = ("a", "b", "c")
    return {
        "states": states,
        "transitions": 2 * states,
        "depth": states // 2,
        "bound": bound,
        "violations": [{"text": wrong, "course": ["! client is asked"]}] if wrong else [],
        "coverage": [
            {
                "machine": "Worker",
                "walked": [["idle", row] for row in rows if row in walked],
                "never": [["idle", row] for row in rows if row not in walked],
            }
        ],
    }


def python(code: str, kind: str, into: Path) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", code, str(into), json.dumps(report(len(kind)))]


def blocked(code: str) -> str:
    return f"import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]); {code}"


def test_each_kind_is_walked_and_all_of_it_told(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exploreeach, "BROKERS", ("none", "kill"))
    path, into = tmp_path / "small.toml", tmp_path / "report.json"
    path.write_text(SMALL, encoding="utf-8")
    assert main(["explore", "--scene", str(path), "--faults", "each", "--json", str(into)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "scene     1 worker of 1 slot, 1 client, 1 task each; each kind alone, 1 at any moment"
    assert [line.split()[0] for line in lines[4:8]] == ["kind", "nothing", "kill", "all"]
    assert lines[-1] == "verdict   held, complete within these bounds"
    nothing, kill = json.loads(into.read_text(encoding="utf-8"))
    assert (nothing["schema"], nothing["scene"]["faults"], kill["scene"]["faults"]) == (
        "roundhouse.explore/1",
        [],
        ["kill"],
    )
    assert kill["states"] > nothing["states"] and kill["cpu_s"] > 0


def test_disk_queues_are_walked_too(capsys: Capture) -> None:
    line = ["explore", "--system", "diskqueue", "--faults", "each", "--states", "300"]
    assert main([*line, "--json", "-"]) == 0
    reports = json.loads(capsys.readouterr().out)
    assert [one["scene"]["faults"] for one in reports] == [[], ["kill"], ["power"]]
    assert {one["bound"] for one in reports} == {"300 states"}


def test_what_it_is_not_for(tmp_path: Path, capsys: Capture) -> None:
    assert main(["explore", "--faults", "each", "--journal", str(tmp_path / "one")]) == 2
    assert "--journal records one walk" in capsys.readouterr().err
    assert main(["explore", "--faults", "each,kill"]) == 2
    assert "each" in capsys.readouterr().err


def test_a_process_that_breaks_off_is_told(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "import sys; sys.exit('no memory')"
    monkeypatch.setattr(exploreeach, "command", lambda options, system: lambda kind, into: python(said, kind, into))
    monkeypatch.setattr(exploreeach, "BROKERS", ("none",))
    assert main(["explore", "--faults", "each"]) == 1
    out, err = capsys.readouterr()
    assert "roundhouse: explore: none broke off: no memory" in err
    assert "broke off" in out and out.endswith("verdict   VIOLATED: nothing\n")


def test_what_is_wrong_is_told_with_its_kind(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = report(wrong="a task is lost")
    wrong["violations"][0]["course"] = ["! client is asked", "! kill worker-1"]
    writes = f"import json, sys; json.dump({wrong!r}, open(sys.argv[1], 'w'))"
    monkeypatch.setattr(exploreeach, "command", lambda options, system: lambda kind, into: python(writes, kind, into))
    monkeypatch.setattr(exploreeach, "BROKERS", ("kill",))
    assert main(["explore", "--faults", "each"]) == 1
    out = capsys.readouterr().out
    assert '@ faults = ["kill"]\n! client is asked\n! kill worker-1\n? a task is lost\n' in out
    assert "· kill worker-1" in out and out.endswith("verdict   VIOLATED: kill\n")


def test_at_most_so_many_at_a_time() -> None:
    told: list[str] = []
    with Signals() as signals:
        found = side_by_side(["x", "yy", "zzz"], lambda *to: python(WRITES, *to), signals, 2, told.append)
    assert [(one.kind, one.report and one.report["states"]) for one in found] == [("x", 1), ("yy", 2), ("zzz", 3)]
    assert told[0] == "0 of 3 kinds walked, now x, yy"
    assert all(line.count(",") <= 2 for line in told)


def test_a_signal_ends_who_walks_and_what_they_wrote_is_told() -> None:
    files: list[Path] = []

    def command(kind: str, into: Path) -> list[str]:
        files.append(into)
        return python(blocked(WAITS), kind, into)

    def told(line: str) -> None:
        if all(into.with_name(f"{into.name}.there").exists() for into in files):
            os.kill(os.getpid(), signal.SIGTERM)

    with Signals() as signals:
        found = side_by_side(["x", "yy", "zzz"], command, signals, 2, told)
        assert signals.status(0) == 128 + signal.SIGTERM
    assert [one.kind for one in found if one.report is not None] == ["x", "yy"]


def test_who_had_not_begun_when_a_signal_came_was_not_walked() -> None:
    with Signals() as signals:
        signals.caught = signal.SIGINT
        assert side_by_side(["x"], lambda *to: python(WAITS, *to), signals, 1, lambda line: None) == []
        signals.caught = None

        def told(line: str) -> None:
            os.kill(os.getpid(), signal.SIGINT)

        dies = "import time; time.sleep(60)"  # of the signal: it is not handled yet
        assert side_by_side(["x", "yy"], lambda *to: python(dies, *to), signals, 1, told) == []
    assert verdict([], ["x", "yy"]) == "nothing was walked; not walked: x, yy"


def test_the_table() -> None:
    found = [
        Kind("none", report(1_000), 1.25),
        Kind("lose", report(20, bound="60 seconds", walked="ab"), 2.5),
        Kind("kill", report(4, wrong="a task is lost"), 0.5),
    ]
    text = words(["system    x"], found, 9.0, (), lambda kind, wrong, course: [f"violated  {kind}: {wrong}", *course])
    assert text.splitlines()[2:7] == [
        "kind             states  transitions  depth    CPU s",
        "nothing           1,000        2,000    500      1.2  held, complete",
        "lose                 20           40     10      2.5  held, bounded: ended by 60 seconds",
        "kill                  4            8      2      0.5  VIOLATED",
        "all               1,024        2,048    500      4.2  in 9.0 s",
    ]
    assert "rows      2 of 3 of Worker\n          never idle: c\n" in text
    assert "violated  kill: a task is lost\n! client is asked\n" in text


def test_the_verdict_names_the_kinds() -> None:
    held, bounded, wrong = (
        Kind("none", report(), 0),
        Kind("lose", report(bound="x"), 0),
        Kind("cut", report(wrong="x"), 0),
    )
    assert verdict([held]) == "held, complete within these bounds"
    assert verdict([held, bounded]) == "held; bounded: lose"
    assert verdict([held, bounded, wrong, Kind("kill", None, 0)]) == "VIOLATED: cut, kill; bounded: lose"
    assert verdict([held], ["cut"]) == "held; not walked: cut"


def test_a_row_that_one_walk_reached_is_reached() -> None:
    (rows,) = coverage([report(walked="a"), report(walked="b")])
    assert (rows.walked, rows.never) == ((("idle", "a"), ("idle", "b")), (("idle", "c"),))
