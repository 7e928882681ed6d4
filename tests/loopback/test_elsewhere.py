"""A bulk run against a broker of another process whose control socket is asked for its clock and its legs."""

from __future__ import annotations

import json
from pathlib import Path

from tests.helpers.processes import WAIT, Processes, free_endpoint


def test_legs_of_a_broker_of_another_process(tmp_path: Path) -> None:
    with Processes(tmp_path) as processes:
        endpoint = free_endpoint()
        processes.start("broker", "--bind", endpoint).ready()
        processes.start("worker", "--connect", endpoint).ready()
        asked = ("bulkping", "200", "--timeout", str(WAIT), "--connect", endpoint, "--json")
        with_control, without = tmp_path / "with.json", tmp_path / "without.json"
        assert processes.start(*asked, str(with_control), "--control", endpoint).ended() == 0
        assert processes.start(*asked, str(without)).ended() == 0
        run = json.loads(with_control.read_text())
        assert run["legs_missing"] is None and run["clock"] == {"same": True, "offset": 0.0, "error": 0.0}
        assert sum(n for _, n in run["legs_us"]["worker"]["buckets"]) > 0
        run = json.loads(without.read_text())
        assert (run["legs_us"], run["clock"]) == (None, None) and "--control" in run["legs_missing"]
