"""Where a setting comes from and how a wrong one is named."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.settings.fleet import FleetEntry
from engine.settings.paths import Paths
from engine.settings.pools import NamedPool, Pool
from engine.settings.settings import Flag, Known, Run, Settings, read_settings
from engine.settings.tomlfile import DEEPEST, MAX_FILE, Wrong


@dataclass(frozen=True)
class Options:
    """A system's options as any protocol may have them."""

    names: tuple[str, ...] = ()
    low: float = 1.0
    high: float = 2.0

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise ValueError("low must not be above high")


KNOWN = Known({"roundrobin": Options, "pingpong": Options})


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    state = tmp_path / "state"
    return Paths(
        tmp_path / "r.toml",
        tmp_path / "themes",
        state,
        state / "runs",
        state / "jobs",
        state / "kept",
        state / "history",
        state / "log",
        state / "control",
        tmp_path / "alerts.toml",
        state / "minutes",
        tmp_path / "keys",
    )


def read(paths: Paths, text: str = "", environ: dict[str, str] | None = None, *flags: Flag) -> Settings:
    paths.config.write_text(text)
    return read_settings(paths, KNOWN, environ or {}, flags)


def wrong(paths: Paths, text: str = "", environ: dict[str, str] | None = None, *flags: Flag) -> list[str]:
    with pytest.raises(Wrong) as caught:
        read(paths, text, environ, *flags)
    return [line.replace(str(paths.config), "FILE") for line in str(caught.value).split("\n")]


def test_defaults_without_a_file(paths: Paths) -> None:
    settings = read_settings(paths, KNOWN, {"HOME": "/"})
    assert settings.system == "roundrobin"
    assert settings.pool == Pool(workers=10, slots=10)
    assert settings.run == Run(count=100, in_flight=10, timeout=5.0, bytes=1024)
    assert settings.keymap == {}
    assert settings.bind == ()
    assert not settings.readonly
    assert dict(settings.options) == {"roundrobin": Options(), "pingpong": Options()}
    assert settings.config_folder == paths.config.parent
    assert settings.state_folder == paths.state


def test_every_table_of_the_file(paths: Paths) -> None:
    text = """
        system = "pingpong"
        theme = "paper"
        readonly = true
        pool = { workers = 3 }
        [run]
        timeout = 2
        [keymap]
        quit = "q,ctrl+q"
        [roundrobin]
        bind = ["tcp://127.0.0.1:7000"]
        high = 3
        [pingpong]
        bind = ["tcp://[::1]:7001"]
    """
    settings = read(paths, text)
    assert (settings.system, settings.theme, settings.readonly) == ("pingpong", "paper", True)
    assert settings.pool == Pool(workers=3)
    assert settings.run == Run(timeout=2.0)
    assert settings.keymap == {"quit": "q,ctrl+q"}
    assert settings.options["roundrobin"] == Options(high=3.0)
    assert settings.options["pingpong"] == Options()
    assert settings.bind == ("tcp://[::1]:7001",)


def test_a_fleet(paths: Paths) -> None:
    text = '[[fleet]]\nname = "depot"\nendpoint = "ipc:///run/x"\n'
    assert read(paths, text).fleet == (FleetEntry("depot", "ipc:///run/x"),)
    (problem,) = wrong(paths, f'theme = "paper"\n{text}curv = "x"\n')
    assert problem == "FILE:2: [[fleet]] 'depot': curv: no such key; did you mean curve?"


def test_pools_in_double_brackets(paths: Paths) -> None:
    settings = read(
        paths, '[[pool]]\nworkers = 3\n[[pool]]\nname = "slow"\nslots = 2\n', {"ROUNDHOUSE_POOL_SLOTS": "4"}
    )
    assert (settings.pool, settings.pools) == (Pool(3, 4), (NamedPool("slow", 10, 2),))
    (problem,) = wrong(paths, '[[pool]]\nname = "slow"\nslot = 2\n')
    assert problem.startswith("FILE") and "[[pool]] 'slow': slot: no such key; did you mean slots?" in problem
    (problem,) = wrong(paths, "[[pool]]\nslot = 2\n")
    assert "[pool] slot: no such key" in problem


def test_environment_over_file_and_flags_over_both(paths: Paths) -> None:
    text = "[pool]\nworkers = 1\nslots = 1\n[run]\ncount = 1"
    environ = {
        "ROUNDHOUSE_POOL_WORKERS": "2",
        "ROUNDHOUSE_POOL_SLOTS": "2",
        "ROUNDHOUSE_READONLY": "yes",
        "ROUNDHOUSE_ROUNDROBIN_NAMES": "a, b",
        "ROUNDHOUSE_PINGPONG_BIND": "tcp://127.0.0.1:1,ipc:///x",
        "ROUNDHOUSE_SYSTEM": "pingpong",
    }
    settings = read(paths, text, environ, Flag(("pool", "slots"), "--slots", "3"))
    assert settings.pool == Pool(workers=2, slots=3)
    assert settings.run.count == 1
    assert settings.readonly
    assert settings.options["roundrobin"].names == ("a", "b")
    assert settings.bind == ("tcp://127.0.0.1:1", "ipc:///x")


def test_the_variable_that_chooses_the_pump_is_no_setting(paths: Paths) -> None:
    assert read(paths, "", {"ROUNDHOUSE_PUMP": "0"}) == read(paths, "", {})


def test_everything_wrong_is_named_at_once(paths: Paths) -> None:
    text = """\
thme = "paper"
system = "roundrobbin"
readonly = "yes"

[pool]
# how many
wrkers = 10
slots = 0

[pol]
x = 1

[run]
timeout = nan
bytes = [
  1,
]

[roundrobin]
low = 5

[keymap]
quit = 3
"""
    environ = {"ROUNDHOUSE_POOL_WORKER": "1", "ROUNDHOUSE_RUN_COUNT": "many"}
    assert wrong(paths, text, environ, Flag(("run", "in_flight"), "--in-flight", "-1")) == [
        "FILE:1: thme: no such key; did you mean theme?",
        "FILE:2: system: expected one of roundrobin, pingpong, got 'roundrobbin'; did you mean roundrobin?",
        "FILE:3: readonly: expected true or false, got 'yes'",
        "FILE:7: [pool] wrkers: no such key; did you mean workers?",
        "FILE:8: [pool] slots: expected a whole number from 1 to 100,000, got 0",
        "FILE:10: [pol]: no such table; did you mean pool?",
        "FILE:14: [run] timeout: expected a number from 0.001 to 3,600 seconds, got nan",
        "FILE:15: [run] bytes: expected a whole number from 1 to 2,097,152 bytes, got [1]",
        "FILE:23: [keymap] quit: expected plain text, got 3",
        "ROUNDHOUSE_POOL_WORKER: no such setting; did you mean ROUNDHOUSE_POOL_WORKERS?",
        "ROUNDHOUSE_RUN_COUNT: expected a whole number from 1 to 100,000,000, got 'many'",
        "--in-flight: expected a whole number from 1 to 1,000,000, got -1",
        "FILE:19: [roundrobin]: low must not be above high",
    ]


def test_an_overridden_value_must_still_be_right(paths: Paths) -> None:
    assert wrong(paths, "[pool]\nslots = 0", {"ROUNDHOUSE_POOL_SLOTS": "5"}) == [
        "FILE:2: [pool] slots: expected a whole number from 1 to 100,000, got 0"
    ]


@pytest.mark.parametrize(
    "endpoint",
    ["127.0.0.1:6714", "tcp://127.0.0.1", "tcp://127.0.0.1:0", "tcp://a:65536", "tcp://a b:1", "inproc://x", "ipc://"],
)
def test_what_is_no_endpoint(paths: Paths, endpoint: str) -> None:
    assert wrong(paths, f'[roundrobin]\nbind = ["{endpoint}"]') == [
        f"FILE:2: [roundrobin] bind: expected an endpoint like tcp://127.0.0.1:6714 or ipc:///path, got '{endpoint}'"
    ]


def test_a_screen_knows_its_themes_and_keys(paths: Paths) -> None:
    paths.config.write_text('theme = "papr"\n[keymap]\n"run.pin" = "z"\nquit = "Q"')
    known = KNOWN._replace(themes=("midnight", "paper"), keys=("run.ping", "quit"))
    with pytest.raises(Wrong) as caught:
        read_settings(paths, known, {})
    assert [problem.text for problem in caught.value.problems] == [
        "theme: expected one of midnight, paper, got 'papr'; did you mean paper?",
        "[keymap] run.pin: no such key; did you mean run.ping?",
    ]
    assert read_settings(paths, KNOWN, {}).theme == "papr"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"[pool]\nworkers 3\n", "FILE:2: Expected '=' after a key in a key/value pair (at line 2, column 9)"),
        (b"a = '\xff'", "FILE:1: not UTF-8 text"),
        (b"\n\na = '\xc3\x28'", "FILE:3: not UTF-8 text"),
        (b"#" * (MAX_FILE + 1), f"FILE: larger than {MAX_FILE} bytes"),
        (b"pool = 3", "FILE:1: [pool]: expected a table, got 3"),
        (b"[[run]]\ncount = 3", "FILE:1: [run]: expected a table, got [{'count': 3}]"),
        (b"[theme]\nx = 1", "FILE:1: theme: expected plain text, got {'x': 1}"),
        (b'"\\u001b[2J" = 1', "FILE:1: ·[2J: no such key"),
        (b"theme = 0x" + b"f" * 9999, "FILE:1: theme: expected plain text, got a number of thousands of digits"),
        (b"a = " + b"[" * 20_000 + b"]" * 20_000, "FILE:1: nested too deeply"),
        (b"x = 1\na = 1" + b"0" * 9999, "FILE:2: a number of thousands of digits"),
        (b"x = 1\n" + b"a." * 100 + b"a = 1", f"FILE:2: a key has more than {DEEPEST} parts"),
        (b"[" + b"'a' . " * 100 + b"a]", f"FILE:1: a key has more than {DEEPEST} parts"),
        (b"x = {" + b'"a".' * 100 + b"a = 1}", f"FILE:1: a key has more than {DEEPEST} parts"),
        (b"x = 1\ny = ", "FILE:2: Invalid value (at end of document)"),
    ],
)
def test_files_that_can_not_be_used(paths: Paths, content: bytes, problem: str) -> None:
    paths.config.write_bytes(content)
    with pytest.raises(Wrong) as caught:
        read_settings(paths, KNOWN, {})
    assert str(caught.value).replace(str(paths.config), "FILE") == problem


def test_a_number_that_python_does_not_read(paths: Paths) -> None:
    assert "digits" in wrong(paths, "theme = " + "9" * 9999)[0]


def test_a_folder_in_the_place_of_the_file(paths: Paths) -> None:
    paths.config.mkdir()
    with pytest.raises(Wrong, match="is a folder, not a regular file"):
        read_settings(paths, KNOWN, {})


def test_a_key_with_dots_may_be_as_deep_as_any_that_is_used(paths: Paths) -> None:
    paths.config.write_text("a." * (DEEPEST - 1) + "a = 1\n" + "# " + "a " * 500)
    assert wrong(paths, paths.config.read_text())[0].startswith("FILE:1: [a]: no such table")


def test_a_fifo_in_the_place_of_the_file_is_refused_at_once(paths: Paths) -> None:
    os.mkfifo(paths.config)
    with pytest.raises(Wrong, match=r"can not be read: is a FIFO, not a regular file"):
        read_settings(paths, KNOWN, {})
