"""``roundhouse relay``: documents of one queue reach another one, and both sides end with the queue."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.__main__ import main
from tests.helpers.natsserver import Server
from tests.helpers.neednats import needed


@needed
def test_a_queue_that_is_done_goes_over_to_another_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.mkdir()
    target.mkdir()
    for name in ("one", "two"):
        (source / f"{name}.ready").write_text(name, "utf-8")
    (source / "done").touch()
    with Server(tmp_path / "nats") as server:
        assert main(["relay", str(source), f"{server.url}/x"]) == 0
        assert "2 documents passed on" in capsys.readouterr().out
        assert main(["relay", f"{server.url}/x", str(target)]) == 0
        assert "2 documents passed on" in capsys.readouterr().out
    assert {path.name: path.read_text("utf-8") for path in target.glob("*.ready")} == {
        "one.ready": "one", "two.ready": "two",
    }  # fmt: skip
    assert (target / "done").exists()


@pytest.mark.parametrize(
    ("ends", "why"),
    [
        (("a", "b"), "one of the two is a queue"),
        (("nats://x", "nats://y"), "one of the two is a queue"),
        (("missing", "nats://x"), "there is no such queue"),
        ((".", "nats://x/a.b"), "the name of a backlog"),
    ],
)
def test_what_can_not_be_passed_on_is_refused(
    ends: tuple[str, str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["relay", *ends]) == 2
    assert why in capsys.readouterr().err
