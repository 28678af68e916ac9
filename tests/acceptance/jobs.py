"""What a user does over HTTP: upload, submit, wait, read."""

from collections.abc import Mapping
from typing import Any

import httpx

from tests.acceptance.served import finished

MODEL_ONLY = {"analysis": {"model_only": True}}
"""Of a job, where a test asks for drift and diffusion, or only how the job went: a tenth of the
work."""


def upload(
    client: httpx.Client, body: bytes, content_type: str, **layout: str | float
) -> dict[str, Any]:
    """The dataset."""
    response = client.post(
        "/v1/datasets", params=layout, content=body, headers={"Content-Type": content_type}
    )
    assert response.is_success, response.text
    dataset: dict[str, Any] = response.json()
    return dataset


def result_of(client: httpx.Client, job: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a job that has to succeed."""
    response = client.post("/v1/jobs", json=job)
    assert response.is_success, response.text
    record = finished(client, response.json()["id"])
    assert record["state"] == "succeeded", record
    result: dict[str, Any] = client.get(f"/v1/jobs/{record['id']}/result").raise_for_status().json()
    return result


def active(component: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The active terms of a drift or diffusion component, by name."""
    return {term["term"]: term for term in component["terms"] if term["active"]}
