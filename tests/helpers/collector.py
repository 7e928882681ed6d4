"""An OpenTelemetry collector on loopback that keeps the spans which it is sent."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Collector:
    """``url``: where it is. ``spans``: what came. ``paths``: where that was sent to. ``status``: its answer."""

    def __init__(self) -> None:
        self.url = ""
        self.spans: list[Any] = []
        self.paths: list[str] = []
        self.status = 200


@contextmanager
def collecting() -> Iterator[Collector]:
    """One that runs as long as this lasts."""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    kept = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = ExportTraceServiceRequest()
            request.ParseFromString(self.rfile.read(int(self.headers["Content-Length"])))
            kept.paths.append(self.path)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    kept.spans.extend(scope.spans)
            self.send_response(kept.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Nothing on stderr."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield kept
        finally:
            server.shutdown()
            thread.join()
