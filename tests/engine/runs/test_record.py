"""Records are written and read back with care."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.runs.record import MAX_RECORD, from_json, run_id, to_json
from engine.schema import Misfit
from tests.helpers.runs import a_run


def test_a_record_from_before_some_keys_is_filled_in() -> None:
    run = a_run(3)
    later = ("lane", "workers", "slots", "timeout_s", "warmup", "rate_asked", "rate_missed", "observer")
    older = {key: value for key, value in run.items() if key not in later}
    assert from_json(json.dumps(older).encode()) == {**run, "timeout_s": None}


def test_written_and_read_back() -> None:
    run = a_run(3)
    text = to_json(run)
    assert text.endswith("}\n")
    assert from_json(text.encode()) == run
    assert run_id(run) == "20261128T010203.000456Z-ping"
    known_later = json.dumps({**run, "added": 1})
    assert from_json(known_later.encode()) == run


def broken(**changes: Any) -> bytes:
    return json.dumps({**a_run(), **changes}).encode()


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b"[" * 300_000, "larger than"),
        (b"[" * 60_000, "not JSON"),
        (b"[]", "not a run of schema roundhouse.run/1"),
        (b'{"schema": "roundhouse.run/2"}', "not a run of schema roundhouse.run/1"),
        (b'{"schema": "roundhouse.run/1"}', "is missing"),
        (b" " * (MAX_RECORD + 1), "larger than"),
        (broken(sent=-1), "sent: expected a whole number"),
        (broken(sent=True), "sent: expected a whole number"),
        (broken(elapsed_s=float("nan")), "elapsed_s: expected a number"),
        (broken(kind="pong"), "kind: expected one of ping, data, got 'pong'; did you mean ping?"),
        (broken(failed={"\x1b[2J": 1}), "failed: expected plain text"),
        (broken(failed=[]), "failed: expected a table"),
        (broken(service_us={}), "service_us: max is missing"),
        (broken(service_us={**a_run()["service_us"], "buckets": [[1.0]]}), "service_us.buckets: expected a list of"),
        (broken(timeline=[{"second": 0}]), "timeline: failed is missing"),
        (broken(service_us=None), "service_us: expected a table, got None"),
        (broken(ledger={**a_run()["ledger"], "balanced": 1}), "ledger.balanced: expected true or false"),
        (broken(started_at="yesterday"), "started_at: expected a time with its offset"),
        (broken(started_at="2026-11-28T03:02:03"), "started_at: expected a time with its offset"),
        (broken(started_at="0001-01-01T00:00:00+14:00"), "started_at: expected a time with its offset"),
    ],
)
def test_what_is_no_run_is_refused_with_the_reason(raw: bytes, reason: str) -> None:
    with pytest.raises(Misfit) as caught:
        from_json(raw)
    assert reason in str(caught.value)
