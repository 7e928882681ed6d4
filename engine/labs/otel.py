"""Traces of a run's tasks, sent to an OpenTelemetry collector by OTLP over HTTP.

They are sent once the run has ended, on a thread of their own: no node takes part. A collector that is away or slow
delays the end of the command by ``PATIENCE`` and a second at most. ``opentelemetry`` is an extra: without it, asking
for traces is refused in words.
"""

from __future__ import annotations

import importlib.util
import logging
import threading
from collections.abc import Sequence
from urllib.parse import urlsplit

from engine.errors import Refused
from engine.runs.spans import Span, TaskTrace

PATIENCE = 2.0  # seconds that a collector may take
PATH = "/v1/traces"  # where the protocol has them, of a URL that names no place


def collector_of(url: str) -> str:
    """Where traces are sent. Raises Refused where this is no URL of HTTP, or the extra is missing."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise Refused(f"{url}: expected the URL of a collector, like http://127.0.0.1:4318")
    try:
        there = importlib.util.find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        there = False
    if not there or importlib.util.find_spec("opentelemetry.sdk") is None:
        raise Refused("traces need OpenTelemetry: pip install 'roundhouse[otel]'")
    return url if parts.path not in ("", "/") else parts._replace(path=PATH).geturl()


def export(url: str, traces: Sequence[TaskTrace], patience: float = PATIENCE) -> bool:
    """Send the traces to the collector at ``url``; whether it has taken them within ``patience`` seconds."""
    taken: list[bool] = []
    thread = threading.Thread(
        target=lambda: taken.append(_export(url, traces, patience)), name="otel export", daemon=True
    )
    thread.start()
    thread.join(patience + 1)  # the time of a request says how long a pause of the answer may be, not how long it is
    return taken == [True]


def _export(url: str, traces: Sequence[TaskTrace], patience: float) -> bool:
    from opentelemetry.context import Context
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    from opentelemetry.trace import set_span_in_context

    made = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource.create({"service.name": "roundhouse"}), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(made))
    tracer = provider.get_tracer("roundhouse")

    def add(span: Span, context: Context, attributes: dict[str, str | int]) -> Context:
        started = tracer.start_span(span.name, context, start_time=span.start, attributes=attributes)
        started.end(span.end)
        return set_span_in_context(started, context)

    for trace in traces:
        whole = add(trace.task, Context(), trace.attributes)
        for leg in trace.legs:
            add(leg, whole, trace.attributes)
    logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)  # the user is told once
    exporter: SpanExporter = OTLPSpanExporter(endpoint=url, timeout=patience)
    try:
        return exporter.export(made.get_finished_spans()) is SpanExportResult.SUCCESS
    finally:
        exporter.shutdown()
        provider.shutdown()
