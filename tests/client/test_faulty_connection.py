"""Over a connection that drops, cuts, delays and refuses, nothing is done twice and nothing is
lost."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from itoscope_client import AsyncClient, Busy, Client, Retries, Unreachable, flows
from itoscope_client.calls import create_job
from tests.client.faulty import FAULTS, FaultyProxy

STUBBORN = Retries(attempts=1000, base=0.01, longest=0.1)
SUBMISSIONS = 200
TIMEOUT = 3.0
"""Long enough for the busiest machine: an answer that is merely slow is asked for again, too, and
makes it slower."""
LATE = 3.3
MODEL = {"drift": {"x": {"x": -1}}, "diffusion": {"x,x": {"1": 1}}}


def upload(client: Client, n: int) -> str:
    """A dataset of its own."""
    return str(client.upload(b"t,x\n0,0\n1,1\n2,%d\n" % n)["id"])


def submit(client: Client, dataset: str, n: int) -> str:
    """A job of its own."""
    return str(
        client.submit({"kind": "identification", "dataset": dataset, "labels": {"n": str(n)}})["id"]
    )


def jobs_by_submission(url: str) -> Counter[str]:
    """How many jobs the service has of each submission, asked directly."""
    with Client(url) as client:
        return Counter(job["labels"]["n"] for job in client.jobs(limit=10_000))


def submit_all(url: str, number: int) -> Sequence[str]:
    """So many jobs on a tenth as many datasets, from 8 threads at once; the jobs' ids."""
    with Client(url, timeout=TIMEOUT, retries=STUBBORN) as client, ThreadPoolExecutor(8) as threads:
        datasets = [*threads.map(lambda n: upload(client, n), range(number // 10))]
        return [*threads.map(lambda n: submit(client, datasets[n // 10], n), range(number))]


@pytest.mark.slow
def test_200_submissions_over_a_faulty_connection_are_200_jobs(service_url: str) -> None:
    with FaultyProxy(service_url, delay=LATE) as proxy:
        ids = submit_all(proxy.url, SUBMISSIONS)
    assert all(proxy.counts[fault] > 2 for fault in FAULTS), proxy.counts
    assert proxy.counts["forwarded"] > 1.2 * SUBMISSIONS  # the service did see requests again
    assert jobs_by_submission(service_url) == {str(n): 1 for n in range(SUBMISSIONS)}
    assert len(set(ids)) == SUBMISSIONS
    with Client(service_url) as client:
        assert len(client.datasets(limit=10_000)) == SUBMISSIONS // 10


@pytest.mark.slow
def test_without_the_idempotency_key_the_same_submissions_make_duplicates(service_url: str) -> None:
    with FaultyProxy(service_url, delay=LATE, kept_away=["Idempotency-Key"]) as proxy:
        submit_all(proxy.url, 40)
    jobs = jobs_by_submission(service_url)
    assert len(jobs) == 40
    # A third of what arrives has its answer lost; that none of 40 has, has the probability 1e-7.
    assert jobs.total() > 40


def test_the_asynchronous_client_makes_no_duplicates_either(service_url: str) -> None:
    async def submit_some(url: str) -> list[str]:
        async with AsyncClient(url, timeout=TIMEOUT, retries=STUBBORN) as client:
            jobs = [
                {"kind": "generator", "model": MODEL, "labels": {"n": str(n)}} for n in range(20)
            ]
            return [record["id"] for record in await asyncio.gather(*map(client.submit, jobs))]

    with FaultyProxy(service_url, delay=LATE, seed=1) as proxy:
        ids = asyncio.run(submit_some(proxy.url))
    assert jobs_by_submission(service_url) == {str(n): 1 for n in range(20)}
    assert len(set(ids)) == 20


@pytest.mark.parametrize("fault", FAULTS)
def test_of_a_job_sent_without_a_key_only_what_was_surely_not_done_is_tried_again(
    service_url: str, fault: str
) -> None:
    bare = create_job({"kind": "generator", "model": MODEL, "labels": {"n": "1"}}, None)
    assert not bare.repeatable
    few = Retries(attempts=4, base=0.01)
    with (
        FaultyProxy(service_url, share=1, faults=[fault], delay=LATE) as proxy,
        Client(proxy.url, timeout=TIMEOUT) as client,
        pytest.raises((Unreachable, Busy)),
    ):
        client._run(flows.document(bare, few))
    assert proxy.counts[fault] == (4 if fault in ("429", "503") else 1)
    assert jobs_by_submission(service_url).total() <= 1


def test_waiting_survives_the_connection(service_url: str) -> None:
    with Client(service_url) as direct:
        job = direct.submit({"kind": "generator", "model": MODEL, "labels": {"n": "1"}})
        direct.cancel(job["id"])
    with (
        FaultyProxy(service_url, share=0.8, delay=LATE, seed=3) as proxy,
        Client(proxy.url, timeout=TIMEOUT, retries=STUBBORN) as client,
    ):
        assert client.watch(job["id"], progress=False)["state"] == "cancelled"


def test_deleting_again_after_a_lost_answer_is_no_error(service_url: str) -> None:
    with Client(service_url) as direct:
        dataset = direct.upload(b"t,x\n0,0\n1,1\n")["id"]
        transport = LosesTheFirstAnswer(direct._http)
        with Client(service_url, transport=transport, retries=STUBBORN) as client:
            client.delete_dataset(dataset)
        assert transport.sent == 2
        assert direct.datasets() == []


class LosesTheFirstAnswer(httpx.BaseTransport):
    """Carries out the first request and says nothing about it."""

    def __init__(self, through: httpx.Client) -> None:
        self.sent = 0
        self._through = through

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent += 1
        answer = self._through.send(request)
        if self.sent == 1:
            raise httpx.RemoteProtocolError("the connection broke")
        return answer
