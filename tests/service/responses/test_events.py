"""`GET /v1/jobs/{id}/events`: every change, once, in order; resumed where a connection broke."""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from contract.records import Progress
from storage.redis.jobs import JobStore


def told(text: str) -> list[dict[str, Any]]:
    """The events of a stream; their data carry the id of the event."""
    events = []
    for block in text.strip().split("\n\n"):
        fields = dict(
            line.split(": ", 1) for line in block.splitlines() if not line.startswith(":")
        )
        if fields:
            assert fields["event"] == "job"
            data = json.loads(fields["data"])
            assert data["id"] == fields["id"]
            events.append(data)
    return events


def test_a_job_is_followed_to_its_end(service: Any) -> None:
    job_id = service.job()

    def work() -> None:
        time.sleep(0.4)
        service.stores.jobs.claim(job_id, "test", 30.0)
        service.stores.jobs.report(
            job_id, 1, Progress(fraction=0.5, stage="fitting", message="a\nb")
        )
        time.sleep(0.4)
        name = service.stores.results.put("default", job_id, 1, b"{}")
        service.stores.jobs.succeed(job_id, 1, name)

    worker = threading.Thread(target=work)
    worker.start()
    answer = service.client.get(f"/v1/jobs/{job_id}/events")
    worker.join()
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    events = told(answer.text)
    assert [event["state"] for event in events] == ["queued", "running", "running", "succeeded"]
    assert events[2]["progress"] == {"fraction": 0.5, "stage": "fitting", "message": "a\nb"}


def test_a_broken_connection_goes_on_where_it_was(service: Any) -> None:
    job_id = service.job()
    service.finish(job_id)
    address = f"/v1/jobs/{job_id}/events"
    events = told(service.client.get(address).text)
    rest = told(service.client.get(address, headers={"Last-Event-ID": events[0]["id"]}).text)
    assert rest == events[1:]


def test_whoever_has_seen_the_end_is_told_not_to_come_back(service: Any) -> None:
    job_id = service.job()
    service.client.post(f"/v1/jobs/{job_id}/cancel")
    address = f"/v1/jobs/{job_id}/events"
    last = told(service.client.get(address).text)[-1]["id"]
    assert service.client.get(address, headers={"Last-Event-ID": last}).status_code == 204


def test_an_end_between_two_looks_is_told(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    job_id, jobs = service.job(), service.stores.jobs
    (queued,) = jobs.events("default", job_id)
    look = type(jobs).get

    def ended_meanwhile(self: Any, tenant: str, asked: str) -> Any:
        self.cancel(tenant, asked)
        return look(self, tenant, asked)

    monkeypatch.setattr(type(jobs), "get", ended_meanwhile)
    answer = service.client.get(f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": queued.id})
    assert answer.status_code == 200
    assert [event["state"] for event in told(answer.text)] == ["cancelled"]


@pytest.mark.parametrize("odd", ["x", "-", "1-1 ", "0" * 5000])
def test_an_id_that_no_event_has_is_refused(service: Any, odd: str) -> None:
    answer = service.client.get(f"/v1/jobs/{service.job()}/events", headers={"Last-Event-ID": odd})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid-request")


def test_many_followers_read_the_store_only_when_there_is_news(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    job_id, followers, read = service.job(), 8, JobStore.events
    reads: list[Any] = []

    def counted(*asked: Any) -> Any:
        reads.append(asked)
        return read(*asked)

    monkeypatch.setattr(JobStore, "events", counted)

    def work() -> None:
        service.stores.jobs.claim(job_id, "test", 30.0)
        for n in range(1, 4):
            time.sleep(0.3)
            service.stores.jobs.report(
                job_id, 1, Progress(fraction=n / 4, stage="fitting", message="")
            )
        time.sleep(0.3)
        service.stores.jobs.succeed(
            job_id, 1, service.stores.results.put("default", job_id, 1, b"{}")
        )

    with ThreadPoolExecutor(followers + 1) as threads:
        answers = [
            threads.submit(service.client.get, f"/v1/jobs/{job_id}/events")
            for _ in range(followers)
        ]
        time.sleep(0.3)
        threads.submit(work)
    told_to = [told(answer.result().text) for answer in answers]
    assert all(one == told_to[0] for one in told_to)
    assert [event["progress"]["fraction"] for event in told_to[0]][2:5] == [0.25, 0.5, 0.75]
    # One when it comes, and at most one for each event; it was four a second each.
    assert len(reads) <= followers * len(told_to[0])


def test_who_names_an_event_of_the_future_keeps_nobody_busy_and_is_let_go_with_the_job(
    service: Any,
) -> None:
    job_id = service.job()
    threading.Timer(0.4, service.finish, (job_id,)).start()
    answer = service.client.get(
        f"/v1/jobs/{job_id}/events", headers={"Last-Event-ID": "9999999999999-0"}
    )
    assert told(answer.text) == []
    assert answer.text.count("\n\n") < 4


def test_there_are_no_events_of_an_unknown_job(service: Any) -> None:
    assert service.client.get("/v1/jobs/job_00000000000000000000000000/events").status_code == 404


def test_a_stream_ends_when_the_process_is_asked_to_stop(service: Any) -> None:
    threading.Timer(0.3, service.client.app.state.context.stopping.set).start()
    started = time.monotonic()
    assert [
        event["state"]
        for event in told(service.client.get(f"/v1/jobs/{service.job()}/events").text)
    ] == ["queued"]
    assert time.monotonic() - started < 15
