"""Kept runs as CSV and JSON: every figure, no formula."""

from __future__ import annotations

import csv
import io
import json

import pytest

from engine.runs.export import LISTS, to_csv
from engine.runs.record import from_json, run_id, to_json
from tests.helpers.runs import a_run


def table(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_a_line_a_run_with_every_figure() -> None:
    first, second = a_run(10), a_run(3, seconds=1)
    second["legs_us"] = dict.fromkeys(("client", "backlog", "worker", "return"), second["service_us"])  # type: ignore[typeddict-item]
    second["rate_asked"], second["rate_missed"] = 10.0, {"asked": 10.0, "reached": 9.5}
    second["observer"] = {"loop_lag_us": 1.5, "refresh_hz": None}
    second["failed"] = {"timeout": 2, "wrong data": 1}
    one, two = table(to_csv([first, second]))
    assert (one["run"], one["succeeded"], one["warmup"], one["verdict"]) == (run_id(first), "10", "1", "pass")
    assert (one["service_us.p50"], one["legs_us.client.p50"], one["rate_missed.asked"]) == ("1000.0", "", "")
    assert one["planned_us.p99"] == one["observer.loop_lag_us"] == one["failed"] == ""
    assert (two["legs_us.return.p999"], two["rate_missed.reached"], two["failed"]) == (
        "1000.0",
        "9.5",
        "timeout 2, wrong data 1",
    )
    assert (two["observer.loop_lag_us"], two["observer.refresh_hz"], two["ledger.balanced"]) == ("1.5", "", "True")
    assert to_csv([]) == ""


def test_no_key_of_a_record_is_left_out() -> None:
    heads = {name.split(".")[0] for name in table(to_csv([a_run()]))[0]}
    assert heads == a_run().keys() - {"schema", *LISTS} | {"run"}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_text_that_a_spreadsheet_would_carry_out_is_shown_instead(start: str) -> None:
    run = a_run()
    run["system"] = f'{start}cmd|"/c calc"!A1'
    run["failed"] = {f"{start}x": 1}
    (cells,) = table(to_csv([run]))
    assert cells["system"] == "'" + run["system"]
    assert cells["failed"] == f"'{start}x 1"


def test_a_list_of_records_as_they_are_kept() -> None:
    runs = [a_run(10), a_run(3, seconds=1)]
    read = json.loads(to_json(runs))
    assert [from_json(json.dumps(run).encode()) for run in read] == runs
    assert to_json([]) == "[]\n"
