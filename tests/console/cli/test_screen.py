"""When the console opens, what it is given and what it leaves behind."""

from __future__ import annotations

import io
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from console.cli.screen import LIVE, console, maker
from console.cli.storearguments import STORE
from console.history import History
from engine.catalogue import CATALOGUE
from engine.feed import Feed
from engine.protocols.diskqueue.options import Options
from engine.settings.settings import Flag
from engine.settings.tomlfile import Wrong
from engine.system import QueueSystem

Capture = pytest.CaptureFixture[str]


class Lab:
    """A lab that is only opened and closed."""

    def __init__(self, settings: Any, root: str = "", **how: Any) -> None:
        self.settings, self.root, self.how = settings, root, how
        self.system = CATALOGUE["diskqueue" if type(settings) is Options else "roundrobin"]
        self.mode, self.started, self.feed, self.seat_of = "live", 0.0, Feed(), None
        self.state = "made"
        self.unkept: list[str] = []

    def open(self) -> Lab:
        self.state = "open"
        return self

    def close(self) -> None:
        self.state = "closed"

    def __enter__(self) -> Lab:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()


class Screen:
    """A console that notes what it was given."""

    made: Any = None
    signal_received: int | None = None
    summary: str | None = None

    def __init__(self, labs: Any, first: Any, settings: Any, around: Any = None, rules: Any = None) -> None:
        type(self).made = (first.lab, settings, labs)
        self.history = History(settings.state_folder / "history")

    def run(self) -> None:
        assert self.made[0].state == "open"


NOTHING = Namespace(journal=None, root=None)


@pytest.fixture
def terminal(home: Path, monkeypatch: pytest.MonkeyPatch) -> type[Screen]:
    monkeypatch.setattr("console.cli.screen.on_terminal", lambda: True)
    monkeypatch.setattr("console.cli.screen.lab_of", Lab)
    made = type("Made", (Screen,), {})
    monkeypatch.setattr("console.app.Console", made)
    return made


def test_no_terminal_is_status_2_and_names_a_command_that_needs_none(home: Path, capsys: Capture) -> None:
    assert console(NOTHING, []) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "needs a terminal" in err
    assert "roundhouse bulkping 100" in err


def test_a_terminal_without_the_characters_is_told_so(terminal: type[Screen], monkeypatch: pytest.MonkeyPatch) -> None:
    stderr = io.TextIOWrapper(io.BytesIO(), encoding="iso8859-1", write_through=True)
    monkeypatch.setattr(sys, "stderr", stderr)
    assert console(NOTHING, []) == 2
    told = stderr.buffer.getvalue().decode()
    assert told.startswith("roundhouse: the console draws characters that iso8859-1 lacks; set LC_ALL=C.UTF-8")
    assert terminal.made is None


def test_what_is_wrong_is_told_with_or_without_a_terminal(home: Path, capsys: Capture) -> None:
    with pytest.raises(Wrong, match=r"--system: expected one of roundrobin, .*, diskqueue, got 'foo'"):
        console(NOTHING, [Flag(("system",), "--system", "foo")])


def test_the_screen_gets_an_open_lab_and_the_settings(terminal: type[Screen], capsys: Capture) -> None:
    assert console(NOTHING, [Flag(("pool", "workers"), "--workers", "3")]) == 0
    lab, settings, labs = terminal.made
    assert labs.names == ("roundrobin", "conversation", "pingpong", "negotiated", "diskqueue")
    place = {"role": "console", "listens": None, "later": True}
    assert lab.how == {"bind": (), "workers": 3, "journal": None, "pair": True, "readonly": False, **place}
    assert lab.settings == settings
    assert lab.state == "closed"
    assert capsys.readouterr() == ("", "")


def test_another_system_is_opened_with_settings_of_its_own(
    terminal: type[Screen], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROUNDHOUSE_PINGPONG_BIND", "tcp://127.0.0.1:7001")
    seen: list[Lab] = []

    def run(self: Screen) -> None:
        seen.append(self.made[2].open("pingpong").result())

    monkeypatch.setattr(terminal, "run", run)
    assert console(Namespace(journal=tmp_path / "j", root=None), []) == 0
    (other,) = seen
    assert other.settings.system == "pingpong"
    assert other.how == {
        "bind": ("tcp://127.0.0.1:7001",),
        "workers": 10,
        "journal": None,
        "pair": True,
        "readonly": False,
        "role": "console",
        "listens": None,
        "later": True,
    }
    assert (terminal.made[0].how["journal"], terminal.made[0].state, other.state) == (
        tmp_path / "j",
        "closed",
        "closed",
    )


def test_durable_holds_for_every_system_and_a_file_for_the_first(
    terminal: type[Screen], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Lab] = []
    names = ("pingpong", "conversation", "negotiated")
    monkeypatch.setattr(terminal, "run", lambda self: seen.extend(self.made[2].open(n).result() for n in names))
    for flag, others in ((Flag(STORE, "--durable", "sqlite:"), "sqlite:"), (Flag(STORE, "--backlog", "sqlite:/x"), "")):
        seen.clear()
        assert console(NOTHING, [flag]) == 0
        assert terminal.made[0].settings.options["roundrobin"].backlog == flag.text
        assert [lab.settings.options[lab.settings.system].backlog for lab in seen] == [others] * 3
    monkeypatch.setitem(LIVE, QueueSystem.kind, lambda settings, *_: settings.system)
    made: Any = maker(NOTHING, "roundrobin", [Flag(STORE, "--durable", "sqlite:")])("diskqueue")
    assert made == "diskqueue"


def test_summary_and_signal_are_what_is_left(terminal: type[Screen], capsys: Capture) -> None:
    terminal.summary = "bulkping 100 of 100 PASS"
    terminal.signal_received = 15
    assert console(NOTHING, []) == 143
    assert capsys.readouterr() == ("bulkping 100 of 100 PASS\n", "")


def test_themes_and_keys_are_checked_before_anything_is_drawn(
    terminal: type[Screen], home: Path, capsys: Capture
) -> None:
    folder = home / "config" / "roundhouse"
    (folder / "themes").mkdir(parents=True)
    (folder / "themes" / "mine.toml").write_text("[theme]\n")
    (folder / "roundhouse.toml").write_text('theme = "mine"\n[keymap]\n"run.pin" = "z"\n')
    with pytest.raises(Wrong) as caught:
        console(NOTHING, [])
    assert [problem.where.rpartition(":")[2] for problem in caught.value.problems] == ["1", "3"]
    assert capsys.readouterr().err == "roundhouse: mine.toml: theme.primary is missing\n"
    assert terminal.made is None


def test_disk_queues_have_a_console_and_a_lab_of_their_own(
    terminal: type[Screen], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setattr("engine.labs.queues.LiveQueueLab", Lab)
    asked = Namespace(journal=Path("x"), root="here")
    flags = [Flag(("system",), "--system", "diskqueue"), Flag(("readonly",), "--readonly", "true")]
    terminal.summary = "3 documents"
    assert console(asked, flags) == 0
    lab, settings, _ = terminal.made
    assert (lab.settings, lab.root, lab.how) == (
        settings.options["diskqueue"],
        "here",
        {"readonly": True, "journal": Path("x"), "trust": False, "control": settings.paths.control, "listens": None},
    )
    assert lab.state == "closed"
    assert capsys.readouterr() == ("3 documents\n", "")
    with pytest.raises(Wrong, match="--root: roundrobin has no queues"):
        console(asked, [])
