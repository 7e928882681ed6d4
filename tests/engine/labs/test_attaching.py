"""Who can be attached to, and which one is meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.catalogue import CATALOGUE
from engine.drive.control.found import Found, about
from engine.drive.control.server import listening
from engine.errors import Refused
from engine.labs.attaching import Around, which

BROKER = Found(Path("c/tcp-127.0.0.1-6714"), "roundrobin", "broker", ("tcp://127.0.0.1:6714",), 10)
WORKERS = [Found(Path(f"c/worker-{pid}"), "roundrobin", "worker", (), pid) for pid in (31, 315)]
QUEUES = Found(Path("c/pipeline-5"), "diskqueue", "pipeline", (), 12, "/q")
ALL = [BROKER, *WORKERS, QUEUES]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("tcp://127.0.0.1:6714", BROKER),
        ("tcp-", BROKER),
        ("worker-31", WORKERS[0]),
        ("315", WORKERS[1]),
        ("/q", QUEUES),
    ],
)
def test_one_is_named_by_what_is_known_of_it(name: str, found: Found) -> None:
    assert which(ALL, name) == found


def test_none_or_several_are_refused_with_what_there_is() -> None:
    with pytest.raises(Refused, match=r"'worker' is more than one: there is tcp-127.0.0.1-6714, worker-31, worker-315"):
        which(ALL, "worker")
    with pytest.raises(Refused, match="'x' is nothing that runs here: there is nothing"):
        which([], "x")


def test_it_looks_around_and_makes_a_lab(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "c", tmp_path / "e"
    around = Around(folder, CATALOGUE, tmp_path / "runs", readonly=True)
    with (
        listening(print, folder / "x", about("roundrobin", "broker", ("inproc://x",)), {}),
        listening(print, folder / "y", about("unknown", "broker", ()), {}),
        listening(print, elsewhere / "z", about("pingpong", "broker", ()), {}),
    ):
        (found,) = around.search().result(60)
        assert Around(folder, CATALOGUE, tmp_path, besides=os.getpid()).found() == [], "our own process is none of them"
        assert found.name == "x" and around.named("inproc://x") == found
        assert around.named(f"ipc://{elsewhere}/z").system == "pingpong"
        lab = around.lab(found)
        assert (lab.mode, lab.readonly, lab.system) == ("remote", True, CATALOGUE["roundrobin"])
    fleet = {"depot": lambda: elsewhere / "z"}
    with listening(print, elsewhere / "z", about("pingpong", "broker", ()), {}):
        (found,) = Around(folder, CATALOGUE, tmp_path, fleet=fleet).search("depot").result(60)
        assert (found.name, found.system, found.path) == ("depot", "pingpong", elsewhere / "z")
    with (
        listening(print, elsewhere / "z", about("unknown", "broker", ()), {}),
        pytest.raises(Refused, match="depot is a"),
    ):
        Around(folder, CATALOGUE, tmp_path, fleet=fleet).named("depot")
    folder.chmod(0o755)
    with pytest.raises(Refused, match="nobody can be attached to"):
        around.search().result(60)
