"""Which pump runs, and that it is said."""

from __future__ import annotations

import pytest

from engine.drive.pump import chosen
from engine.drive.pump.chosen import choose, cores, words
from engine.drive.pump.hook import GROUP
from engine.drive.pump.native import Native, Unusable
from engine.drive.pump.pure import Pump, Pure


def missing() -> Pump:
    raise Unusable("nobody built it")


def test_the_native_pump_runs_where_it_can() -> None:
    class Stub(Pure):
        name = "native"

    stub = Stub()
    assert choose({}, lambda: stub) == choose({"ROUNDHOUSE_PUMP": "1"}, lambda: stub) == (stub, "")


def test_it_is_turned_off_by_a_variable() -> None:
    pump, why = choose({"ROUNDHOUSE_PUMP": "0"}, missing)
    assert (pump.name, why) == ("pure", "ROUNDHOUSE_PUMP=0")


def test_the_pure_pump_runs_where_the_native_one_can_not() -> None:
    pump, why = choose({}, missing)
    assert (pump.name, why) == ("pure", "nobody built it")


@pytest.mark.parametrize(
    ("pump", "why", "said"),
    [
        (Pure(), "ROUNDHOUSE_PUMP=0", "pure (the native one does not run: ROUNDHOUSE_PUMP=0)"),
        (Native.__new__(Native), "", "native"),
    ],
)
def test_which_one_runs_is_said(pump: Pump, why: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chosen, "PUMP", pump)
    monkeypatch.setattr(chosen, "WHY", why)
    assert words() == said


def test_cores_are_compiled_where_the_wheel_has_their_library(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cores() == "Python"
    monkeypatch.setattr(chosen, "find_spec", {f"{GROUP}__mypyc": object()}.get)
    assert cores() == "compiled"
