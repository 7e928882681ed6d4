"""The times follow the settings, and its own promises can hold and can fail."""

from __future__ import annotations

from engine.parts.promise import Observation, Times
from engine.parts.view import BrokerView, LedgerView, WorkerRow
from engine.protocols.negotiated.options import Options
from engine.protocols.negotiated.promises import takeover, times, wrong_clock

KEY = b"worker-7"


def sight(*states: str, told: int = 0, serving: tuple[str, ...] = ("broker",)) -> Observation:
    rows = tuple(
        WorkerRow(KEY if i == 0 else b"%d" % i, "w", state, 1, 1, 0, 0, 0, 0, 0.0, 0.0, 3.0, None)  # type: ignore[arg-type]
        for i, state in enumerate(states)
    )
    return Observation(
        0.0, BrokerView(0.0, rows, 0, 0, LedgerView(0, 0, (), 0, 0, 0), (("told 408", told),), ()), None, serving
    )


def test_times_of_the_settings() -> None:
    assert times(Options()) == Times(kept=1.5, lost=3.0, back=8.0, repair=23.0)
    assert times(Options(heartbeat=2.0, silence=4, doubt=4.0)) == Times(5.0, 8.0, 20.0, 26.0)


def test_a_clock_within_what_is_allowed_changes_nothing() -> None:
    (promise,) = wrong_clock("w1", KEY, -30.0, 5.0, Options())
    assert promise.always and promise.check(sight(), sight("ready")) and not promise.check(sight(), sight())


def test_a_wrong_clock_is_told_408_and_a_right_one_is_taken_again() -> None:
    out, again = wrong_clock("w1", KEY, 31.0, 5.0, Options())
    assert (out.within, again.since, again.within) == (2.0, 5.0, 13.0)
    assert out.check(sight("ready", told=2), sight(told=3))
    assert not out.check(sight("ready", told=2), sight(told=2))
    assert not out.check(sight("ready", told=2), sight("ready", told=3))
    assert again.check(sight(), sight("ready")) and not again.check(sight(), sight())


def test_a_fallback_serves_alone_and_with_everybody() -> None:
    never_both, serves, everybody = takeover(Options(), 2)
    assert never_both.always and not never_both.check(sight(), sight(serving=("broker", "fallback")))
    assert serves.check(sight(), sight(serving=("fallback",))) and not serves.check(sight(), sight())
    assert everybody.check(sight(), sight("ready", "busy"))
    assert not everybody.check(sight(), sight("ready", "late"))
    assert not everybody.check(sight(), Observation(0.0, None, None))
