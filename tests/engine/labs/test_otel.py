"""Traces, as a collector reads them."""

from __future__ import annotations

import socket
import sys

import pytest

from engine.errors import Refused
from engine.labs.otel import collector_of, export
from engine.runs.spans import Span, TaskTrace
from tests.helpers.collector import collecting

pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra: pip install 'roundhouse[otel]'")

TRACE = TaskTrace(Span("task", 1_000, 9_000), (Span("client", 1_000, 4_000), Span("return", 4_000, 9_000)), {"a": "b"})


def test_a_task_is_one_trace_and_its_legs_are_children() -> None:
    with collecting() as collector:
        assert export(collector_of(collector.url), [TRACE, TRACE], patience=60)
    assert collector.paths == ["/v1/traces"]
    assert len({span.trace_id for span in collector.spans}) == 2
    tasks = {span.span_id: span for span in collector.spans if span.name == "task"}
    legs = [span for span in collector.spans if span.name != "task"]
    assert len(tasks) == 2 and len(legs) == 4 and not any(task.parent_span_id for task in tasks.values())
    assert all(leg.trace_id == tasks[leg.parent_span_id].trace_id for leg in legs)
    assert {(leg.name, leg.start_time_unix_nano, leg.end_time_unix_nano) for leg in legs} == set(TRACE.legs)
    assert {(one.key, one.value.string_value) for leg in legs for one in leg.attributes} == {("a", "b")}


def test_a_collector_that_refuses_has_taken_nothing() -> None:
    with collecting() as collector:
        collector.status = 400
        assert not export(collector_of(collector.url), [TRACE], patience=60)


def test_a_collector_that_is_away_or_says_nothing_has_taken_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts, and never answers
        url = collector_of(f"http://127.0.0.1:{silent.getsockname()[1]}")
        assert not export(url, [TRACE], patience=0.2)
    assert not export(url, [TRACE], patience=0.2)
    assert not caplog.records  # whoever asked for it is told once, by the command


def test_a_place_that_is_named_is_kept() -> None:
    assert collector_of("https://example.org/otlp/v1/traces") == "https://example.org/otlp/v1/traces"
    assert collector_of("http://[::1]:4318/") == "http://[::1]:4318/v1/traces"


@pytest.mark.parametrize("url", ["127.0.0.1:4318", "tcp://127.0.0.1:4318", "http://", "http://x:y", "http://[::1"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(Refused, match="expected the URL of a collector"):
        collector_of(url)


def test_without_the_extra_it_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(Refused, match="pip install"):
        collector_of("http://127.0.0.1:4318")
