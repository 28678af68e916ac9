"""`Prefer: wait=N`: an answer as soon as the job has ended, and no later than asked."""

import threading
import time
from typing import Any

import pytest

from service.responses.job_results import LONGEST, preferred_seconds


class _Asked:
    def __init__(self, *preferences: str) -> None:
        self.headers = self
        self._preferences = list(preferences)

    def getlist(self, _name: str) -> list[str]:
        return self._preferences


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ((), None),
        (("wait=5",), 5),
        (("respond-async, WAIT = 7",), 7),
        (("respond-async", 'wait="3"; foo'), 3),
        (("wait=100000",), LONGEST),
        (("wait=0",), 0),
        (("wait=-1",), None),
        (("wait=soon",), None),
        (("wait=1.5",), None),
        (("wait=" + "9" * 5000,), None),
    ],
)
def test_preference_is_read_as_rfc_7240_writes_it(
    given: tuple[str, ...], seconds: int | None
) -> None:
    assert preferred_seconds(_Asked(*given)) == seconds  # type: ignore[arg-type]


def test_a_job_that_ends_within_the_wait_is_answered_with_200(service: Any) -> None:
    dataset = service.upload()

    def work() -> None:
        while not service.queue.published:
            time.sleep(0.01)
        service.finish(service.queue.published[0].job_id)

    worker = threading.Thread(target=work)
    worker.start()
    started = time.monotonic()
    answer = service.client.post(
        "/v1/jobs",
        json={"kind": "identification", "dataset": dataset},
        headers={"Prefer": "wait=30"},
    )
    worker.join()
    assert (answer.status_code, answer.json()["state"]) == (200, "succeeded")
    assert answer.headers["preference-applied"] == "wait=30"
    assert "retry-after" not in answer.headers
    assert time.monotonic() - started < 15


def test_a_job_that_does_not_end_is_answered_when_the_wait_is_over(service: Any) -> None:
    dataset = service.upload()
    started = time.monotonic()
    answer = service.client.post(
        "/v1/jobs",
        json={"kind": "identification", "dataset": dataset},
        headers={"Prefer": "wait=1"},
    )
    assert (answer.status_code, answer.headers["retry-after"]) == (202, "1")
    assert time.monotonic() - started >= 1
    followed = service.client.get(answer.headers["location"], headers={"Prefer": "wait=0"})
    assert (followed.status_code, followed.headers["preference-applied"]) == (200, "wait=0")


def test_waiting_ends_at_once_when_the_process_is_asked_to_stop(service: Any) -> None:
    job_id = service.job()
    threading.Timer(0.3, service.client.app.state.context.stopping.set).start()
    started = time.monotonic()
    answer = service.client.get(f"/v1/jobs/{job_id}", headers={"Prefer": "wait=60"})
    assert answer.json()["state"] == "queued"
    assert time.monotonic() - started < 15


@pytest.mark.slow
def test_a_hundred_waiting_callers_hold_up_nobody(service: Any) -> None:
    job_id = service.job()
    answers: list[int] = []

    def wait() -> None:
        answers.append(
            service.client.get(f"/v1/jobs/{job_id}", headers={"Prefer": "wait=60"}).status_code
        )

    callers = [threading.Thread(target=wait) for _ in range(100)]
    for caller in callers:
        caller.start()
    time.sleep(0.5)
    assert service.client.get("/v1/jobs").status_code == 200, (
        "more callers wait than there are threads"
    )
    assert answers == []
    service.client.post(f"/v1/jobs/{job_id}/cancel")
    for caller in callers:
        caller.join(30)
    assert answers == [200] * 100
