"""Which file a store is, by its name."""

from __future__ import annotations

from pathlib import Path

from engine.drive.stores import opened, path_of


def test_without_a_path_it_is_the_systems_own_file(tmp_path: Path) -> None:
    assert path_of("sqlite:", tmp_path, "roundrobin") == tmp_path / "roundrobin.sqlite"
    assert path_of("sqlite:here.db", tmp_path, "roundrobin") == Path("here.db").absolute()
    store = opened("sqlite:", tmp_path, "roundrobin")
    store.close()
    assert (tmp_path / "roundrobin.sqlite").exists()
