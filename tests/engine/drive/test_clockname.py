from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.drive import clockname
from engine.drive.clockname import clock_name


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    clock_name.cache_clear()
    yield
    clock_name.cache_clear()


def test_a_clock_is_named_by_boot_and_namespace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    boot, namespace = tmp_path / "boot", tmp_path / "time"
    monkeypatch.setattr(clockname, "BOOT", boot)
    monkeypatch.setattr(clockname, "NAMESPACE", namespace)
    assert clock_name() == "", "not known"
    clock_name.cache_clear()
    boot.write_text("b00t\n")
    assert clock_name() == "b00t"
    clock_name.cache_clear()
    namespace.symlink_to("time:[1]")
    assert clock_name() == "b00t time:[1]"
    clock_name.cache_clear()
    namespace.unlink()
    namespace.mkdir()
    assert clock_name() == "", "it can not be told whether it is shifted"
