"""One trace a job, whoever tells of it; and nothing where nobody asked."""

import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from storage.names import new_job_id
from storage.telemetry import Traces, trace_of, traces

ROOT = Path(__file__).resolve().parents[2]


def test_submission_attempts_and_stages_are_one_trace_though_processes_differ() -> None:
    exporters = InMemorySpanExporter(), InMemorySpanExporter()
    service, worker = Traces("service", exporters[0]), Traces("worker", exporters[1])
    job, other = new_job_id(), new_job_id()
    for one in (job, other):
        service.submitted(one, time.time_ns() - 10**9, {"itoscope.kind": "generator"})
    for number in (1, 2):
        with worker.attempt(job, number) as attempt:
            for stage in ("reading", "reading", "analysing"):
                attempt.stage(stage)
            attempt.outcome("succeeded")
    service.close()
    worker.close()
    submitted, submitted_other = exporters[0].get_finished_spans()
    told: Any = exporters[1].get_finished_spans()
    assert [span.name for span in told] == ["reading", "analysing", "run"] * 2
    assert {span.context.trace_id for span in (submitted, *told)} == {trace_of(job)[0]}
    assert submitted_other.context.trace_id == trace_of(other)[0] != trace_of(job)[0]
    assert submitted.parent is None
    assert submitted.end_time - submitted.start_time >= 10**9
    for reading, analysing, run in (told[:3], told[3:]):
        assert run.parent.span_id == submitted.context.span_id
        assert {reading.parent.span_id, analysing.parent.span_id} == {run.context.span_id}
        assert reading.end_time <= analysing.start_time
    assert len({span.context.span_id for span in (submitted, *told)}) == 7


def test_spans_arrive_at_the_address_that_opentelemetrys_own_variable_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bodies = list[bytes]()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    told, job = traces("worker"), new_job_id()
    with told.attempt(job, 1) as attempt:
        attempt.stage("reading")
    told.close()
    server.shutdown()
    server.server_close()
    (sent,) = (ExportTraceServiceRequest.FromString(body) for body in bodies)
    (resource,) = sent.resource_spans
    assert {item.key: item.value.string_value for item in resource.resource.attributes}[
        "service.name"
    ] == "itoscope-worker"
    spans = [span for scope in resource.scope_spans for span in scope.spans]
    assert [span.name for span in spans] == ["reading", "run"]
    assert {int.from_bytes(span.trace_id, "big") for span in spans} == {trace_of(job)[0]}


@pytest.mark.slow
def test_without_being_asked_nothing_is_told_and_no_sdk_is_loaded() -> None:
    program = """
import sys
from storage.telemetry import traces
told = traces("service", {})
told.submitted("job_x", 0, {})
with told.attempt("job_x", 1) as attempt:
    attempt.stage("reading")
    attempt.outcome("failed")
told.close()
sys.exit(any(name.startswith("opentelemetry.sdk") for name in sys.modules))
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=False).returncode == 0
