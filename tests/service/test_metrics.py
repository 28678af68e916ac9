"""What the operator is told, in Prometheus's format."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from service.access import keyring
from storage.stores import StoreUnavailable

ROOT = Path(__file__).resolve().parents[2]


def samples(service: Any, **headers: str) -> dict[tuple[str, ...], float]:
    """Value by name and labels' values."""
    answer = service.client.get("/metrics", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    families = text_string_to_metric_families(answer.text)
    return {
        (s.name, *(s.labels[k] for k in sorted(s.labels))): s.value
        for family in families
        for s in family.samples
    }


def test_jobs_are_counted_by_what_they_do(service: Any) -> None:
    service.job()
    service.finish(service.job())
    service.stores.jobs.beat("worker")
    found = samples(service)
    assert found["itoscope_store_up",] == 1
    assert found["itoscope_workers",] == 1
    assert (found["itoscope_jobs", "queued"], found["itoscope_jobs", "running"]) == (1, 0)
    assert found["itoscope_job_events_total", "submitted"] == 2
    assert found["itoscope_job_events_total", "succeeded"] == 1
    assert found["itoscope_stage_seconds_count", "queued"] == 1
    assert found["itoscope_oldest_queued_seconds",] > 0
    assert found["itoscope_disk_free_bytes",] > 0
    assert found["itoscope_disk_min_free_bytes",] == 1e9


def test_requests_are_counted_by_route_not_by_path(service: Any) -> None:
    before = samples(service).get(
        ("itoscope_http_requests_total", "GET", "/v1/jobs/{job_id}", "404"), 0.0
    )
    service.client.get("/v1/jobs/job_none")
    service.client.get("/no/such/place/1")
    service.client.request("BREW", "/no/such/place/2")
    found = samples(service)
    assert found["itoscope_http_requests_total", "GET", "/v1/jobs/{job_id}", "404"] == before + 1
    assert found["itoscope_http_request_seconds_count", "GET", "/v1/jobs/{job_id}"] >= 1
    text = str(found)
    assert "place" not in text
    assert "BREW" not in text


def test_while_the_store_is_away_the_rest_is_told(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: Any) -> Any:
        raise StoreUnavailable("away")

    monkeypatch.setattr(type(service.stores.jobs), "tally", away)
    found = samples(service)
    assert found["itoscope_store_up",] == 0
    assert ("itoscope_jobs", "queued") not in found


def test_where_there_are_keys_the_numbers_take_one_that_may_admin(service: Any) -> None:
    usual, admin = (
        keyring.add(service.settings.key_file, "ops", scopes)
        for scopes in (["read", "write"], ["admin"])
    )
    assert service.client.get("/metrics").status_code == 401
    assert (
        service.client.get("/metrics", headers={"Authorization": f"Bearer {usual}"}).status_code
        == 403
    )
    assert samples(service, Authorization=f"Bearer {admin}")["itoscope_store_up",] == 1


def test_alerts_are_about_metrics_that_exist(service: Any) -> None:
    service.finish(service.job())
    rules = yaml.safe_load((ROOT / "deploy" / "alerts.yaml").read_text())["groups"][0]["rules"]
    used = {name for rule in rules for name in re.findall(r"itoscope_\w+", rule["expr"])}
    assert len(used) > 5
    assert used <= {name for name, *_ in samples(service)}
