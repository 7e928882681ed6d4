"""Who is asked, and what is made of the answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from console.cli.asking import ask, chosen, only, status_at
from engine.drive.control.found import Found
from engine.drive.control.place import place
from engine.errors import Refused
from tests.helpers.fake_lab import FakeLab
from tests.helpers.served import patient, runtime, served

ENDPOINT = "tcp://127.0.0.1:6714"


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    patient(monkeypatch)
    with runtime() as folder:
        yield folder


def test_it_is_named_by_its_endpoint_its_name_or_not_at_all(folder: Path) -> None:
    with pytest.raises(Refused, match="nothing of roundhouse runs here"):
        chosen(folder, None)
    with served(folder, FakeLab(1)):
        path = place(folder, ENDPOINT)
        assert chosen(folder, ENDPOINT) == chosen(folder, path.name) == chosen(folder, None) == path
        assert chosen(folder, f"ipc://{path}") == path
        with pytest.raises(Refused, match="expected an endpoint, or a name"):
            chosen(folder, "../x")
        with pytest.raises(Refused, match=r"no broker of this user is at tcp://127\.0\.0\.1:1:"):
            chosen(folder, "tcp://127.0.0.1:1")


def test_of_several_one_must_be_named() -> None:
    found = [Found(Path(name), "roundrobin", "broker", (), 1) for name in ("a", "b")]
    assert only(found[:1]) == found[0]
    with pytest.raises(Refused, match="2 processes run here, name one: a, b"):
        only(found)


def test_an_answer_that_is_none_is_refused(folder: Path) -> None:
    lab = FakeLab(1)
    with served(folder, lab, status=lambda _: ("status", {"Status": b"[1]"})):
        with pytest.raises(Refused, match="can not be read: use one version"):
            status_at(place(folder, ENDPOINT))
        with pytest.raises(Refused, match="no such word"):
            ask(place(folder, ENDPOINT), "nonsense")


def test_a_status_of_thousands_of_workers_fits_into_an_answer(folder: Path) -> None:
    with served(folder, FakeLab(10_000)):
        assert len(status_at(place(folder, ENDPOINT))["workers"]) == 10_000
