"""A bulk run whose sampled tasks a collector gets, and one whose collector is away."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from console.__main__ import main
from engine.labs.otel import export
from tests.helpers.collector import collecting

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra: pip install 'roundhouse[otel]'")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's folders, empty."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CONFIG_HOME", "STATE_HOME", "RUNTIME_DIR"):
        monkeypatch.setenv(f"XDG_{name}", str(tmp_path / name))


def test_a_run_is_sent_with_its_legs_and_lost_where_nobody_takes_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with collecting() as collector, monkeypatch.context() as patch:
        patch.setattr("console.cli.runs.export", partial(export, patience=60.0))
        assert main(["bulkping", "100", "--otel", collector.url]) == 0
    assert "trace" not in capsys.readouterr().err
    tasks = [span for span in collector.spans if span.name == "task"]
    assert tasks and len(collector.spans) == 5 * len(tasks)
    assert {span.name for span in collector.spans} == {"task", "client", "backlog", "worker", "return"}
    told = {attribute.key: attribute.value for attribute in tasks[0].attributes}
    assert told["roundhouse.worker"].string_value and told["roundhouse.attempt"].int_value == 1
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in collector.spans)
    assert main(["bulkping", "100", "--otel", collector.url]) == 0
    assert capsys.readouterr().err.count("has not taken the") == 1


def test_what_is_no_collector_is_refused_before_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bulkping", "100", "--otel", "nonsense"]) != 0
    out, err = capsys.readouterr()
    assert "expected the URL of a collector" in err and not out
