"""Metrics for the operator, in Prometheus's format.

Metrics of jobs are read from the store on request, so that it does not matter which process
answers. Metrics of requests belong to this process alone.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from contract.messages import QUEUES, QueueName
from service.settings import ServiceSettings
from storage.disk import free_bytes
from storage.redis.jobs import JobStore
from storage.stores import StoreUnavailable

MEDIA_TYPE = CONTENT_TYPE_LATEST
NOWHERE = "(none)"
"""Label of a request that no route matched; its own path is no label, for it could be anything."""


class Metrics:
    """The metrics of one application, with a registry of their own."""

    def __init__(self, jobs: JobStore, settings: ServiceSettings) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Jobs(jobs, settings.worker_silence_seconds))
        free = Gauge(
            "itoscope_disk_free_bytes",
            "Free space of the disk that holds the data folder.",
            registry=self._registry,
        )
        free.set_function(lambda: free_bytes(settings.data_dir))
        Gauge(
            "itoscope_disk_min_free_bytes",
            "Free space below which jobs and uploads are refused.",
            registry=self._registry,
        ).set(settings.min_free_bytes)
        ProcessCollector(registry=self._registry)
        labels = ("method", "route")
        self._answers = Counter(
            "itoscope_http_requests",
            "Requests answered by this process.",
            (*labels, "status"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "itoscope_http_request_seconds",
            "Seconds from a request's header to the end of its answer, "
            "waiting that was asked for included.",
            labels,
            registry=self._registry,
        )

    def request(self, method: str, route: str | None, status: int | None, seconds: float) -> None:
        """Count a request; `status` is None if the connection broke off."""
        route = route or NOWHERE
        method = method if route != NOWHERE else "ANY"
        self._answers.labels(method, route, str(status or 0)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """Return the current values of all metrics as text."""
        return generate_latest(self._registry)


def workers_by_queue(jobs: JobStore, silence: float) -> dict[QueueName, int]:
    """Count the workers that serve each queue and reported within `silence` seconds.

    Raises StoreUnavailable.
    """
    return {queue: jobs.workers_of(queue, silence) for queue in QUEUES}


class _Jobs(Collector):
    """Metrics from the store; while it is unavailable, they say only that."""

    def __init__(self, jobs: JobStore, worker_silence_seconds: float) -> None:
        self._jobs = jobs
        self._silence = worker_silence_seconds

    def describe(self) -> Iterator[Metric]:
        """Return nothing, so that the store is not queried before there is a request."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Read the store and yield its metrics."""
        try:
            tally, workers, memory = (
                self._jobs.tally(),
                self._jobs.workers_alive(self._silence),
                self._jobs.memory_used(),
            )
            queues = workers_by_queue(self._jobs, self._silence)
        except StoreUnavailable:
            yield GaugeMetricFamily("itoscope_store_up", "Whether the store of jobs answers.", 0)
            return
        yield GaugeMetricFamily("itoscope_store_up", "Whether the store of jobs answers.", 1)
        yield GaugeMetricFamily(
            "itoscope_store_memory_ratio", "Share of the store's memory that is in use.", memory
        )
        yield GaugeMetricFamily("itoscope_workers", "Workers heard of lately.", workers)
        meaning = "Those of them that serve a queue."
        yield _family(GaugeMetricFamily, "itoscope_queue_workers", meaning, "queue", queues)
        states = {"queued": tally.queued, "running": tally.running}
        yield _family(GaugeMetricFamily, "itoscope_jobs", "Jobs that wait or run.", "state", states)
        yield GaugeMetricFamily(
            "itoscope_oldest_queued_seconds",
            "How long the first of the waiting jobs has waited.",
            tally.oldest_queued_seconds,
        )
        meaning = (
            "How often jobs were submitted, started, ended, lost their worker (lease_lost), or "
            "were sent again (republished); webhooks were delivered or given up."
        )
        happened = tally.happened
        yield _family(CounterMetricFamily, "itoscope_job_events", meaning, "event", happened)
        stages = SummaryMetricFamily(
            "itoscope_stage_seconds", "How long jobs were in each stage.", labels=("stage",)
        )
        for stage, (number, seconds) in tally.stages.items():
            stages.add_metric((stage,), count_value=number, sum_value=seconds)
        yield stages


def _family(
    kind: type[GaugeMetricFamily | CounterMetricFamily],
    name: str,
    meaning: str,
    label: str,
    values: Mapping[Any, float],
) -> Metric:
    family = kind(name, meaning, labels=(label,))
    for each, value in values.items():
        family.add_metric((each,), value)
    return family
