"""A receiver on this machine is told of a job's end, as the operator allows, by the worker of a
whole installation."""

import json
import time

import httpx
from standardwebhooks import Webhook

from tests.worker.queue.test_webhooks import receiving

MODEL = {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 2}}}


def test_whoever_asked_is_told_of_the_end_within_seconds(client: httpx.Client) -> None:
    with receiving(503, 204) as receiver:
        job = {
            "kind": "generator",
            "model": MODEL,
            "webhook": {"url": f"http://127.0.0.1:{receiver.port}/done"},
        }
        address = (
            client.post("/v1/jobs", json=job, headers={"Prefer": "wait=30"})
            .raise_for_status()
            .json()["links"]["self"]
        )
        until = time.monotonic() + 10
        while not receiver.received and time.monotonic() < until:
            time.sleep(0.05)
        assert len(receiver.received) == 1
    headers, body = receiver.received[0]
    Webhook(client.get("/v1/webhooks/secret").json()["key"]).verify(body, headers)
    assert json.loads(body) == client.get(address).json()
    other = client.post(
        "/v1/jobs", json={**job, "webhook": {"url": "https://elsewhere.example.org/"}}
    )
    assert (other.status_code, other.json()["errors"][0]["pointer"]) == (422, "#/webhook/url")
