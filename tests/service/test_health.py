"""Alive and ready are two things."""

import time
from typing import Any

from service.routes import health
from storage.stores import StoreUnavailable


def test_ready_needs_a_worker_that_was_heard_of_lately(service: Any) -> None:
    alone = service.client.get("/readyz")
    assert (alone.status_code, alone.json()["code"]) == (503, "not-ready")
    assert "python -m worker" in alone.json()["hints"][0]
    service.stores.jobs.beat("worker-1")
    assert service.client.get("/readyz").json() == {
        "status": "ready",
        "workers": 1,
        "queues": {"small": 1, "large": 1},
    }


def test_a_queue_that_no_worker_serves_is_told(service: Any) -> None:
    service.stores.jobs.beat("worker-1", ["small"])
    assert service.client.get("/readyz").json() == {
        "status": "ready",
        "workers": 1,
        "queues": {"small": 1, "large": 0},
    }
    assert 'itoscope_queue_workers{queue="large"} 0.0' in service.client.get("/metrics").text


def test_not_ready_while_the_store_does_not_answer(service: Any, monkeypatch: Any) -> None:
    def away(_self: Any, _within: float) -> int:
        raise StoreUnavailable("no")

    monkeypatch.setattr(type(service.stores.jobs), "workers_alive", away)
    answer = service.client.get("/readyz")
    assert (answer.status_code, answer.json()["code"], answer.headers["retry-after"]) == (
        503,
        "store-unavailable",
        "2",
    )
    assert service.client.get("/healthz").json() == {"status": "ok"}


def test_a_store_that_hangs_is_not_waited_for(service: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(health, "LONGEST_LOOK", 0.1)
    monkeypatch.setattr(
        type(service.stores.jobs), "workers_alive", lambda _self, _within: time.sleep(1)
    )
    assert service.client.get("/readyz").json()["code"] == "store-unavailable"
