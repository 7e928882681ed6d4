"""``roundhouse attach`` without a screen: what is listed, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.__main__ import main
from engine.drive.control.found import about
from engine.drive.control.server import listening


def test_what_runs_is_listed_and_one_of_several_has_to_be_named(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["attach"]) == 2
    assert capsys.readouterr().err == "roundhouse: nothing runs here to attach to\n"
    folder = home / "runtime" / "roundhouse"
    monkeypatch.chdir(home)
    monkeypatch.setattr("platformdirs.user_runtime_path", lambda *_, **__: Path("c"))
    with (
        listening(print, Path("c/b"), {**about("roundrobin", "broker", ("tcp://127.0.0.1:1",)), "pid": 5}, {}),
        listening(print, Path("c/p"), {**about("diskqueue", "pipeline", (), "/q"), "pid": 6}, {}),
    ):
        assert not folder.exists() and main(["attach", "--list"]) == 0
        out, err = capsys.readouterr()
        lines = [" ".join(line.split()[:3]) for line in out.splitlines()]
        assert (lines, err) == (["b roundrobin broker,", "p diskqueue pipeline,"], "")
        assert main(["attach"]) == 2
        assert "2 can be attached to: name one" in capsys.readouterr().err
        assert main(["attach", "nobody"]) == 2
        assert "'nobody' is nothing that runs here: there is b, p" in capsys.readouterr().err
        assert main(["attach", "b", "--readonly"]) == 2
        assert "what is attached needs a terminal" in capsys.readouterr().err
